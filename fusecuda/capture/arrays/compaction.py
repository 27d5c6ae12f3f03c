"""Compaction: what a mask has picked on its way into memory of its own, written by a kernel."""

from __future__ import annotations

from typing import Any

from ...graph import build
from ...graph.dtypes import INT64
from ...graph.index_map import Shape
from ..record.recorder import current_recorder
from ..record.storage import Storage
from .array import Array


class Compaction:
    """Stands where a pick did; ``storage`` waits for it, whose first extent is the most it has."""

    __slots__ = ("dtype", "ndim", "storage")

    def __init__(self, storage: Storage, ndim: int) -> None:
        self.storage = storage
        self.ndim = ndim
        self.dtype = storage.dtype

    def beside(self) -> list[Array]:
        """Nothing is known to go with it."""
        return []

    def begun(self) -> Compaction:
        """Itself."""
        return self

    def settled(self) -> Array:
        """What is picked."""
        made: Array = current_recorder().compacted(self.storage)
        if made is not NotImplemented:
            return made
        current_recorder().look()
        return Array.of_array(self.storage.complete(), copy=False)


class Index:
    """The index along ``axis`` of each element of ``shape``, which lies in no memory."""

    __slots__ = ("node",)
    dtype = INT64
    is_own = False

    def __init__(self, shape: Shape, axis: int) -> None:
        self.node = build.iota(shape, axis)

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.node.shape

    @property
    def array(self) -> Any:
        """An array of it."""
        return Array.of_node(self.node, is_scalar=False)
