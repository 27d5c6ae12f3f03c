"""Reductions: sums, products, extremes and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import (
    BOOL,
    FLOAT64,
    INT64,
    DType,
    computed_in,
    is_reducible,
    is_supported,
    kind_of,
    part_of_complex,
)
from ...graph.index_map import Shape, transpose
from ...graph.node import Node
from ..record.recorder import current_recorder
from . import ufuncs
from .array import Array
from .kept_order import axes_by, relaid
from .memory import in_force
from .table import Handler, handles
from .values import array_of, as_int, axes_of, axis_of, keeps, mask_of, of_node, reduced_axes


def _reduced(a: Array, node: Node, kind: str, axis: Any, keepdims: Any) -> Array:
    """``node``, the value of ``a``, reduced: in the order of memory if its elements keep theirs."""
    axes = reduced_axes(a, axis)
    order = None if in_force().dispatching else axes_by(a, "K")
    in_rows = kind.startswith("arg") and a.ndim > 2  # which NumPy gives in rows
    if order is None or in_rows:
        return of_node(_shaped(build.reduce(kind, node, axes), a.shape, axes, keepdims))
    if [d for d in order if d in axes] != sorted(axes):  # their elements are combined in rows
        order = (*(d for d in order if d not in axes), *sorted(axes))
    inner = [d for d, axis in enumerate(order) if axis in axes]
    shape = tuple(a.shape[d] for d in order)
    laid = build.index(node, transpose(order), shape)
    result = of_node(_shaped(build.reduce(kind, laid, inner), shape, inner, keepdims))
    kept = order if keeps(keepdims) else [d for d in order if d not in axes]
    return relaid(result, tuple(sorted(kept).index(d) for d in kept))


def _shaped(result: Node, shape: Shape, axes: Sequence[int], keepdims: Any) -> Node:
    """``result``, of ``shape`` without ``axes``, with these as axes of extent 1 if asked for."""
    if not keeps(keepdims):
        return result
    return build.reshape(result, tuple(1 if d in axes else n for d, n in enumerate(shape)))


def _selected(node: Node, where: Any, fill: Any) -> Node:
    """``node`` where ``where`` holds, ``fill`` (an identity) elsewhere."""
    if not _masks(where):
        return node
    mask = mask_of(where)
    if build.broadcast_shapes(mask.shape, node.shape) != node.shape:
        raise ValueError(f"a mask of {mask.shape} does not fit {node.shape}")  # as for this
    holds = build.broadcast_to(mask.read_node(), node.shape)
    return build.where(holds, node, build.constant(fill, node.dtype))


def _masks(where: Any) -> bool:
    return where is not True and where is not np._NoValue


def _counts_values(where: Any) -> bool:
    """True if NumPy's moments count elements by the sum of a mask that is of numbers."""
    return _masks(where) and array_of(where).dtype != BOOL


def _plus_initial(result: Array, initial: Any, ufunc: np.ufunc) -> Any:
    """``result`` with the number ``initial``, if one is given; NumPy has rules for what is none."""
    if initial is np._NoValue:
        return result
    is_number = isinstance(initial, int | float | complex | np.number)
    return ufunc(result, result.dtype.type(initial)) if is_number else NotImplemented


def widened(dtype: DType) -> DType:
    """The type in which NumPy adds and multiplies numbers of ``dtype``."""
    if dtype.kind in "biu" and dtype.itemsize < INT64.itemsize:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


def _summed(kind: str, ufunc: np.ufunc, identity: int) -> Handler:
    def handler(
        a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = np._NoValue,
    ) -> Any:  # fmt: skip
        x = array_of(a)
        loop = np.dtype(dtype) if dtype is not None else widened(x.dtype)
        if not is_supported(x.dtype) or not is_reducible(kind, loop):
            return NotImplemented
        if loop == BOOL:
            if _masks(where) or initial is not np._NoValue:
                return NotImplemented
            kind_of_bool = "any" if kind == "sum" else "all"
            return _reduced(x, ufuncs.node_of(x, BOOL), kind_of_bool, axis, keepdims)
        node = _selected(ufuncs.node_of(x, loop), where, identity)
        return _plus_initial(_reduced(x, node, kind, axis, keepdims), initial, ufunc)

    return handler


handles(np.sum)(_summed("sum", np.add, 0))
prod = handles(np.prod)(_summed("prod", np.multiply, 1))


