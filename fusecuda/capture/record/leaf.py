"""Leaf: a parameter node that carries what it stands for."""

from __future__ import annotations

import itertools
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
    """A leaf whose array is being computed, by ``flight``; it raises the error if that failed."""

    __slots__ = ("error", "flight", "known")

    def __init__(self, flight: Any, shape: Shape, dtype: DType) -> None:
        self.known: Any = None
        self.error: BaseException | None = None
        self.flight = flight
        super().__init__(None, shape, dtype)

    @property
    def array(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.known

    @array.setter
    def array(self, array: Any) -> None:
        self.known = array
