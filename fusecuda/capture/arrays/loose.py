"""Loose arrays: those whose extent a replay does not look at, such as what a mask picks.

What is made of them is NumPy's work in each replay, on the arrays themselves: views are views, and
writes are done at once. An array is loose until the program needs it as a storage.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..record.storage import Storage
from ..record.view import View
from .array import Array
from .memory import new


class Calls(Protocol):
    """What records the calls that loose arrays come from."""

    def shape_of(self, loose: Loose) -> tuple[int, ...]:
        """The shape, at which the program looks."""

    def length_of(self, loose: Loose) -> Any:
        """The first extent, a number that is followed."""

    def copied(self, loose: Loose) -> Array:
        """What ``loose`` holds now, as an array with a storage; the shape is looked at."""

    def settled(self, loose: Loose) -> tuple[Storage, View]:
        """A storage of what ``loose`` holds from now on; the shape is looked at."""


class Loose:
    """Where a replay finds a loose array; ``array`` is what a recording has there."""

    __slots__ = ("__weakref__", "_calls", "_shape", "array", "dtype", "ndim", "slot")
    held = False
    buffer = None

    def __init__(self, calls: Calls, slot: int, ndim: int, dtype: Any, array: Any) -> None:
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
            self._shape = self._calls.shape_of(self)
        return self._shape

    def length(self) -> Any:
        """The first extent, a number that is followed."""
        return self._calls.length_of(self) if self._shape is None else self._shape[0]

    def copied(self) -> Array:
        """What is there now, as an array that is not loose."""
        return self._calls.copied(self)

    def settled(self) -> tuple[Storage, View]:
        """A storage with what is there from now on, and what is shown of it."""
        return self._calls.settled(self)
