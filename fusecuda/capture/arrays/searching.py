"""Searches: places in a sorted array, and what lies between two of its elements.

That the array is sorted is NumPy's condition, too. ``digitize`` looks: at edges that fall, or do
neither, NumPy knows what to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, FLOAT64, INT64, DType, is_supported
from ...graph.index_map import axis_map
from ...graph.node import SIDES, Node
from ..record.numbers import TracedScalar
from ..record.user_frames import user_line
from . import ufuncs
from .array import Array
from .table import handles
from .values import array_of, is_given, of_node, seen

_NUMBERS = (int, float, complex, np.generic, TracedScalar)


@handles(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Before which element of a sorted array each value stands."""
    if sorter is not None or type(side) is not str or side not in SIDES:
        return NotImplemented
    table, values = array_of(a), _operand(v)
    dtype = _compared_in(table, values)
    if dtype is None:
        return NotImplemented
    return of_node(places(table, ufuncs.node_of(values, dtype), side))


def places(table: Array, values: Node, side: str) -> Node:
    """The node of how many elements of ``table`` are before ``values``."""
    return build.search(table.read_node(), values, side, user_line())


def _compared_in(table: Array, values: Any) -> DType | None:
    """The type in which NumPy compares ``values`` with the elements of ``table``.

    None if no kernel does so.
    """
    if table.ndim != 1 or not is_real(table.dtype):
        return None
    own = _dtype(values)
    return np.promote_types(table.dtype, own) if is_real(own) else None


def is_real(dtype: DType) -> bool:
    """True for real numbers that kernels compare as NumPy does, and bools."""
    return is_supported(dtype) and dtype.kind in "biuf"


def _operand(value: Any) -> Any:
    """``value``, a list as an array."""
    return value if isinstance(value, _NUMBERS) or hasattr(value, "dtype") else array_of(value)


def _dtype(value: Any) -> DType:
    """The dtype of an array or a number."""
    kind = ufuncs.type_of(value)
    assert kind is not None
    return np.dtype(kind)


@handles(np.digitize)
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """The number of the bin in which each value is; edges rise, or fall if they are no results."""
    edges, values = array_of(bins), _operand(x)
    dtype = _compared_in(edges, values)
    if dtype is None or not is_given(right):
        return NotImplemented
    side = "left" if seen(right) else "right"
    if is_rising(bins):
        return of_node(places(edges, ufuncs.node_of(values, dtype), side))
    if isinstance(bins, Array) or not _is_falling(np.asarray(bins)):
        return NotImplemented
    found = places(edges[::-1], ufuncs.node_of(values, dtype), side)
    count = build.constant(edges.size, INT64)
    return of_node(build.elementwise("subtract", [count, found], INT64))


def digitized(x: Array, edges: Array, right: bool) -> Any:
    """As `digitize`, for edges that rise or fall, which nobody looks at beforehand."""
    dtype = _compared_in(edges, x)
    if dtype is None or not edges.size:
        return NotImplemented
    side, values = "left" if right else "right", ufuncs.node_of(x, dtype)
    count = build.constant(edges.size, INT64)
    first, last = _end(edges, 0), _end(edges, -1)
    to_nan = _test("logical_and", _test("equal", first, first), _test("not_equal", last, last))
    rises = _test("logical_or", _test("less_equal", first, last), to_nan)
    fallen = build.elementwise("subtract", [count, places(edges[::-1], values, side)], INT64)
    return of_node(build.where(rises, places(edges, values, side), fallen))


def is_rising(edges: Any) -> bool:
    """True if each of ``edges`` is known to be no less than the one before; they are looked at."""
    if not isinstance(edges, Array):
        edges = np.asarray(edges)
    return edges.size < 2 or bool(np.all(edges[1:] >= edges[:-1]))


def _is_falling(edges: Any) -> bool:
    """True if NumPy takes ``edges`` for falling ones: it compares doubles."""
    falls = bool(np.all(edges[1:] <= edges[:-1]))
    return falls and edges.size > 1 and float(edges[0]) > float(edges[-1])