def _extreme(kind: str, ufunc: np.ufunc) -> Handler:
    def handler(
        a: Any, axis: Any = None, out: None = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = np._NoValue,
    ) -> Any:  # fmt: skip
        x = array_of(a)
        if not is_reducible(kind, x.dtype) or _masks(where):
            return NotImplemented
        if initial is not np._NoValue and 0 in x.shape:
            return NotImplemented
        return _plus_initial(_reduced(x, x.read_node(), kind, axis, keepdims), initial, ufunc)

    return handler


handles(np.max, np.amax)(_extreme("max", np.maximum))
handles(np.min, np.amin)(_extreme("min", np.minimum))


def _logical(kind: str) -> Handler:
    def handler(
        a: Any, axis: Any = None, out: None = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        x = array_of(a)
        if not is_supported(x.dtype):
            return NotImplemented
        node = _selected(ufuncs.node_of(x, BOOL), where, kind == "all")
        return _reduced(x, node, kind, axis, keepdims)

    return handler


handles(np.any)(_logical("any"))
handles(np.all)(_logical("all"))


def _arg_extreme(kind: str) -> Handler:
    def handler(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
        x = array_of(a)
        if not is_reducible(kind, x.dtype):
            return NotImplemented
        axes = axes_of(x, axis if axis is None else axis_of(axis, x.ndim))
        keep = keepdims is not np._NoValue and bool(keepdims)
        return _reduced(x, x.read_node(), kind, axes, keep)

    return handler


argmax = handles(np.argmax)(_arg_extreme("argmax"))
argmin = handles(np.argmin)(_arg_extreme("argmin"))


def _mean_type(x: Array, dtype: Any) -> Any:
    if dtype is not None:
        return np.dtype(dtype)
    return FLOAT64 if x.dtype.kind in "biu" else x.dtype


def _count(x: Array, axis: Any) -> int:
    return math.prod(x.shape[a] for a in reduced_axes(x, axis))


def _warns(x: Array, axis: Any, ddof: Any) -> bool:
    """True if NumPy warns of too few elements, and can be asked to."""
    return type(ddof) is int and _count(x, axis) <= ddof and current_recorder().may_compute


@handles(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, *,
    where: Any = np._NoValue,
) -> Any:  # fmt: skip
    """Sum over count, as NumPy computes it."""
    x = array_of(a)
    loop = _mean_type(x, dtype)
    if not is_supported(x.dtype) or not is_supported(loop):
        return NotImplemented
    if kind_of(loop) not in "fc" or _warns(x, axis, 0) or _counts_values(where):
        return NotImplemented
    wider = computed_in(loop)
    keep = keeps(keepdims)
    total: Any = np.sum(x, axis=axis, dtype=wider, keepdims=keep, where=where)
    if _masks(where):
        counted = np.broadcast_to(array_of(where), x.shape)
        return (total / np.sum(counted, axis=axis, keepdims=keep)).astype(loop)
    found = total / wider.type(_count(x, axis))
    return found if wider == loop else found.astype(loop)


@handles(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0,
    keepdims: Any = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """The mean of squared distances from the mean, in two passes, as NumPy computes it."""
    x = array_of(a)
    ddof = kwargs.pop("correction", ddof)
    where = kwargs.pop("where", np._NoValue)
    loop = _mean_type(x, dtype)
    if (
        not is_supported(x.dtype)
        or not is_supported(loop)
        or kind_of(loop) not in "fc"
        or (dtype is not None and "c" in (loop.kind, x.dtype.kind))  # NumPy mixes them
        or any(v is not np._NoValue and v is not True for v in kwargs.values())
        or _warns(x, axis, ddof)
        or _counts_values(where)
    ):
        return NotImplemented
    if _masks(where):
        return _var_under(x, axis, loop, ddof, keeps(keepdims), array_of(where))
    count, wider = _count(x, axis), computed_in(loop)  # sums, and counts, of which are rounded once
    center: Any = np.sum(x, axis=axis, dtype=wider, keepdims=True)
    center = center / wider.type(count)
    distance = np.subtract(x, center if wider == loop else center.astype(loop))
    if loop.kind == "c":
        loop = wider = part_of_complex(loop)
        squares = np.square(distance.real) + np.square(distance.imag)
    else:
        squares = distance * distance
    total: Any = np.sum(squares, axis=axis, dtype=wider, keepdims=keeps(keepdims))
    found = total / wider.type(max(count - ddof, 0))
    return found if wider == loop else found.astype(loop)


def _var_under(x: Array, axis: Any, loop: Any, ddof: Any, keep: bool, where: Array) -> Any:
    if loop.kind == "c":
        return NotImplemented
    counted = np.broadcast_to(where, x.shape)
    total: Any = np.sum(x, axis=axis, dtype=loop, keepdims=True, where=where)
    center = (total / np.sum(counted, axis=axis, keepdims=True)).astype(loop)
    distance = np.subtract(x, center)
    squares: Any = np.sum(distance * distance, axis=axis, dtype=loop, keepdims=keep, where=where)
    freedom = np.maximum(np.sum(counted, axis=axis, keepdims=keep) - ddof, 0)
    return (squares / freedom).astype(loop)


def _root_of(variance: Handler) -> Handler:
    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        found = variance(a, *args, **kwargs)
        return found if found is NotImplemented else np.sqrt(found)

    return handler


std = handles(np.std)(_root_of(var))


@handles(np.ptp)
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    """The largest minus the smallest."""
    x = array_of(a)
    keep = keeps(keepdims)
    return np.max(x, axis=axis, keepdims=keep) - np.min(x, axis=axis, keepdims=keep)


@handles(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero; where NumPy gives a Python int, it is computed at once."""
    count = np.sum(array_of(a) != 0, axis=axis, keepdims=keepdims)
    return as_int(count) if axis is None and not keepdims and _COUNTS_ARE_INTS else count


_COUNTS_ARE_INTS = not isinstance(np.count_nonzero(np.ones(1)), np.generic)


def _ignoring_nan(function: Any, fill: int) -> Handler:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: None = None, **kw: Any) -> Any:
        x = array_of(a)
        if not is_supported(x.dtype):
            return NotImplemented
        kept = np.where(np.isnan(x), x.dtype.type(fill), x) if x.dtype.kind in "fc" else x
        return function(kept, axis=axis, dtype=dtype, **kw)

    return handler


handles(np.nansum)(_ignoring_nan(np.sum, 0))
handles(np.nanprod)(_ignoring_nan(np.prod, 1))
handles(np.nancumsum)(_ignoring_nan(np.cumsum, 0))
handles(np.nancumprod)(_ignoring_nan(np.cumprod, 1))


# --- extremes and moments of what is not NaN; where nothing is left, NaN
# NumPy's sums and moments look for NaN in its own types alone, its extremes in bfloat16 too.


def _number(value: Any) -> Array:
    """``value``, of rank 0 a scalar, as reductions give one and `where` does not."""
    return value if value.ndim else of_node(array_of(value).read_node())


def _extreme_but_nan(reduce: Handler, least: float) -> Handler:
    def handler(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
        x, keep = array_of(a), keeps(keepdims)
        if not is_supported(x.dtype) or x.dtype.kind == "c":
            return NotImplemented
        if kind_of(x.dtype) != "f":
            return reduce(x, axis=axis, keepdims=keep)
        missing, kind = np.isnan(x), x.dtype.type
        found = reduce(np.where(missing, kind(least), x), axis=axis, keepdims=keep)
        nothing = np.all(missing, axis=axis, keepdims=keep)
        return _number(np.where(nothing, kind(np.nan), found))

    return handler


handles(np.nanmax)(_extreme_but_nan(np.max, -np.inf))
handles(np.nanmin)(_extreme_but_nan(np.min, np.inf))


@handles(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False
) -> Any:
    """Sum over count of what is not NaN."""
    x, keep = array_of(a), keeps(keepdims)
    if dtype is not None or not is_supported(x.dtype) or x.dtype.kind == "c":
        return NotImplemented
    if x.dtype.kind != "f":
        return np.mean(x, axis=axis, keepdims=keep)
    missing = np.isnan(x)
    total = np.sum(np.where(missing, x.dtype.type(0), x), axis=axis, keepdims=keep)
    return (total / np.sum(~missing, axis=axis, keepdims=keep)).astype(x.dtype)


@handles(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0,
    keepdims: Any = False,
) -> Any:  # fmt: skip
    """As `var`, of what is not NaN; NaN where the degrees of freedom are none."""
    x, keep = array_of(a), keeps(keepdims)
    if dtype is not None or not is_supported(x.dtype) or x.dtype.kind == "c":
        return NotImplemented
    if x.dtype.kind != "f":
        return np.var(x, axis=axis, ddof=ddof, keepdims=keep)
    missing, kind = np.isnan(x), x.dtype
    zero, count = kind.type(0), np.sum(~missing, axis=axis, keepdims=True)
    total = np.sum(np.where(missing, zero, x), axis=axis, keepdims=True)
    distance = np.where(missing, zero, x - (total / count).astype(kind))
    squares = np.sum(distance * distance, axis=axis, keepdims=keep)
    freedom = np.sum(~missing, axis=axis, keepdims=keep) - ddof
    found = (squares / freedom).astype(kind)
    return _number(np.where(freedom <= 0, kind.type(np.nan), found))


handles(np.nanstd)(_root_of(nanvar))
