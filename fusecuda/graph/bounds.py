"""Bounds: between which integers a value surely lies, as far as its operations tell."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DType
from .node import Node

Bounds = tuple[int, int]  # the least and the largest value there may be
_DEEPEST = 8


def bounds(node: Node, depth: int = _DEEPEST) -> Bounds | None:
    """The bounds of an integer or bool ``node``, inclusive; None for one of another type."""
    if node.dtype.kind == "b":
        return 0, 1
    if node.dtype.kind not in "iu":
        return None
    own = _of_type(node.dtype)
    found = _told(node, depth) if depth else None
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


@functools.lru_cache(maxsize=64)
def _of_type(dtype: DType) -> Bounds:
    info: Any = np.iinfo(dtype.type)
    return int(info.min), int(info.max)


def _told(node: Node, depth: int) -> Bounds | None:
    if node.op == "constant":
        return int(node.value), int(node.value)
    if node.op == "iota":
        return 0, max(0, node.shape[node.axis] - 1)
    if node.op == "search":
        return 0, node.operands[0].size
    if node.op in ("index", "reshape", "convert", "gather"):
        return bounds(node.operands[0], depth - 1)
    if node.op == "remainder":
        divisor = bounds(node.operands[1], depth - 1)
        if divisor is None or divisor[0] <= 0:
            return None
        return 0, divisor[1] - 1
    row = _COMBINED.get(node.op)
    if row is None:
        return None
    first, second = (bounds(o, depth - 1) for o in node.operands[-2:])
    return None if first is None or second is None else row(first, second)


def _product(a: Bounds, b: Bounds) -> Bounds:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


_COMBINED: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "subtract": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "multiply": _product,
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "where": lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
}
