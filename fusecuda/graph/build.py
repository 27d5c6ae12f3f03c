"""Typed construction: each function makes a node with NumPy's shape and dtype rules applied.

Type rules are NumPy's own (`numpy.ufunc.resolve_dtypes`, with Python scalars as weak types), shape
rules NumPy's broadcasting; errors are NumPy's exception types.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from . import index_map
from .dtypes import BOOL, INT64, DType, is_supported
from .index_map import IndexMap, Shape
from .node import Attr, LibraryCall, Node, Operand, PadWidths, Parameter, Reduction
from .ops import OPS

WEAK_TYPES = (int, float, complex)


def parameter(number: int, shape: Shape, dtype: DType, scalar: bool = False) -> Node:
    """Argument ``number``, an array of that shape and dtype or a scalar given at each call."""
    return Node("parameter", (), shape, dtype, Parameter(number, scalar))


def constant(value: Any, dtype: DType) -> Node:
    """A 0-d constant; raises OverflowError for a Python integer that ``dtype`` cannot hold."""
    if isinstance(value, int) and not isinstance(value, bool) and dtype.kind in "iu":
        info = np.iinfo(str(dtype))
        if not info.min <= value <= info.max:
            raise OverflowError(f"Python integer {value} out of bounds for {dtype}")
    return Node("constant", (), (), dtype, np.asarray(value, dtype).tobytes())


def iota(shape: Shape, axis: int) -> Node:
    """The index along ``axis`` at every element of ``shape``, int64."""
    return Node("iota", (), shape, INT64, axis)


@lru_cache(maxsize=4096)
def resolve(ufunc: np.ufunc, *types: DType | type) -> tuple[DType, ...]:
    """The loop dtypes that NumPy picks for ``ufunc`` on these operand dtypes or weak types."""
    return ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))


def convert(node: Node, dtype: DType) -> Node:
    """``node`` cast to ``dtype`` elementwise; the node itself if it has that dtype."""
    if node.dtype == dtype:
        return node
    if node.op == "constant":
        with np.errstate(all="ignore"):
            return constant(node.value.astype(dtype), dtype)
    return Node("convert", (node,), node.shape, dtype)


def elementwise(op: str, operands: Sequence[Node], dtype: DType, line: str | None = None) -> Node:
    """Row ``op`` on operands that have their loop dtypes; broadcasts them by NumPy's rule."""
    shape: Shape = ()
    for operand in operands:
        if operand.shape != shape and operand.shape:
            if shape:
                shape = broadcast_shapes(*(o.shape for o in operands))
                break
            shape = operand.shape
    placed = tuple(
        [o if o.shape == shape or not o.shape else broadcast_to(o, shape) for o in operands]
    )
    return Node(op, placed, shape, dtype, None, line)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast of ``shapes``; raises NumPy's ValueError, which shows them."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(str(s).replace(" ", "") for s in shapes)
        raise ValueError(f"operands could not be broadcast together with shapes {text}") from None


def where(condition: Node, a: Node, b: Node) -> Node:
    """``a`` where ``condition`` holds, else ``b``; ``a`` and ``b`` have one dtype."""
    return elementwise("where", (convert(condition, BOOL), a, b), a.dtype)


def index(node: Node, view: IndexMap, shape: Shape) -> Node:
    """The view of ``node`` through ``view``; views of views are composed into one map."""
    while node.op == "index":
        view = view.then(node.map)
        node = node.operands[0]
    if shape == node.shape and view.same_over(index_map.identity(len(shape)), shape):
        return node
    return Node("index", (node,), shape, node.dtype, view)


def broadcast_to(node: Node, shape: Shape) -> Node:
    """``node`` broadcast to ``shape``, which it must be able to take."""
    if node.shape == shape:
        return node
    return index(node, index_map.broadcast(node.shape, shape), shape)


def reshape(node: Node, shape: Shape) -> Node:
    """The elements of ``node`` in row-major order under another shape of the same size."""
    if shape == node.shape:
        return node
    if node.op == "reshape":
        return reshape(node.operands[0], shape)
    return Node("reshape", (node,), shape, node.dtype)


def reduce(kind: str, node: Node, axes: Sequence[int]) -> Node:
    """``node`` reduced over ``axes`` (non-negative, distinct), in its own dtype.

    ``any`` and ``all`` take bool; ``argmax`` and ``argmin`` give the int64 row-major position among
    the reduced axes. An empty reduction without identity raises NumPy's ValueError.
    """
    reduced = tuple(sorted(axes))
    shape = tuple(n for a, n in enumerate(node.shape) if a not in reduced)
    if kind in ("max", "min") and any(node.shape[a] == 0 for a in reduced):
        raise ValueError(f"zero-size array to reduction operation {kind}imum which has no identity")
    if kind in ("argmax", "argmin"):
        if any(node.shape[a] == 0 for a in reduced):
            raise ValueError(f"attempt to get {kind} of an empty sequence")
        return Node("reduce", (node,), shape, INT64, Reduction(kind, reduced))
    return Node("reduce", (node,), shape, node.dtype, Reduction(kind, reduced))