@handles(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Between two neighbours of ``xp`` on a line between their values, outside a value of its own.

    The operations are those of NumPy's loop, in its order; of two slopes it computes one, too.
    """
    at, values, x = array_of(xp), array_of(fp), _operand(x)
    if period is not None or not all(map(_is_end, (left, right))):
        return NotImplemented
    kinds = (_dtype(x), at.dtype, values.dtype)
    if at.ndim != 1 or values.shape != at.shape or not at.size or not all(map(is_real, kinds)):
        return NotImplemented
    below = _double_end(values, 0) if left is None else ufuncs.node_of(left, FLOAT64)
    above = _double_end(values, -1) if right is None else ufuncs.node_of(right, FLOAT64)
    return of_node(_Line(at, values).of(ufuncs.node_of(x, FLOAT64), below, above))


def _is_end(value: Any) -> bool:
    """True for a number that stands for all values on one side, or None."""
    is_number = isinstance(value, Array) and value.ndim == 0 and is_real(value.dtype)
    return value is None or is_number or (isinstance(value, _NUMBERS) and is_real(_dtype(value)))


class _Line:
    """The lines between neighbours of some points, as NumPy computes them."""

    def __init__(self, at: Array, values: Array) -> None:
        self.at = at
        self.values = values
        self.user_line = user_line()

    def of(self, x: Node, below: Node, above: Node) -> Node:
        """What the lines are at ``x``; outside of them ``below`` and ``above``."""
        first, last = _double_end(self.at, 0), _double_end(self.at, -1)
        if self.at.size == 1:  # where NaN is neither
            found = build.broadcast_to(_double_end(self.values, 0), x.shape)
        else:
            found = build.where(_test("not_equal", x, x), x, self._between(x))
        found = build.where(_test("less", x, first), below, found)
        return build.where(_test("greater", x, last), above, found)

    def _between(self, x: Node) -> Node:
        low, high = self._neighbours(x)
        x0, x1 = self._picked(self.at, low), self._picked(self.at, high)
        y0, y1 = self._picked(self.values, low), self._picked(self.values, high)
        slope = _double("divide", _double("subtract", y1, y0), _double("subtract", x1, x0))
        one = _double("add", _double("multiply", slope, _double("subtract", x, x0)), y0)
        other = _double("add", _double("multiply", slope, _double("subtract", x, x1)), y1)
        flat = _test("logical_and", _test("not_equal", other, other), _test("equal", y0, y1))
        other = build.where(flat, y0, other)
        found = build.where(_test("not_equal", one, one), other, one)
        found = build.where(_test("equal", x, x0), y0, found)
        return build.where(_test("equal", x, x1), y1, found)  # which only the last one can be

    def _neighbours(self, x: Node) -> tuple[Node, Node]:
        """The numbers of the points on either side of ``x``, the last two beyond them."""

        def whole(op: str, node: Node, number: int) -> Node:
            return build.elementwise(op, [node, build.constant(number, INT64)], INT64)

        found = whole("subtract", places(self.at, x, "right"), 1)
        low = whole("minimum", whole("maximum", found, 0), self.at.size - 2)
        return low, whole("add", low, 1)

    def _picked(self, array: Array, places: Node) -> Node:
        picked = build.gather(array.read_node(), [places], self.user_line)
        return build.convert(picked, FLOAT64)


def _end(array: Array, number: int) -> Node:
    """The first element of ``array``, or the last one."""
    at = axis_map([(number % array.size, 0, None)], 0)
    return build.index(array.read_node(), at, ())


def _double_end(array: Array, number: int) -> Node:
    return build.convert(_end(array, number), FLOAT64)


def _test(op: str, a: Node, b: Node) -> Node:
    return build.elementwise(op, [a, b], BOOL)


def _double(op: str, a: Node, b: Node) -> Node:
    return build.elementwise(op, [a, b], FLOAT64)
