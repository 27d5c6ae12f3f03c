"""On how many threads kernels run: what OMP_NUM_THREADS says, else one for each processor."""

from __future__ import annotations

import os
import re
import warnings

_MOST = 256  # the driver starts no more (FC_MOST_THREADS), and memory is laid out for each
_LARGEST = 2**31 - 1
# One number for each level of nesting, as OpenMP has it; ours is the first.
_LIST = re.compile(r"\s*\+?[0-9]+\s*(,\s*\+?[0-9]+\s*)*", re.ASCII)


class _Process:
    """What this process has settled on; None before the first question."""

    count: int | None = None


_process = _Process()


def thread_count() -> int:
    """On how many threads kernels run at most."""
    if _process.count is None:
        _process.count = _chosen() or min(_MOST, processors())
    return _process.count


def set_thread_count(count: int) -> int:
    """Let kernels run on at most ``count`` threads; the count before is returned.

    Results do not depend on it. A forked child runs on one: its parent's threads are not its own.
    """
    before, _process.count = thread_count(), min(_MOST, max(1, count))
    return before


def _forked() -> None:
    _process.count = 1


os.register_at_fork(after_in_child=_forked)


def processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _chosen() -> int | None:
    """The number that the environment names, or None; what OpenMP would not take is ignored."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    if not text.strip():
        return None
    numbers = text.split(",") if _LIST.fullmatch(text) and len(text) < 1000 else []
    counts = [int(number) for number in numbers]
    if counts and all(0 < count <= _LARGEST for count in counts):
        return min(_MOST, counts[0])
    warnings.warn(
        f"OMP_NUM_THREADS={text[:100]!r} is ignored: it must be a whole number from 1 to"
        f" {_LARGEST}",
        RuntimeWarning,
        stacklevel=3,
    )
    return None
