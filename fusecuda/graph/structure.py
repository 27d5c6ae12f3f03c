"""The structural operations: all that is not elementwise, a class for each, in one table.

A class says what its name means everywhere: when a node is well formed, its value (NumPy's), what
one element is computed from, and what a plan must know of it. A new one is a class here; a kernel
that computes it otherwise than by its demands has statements of its own (fusion/lowering.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np

from . import library, tree
from .dtypes import INT64
from .folds import Reduce, Scan, SegmentReduce, scan_of
from .index_map import IndexMap, Shape
from .node import SIDES, LibraryCall, Node, Operand, Parameter
from .structural import Demand, Structure, arity, fail, is_map, plain, same_dtype
from .views import Array, view, written


class _Leaf(Structure):
    is_free = True

    def check(self, node: Node) -> None:
        arity(node, 0)


class _Argument(_Leaf):
    """what a run is given first; `, scalar`: a number given by value"""

    name, example = "parameter", "f64[100] parameter(0)"
    is_leaf = unstored = True

    def check(self, node: Node) -> None:
        super().check(node)
        if not isinstance(node.attr, Parameter):
            fail(node, "has no number")


class _Constant(_Leaf):
    """one value, its exact bits"""

    name, example = "constant", "f64[] constant(0x3ff0000000000000)"
    is_leaf = unstored = True

    def check(self, node: Node) -> None:
        super().check(node)
        bits = node.attr
        if node.shape or not isinstance(bits, bytes) or len(bits) != node.dtype.itemsize:
            fail(node, "does not hold one value of its dtype")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        return node.value


class _Iota(_Leaf):
    """the index along an axis"""

    name, example = "iota", "s64[4,3] iota(), axis=1"

    def check(self, node: Node) -> None:
        super().check(node)
        axis = node.attr
        if not (isinstance(axis, int) and 0 <= axis < len(node.shape) and node.dtype == INT64):
            fail(node, "needs an axis of its shape and dtype int64")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        shape = [1] * len(node.shape)
        shape[node.axis] = -1
        return np.broadcast_to(np.arange(node.shape[node.axis]).reshape(shape), node.shape)


class _Index(Structure):
    """the operand through an affine map"""

    name, example = "index", "f64[3] index(%0), map=(d0) -> (d0 + 1)"
    is_free = is_view = True

    def check(self, node: Node) -> None:
        arity(node, 1)
        same_dtype(node)
        (operand,) = node.operands
        if not is_map(node.attr, operand, node):
            fail(node, "has a map of the wrong rank")
        if not node.map.fits(node.shape, operand.shape):
            fail(node, f"reads outside its operand: {node.map}")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        return view(operands[0], node.map, node.shape)

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        return [(node.operands[0], at.then(node.map))]


class _Reshape(Structure):
    """the same elements, in row-major order"""

    name, example = "reshape", "f64[2,3] reshape(%0)"
    is_free = is_view = unstored = True
    whole = "a reshape merges its axes"

    def check(self, node: Node) -> None:
        plain(node)
        arity(node, 1)
        same_dtype(node)
        if node.operands[0].size != node.size:
            fail(node, "changes the number of elements")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        return operands[0].reshape(node.shape)


class _Concatenate(Structure):
    """operands joined along an axis"""

    name, example, cost = "concatenate", "f64[12] concatenate(%0, %0), axis=0", 3
    is_choice = True

    def check(self, node: Node) -> None:
        same_dtype(node)
        axis = node.attr
        if not isinstance(axis, int) or not 0 <= axis < len(node.shape) or not node.operands:
            fail(node, "has no such axis")
        shapes = [o.shape for o in node.operands]
        rest = node.shape[:axis] + node.shape[axis + 1 :]
        rank = len(node.shape)
        if any(len(s) != rank or s[:axis] + s[axis + 1 :] != rest for s in shapes):
            fail(node, "has operands of unlike shapes")
        if sum(s[axis] for s in shapes) != node.shape[axis]:
            fail(node, "has the wrong extent")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        return np.concatenate(operands, axis=node.axis)

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        extents = [part.shape[node.axis] for part in node.operands]
        starts = accumulate(extents, initial=0)
        unit = [axis == node.axis for axis in range(len(node.shape))]
        return [
            (part, at.moved([-start * axis for axis in unit]))
            for part, start in zip(node.operands, starts, strict=False)
        ]


class _Pad(Structure):
    """the operand framed by a value"""

    name, example, cost = "pad", "f64[8] pad(%0, %1), widths=1_1", 3
    is_choice = True

    def check(self, node: Node) -> None:
        arity(node, 2)
        same_dtype(node)
        operand, fill = node.operands
        widths = node.attr
        if fill.shape != () or not isinstance(widths, tuple) or len(widths) != len(operand.shape):
            fail(node, "needs a 0-d fill and one pair of widths for each axis")
        framed = tuple(lo + n + hi for (lo, hi), n in zip(widths, operand.shape, strict=True))
        if framed != node.shape or any(w < 0 for pair in widths for w in pair):
            fail(node, "has the wrong shape")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        assert isinstance(node.attr, tuple)
        return np.pad(operands[0], node.attr, constant_values=operands[1][()])

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        assert isinstance(node.attr, tuple)
        framed, fill = node.operands
        return [(framed, at.moved([-low for low, _ in node.attr])), (fill, at.leading(0))]


class _Gather(Structure):
    """`result[b…, r…] = operand[i0[b…], …, r…]`"""

    name, example, cost, may_fail = "gather", "f64[4] gather(%0, %2)", 9, True
    whole, looks_up = "a gather reads it at computed indices", True

    def check(self, node: Node) -> None:
        plain(node)
        if not node.operands:
            fail(node, "has no operand")
        operand, *indices = node.operands
        if not indices or any(i.dtype != INT64 for i in indices) or operand.dtype != node.dtype:
            fail(node, "needs int64 indices and keeps its operand's dtype")
        if len(indices) > len(operand.shape):
            fail(node, "has more indices than its operand has axes")
        common = indices[0].shape
        shape = common + operand.shape[len(indices) :]
        if any(i.shape != common for i in indices) or node.shape != shape:
            fail(node, "has the wrong shape")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        return operands[0][tuple(operands[1:])]

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        _, *indices = node.operands
        return [(index, at.leading(len(index.shape))) for index in indices]


class _Search(Structure):
    """how many elements of operand 0, sorted, are below operand 1; `right`: not above it"""

    name, example, cost = "search", "s64[6] search(%0, %3), side=left", 60
    whole, looks_up = "a search reads it at places that it finds", True

    def check(self, node: Node) -> None:
        arity(node, 2)
        table, values = node.operands
        if node.attr not in SIDES:
            fail(node, f"has no side among {', '.join(SIDES)}")
        if len(table.shape) != 1 or node.shape != values.shape or node.dtype != INT64:
            fail(node, "needs a 1-d array, and has an int64 for each value")
        kinds = table.dtype.kind + values.dtype.kind
        if not set(kinds) <= set("biuf") or not np.can_cast(table.dtype, values.dtype):
            fail(node, "compares real numbers in the dtype of its values")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        table, values = operands
        table = table.astype(values.dtype)
        side: Any = node.side
        return np.asarray(table.searchsorted(values, side), INT64)

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        return [(node.operands[1], at)]


class _Update(Structure):
    """operand 0, operand 1 written in it"""

    name, example = "update", "f64[6] update(%0, %3), map=(d0) -> (d0)"
    stored = "an update writes to its storage"
    whole = "an update writes into it"

    def check(self, node: Node) -> None:
        arity(node, 2)
        same_dtype(node)
        old, value = node.operands
        if old.shape != node.shape:
            fail(node, "changes the shape")
        if not is_map(node.attr, old, value):
            fail(node, "has a map of the wrong rank")
        if not node.map.fits(value.shape, old.shape) or not node.map.is_injective(value.shape):
            fail(node, f"writes outside its operand or twice in one place: {node.map}")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        old, value = operands
        return written(node, old.copy(), value)

    def domain(self, node: Node) -> Shape:
        return node.operands[1].shape

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        return [(node.operands[1], at)]


class _Scatter(Structure):
    """operand 0, operand 1 written or added at indices, in order"""

    name, example, cost = "scatter", "f64[6] scatter(%0, %1, %2), kind=add", 9
    may_fail, in_plans = True, True
    stored = "a scatter takes its elements one after the other"
    whole = "an update writes into it"

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        old, *rest = operands
        new, region = old.copy(), node.scatter
        target = view(new, region.map, region.shape)
        args = tuple(map(Operand, range(len(operands))))
        call = LibraryCall("scatter", args, (("kind", region.kind),))
        target[...] = library.call(call, [target, *rest], line=node.line)
        return new

    def domain(self, node: Node) -> Shape:
        return node.operands[1].shape

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        _, value, *indices = node.operands
        return [(value, at), *((index, at.leading(len(index.shape))) for index in indices)]


class _Compact(Structure):
    """the rows of operand 0 where operand 1, of its leading axes, holds; at most so many"""

    name, example, cost, in_plans = "compact", "f64[6] compact(%0, %1)", 2, True
    stored = "a compaction writes its elements side by side"

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        array, mask = operands
        return array[mask].reshape(-1, *node.shape[1:])

    def domain(self, node: Node) -> Shape:
        return node.operands[0].shape

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        array, mask = node.operands
        return [(array, at), (mask, at.leading(len(mask.shape)))]


class _Library(Structure):
    """NumPy's function as it is"""

    name, example = "library", "f64[6] library(%0), call=sort($0, axis=-1)"

    def check(self, node: Node) -> None:
        if not isinstance(node.attr, LibraryCall) or not library.known(node.attr.name):
            fail(node, "names no library function")
        numbers = [a.number for a in node.attr.args if isinstance(a, Operand)]
        if any(not 0 <= n < len(node.operands) for n in numbers):
            fail(node, "names an operand that it does not have")

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        assert isinstance(node.attr, LibraryCall)
        scan = scan_of(node) if group > 1 else None
        if scan is not None:
            (axis,) = scan.axes
            return tree.scan_by_tree(scan.kind, operands[0], axis, node.dtype)
        return np.asarray(library.call(node.attr, operands, line=node.line))


ROWS: tuple[Structure, ...] = (
    _Argument(), _Constant(), _Iota(), _Index(), _Reshape(), Reduce(), SegmentReduce(), Scan(),
    _Concatenate(), _Pad(), _Gather(), _Search(), _Update(), _Scatter(), _Compact(), _Library(),
)  # fmt: skip
STRUCTURES: dict[str, Structure] = {row.name: row for row in ROWS}
_ELEMENTWISE = Structure()


def structure_of(node: Node) -> Structure:
    """The row of ``node``; one that holds for all of them if it is elementwise."""
    return STRUCTURES.get(node.op, _ELEMENTWISE)


def is_compaction(node: Node) -> bool:
    """True if ``node`` has as many rows as its values tell, at most those of its shape."""
    return node.op == "compact" or (
        isinstance(node.attr, LibraryCall) and node.attr.name == "compact"
    )


def operations(nodes: Iterable[Node]) -> list[Node]:
    """Those of ``nodes`` that compute or move something."""
    return [node for node in nodes if not structure_of(node).is_free]
