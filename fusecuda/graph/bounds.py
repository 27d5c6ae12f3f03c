"""Bounds: between which integers a value surely lies, as far as its operations tell."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DType
from .node import Node

Bounds = tuple[int, int]  # the least and the largest value there may be
_DEEPEST = 8


def bounds(node: Node, depth: int = _DEEPEST) -> Bounds | None:
    """The bounds of an integer or bool ``node``, inclusive; None for one of another type."""
    return bounds_by(node, (lambda o: bounds(o, depth - 1)) if depth else _of_node)


def bounds_by(node: Node, of: Callable[[Node], Bounds | None]) -> Bounds | None:
    """As `bounds`, with the bounds ``of`` its operands."""
    own = _of_node(node)
    if own is None or node.dtype.kind == "b":
        return own
    found = _told(node, of)
    if found is None or found[0] < own[0] or found[1] > own[1]:  # it may have wrapped around
        return own
    return found


def are_inside(node: Node) -> bool:
    """True if the indices of a gather or scatter lead to elements, none counted from the end."""
    scatters = node.op == "scatter"
    shape = node.scatter.shape if scatters else node.operands[0].shape
    for index, extent in zip(node.operands[1 + scatters :], shape, strict=False):
        known = bounds(index)
        if known is None or known[0] < 0 or known[1] >= extent:
            return False
    return True


def _of_node(node: Node) -> Bounds | None:
    """What the type alone tells."""
    if node.dtype.kind == "b":
        return 0, 1
    return of_type(node.dtype) if node.dtype.kind in "iu" else None


@functools.lru_cache(maxsize=64)
def of_type(dtype: DType) -> Bounds:
    """The least and the largest value of an integer type."""
    info: Any = np.iinfo(dtype.type)
    return int(info.min), int(info.max)


def _told(node: Node, of: Callable[[Node], Bounds | None]) -> Bounds | None:
    if node.op == "constant":
        return int(node.value), int(node.value)
    if node.op == "iota":
        return 0, max(0, node.shape[node.axis] - 1)
    if node.op == "search":
        return 0, node.operands[0].size
    if node.op in _MOVED:
        return of(node.operands[0])
    if node.op in _OF_ONE:
        only = of(node.operands[0])
        return None if only is None else _OF_ONE[node.op](only)
    row = _COMBINED.get(node.op)
    if row is None:
        return None
    first, second = (of(o) for o in node.operands[-2:])
    return None if first is None or second is None else row(first, second)


def _spanned(a: Bounds, b: Bounds, of: Callable[[int, int], int]) -> Bounds:
    """The bounds of what is monotonic in each of two values while the other one stays."""
    corners = [of(x, y) for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Bounds, b: Bounds) -> Bounds:
    """Rounded down; by 0 it is 0."""
    if b[0] > 0:
        return _spanned(a, b, operator.floordiv)
    largest = max(-a[0], a[1])
    return -largest, largest


def _remainder(a: Bounds, b: Bounds) -> Bounds:
    """Of the divisor's sign, and nearer to 0 than that; by 0 it is 0."""
    return min(b[0] + 1, 0), max(b[1] - 1, 0)


def _bits(a: Bounds, b: Bounds) -> Bounds:
    """What fits in as many bits as the two values do."""
    largest = max(a[1], b[1], ~a[0], ~b[0])
    every = (1 << largest.bit_length()) - 1
    return (~every if min(a[0], b[0]) < 0 else 0), every


def _common_bits(a: Bounds, b: Bounds) -> Bounds:
    least, largest = _bits(a, b)
    positive = [high for low, high in (a, b) if low >= 0]
    return (0, min(positive)) if positive else (least, largest)


def _shifted_left(a: Bounds, by: Bounds) -> Bounds | None:
    within = by[0] >= 0 and by[1] < _WIDEST
    return _spanned(a, by, operator.lshift) if within else None


def _shifted_right(a: Bounds, by: Bounds) -> Bounds | None:
    return _spanned(a, by, operator.rshift) if by[0] >= 0 else None


def _size(a: Bounds) -> Bounds:
    return (0 if a[0] <= 0 <= a[1] else min(map(abs, a))), max(map(abs, a))


_WIDEST = 64  # bits
_MOVED = frozenset({"index", "reshape", "convert", "gather", "positive"})
_OF_ONE: dict[str, Callable[[Bounds], Bounds]] = {
    "negative": lambda a: (-a[1], -a[0]),
    "absolute": _size,
    "square": lambda a: (min(x * x for x in _size(a)), max(x * x for x in a)),
    "sign": lambda a: (-(a[0] < 0), int(a[1] > 0)),
}
_COMBINED: dict[str, Callable[[Bounds, Bounds], Bounds | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": lambda a, b: _spanned(a, b, operator.mul),
    "floor_divide": _quotient,
    "remainder": _remainder,
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "bitwise_and": _common_bits,
    "bitwise_or": _bits,
    "bitwise_xor": _bits,
    "left_shift": _shifted_left,
    "right_shift": _shifted_right,
    "where": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
}
