"""Leaf: a parameter node that carries what it stands for."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from ...graph.dtypes import DType
from ...graph.index_map import Shape
from ...graph.node import Node, Parameter

_numbers = itertools.count()


class Leaf(Node):
    """A parameter node that carries what it stands for: an array, or a scalar's value.

    ``source`` tells where it comes from, if from elsewhere: of a part the array and the slices, of
    a scalar the constant that it was.
    """

    __slots__ = ("array", "source")

    def __init__(
        self, array: Any, shape: Shape, dtype: DType, scalar: bool = False, source: Any = None
    ) -> None:
        super().__init__("parameter", (), shape, dtype, Parameter(next(_numbers), scalar))
        self.array = array
        self.source = source

    @property
    def known(self) -> Any:
        """The array, None where it is still being computed."""
        return self.array


class Promise(Leaf):
    """A leaf whose array is being computed, by ``flight``; it raises the error if that failed.

    It stands for a version of ``storage``. Others may have it as their version, too: what they are
    written with is that value. They are not in that flight.
    """

    __slots__ = ("error", "flight", "known", "storage")

    def __init__(self, flight: Any, storage: Any) -> None:
        self.known: Any = None
        self.error: BaseException | None = None
        self.flight = flight
        self.storage = weakref.ref(storage)
        super().__init__(None, storage.shape, storage.dtype)

    def flight_of(self, storage: Any) -> Any:
        """What is computing it in ``storage``, if that is under way."""
        return self.flight if self.storage() is storage else None

    @property
    def array(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.known

    @array.setter
    def array(self, array: Any) -> None:
        self.known = array
