"""Folds: the structural operations that combine elements along axes.

Their order is NumPy's, or that of one tree (`graph/tree.py`), whatever computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import tree
from .dtypes import BOOL, INT64, is_reducible, is_supported
from .index_map import IndexMap, Shape, axis_map
from .node import REDUCTIONS, LibraryCall, Node, Operand, Reduction
from .structural import Demand, Structure, arity, fail
from .tree import SEGMENTS, reduce_segments, tree_prod, tree_sum
from .views import Array


class Reduce(Structure):
    __doc__ = f"over the axes; kinds are {', '.join(REDUCTIONS)}"

    name, example = "reduce", "f64[] reduce(%0), kind=sum, axes={0}"
    stored = "a reduction ends its pass"

    def check(self, node: Node) -> None:
        arity(node, 1)
        (operand,) = node.operands
        attr = node.attr
        if not isinstance(attr, Reduction) or attr.kind not in REDUCTIONS:
            fail(node, f"has no kind among {', '.join(REDUCTIONS)}")
        if list(attr.axes) != sorted(set(attr.axes) & set(range(len(operand.shape)))):
            fail(node, f"has axes {attr.axes} that are not ascending axes of its operand")
        if node.shape != tuple(n for a, n in enumerate(operand.shape) if a not in attr.axes):
            fail(node, "has the wrong shape")
        if not is_reducible(attr.kind, operand.dtype):
            fail(node, f"reduces {operand.dtype}, which has no {attr.kind}")
        want = INT64 if attr.kind.startswith("arg") else operand.dtype
        if node.dtype != want or (attr.kind in ("any", "all") and node.dtype != BOOL):
            fail(node, "has the wrong dtype")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        kind, axes = node.reduction.kind, node.reduction.axes
        (array,) = operands
        if kind not in _BY_ROWS:
            return getattr(np, kind)(array, axis=axes)
        kept = [a for a in range(array.ndim) if a not in axes]
        length = math.prod(array.shape[a] for a in axes)
        rows = array.transpose(*kept, *axes).reshape(*(array.shape[a] for a in kept), length)
        return _BY_ROWS[kind](rows, group)

    def domain(self, node: Node) -> Shape:
        return node.operands[0].shape


_BY_ROWS: dict[str, Callable[[Array, int], Any]] = {
    "sum": tree_sum,
    "prod": tree_prod,
    "argmax": lambda rows, _: np.asarray(rows.argmax(axis=-1)),
    "argmin": lambda rows, _: np.asarray(rows.argmin(axis=-1)),
}


class SegmentReduce(Structure):
    """`result[…, j, …]`: operand 0 from operand 1's `j` on, before operand 2's, reduced"""

    name, example = "segment", "f64[4] segment(%0, %2, %4), kind=sum, axes={0}"
    stored, may_fail = "a reduction ends its pass", True

    def check(self, node: Node) -> None:
        arity(node, 3)
        operand, *ends = node.operands
        attr = node.attr
        if not isinstance(attr, Reduction) or attr.kind not in SEGMENTS or len(attr.axes) != 1:
            fail(node, f"has no kind among {', '.join(SEGMENTS)} along one axis")
        (axis,) = attr.axes
        if not 0 <= axis < len(operand.shape):
            fail(node, "has no such axis")
        if any(e.dtype != INT64 or e.shape != node.shape[axis : axis + 1] for e in ends):
            fail(node, "needs two int64 ends for each element along its axis")
        if node.shape != (*operand.shape[:axis], *ends[0].shape, *operand.shape[axis + 1 :]):
            fail(node, "has the wrong shape")
        if node.dtype != operand.dtype or not is_reducible(attr.kind, operand.dtype):
            fail(node, f"reduces {operand.dtype}, which has no {attr.kind}")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        array, first, last = operands
        (axis,) = node.reduction.axes
        if node.size and not np.all((first >= 0) & (first < last) & (last <= array.shape[axis])):
            raise IndexError(f"a segment is out of bounds for size {array.shape[axis]}")
        rows = np.moveaxis(array, axis, -1)
        return np.moveaxis(reduce_segments(node.reduction.kind, rows, first, last, group), -1, axis)

    def domain(self, node: Node) -> Shape:
        (axis,) = node.reduction.axes
        return (*node.shape, node.operands[0].shape[axis])

    def work(self, node: Node) -> int:
        return max(node.operands[0].size, node.size)

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        array, *ends = node.operands
        (axis,), rank = node.reduction.axes, len(node.shape)
        element = axis_map([(0, 1, rank if a == axis else a) for a in range(rank)], rank + 1)
        own = axis_map([(0, 1, axis)], rank + 1)
        return [(array, at.then(element)), *((end, at.then(own)) for end in ends)]


class Scan(Structure):
    """running sum, product or extreme along one axis, in order"""

    name, example, in_plans = "scan", "f64[6] scan(%0), kind=sum, axes={0}", True
    stored = "a scan goes along its axis"

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        kind, (axis,) = node.reduction.kind, node.reduction.axes
        if group > 1:
            return tree.scan_by_tree(kind, operands[0], axis, node.dtype)
        return tree.SCANNED[kind].accumulate(operands[0], axis=axis, dtype=node.dtype)


_SCANS = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}


def scan_of(node: Node) -> Reduction | None:
    """What ``node`` combines along which axis, if it is a scan."""
    call = node.attr
    if not isinstance(call, LibraryCall) or call.name not in _SCANS or call.args != (Operand(0),):
        return None
    (operand,) = node.operands
    known = is_supported(node.dtype) and is_supported(operand.dtype) and node.dtype.kind != "b"
    product = call.name != "cumsum" and node.dtype.kind == "c"  # NumPy's bits are the machine's
    axis = dict(call.kwargs).get("axis")
    if not known or product or not isinstance(axis, int) or not node.size > 0:
        return None
    axis %= len(node.shape)
    return Reduction(_SCANS[call.name], (axis,))
