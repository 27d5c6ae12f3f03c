"""Sliding windows: views in which neighbours share elements, and sums of products over them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...graph import build
from ...graph.dtypes import BOOL, computed_in, is_supported
from ...graph.index_map import IndexMap
from . import ufuncs
from .array import Array
from .table import handles
from .values import array_of, is_given, of_node, seen

_TAPS = 32  # of a filter, up to which a sum of products is read quicker than it is convolved


@handles(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """A view of the windows at all places, of which each window axis steps as one of ``x`` does."""
    a = array_of(x)
    if not a.ndim or not is_given(window_shape):
        return NotImplemented
    wanted = seen(window_shape)
    window = tuple(map(operator.index, wanted if np.iterable(wanted) else (wanted,)))
    slid = normalize_axis_tuple(range(a.ndim) if axis is None else axis, a.ndim, None, True)
    if len(slid) != len(window):
        raise ValueError("there must be an extent of the window for each axis that it slides along")
    shape = list(a.shape)
    for along, extent in zip(slid, window, strict=True):
        if not 0 <= extent <= shape[along]:
            raise ValueError("a window is as large as what it slides along at most")
        shape[along] -= extent - 1
    result = (*shape, *window)
    walked = (*range(a.ndim), *slid)
    rows = tuple(tuple(int(d == j) for j in walked) for d in range(a.ndim))
    view = IndexMap(len(result), (0,) * a.ndim, rows)
    made: Array = a.seen_through(a.view_of_storage.mapped(view, result))
    made.writeable = a.writeable and writeable
    return made


@handles(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """Sums of products of each window with the fewer elements, backwards."""
    long, taps = array_of(a), array_of(v)
    if long.ndim == taps.ndim == 1 and taps.size > long.size:
        long, taps = taps, long
    return _filtered(long, taps[::-1], mode) if taps.ndim else NotImplemented


@handles(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Sums of products of each window with the fewer elements."""
    long, taps = array_of(a), array_of(v)
    if long.ndim == taps.ndim == 1 and taps.size > long.size:
        found = _filtered(taps, long, mode)
        return found if found is NotImplemented else found[::-1].copy()
    return _filtered(long, taps, mode)


def _filtered(x: Array, taps: Array, mode: Any) -> Any:
    """At each place the sum of the products of ``taps`` with as many elements of ``x``."""
    if x.ndim != 1 or taps.ndim != 1 or not 0 < taps.size <= _TAPS:
        return NotImplemented
    dtype, count = np.result_type(x.dtype, taps.dtype), taps.size
    before = {"valid": 0, "same": count // 2, "full": count - 1}.get(mode)
    if before is None or not is_supported(dtype) or dtype.kind == "c":
        return NotImplemented
    after = {"valid": 0, "same": count - 1 - before}.get(mode, before)
    wider = computed_in(dtype)
    windows = (x.size + before + after - count + 1, count)
    zero = build.constant(0, wider)
    elements = build.convert(ufuncs.node_of(x, dtype), wider)
    framed = build.pad(elements, zero, ((before, after),))
    elements = build.index(framed, IndexMap(2, (0,), ((1, 1),)), windows)
    # What lies outside has the factor 0, for some factor may not be finite.
    factors = build.broadcast_to(build.convert(ufuncs.node_of(taps, dtype), wider), (x.size, count))
    framed = build.pad(factors, zero, ((before, after), (0, 0)))
    factors = build.index(framed, IndexMap(2, (0, 0), ((1, 1), (0, 1))), windows)
    kind, product = ("any", "bitwise_and") if dtype == BOOL else ("sum", "multiply")
    products = build.elementwise(product, [elements, factors], wider)
    return of_node(build.convert(build.reduce(kind, products, (1,)), dtype), is_scalar=False)
