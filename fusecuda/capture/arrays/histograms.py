"""Histograms: counts between edges that are equally far apart, or given.

A quotient names a bin, and the edges on both sides of it tell if it is the next one: so the bins
are NumPy's, however the quotient is computed. Where no range is given it is looked at whether the
extremes make one; if not NumPy knows what to do, or the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, FLOAT64, INT64, is_supported
from ...graph.node import Node
from ..record.recorder import current_recorder
from . import movement
from .array import Array
from .ranges import linspace
from .scatters import sums
from .searching import is_real, is_rising, places
from .table import handles
from .values import array_of, is_given, of_node, seen

_FINEST = 16.0  # units in the last place of the larger end, which a bin is to be wide


@dataclass(frozen=True, slots=True)
class _Bins:
    """Of each value the bin, if it is ``inside``, and the edges of the ``count`` bins."""

    index: Any
    inside: Any
    count: int
    edges: Any


@handles(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts, or sums of weights, in equal bins of a range, or in others; and their edges."""
    values = movement.ravel(array_of(a))
    if isinstance(bins, Array | np.ndarray | list):
        found = _between(values, bins) if weights is None and range is None else None
    else:
        found = _equal(values, bins, range, _with_fractions)
    added, dtype = _added(weights, values.size)
    if found is None or added is None:
        return NotImplemented
    counts: Any = _summed(found.index, found.inside, added, found.count, dtype)
    if weights is not None:
        counts = counts.astype(array_of(weights).dtype, copy=False)
    if density:
        counts = counts / np.diff(found.edges).astype(float) / np.sum(counts)
    return counts, found.edges


