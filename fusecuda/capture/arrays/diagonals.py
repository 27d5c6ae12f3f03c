"""Diagonals: matrices with one, and writes to one."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, INT64, is_supported
from ...graph.index_map import axis_map
from .array import Array
from .computed import as_changed, eager
from .gathering import listed
from .movement import diagonal, ravel
from .table import handles
from .values import array_of, complete_together, of_node, plain, seen


@handles(np.diag)
def diag(v: Any, k: Any = 0) -> Any:
    """The diagonal of a matrix, or the matrix that has this one."""
    x = array_of(v)
    offset = operator.index(seen(k))
    if x.ndim == 2:
        return diagonal(x, offset)
    return _with_diagonal(x, offset) if x.ndim == 1 else NotImplemented


@handles(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Any:
    """The matrix with all elements on a diagonal."""
    return _with_diagonal(ravel(array_of(v)), operator.index(seen(k)))


def _with_diagonal(x: Array, offset: int) -> Any:
    """A matrix of zeros with ``x`` on the diagonal that begins ``offset`` columns to the right."""
    if not is_supported(x.dtype):
        return NotImplemented
    n = x.size + abs(offset)
    zero = build.constant(0, x.dtype)
    node = build.pad(x.read_node(), zero, ((0, abs(offset)),))  # one for each row, or each column
    along = axis_map([(0, 1, 0 if offset >= 0 else 1)], 2)
    row, column = build.iota((n, n), 0), build.iota((n, n), 1)
    there = build.elementwise("add", [row, build.constant(offset, INT64)], INT64)
    chosen = build.elementwise("equal", [column, there], BOOL)
    return of_node(build.where(chosen, build.index(node, along, (n, n)), zero))


@handles(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    """Write to the elements whose indices are equal; NumPy counts on where the diagonal wraps."""
    if not isinstance(a, Array):
        return np.fill_diagonal(a, plain(val), wrap)
    count = min(a.shape, default=0)
    value = val if hasattr(val, "dtype") or np.ndim(plain(val)) == 0 else listed(val, a.dtype)
    square = len(set(a.shape)) == 1 or (a.ndim == 2 and not (wrap and a.shape[0] > count + 1))
    if a.ndim < 2 or not square or (np.ndim(value) and value.size < count):
        complete_together(a, val)
        a[...] = eager(as_changed(np.fill_diagonal), a, val, wrap)
        return None
    if np.ndim(value):
        value = ravel(array_of(value))[:count]
    view = axis_map([(0, 1, 0)] * a.ndim, 1)
    a.seen_through(a.view_of_storage.mapped(view, (count,)))[...] = value
    return None
