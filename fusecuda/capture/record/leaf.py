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