@handles(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts, or sums of weights, in rectangles, and the edges on both sides."""
    points = [array_of(x), array_of(y)]
    if isinstance(bins, int | Array | np.ndarray):
        bins = [bins, bins]
    if any(p.ndim != 1 or not is_real(p.dtype) for p in points) or points[0].size != points[1].size:
        return NotImplemented
    if not isinstance(bins, list | tuple) or len(bins) != 2:
        return NotImplemented
    ends = [None, None] if range is None else range
    if not isinstance(ends, list | tuple | np.ndarray) or len(ends) != 2:
        return NotImplemented
    dtype = np.result_type(*(p.dtype for p in points))
    found = []
    for point, count, pair in zip(points, bins, ends, strict=True):
        values = point.astype(dtype, copy=False)
        if isinstance(count, Array | np.ndarray | list):
            found.append(_between(values, count))
        else:
            found.append(_equal(values, count, pair, _as_points))
    added, kind = _added(weights, points[0].size)
    first, second = found
    if first is None or second is None or added is None:
        return NotImplemented
    index = first.index * second.count + second.index
    inside = first.inside & second.inside
    counts: Any = _summed(index, inside, added, first.count * second.count, kind)
    counts = counts.astype(FLOAT64, copy=False).reshape(first.count, second.count)
    if density:
        total = np.sum(counts)
        counts = counts / np.diff(first.edges)[:, None] / np.diff(second.edges) / total
    return counts, first.edges, second.edges


def _added(weights: Any, count: int) -> tuple[Array | None, np.dtype[Any]]:
    """What each value adds, and the type of the sums; None for what NumPy adds in other ways."""
    if weights is None:
        return of_node(build.constant(1, INT64), is_scalar=True), INT64
    given = array_of(weights)
    known = is_supported(given.dtype) and np.can_cast(given.dtype, FLOAT64, "safe")
    if given.size != count or not known or given.dtype.kind == "b":
        return None, FLOAT64
    return movement.ravel(given).astype(FLOAT64, copy=False), FLOAT64


def _summed(index: Any, inside: Any, added: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """What is ``added`` ``inside``, by index."""
    kept: Any = np.where(inside, added, dtype.type(0))
    place: Any = np.clip(np.where(inside, index, 0), 0, count - 1)  # so it is known to be within
    return sums(place.read_node(), kept.read_node(), count, dtype)


# --- equal bins


def _with_fractions(values: np.dtype[Any], ends: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which `numpy.histogram` has edges, and compares them."""
    both = np.result_type(values, ends)
    return np.result_type(both, float) if both.kind in "iu" else both


def _as_points(values: np.dtype[Any], ends: np.dtype[Any]) -> np.dtype[Any]:
    """That in which `numpy.histogram2d` has edges."""
    return FLOAT64 if ends.kind in "iu" else ends


def _equal(values: Array, bins: Any, range: Any, rule: Any) -> _Bins | None:
    """The ``bins`` of ``values``; None where NumPy has to find them."""
    known = is_supported(values.dtype) and values.dtype.kind in "iuf"
    if type(bins) is not int or bins < 1 or not known or values.dtype == np.float16:
        return None
    if range is None:
        return _of_extremes(values, bins, rule)
    if not is_given(range):
        return None
    low, high = (seen(end) for end in range)
    ends = np.asarray((low, high))
    if ends.dtype.kind not in "iuf":
        return None
    if rule is _with_fractions:
        kind = np.histogram_bin_edges(np.empty(0, values.dtype), bins, (low, high)).dtype
    else:
        kind = np.linspace(low, high, 1).dtype
    first, last = kind.type(low), kind.type(high)
    width = (last - first) / bins
    if not _are_ordinary(first, last, width, values.dtype, kind):
        return None
    edges: Any = linspace(low, high, bins + 1, dtype=kind)
    wide = np.result_type(np.asarray(low) * 1.0, np.asarray(high) * 1.0, float(bins))
    start, step = wide.type(low), (wide.type(high) - wide.type(low)) / bins
    inside = (values >= low) & (values <= high)
    return _found(values, bins, inside, (first, last), (start, step), edges)


def _of_extremes(values: Array, bins: int, rule: Any) -> _Bins | None:
    """As `_equal`, between the least and the largest value."""
    kind = rule(values.dtype, values.dtype)
    if not values.size or not current_recorder().may_compute or kind.kind != "f":
        return None
    if values.dtype.kind in "iu" and values.dtype.itemsize > 4:  # of which doubles know not all
        return None
    first, last = np.min(values).astype(kind), np.max(values).astype(kind)
    width = (last - first) / bins
    if not bool(_are_ordinary(first, last, width, values.dtype, kind)):
        return None
    rising = np.arange(bins).astype(kind) * width + first
    edges = np.concatenate([rising, np.reshape(last, (1,))])
    return _found(values, bins, True, (first, last), (first, width), edges)


def _are_ordinary(first: Any, last: Any, width: Any, values: np.dtype[Any], kind: Any) -> Any:
    """True if the range is finite, and bins are far wider than what sets numbers apart."""
    if kind.kind != "f" or values.itemsize > kind.itemsize:
        return False
    finest = _FINEST * np.finfo(kind).eps * np.maximum(np.abs(first), np.abs(last))
    return np.isfinite(last - first) & (width > finest) & (width > np.finfo(kind).tiny)


def _found(
    values: Array, bins: int, inside: Any, ends: tuple[Any, Any], line: tuple[Any, Any], edges: Any
) -> _Bins:
    """The bins of ``values`` between ``ends``, whose edges stand on the ``line``."""
    first, last = ends
    kind = np.result_type(edges.dtype, values.dtype) if values.dtype.kind == "f" else edges.dtype
    start, step = line

    def edge(index: Any) -> Any:
        return (index.astype(step.dtype) * step + start).astype(edges.dtype)

    x = np.where(inside, values.astype(kind), first) if inside is not True else values.astype(kind)
    index = np.minimum(np.floor((x - first) * (bins / (last - first))), bins - 1)
    index = np.where(x < edge(index), index - 1, index)
    index = np.where((x >= edge(index + 1)) & (index != bins - 1), index + 1, index)
    return _Bins(index.astype(np.int64), inside, bins, edges)


# --- bins between edges that are given


def _between(values: Array, bins: Any) -> _Bins | None:
    """Bins between edges that rise; a value on the last one is in the bin before it."""
    edges = array_of(bins)
    if edges.ndim != 1 or edges.size < 2 or not all(map(is_real, (values.dtype, edges.dtype))):
        return None
    if BOOL in (values.dtype, edges.dtype) or not is_rising(bins):
        return None
    dtype = np.promote_types(values.dtype, edges.dtype)
    x, edges_of = values.astype(dtype), edges.astype(dtype)
    inside = (x >= edges_of[0]) & (x <= edges_of[-1])
    node: Node = places(edges, x.read_node(), "right")
    index = np.minimum(of_node(node, is_scalar=False) - 1, edges.size - 2)
    return _Bins(index, inside, edges.size - 1, edges if isinstance(bins, list) else bins)
