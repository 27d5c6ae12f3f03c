"""The count of compiler runs in this process, whichever compiler it was."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


class _Count:
    """The count, and the lock under which it grows."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A forked child starts from zero, with a free lock."""
        self.lock = threading.RLock()
        self.runs = 0


_process = _Count()
os.register_at_fork(after_in_child=_process.reset)


def compile_count() -> int:
    """How often a compiler (cc or NVRTC) ran for kernels in this process.

    Kernels that were found in the process or in the cache on disk do not count; a forked child
    begins at 0. What is being compiled beside the program counts: that is waited for.
    """
    for finish in before_counting:
        finish()
    return _process.runs


before_counting: list[Callable[[], None]] = []  # what waits for compilers that run


def count_compilation() -> None:
    """Count one run of a compiler."""
    with _process.lock:
        _process.runs += 1


def say_compiling(compiler: str) -> None:
    """Say on a terminal that a compilation takes its time; elsewhere nothing."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"fusecuda: compiling kernels with {os.path.basename(compiler)} …", file=sys.stderr)
