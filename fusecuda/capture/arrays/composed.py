"""Composed functions: NumPy's that are other functions of its put together."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported
from ..record.numbers import TracedScalar
from . import movement, products
from .dispatch import raising
from .selection import astype, copy, result_type
from .table import entry, handles
from .values import array_of, axes_of, axis_of, is_any_picked, is_given, keeps, reduced_axes, seen


@handles(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element, or each slice along an axis, so often as one number says."""
    if not isinstance(repeats, int | np.integer) or repeats < 0:
        return NotImplemented
    x = array_of(a)
    if axis is None:
        x, axis = movement.ravel(x), 0
    along = axis_of(axis, x.ndim)
    shape = (*x.shape[: along + 1], int(repeats), *x.shape[along + 1 :])
    wider = movement.broadcast_to(movement.expand_dims(x, along + 1), shape)
    final = (*x.shape[:along], x.shape[along] * int(repeats), *x.shape[along + 1 :])
    return copy(movement.reshape(wider, final), "C")


@handles(np.tile)
def tile(A: Any, reps: Any) -> Any:  # noqa: N803 - as NumPy has it
    """The whole array so often along each axis."""
    if not is_given(reps):
        return NotImplemented
    x, wanted = array_of(A), seen(reps)
    counts = [operator.index(n) for n in (wanted if np.iterable(wanted) else (wanted,))]
    rank = max(x.ndim, len(counts))
    shape = (1,) * (rank - x.ndim) + x.shape
    counts = [1] * (rank - len(counts)) + counts
    if any(n < 0 for n in counts) or not is_supported(x.dtype):
        return NotImplemented
    if all(n == 1 for n in counts):  # NumPy copies it as it lies
        return copy(movement.reshape(x, shape), "K")
    apart = [n for m in shape for n in (1, m)]
    wider = [n for pair in zip(counts, shape, strict=True) for n in pair]
    final = tuple(n * m for n, m in zip(counts, shape, strict=True))
    wide = movement.broadcast_to(movement.reshape(x, tuple(apart)), tuple(wider))
    return copy(movement.reshape(wide, final), "C")


