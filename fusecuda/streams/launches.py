"""The count of launches: every kernel and library call that this process runs is added here."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, Self

from ..watch import Lap, Watcher, watchers


class LaunchCounter(Watcher):
    """Launches counted while its block runs: ``total`` and ``by_name``."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()
        self._lock = threading.RLock()

    @property
    def total(self) -> int:
        """The number of kernels, library calls and calls of NumPy's or CuPy's own."""
        return sum(self.by_name.values())

    def ran(self, executable: Any, lap: Lap | None) -> None:
        with self._lock:
            self.by_name.update(executable.names)

    def launched(self, name: str) -> None:
        with self._lock:
            self.by_name[name] += 1

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()


def is_counting() -> bool:
    """True if somebody counts launches or measures them."""
    return bool(watchers)
