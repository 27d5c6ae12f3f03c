"""Joining: arrays put together from arrays, or from shifted windows of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...graph import build
from ...graph.dtypes import BOOL, is_supported
from ..record.structure import leaves
from . import ufuncs
from .array import Array
from .held import compute_first
from .kept_order import along_kept_order, as_joined, axes_by, axes_of_copy, relaid
from .movement import broadcast_to, expand_dims, ravel, reshape, transpose
from .selection import astype, copy
from .table import handles
from .values import array_of, axis_of, is_given, of_node, rank_of, seen


@handles(np.concatenate)
def concatenate(
    arrays: Any, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Arrays joined along an axis, in their common dtype."""
    parts = [array_of(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if any(p.ndim == 0 for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    common = np.dtype(dtype) if dtype is not None else np.result_type(*(p.dtype for p in parts))
    if dtype is not None and not all(np.can_cast(p.dtype, common, casting) for p in parts):
        return NotImplemented
    if not all(is_supported(d) for d in (common, *(p.dtype for p in parts))):
        return NotImplemented
    along = axis_of(axis, parts[0].ndim)
    compute_first(parts)
    return along_kept_order(_concatenated, parts, along, common, rule=as_joined)


def _concatenated(parts: Sequence[Array], axis: int, dtype: Any) -> Any:
    return of_node(build.concatenate([ufuncs.node_of(p, dtype) for p in parts], axis))


@handles(np.block)
def block(arrays: Any) -> Any:
    """Arrays joined as they stand in nested lists, the innermost along the last axis.

    What is nested unevenly, or holds tuples, is left to NumPy, which says so.
    """
    depth = _depth(arrays)
    if depth is None:
        return NotImplemented
    parts = [array_of(part) for part in leaves(arrays)]
    rank = max(depth, *(part.ndim for part in parts))
    made = _blocks(arrays, rank, depth)
    if depth == 0:
        return copy(made, "C")
    if depth * made.size <= _PUT_TOGETHER:
        return made
    flags = [part.will_lie().flags for part in parts]
    in_columns = all([f.f_contiguous for f in flags]) and not all([f.c_contiguous for f in flags])
    return astype(made, made.dtype, "F" if in_columns else "C", copy=False)


_PUT_TOGETHER = 2 * 512 * 512  # elements, times depth, beyond which NumPy fills an array by slices


def _depth(arrays: Any) -> int | None:
    """How deep lists are nested; None if not everywhere alike, or if one is empty."""
    if not isinstance(arrays, list):
        return None if isinstance(arrays, tuple) else 0
    depths = {_depth(part) for part in arrays}
    (depth,) = depths if len(depths) == 1 else (None,)
    return None if depth is None else depth + 1


def _blocks(arrays: Any, rank: int, depth: int) -> Any:
    if depth == 0:
        part = array_of(arrays)
        return part[(None,) * (rank - part.ndim) + (...,)]
    parts = [_blocks(part, rank, depth - 1) for part in arrays]
    return np.concatenate(parts, axis=rank - depth)


@handles(np.stack)
def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, **kw: Any) -> Any:
    """Arrays of one shape joined along a new axis."""
    parts = [array_of(a) for a in arrays]
    if kw or len({p.shape for p in parts}) != 1:
        return NotImplemented
    return concatenate([expand_dims(p, axis) for p in parts], axis, dtype=dtype)


@handles(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array framed by one value or its own elements; what is computed of these is NumPy's."""
    x = array_of(array)
    if mode in ("reflect", "symmetric") and kwargs.get("reflect_type") == "even":
        del kwargs["reflect_type"]
    value = kwargs.pop("constant_values", 0) if mode == "constant" else 0
    margin = _MARGINS.get(mode) if isinstance(mode, str) else None
    if margin is None and mode != "constant":
        return NotImplemented
    if kwargs or rank_of(value) or isinstance(pad_width, dict) or not is_supported(x.dtype):
        return NotImplemented
    if not is_given(pad_width):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(seen(pad_width)), (x.ndim, 2)).tolist()
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    axes = tuple(axes_by(x, "A") or range(x.ndim))
    turned, ordered = x.transpose(*axes), [widths[a] for a in axes]
    if margin is not None:
        if any(max(w) and n < _least(mode, w) for n, w in zip(x.shape, widths, strict=True)):
            return NotImplemented  # NumPy goes to and fro, or raises
        return relaid(_extended(turned, ordered, margin), axes)
    fill = ufuncs.node_of(value, x.dtype)
    framed = build.pad(turned.read_node(), fill, tuple(tuple(pair) for pair in ordered))
    return relaid(of_node(framed, is_scalar=False), axes)


def _are_chosen_quickly(shape: Sequence[int], widths: Sequence[Sequence[int]]) -> bool:
    """False where each run of a few elements would be chosen from nine places or more.

    So it is for margins of several axes with others behind them, or of three.
    """
    padded = [axis for axis, pair in enumerate(widths) if any(pair)]
    return len(padded) < 2 or (len(padded) == 2 and math.prod(shape[padded[-1] + 1 :]) == 1)


def _least(mode: str, widths: Sequence[int]) -> int:
    """The elements that an axis needs for margins of its own elements, each taken once."""
    return 1 if mode == "edge" else max(widths) + (mode == "reflect")


def _extended(x: Array, widths: Sequence[Sequence[int]], margin: Margin) -> Any:
    """``x`` with margins along each axis in turn, corners of those before."""
    found, apart = x, not _are_chosen_quickly(x.shape, widths)
    for axis, pair in enumerate(widths):
        if apart and found is not x and any(pair):  # stored: each axis is one kernel's
            node = found.read_node()
            found = of_node(build.library("copy", [node], node.shape, node.dtype), is_scalar=False)
        shape, lead = list(found.shape), (slice(None),) * axis
        margins = []
        for width, along in zip(pair, margin(shape[axis], *pair), strict=True):
            part = found[(*lead, along)] if width else found[(*lead, slice(0, 0))]
            shape[axis] = width
            margins.append(broadcast_to(part, tuple(shape)))
        parts = [p for p in (margins[0], found, margins[1]) if p.shape[axis]]
        if len(parts) > 1:
            found = _concatenated(parts, axis, found.dtype)
    return copy(found) if found is x else found


Margin = Callable[[int, int, int], tuple[slice, slice]]


def _reflected(n: int, before: int, after: int) -> tuple[slice, slice]:
    end = n - 2 - after
    return slice(before, 0, -1), slice(n - 2, end if end >= 0 else None, -1)


def _mirrored(n: int, before: int, after: int) -> tuple[slice, slice]:
    end = n - 1 - after
    return slice(before - 1, None, -1), slice(n - 1, end if end >= 0 else None, -1)


_MARGINS: dict[str, Margin] = {  # what is in front of an axis of n elements, and behind it
    "edge": lambda n, before, after: (slice(0, 1), slice(n - 1, n)),
    "wrap": lambda n, before, after: (slice(n - before, None), slice(None, after)),
    "reflect": _reflected,
    "symmetric": _mirrored,
}


@handles(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved around along axes."""
    if not is_given(shift):
        return NotImplemented
    x = array_of(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    pairs = np.broadcast(seen(shift), axis)
    if pairs.ndim > 1:
        return NotImplemented
    order = axes_of_copy(x, "K") or tuple(range(x.ndim))  # parts of one element do not tell
    laid = x = transpose(x, order)
    for amount, one in pairs:
        along = order.index(normalize_axis_index(one, x.ndim))
        n = x.shape[along]
        cut = int(amount) % n if n else 0
        if cut:
            lead = (slice(None),) * along
            high, low = x[(*lead, slice(n - cut, None))], x[(*lead, slice(None, n - cut))]
            x = concatenate([high, low], along)
    return relaid(x, order) if x is not laid else copy(a)


@handles(np.diff)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    """Differences of neighbours, with what is to stand at the ends."""
    x = array_of(a)
    if x.ndim == 0 or n < 0:
        return NotImplemented
    along = normalize_axis_index(axis, x.ndim)
    given = [end for end in (prepend, a, append) if end is not np._NoValue]
    if n and len(given) > 1:
        parts = [array_of(end) for end in given]
        one = (*x.shape[:along], 1, *x.shape[along + 1 :])
        x = concatenate([p if p.ndim else broadcast_to(p, one) for p in parts], along)
    if x is NotImplemented:
        return x
    lead = (slice(None),) * along
    for _ in range(n):
        high, low = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = high != low if x.dtype == BOOL else high - low
    return x