@handles(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours, flat, between what is to stand at the ends."""
    x = movement.ravel(array_of(ary))
    ends = [None if end is None else array_of(end) for end in (to_begin, to_end)]
    if any(e is not None and not np.can_cast(e.dtype, x.dtype, "same_kind") for e in ends):
        raise TypeError("what is to stand at the ends is not of the kind of the differences")
    if not is_supported(x.dtype) or not all(e is None or is_supported(e.dtype) for e in ends):
        return NotImplemented
    first, last = ends
    parts = [first, np.subtract(x[1:], x[:-1]), last]
    joined = [movement.ravel(astype(p, x.dtype)) for p in parts if p is not None]
    return np.concatenate(joined) if len(joined) > 1 else joined[0]


@handles(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803 - as NumPy has it
    """The powers of each element, a row each, one product after the other."""
    a = array_of(x)
    if a.ndim != 1:
        raise ValueError("the elements must be along one axis")
    count = a.size if N is None else operator.index(seen(N))
    dtype = np.promote_types(a.dtype, int)
    if count < 1 or not a.size or not is_supported(dtype):
        return NotImplemented
    base = astype(a, dtype)
    if count <= _FEW_POWERS:
        powers = [np.ones_like(base)]
        for _ in range(count - 1):
            powers.append(base if len(powers) == 1 else np.multiply(powers[-1], base))
        return np.stack(powers if increasing else powers[::-1], 1)
    rows = np.cumprod(movement.broadcast_to(base[:, None], (a.size, count - 1)), 1)
    made = np.concatenate([np.ones_like(base)[:, None], rows], 1)
    return made if increasing else copy(made[:, ::-1], "C")


_FEW_POWERS = 9  # that are columns of one kernel


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
    if not all(np.can_cast(getattr(c, "dtype", _kind_of(c)), dtype, "same_kind") for c in choices):
        return NotImplemented  # an integer is an int64 by then, which NumPy refuses to cast
    chosen = astype(array_of(rest), dtype)
    for condition, choice in zip(conditions[::-1], choices[::-1], strict=True):
        chosen = np.where(condition, choice, chosen)
    return astype(chosen, dtype, "C", copy=False)


def _kind_of(value: Any) -> Any:
    """The type of a value, of a followed number that of the number."""
    return type(value.value if type(value) is TracedScalar else value)


@entry
def whole_power(base: Any, exponent: int) -> Any:
    """The power of complex numbers or of integers, by products; or NotImplemented.

    Those of complex numbers are the ones that NumPy makes of it; of integers any are the same.
    """
    if base.is_scalar or base.is_loose or raising() or is_any_picked((base,)):
        return NotImplemented
    one, count = base.dtype.type(1), abs(exponent)
    if count == 3:
        made = np.multiply(base, np.multiply(base, base))
    else:
        made, power = one if base.dtype.kind == "c" else None, base
        while count:
            if count & 1:
                made = power if made is None else np.multiply(made, power)
            count >>= 1
            power = np.multiply(power, power) if count else power
    if base.dtype.kind != "c":
        return made
    if exponent < 0:
        return np.where(base == 0, base.dtype.type(complex(np.nan, np.nan)), np.divide(one, made))
    return np.where(base == 0, base.dtype.type(0), made)


# --- ufuncs' reductions


@entry
def composed_reduce(
    ufunc: np.ufunc, array: Any, axis: Any, keepdims: Any = False, **others: Any
) -> Any:
    """The lazy ``ufunc.reduce`` of floats where a sum is at its heart; or NotImplemented.

    As NumPy's, element by element, it neither overflows nor loses what is small.
    """
    x = array_of(array)
    axis = 0 if axis is None and x.ndim == 1 else axis
    if others or type(axis) is not int or not x.size or x.dtype not in (np.float32, np.float64):
        return NotImplemented
    zero, one, keep = x.dtype.type(0), x.dtype.type(1), keeps(keepdims)

    def largest(keep: bool) -> Any:
        found = np.max(x if ufunc in _EXPONENTIALS else np.abs(x), axis=axis, keepdims=keep)
        if ufunc in _EXPONENTIALS:
            return np.where(np.isfinite(found), found, zero)
        return np.where(np.isfinite(found) & (found > 0), found, one)

    if ufunc in _EXPONENTIALS:
        power, logarithm = _EXPONENTIALS[ufunc]
        total = np.sum(power(x - largest(True)), axis=axis, keepdims=keep)
        return logarithm(total) + largest(keep)
    if ufunc is not np.hypot:
        return NotImplemented
    total = np.sum(np.square(x / largest(True)), axis=axis, keepdims=keep)
    infinite = np.any(np.isinf(x), axis=axis, keepdims=keep)
    return np.add(np.where(infinite, x.dtype.type(np.inf), np.sqrt(total) * largest(keep)), zero)


_EXPONENTIALS = {np.logaddexp: (np.exp, np.log), np.logaddexp2: (np.exp2, np.log2)}


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
    x, y = movement.ravel(array_of(a)), movement.ravel(array_of(b))
    if x.dtype.kind == "c" and x.shape == y.shape:  # no other array is made of conjugates
        return products.summed(products.conjugate(x), y, np.result_type(x.dtype, y.dtype))
    return products.dot(products.conjugate(x), y)


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
    """The norm of vectors, or one of matrices by sums; of all elements if nothing else is given."""
    a = array_of(x)
    if a.dtype.kind not in "fiuc" or not (axis is None or isinstance(axis, int | tuple)):
        return NotImplemented
    if a.dtype.kind in "iu":
        a = a.astype(float)
    of_all = axis is None and ord is None
    axes = () if of_all else (reduced_axes if isinstance(axis, tuple) else axes_of)(a, axis)
    if len(axes) > 2 or not (axes or of_all):
        return NotImplemented
    made = _of_matrices if len(axes) == 2 else _of_vectors
    return made(a, ord, axes or None, keepdims)


def _of_vectors(a: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    over: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if ord is None or ord == 2:
        squares = np.square(a.real) + np.square(a.imag) if a.dtype.kind == "c" else a * a
        return np.sqrt(np.sum(squares, **over))
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(np.abs(a), **over)
    if ord == 1:
        return np.sum(np.abs(a), **over)
    if ord == 0:
        return np.sum((a != 0).astype(a.real.dtype), **over)
    if type(ord) not in (int, float):
        return NotImplemented
    total = np.sum(np.abs(a) ** ord, **over)
    return total ** np.reciprocal(ord, dtype=total.dtype)


def _of_matrices(a: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    """Of all elements, or the largest sum of a column (order 1) or row (inf), or the smallest."""
    if ord in (None, "fro", "f"):
        return _of_vectors(a, None, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        return NotImplemented
    first, second = axes if abs(ord) == 1 else axes[::-1]
    totals = np.sum(np.abs(a), axis=first, keepdims=keepdims)
    left = second - (second > first and not keepdims)
    return (np.max if ord > 0 else np.min)(totals, axis=left, keepdims=keepdims)
