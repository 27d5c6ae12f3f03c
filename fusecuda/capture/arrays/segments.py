"""Segments: ``ufunc.reduceat``, which reduces an axis from each of its indices up to the next.

Whether indices are within bounds is told by their operations, else by their values, which are
looked at; where they are not, NumPy raises its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, INT64, DType, is_reducible, is_supported
from ...graph.index_map import axis_map
from ...graph.node import Node
from ..record.flight import atomic
from ..record.user_frames import user_line
from . import ufuncs
from .array import Array
from .kept_order import along_kept_order, as_segments
from .reductions import widened
from .scatters import are_integers, reaches
from .table import entry
from .values import array_of, of_node, plain

_KINDS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}


@entry
@atomic
def reduced_at(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """The lazy ``ufunc.reduceat(array, indices, axis, dtype)``, or NotImplemented."""
    x, places, axis = array_of(array), array_of(indices), plain(axis)
    target = out[0] if isinstance(out, tuple) else out
    if ufunc not in _KINDS or target is not None or x.is_loose or places.is_loose:
        return NotImplemented
    if type(axis) is not int or not -x.ndim <= axis < x.ndim or not x.size:
        return NotImplemented
    if places.ndim != 1 or not places.size or not are_integers(places):
        return NotImplemented
    loop = _loop(ufunc, x.dtype, dtype)
    if loop is None or not is_supported(x.dtype) or not is_supported(places.dtype):
        return NotImplemented
    kind = _KINDS[ufunc]
    if loop == BOOL:
        kind = {"sum": "any", "prod": "all"}.get(kind, kind)
    axis %= x.ndim
    if not is_reducible(kind, loop) or not reaches(places, x.shape[axis], low=0):
        return NotImplemented
    first, last = _ends(build.convert(places.read_node(), INT64), x.shape[axis])

    def made(inputs: Sequence[Array], axis: int) -> Array:
        node = ufuncs.node_of(inputs[0], loop)
        found = build.segment(kind, node, first, last, axis, user_line())
        return of_node(found, is_scalar=False)

    return along_kept_order(made, (x,), axis, rule=as_segments)


def _loop(ufunc: np.ufunc, given: DType, wanted: Any) -> DType | None:
    """The type in which elements are combined, as NumPy chooses it; None if it is not plain."""
    dtype: DType | None = None if wanted is None else np.dtype(wanted)
    if ufunc in (np.logical_or, np.logical_and):
        return BOOL if dtype in (None, BOOL) else None
    if ufunc in (np.add, np.multiply):
        return widened(given) if dtype is None else dtype
    return given if dtype in (None, given) else None


def _ends(first: Node, extent: int) -> tuple[Node, Node]:
    """Where segments begin, and where they end: where the next begins, if it does so later.

    Else a segment is one element.
    """
    (count,) = first.shape
    following = build.index(first, axis_map([(1, 1, 0)], 1), (count - 1,))
    end = build.broadcast_to(build.constant(extent, INT64), (1,))
    following = build.concatenate([following, end], 0)
    after = build.elementwise("add", [first, build.constant(1, INT64)], INT64)
    return first, build.elementwise("maximum", [following, after], INT64)
