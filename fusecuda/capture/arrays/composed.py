"""Composed functions: NumPy's that are other functions of its put together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...graph.dtypes import is_supported
from ..record.numbers import TracedScalar
from . import movement, products
from .selection import astype, copy, result_type
from .table import handles
from .values import array_of


@handles(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element, or each slice along an axis, so often as one number says."""
    if not isinstance(repeats, int | np.integer) or repeats < 0:
        return NotImplemented
    x = array_of(a)
    if axis is None:
        x, axis = movement.ravel(x), 0
    along = normalize_axis_index(axis, x.ndim)
    shape = (*x.shape[: along + 1], int(repeats), *x.shape[along + 1 :])
    wider = movement.broadcast_to(movement.expand_dims(x, along + 1), shape)
    final = (*x.shape[:along], x.shape[along] * int(repeats), *x.shape[along + 1 :])
    return copy(movement.reshape(wider, final))


@handles(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Of each element the choice whose condition is the first to hold."""
    if not isinstance(condlist, list | tuple) or not 0 < len(condlist) == len(choicelist):
        return NotImplemented
    every = (*choicelist, default)
    values = [c if _kind_of(c) in (int, float, complex) else array_of(c) for c in every]
    conditions = [array_of(c) for c in condlist]
    dtype = result_type(*(_kind_of(v)(0) if type(v) is TracedScalar else v for v in values))
    if not is_supported(dtype) or any(c.dtype != np.bool_ for c in conditions):
        return NotImplemented
    *choices, rest = values
    chosen = astype(array_of(rest), dtype)
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        chosen = np.where(condition, choice, chosen)
    return chosen


def _kind_of(value: Any) -> Any:
    """The type of a value, of a followed number that of the number."""
    return type(value.value if type(value) is TracedScalar else value)


# --- products


@handles(np.inner)
def inner(a: Any, b: Any) -> Any:
    """Products summed over the last axes."""
    x, y = array_of(a), array_of(b)
    if x.ndim == 0 or y.ndim == 0:
        return np.multiply(x, y)
    if y.ndim > 1:
        y = movement.transpose(y, (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2))
    return products.dot(x, y)


@handles(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    """The inner product of all elements."""
    x, y = array_of(a), array_of(b)
    if x.dtype.kind == "c":
        x = x.conj()
    return products.dot(movement.ravel(x), movement.ravel(y))


@handles(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Each element of one array times the whole other one."""
    x, y = array_of(a), array_of(b)
    rank = max(x.ndim, y.ndim)
    x_shape, y_shape = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    outer = movement.reshape(x, tuple(n for pair in x_shape for n in (pair, 1)))
    inner = movement.reshape(y, tuple(n for pair in y_shape for n in (1, pair)))
    shape = tuple(n * m for n, m in zip(x_shape, y_shape, strict=True))
    return movement.reshape(np.multiply(outer, inner), shape)


@handles(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors; of all elements if neither order nor axis is given."""
    a = array_of(x)
    if a.dtype.kind not in "fiuc" or not (axis is None or isinstance(axis, int)):
        return NotImplemented
    if axis is None and a.ndim != 1 and ord is not None:
        return NotImplemented
    if a.dtype.kind in "iu":
        a = a.astype(float)
    over: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        squares = np.square(a.real) + np.square(a.imag) if a.dtype.kind == "c" else a * a
        return np.sqrt(np.sum(squares, **over))
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(a), **over)
    if ord == 1:
        return np.sum(np.abs(a), **over)
    return np.sum((a != 0).astype(a.real.dtype), **over) if ord == 0 else NotImplemented
