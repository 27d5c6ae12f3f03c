"""The count of compiler runs in this process, whichever compiler it was."""

from __future__ import annotations

import os
import threading


class _Count:
    """The count, and the lock under which it grows."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child starts from zero, with a free lock."""
        self.lock = threading.Lock()
        self.runs = 0


_process = _Count()
os.register_at_fork(after_in_child=_process.reset)


def compile_count() -> int:
    """How often a compiler ran for a kernel in this process; cache hits do not count."""
    return _process.runs


def count_compilation() -> None:
    """Count one run of a compiler."""
    with _process.lock:
        _process.runs += 1
