"""The count of launches: every kernel that this process runs is added here."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence


class LaunchCounter:
    """Launches counted from `start` to `stop`: ``total`` and ``by_name``."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """The number of kernels launched."""
        return sum(self.by_name.values())

    def __enter__(self) -> LaunchCounter:
        with _lock:
            _active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        with _lock:
            _active[:] = [c for c in _active if c is not self]


_active: list[LaunchCounter] = []
_lock = threading.Lock()


def is_counting() -> bool:
    """True if somebody counts launches."""
    return bool(_active)


def record(names: Sequence[str]) -> None:
    """Count one launch for each of ``names`` in every counter that is active."""
    if _active:
        with _lock:
            for counter in _active:
                counter.by_name.update(names)
