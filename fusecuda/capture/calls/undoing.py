"""Undoing: memory that a recorded call writes to, kept as it was while the call may begin again.

Only the elements that it has written are made what they were: others may be another thread's.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from typing import Any

import numpy as np

from ...graph.node import Node
from ...graph.views import view
from ..record.leaf import Leaf
from ..record.storage import Storage

NDArray = np.ndarray[Any, Any]
_BYTES, _SECONDS = 1 << 20, 1.0  # of a call; what takes longer is not done a second time


class Undoing:
    """The caller's memory, small and for a while, as it was before a call wrote to it."""

    def __init__(self) -> None:
        self._since = thread_time()
        self._before: list[tuple[NDArray, NDArray, NDArray]] = []  # memory, values, which of them
        self._bytes = 0
        self._overlaps = False  # some of the memory: it is kept each time that it is written to

    def keeps(self, storages: Sequence[Storage]) -> bool:
        """True if what ``storages``, whose versions are going to be computed, hold now is kept."""
        if thread_time() - self._since > _SECONDS:
            return False
        found = []
        for storage in storages:
            buffer: Any = storage.buffer
            which = _written(storage.node, buffer) if type(buffer) is np.ndarray else None
            if which is None:
                return False
            found.append((buffer, which))
        return all([self._keeps(buffer, which) for buffer, which in found])

    def _keeps(self, buffer: NDArray, which: NDArray) -> bool:
        for memory, before, written in self._before:
            if memory is buffer and not self._overlaps:
                np.copyto(before, buffer, where=which & ~written)
                np.logical_or(written, which, out=written)
                return True
        if self._bytes + buffer.nbytes > _BYTES:
            return False
        self._bytes += buffer.nbytes
        others = [memory for memory, *_ in self._before]
        self._overlaps = self._overlaps or any(np.may_share_memory(buffer, m) for m in others)
        self._before.append((buffer, buffer.copy(), which))
        return True

    def undo(self) -> None:
        """The memory is what it was; what was kept last comes first."""
        for buffer, before, which in reversed(self._before):
            np.copyto(buffer, before, where=which)
        self.end()

    def end(self) -> None:
        """Nothing is kept any more."""
        self._before.clear()


def _written(version: Node, buffer: NDArray) -> NDArray | None:
    """Which elements of ``buffer`` the ``version`` of it writes, None where that is not known."""
    which = np.zeros(buffer.shape, bool)
    while version.op == "update":
        before, value = version.operands
        if value.size:
            view(which, version.map, value.shape)[...] = True
        version = before
    if not (isinstance(version, Leaf) and version.known is buffer):
        which[...] = True
    return which if version.op not in ("reshape", "scatter") else None
