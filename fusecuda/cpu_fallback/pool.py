"""The pool of result memory: blocks that come back when the last array over them dies.

A result is a plain NumPy array over a pooled block, which is its base. The pool keeps a reference
to each block, so a block whose reference count is back at the pool's own is free: no destructor
runs, and a view that outlives its array keeps the block. Small results are NumPy's own, large ones
too: the pool holds at most LIMIT bytes, in blocks of at most LARGEST.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from ..graph.dtypes import DType

SMALLEST = 1 << 16
LARGEST = 1 << 26
LIMIT = 1 << 28
_FREE = 3  # the list, the loop variable, and getrefcount's own argument
_PAD = 48  # large blocks of the system's allocator start 16 bytes into a page

Array = np.ndarray[Any, Any]


class _Block(np.ndarray[Any, Any]):
    """A block of the pool; a type of its own, so that NumPy keeps it as the base of results."""


class Pool:
    """Blocks by size class; `empty` lends one, `trim` gives free ones back to the system."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[_Block]] = {}
        self._held = 0
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """An uninitialised C-contiguous array of ``shape`` and ``dtype``."""
        nbytes = dtype.itemsize
        for extent in shape:
            nbytes *= extent
        if not SMALLEST <= nbytes <= LARGEST:
            return np.empty(shape, dtype)
        block = self._block(1 << (nbytes - 1).bit_length())
        return np.empty(shape, dtype) if block is None else np.ndarray(shape, dtype, block, _PAD)

    def _block(self, size: int) -> _Block | None:
        with self._lock:
            blocks = self._blocks.setdefault(size, [])
            for block in blocks:
                if sys.getrefcount(block) == _FREE:
                    return block
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
            kept = []
            for block in blocks:
                if sys.getrefcount(block) > _FREE:
                    kept.append(block)
            self._held -= size * (len(blocks) - len(kept))
            blocks[:] = kept

    def stats(self) -> dict[str, int]:
        """``held`` bytes, and how many of them are ``free``."""
        with self._lock:
            free = 0
            for size, blocks in self._blocks.items():
                for block in blocks:
                    free += size * (sys.getrefcount(block) == _FREE)
            return {"held": self._held, "free": free}


pool = Pool()
