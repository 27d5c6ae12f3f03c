"""The pool of result memory: blocks that come back when the last array over them dies.

A result is a plain NumPy array over a pooled block, which is its base. The pool keeps a reference
to each block, so a block whose reference count is back at the pool's own is free: no destructor
runs, and a view that outlives its array keeps the block. Small results are NumPy's own, large ones
too: the pool holds at most LIMIT bytes, in blocks of at most LARGEST.

What a reference count says is measured, on free blocks and on blocks in use, as the pool counts its
own (`free_count`). Where it does not tell the one from the other, all results are NumPy's own.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Iterable
from itertools import compress
from operator import indexOf
from typing import Any

import numpy as np

from ..codegen.kept_rows import keeps
from ..graph.dtypes import DType

SMALLEST = 1 << 16
LARGEST = 1 << 26
LIMIT = 1 << 28
_PAD = 48  # large blocks of the system's allocator start 16 bytes into a page

Array = np.ndarray[Any, Any]


class _Block(np.ndarray[Any, Any]):
    """A block of the pool; a type of its own, so that NumPy keeps it as the base of results."""


def has_own_memory(array: Array) -> bool:
    """True for an array whose memory no other one has been made of, a result of the pool's too."""
    base = array.base
    return base is None or type(base) is _Block


def _counts(blocks: list[_Block]) -> Iterable[int]:
    """The reference count of each block.

    The loop is one of C: it has no variable that could count one time and not the next, as those of
    Python's loops do for debuggers, and from one version of Python to another.
    """
    return map(sys.getrefcount, blocks)


def free_count() -> int | None:
    """What `_counts` says of a block that only the pool knows, or None if that proves nothing.

    It proves something if each array over a block shows, and each view that outlives its array.
    Where threads count apart (Python without its global lock) they need not show at once.
    """
    if not hasattr(sys, "getrefcount") or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    blocks = [_Block(_PAD + 8, np.uint8) for _ in range(3)]
    free, *_ = _counts(blocks)
    arrays: list[Array] = []
    found = [[*_counts(blocks)]]
    for _ in range(2):
        arrays.append(np.ndarray((8,), np.uint8, blocks[1], _PAD))
        found.append([*_counts(blocks)])
    arrays[:] = [arrays[0][1:]]
    found.append([*_counts(blocks)])
    arrays.clear()
    found.append([*_counts(blocks)])
    expected = [[free, free + over, free] for over in (0, 1, 2, 1, 0)]
    return free if found == expected else None


class Pool:
    """Blocks by size class; `empty` lends one, `trim` gives free ones back to the system."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[_Block]] = {}
        self._held = 0
        self._lock = threading.Lock()
        self._free = free_count()

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """An uninitialised C-contiguous array of ``shape`` and ``dtype``."""
        nbytes = dtype.itemsize
        for extent in shape:
            nbytes *= extent
        if self._free is None or not SMALLEST <= nbytes <= LARGEST:
            return np.empty(shape, dtype)
        if not self._lock.acquire(blocking=False):  # perhaps this thread's own, below a finaliser
            return np.empty(shape, dtype)
        try:  # a block may be taken for free until there is an array over it
            block = self._block(1 << (nbytes - 1).bit_length(), self._free)
            return (
                np.empty(shape, dtype) if block is None else np.ndarray(shape, dtype, block, _PAD)
            )
        finally:
            self._lock.release()

    def _block(self, size: int, free: int) -> _Block | None:
        blocks = self._blocks.setdefault(size, [])
        try:
            return blocks[indexOf(_counts(blocks), free)]
        except ValueError:
            pass
        if self._held + size > LIMIT:
            self._trim()
        if self._held + size > LIMIT:
            return None
        block = _Block(size + _PAD, np.uint8)
        blocks.append(block)
        self._held += size
        return block

    def trim(self) -> int:
        """Give every free block back to the system; the bytes that stay are returned."""
        with self._lock:
            self._trim()
            return self._held

    def _trim(self) -> None:
        for size, blocks in self._blocks.items():
            lent = [count != self._free for count in _counts(blocks)]
            self._held -= size * lent.count(False)
            blocks[:] = compress(blocks, lent)

    def stats(self) -> dict[str, int]:
        """``held`` bytes, and how many of them are ``free``."""
        with self._lock:
            free = 0
            for size, blocks in self._blocks.items():
                free += size * sum(count == self._free for count in _counts(blocks))
            return {"held": self._held, "free": free}


pool = Pool()


def cut(array: Array, count: int) -> Array:
    """The first ``count`` rows of ``array``, which nobody else has."""
    rows = array[:count]
    if keeps(array.nbytes, count, len(array)):
        return rows if count < len(array) else array
    own = pool.empty(rows.shape, array.dtype)
    own[...] = rows
    return own
