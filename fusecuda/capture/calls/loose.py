"""Loose arrays: those whose extent a replay does not look at, such as what a mask picks.

What is made of them is NumPy's work in each replay, on the arrays themselves: views are views, and
writes are done at once. An array is loose until the program needs it as a storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.memory import new
from ..record.storage import Storage
from ..record.view import View, in_memory_order
from .path import Environment


class Loose:
    """Where a replay finds a loose array; ``array`` is what a recording has there.

    Of ``calls``, the calls of the trace that it comes from, it is told what replays look at.
    """

    __slots__ = ("__weakref__", "_calls", "_shape", "array", "dtype", "ndim", "slot")

    held = False
    buffer = None

    def __init__(self, calls: Any, slot: int, ndim: int, dtype: Any, array: Any) -> None:
        self._calls = calls
        self.slot = slot
        self.ndim = ndim
        self.dtype: np.dtype[Any] = dtype
        self.array = array  # None of one that a replay has dropped
        self._shape: tuple[int, ...] | None = None

    def shown(self) -> Array:
        """An array that stands for it."""
        array: Array = new(Array, None)
        array.loose = self
        array.is_scalar = False
        return array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; a replay goes on where it is the same."""
        if self._shape is None:
            slot = self.slot
            self._shape = self._calls.seen(lambda environment: environment[slot].shape)
        return self._shape

    def length(self) -> Any:
        """The first extent, a number that each replay finds anew."""
        if self._shape is not None:
            return self._shape[0]
        path = self._calls.path
        value = path.known_results([None])[0] if path.replaying else len(self.array)
        path.ran(_length, [self.slot], [value], [None])
        return self._calls.trace.number_at(len(path.environment) - 1, value)

    def copied(self) -> Array:
        """What is there now, as an array with a storage; the shape is looked at."""
        storage = self._storage_by(_copied)
        return Array(storage, View.whole(storage.shape))

    def settled(self) -> tuple[Storage, View]:
        """A storage of what is there from now on, and what it shows; the shape is looked at."""
        calls, slot = self._calls, self.slot
        others = [other.slot for other in calls.loose() if other is not self]

        def look(environment: Environment) -> Any:
            own = environment[slot]
            return tuple([np.may_share_memory(own, environment[o]) for o in others])

        calls.sharing = calls.sharing or any(calls.seen(look))
        if calls.sharing:  # with another that is written to at once
            calls.trace.breaks("it uses an array, whose extent differs, and a view of it")
            memory, view = in_memory_order(self.array)
            storage = Storage.of_array(calls.trace, memory)
            storage.held = storage.shared = True
            return storage, view
        storage = self._storage_by(_contiguous)
        return storage, View.whole(storage.shape)

    def _storage_by(self, run: Callable[..., list[Any]]) -> Storage:
        shape, path = self.shape, self._calls.path
        known = path.known_results([(shape, self.dtype)]) if path.replaying else run([self.array])
        storage = Storage.of_array(self._calls.trace, known[0])
        path.ran(run, [self.slot], known, [storage])
        return storage


def _length(values: Sequence[Any]) -> list[int]:
    return [len(values[0])]


def _copied(values: Sequence[Any]) -> list[Any]:
    return [np.array(values[0], order="C")]


def _contiguous(values: Sequence[Any]) -> list[Any]:
    return [np.require(values[0], requirements=["C", "W"])]