def segment(
    kind: str, node: Node, first: Node, last: Node, axis: int, line: str | None = None
) -> Node:
    """``node`` reduced along ``axis`` in segments, from ``first`` on and before ``last``.

    These are int64, one of each for a segment; a segment has an element at least.
    """
    shape = (*node.shape[:axis], *first.shape, *node.shape[axis + 1 :])
    return Node("segment", (node, first, last), shape, node.dtype, Reduction(kind, (axis,)), line)


def concatenate(parts: Sequence[Node], axis: int) -> Node:
    """``parts`` of one dtype joined along ``axis``; the other extents must agree."""
    first = parts[0]
    for part in parts[1:]:
        if len(part.shape) != len(first.shape):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but shapes {first.shape} and {part.shape} differ in rank"
            )
        for a, (m, n) in enumerate(zip(first.shape, part.shape, strict=True)):
            if a != axis and m != n:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {a} there are extents {m} and {n}"
                )
    kept = [p for p in parts if p.shape[axis]] or [first]
    if len(kept) == 1:
        return kept[0]
    total = sum(p.shape[axis] for p in kept)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return Node("concatenate", tuple(kept), shape, first.dtype, axis)


def pad(node: Node, fill: Node, widths: PadWidths) -> Node:
    """``node`` framed by the 0-d ``fill`` of the same dtype, ``widths`` (before, after) an axis."""
    shape = tuple(lo + n + hi for (lo, hi), n in zip(widths, node.shape, strict=True))
    return node if shape == node.shape else Node("pad", (node, fill), shape, node.dtype, widths)


def gather(node: Node, indices: Sequence[Node], line: str | None = None) -> Node:
    """``node[i0, i1, …]``: int64 indices, broadcast together, into its leading axes."""
    common = broadcast_shapes(*(i.shape for i in indices))
    placed = tuple(broadcast_to(i, common) for i in indices)
    shape = common + node.shape[len(indices) :]
    return Node("gather", (node, *placed), shape, node.dtype, None, line)


def search(table: Node, values: Node, side: str, line: str | None = None) -> Node:
    """How many elements of the 1-d ``table`` are before each of ``values``, on one of `SIDES`.

    They are compared in the dtype of ``values``, to which the table's can be cast.
    """
    return Node("search", (table, values), values.shape, INT64, side, line)


def update(old: Node, value: Node, region: IndexMap) -> Node:
    """``old`` with ``value``, of the same dtype, written where ``region`` maps its indices."""
    if value.size == 0:
        return old
    if value.shape == old.shape and region.is_identity():
        return value
    if value.op == "index" and value.size == old.size:
        axes = region.permutation()
        if axes is not None:
            return index(value, index_map.transpose(axes), old.shape)
    return Node("update", (old, value), old.shape, old.dtype, region)


def library(
    name: str,
    operands: Sequence[Node],
    shape: Shape,
    dtype: DType,
    args: tuple[Any, ...] | None = None,
    kwargs: tuple[tuple[str, Any], ...] = (),
    line: str | None = None,
) -> Node:
    """NumPy's function ``name`` on whole arrays, its result's shape and dtype known beforehand."""
    if args is None:
        args = tuple(Operand(i) for i in range(len(operands)))
    return Node("library", tuple(operands), shape, dtype, LibraryCall(name, args, kwargs), line)


def scatter(
    kind: str, old: Node, value: Node, indices: Sequence[Node], line: str | None = None
) -> Node:
    """``old`` with ``value`` written, or combined by ``kind``, at int64 ``indices``.

    They count along its first axes. Elements are taken in order; for kinds see `library.SCATTERS`.
    """
    common = broadcast_shapes(*(i.shape for i in indices))
    placed = [broadcast_to(i, common) for i in indices]
    spread = broadcast_to(value, common + old.shape[len(indices) :])
    operands = (old, spread, *placed)
    kwargs = (("kind", kind),)
    return library("scatter", operands, old.shape, old.dtype, None, kwargs, line)


def compact(value: Node, mask: Node, line: str | None = None) -> Node:
    """``value[mask]`` for a mask of its leading axes; the node's first extent is the most it has.

    Nothing in the graph may read it: it is a result.
    """
    rank = len(mask.shape)
    shape = (mask.size, *value.shape[rank:])
    return library("compact", (value, mask), shape, value.dtype, line=line)


def fusible(op: str, dtypes: Sequence[DType]) -> bool:
    """True if the op table has text for ``op`` on operands of ``dtypes``."""
    row = OPS.get(op)
    return (
        row is not None
        and all(is_supported(d) for d in dtypes)
        and all(row.c_text(d) is not None for d in dtypes)
    )


def make(op: str, operands: tuple[Node, ...], shape: Shape, dtype: DType, attr: Attr) -> Node:
    """A node as the parser reads it, unchecked; `graph.verify` checks it."""
    return Node(op, operands, shape, dtype, attr)
