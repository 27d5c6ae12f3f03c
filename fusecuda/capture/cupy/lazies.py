"""Lazies: the lazy arrays that stand for CuPy's while one operation is recorded, and back.

A lazy array is made for each CuPy array that an operation takes, over the storage of that memory;
of what the operation gives, pending CuPy arrays are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.index_map import contiguous_strides
from ...options import Options
from ..arrays.array import Array
from ..record.flight import wait_for
from ..record.view import View
from . import internals
from .internals import Pending, ndarray
from .layout import view_of
from .storages import CupyStorage, Unrecorded, storage_of, table
from .unrecorded import Natives

_NUMBERS = frozenset({int, float, bool, complex})


class Lazies(Natives):
    """A region that knows CuPy's arrays by the storages of their memory, on one device."""

    def __init__(self, options: Options, chosen: bool = True) -> None:
        super().__init__(options, chosen)
        self.device = -1  # until something is taken or created
        self.operands = 0  # arrays that the operation at hand has taken so far
        self.flush_after = False  # the operation at hand, for others see what it has recorded
        self._escaped: list[tuple[int, int]] = []  # addresses that somebody else sees

    def own(self, array: Any) -> CupyStorage | None:
        """The storage in which the memory of ``array`` is to be known, if there is one already."""
        return None

    def lifted(self, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
        """``args`` and ``kwargs`` lifted, all after the last flush that it took."""
        for _ in range(3):
            wait_for(self)
            generation, self.operands = table.generation, 0
            given = [self.lift(a) for a in args]
            named = {k: self.lift(v) for k, v in kwargs.items()} if kwargs else {}
            if table.generation == generation:
                return given, named
        raise Unrecorded

    def lift(self, value: Any) -> Any:
        """``value`` with a lazy array for each CuPy array in it."""
        kind = type(value)
        if kind is ndarray or kind is Pending:
            return self.lazy(value)
        if kind in _NUMBERS or value is None:
            return value
        if kind is tuple:
            return tuple([self.lift(v) for v in value])
        if isinstance(value, list):
            return [self.lift(v) for v in value]
        if isinstance(value, np.ndarray | ndarray):
            raise Unrecorded  # NumPy arrays and subclasses are CuPy's own affair
        return value

    def lazy(self, array: Any) -> Array:
        """The lazy array that stands for ``array``."""
        storage, offset = storage_of(self, array)
        if storage.recorder is not self:
            storage.readers.update((self, storage.recorder))
            if storage.pending:
                storage.complete()
                storage, offset = storage_of(self, array)
        if storage.device != self.device:
            self._meet(storage.device)
        self.operands += 1
        if self._escaped and _within(storage.span, self._escaped):
            self.flush_after = True
        strides = None
        item = storage.dtype.itemsize
        if not array._c_contiguous:
            strides = tuple([s // item for s in array.strides])
        return Array(storage, view_of(storage.shape, array.shape, strides, offset // item))

    def _meet(self, device: int) -> None:
        """One region has one device at a time; operands of several are CuPy's own affair."""
        if self.operands:
            raise Unrecorded
        if self.pending():
            self.flush()  # `lifted` then begins again
        self.device = device

    def creates(self) -> None:
        """An operation takes no array: what it gives is on the current device."""
        if self.space is not None and (current := self.space.current_device()) != self.device:
            self._meet(current)

    def lower(self, value: Any) -> Any:
        """``value`` with a pending CuPy array for each lazy array in it."""
        if isinstance(value, Array):
            return self.pending_array(value)
        if type(value) in (list, tuple):
            return type(value)([self.lower(v) for v in value])
        return value

    def pending_array(self, array: Array) -> Any:
        """A CuPy array that shows what the lazy ``array`` shows."""
        storage, view = array.storage, array.view_of_storage
        if not isinstance(storage, CupyStorage):
            node = array.read_node()
            storage = self.value(node)
            assert isinstance(storage, CupyStorage)
            view = View.whole(node.shape)
        item = storage.dtype.itemsize
        strides, offset = None, 0
        if not view.is_whole():
            steps = view.strides()
            strides = tuple([s * item for s in steps])
            offset = view.map.offset(contiguous_strides(view.base_shape)) * item
        return storage.array(view.shape, strides, offset)

    # --- what others see

    @property
    def has_escaped(self) -> bool:
        """True if somebody else sees the memory of some array."""
        return bool(self._escaped)

    def escape(self, array: Any) -> None:
        """From now on somebody else sees the memory of ``array``: nothing there stays pending."""
        self.flush()
        self._escaped.append(internals.span_of(array))


def _within(span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(low < span[1] and span[0] < high for low, high in spans)
