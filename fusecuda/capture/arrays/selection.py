"""Selection and conversion: where, clip, casts, copies, and arrays like another array."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, is_numeric, is_supported, kind_of
from ...graph.numpy_rules import where_number
from ..record.numbers import TracedScalar
from . import ufuncs
from .array import Array
from .computed import as_changed, assign_result, check_cast, eager
from .finding import nonzero
from .held import compute_first
from .kept_order import axes_by, in_kept_order, in_order_of
from .memory import in_force
from .movement import ravel
from .table import entry, handles
from .values import (
    array_of,
    axis_of,
    complete_together,
    is_given,
    mask_of,
    of_node,
    plain,
    rank_of,
    seen,
)


@handles(np.where)
def where(condition: Any, *branches: Any) -> Any:
    """``x`` where the condition holds, else ``y``."""
    if not branches:
        return nonzero(condition)
    if len(branches) != 2:
        return NotImplemented
    if not all(map(_typed, branches)):
        return NotImplemented
    dtype = _common(branches)
    if not is_supported(dtype):
        return NotImplemented
    compute_first((condition, *branches))

    def chosen(given: Sequence[Any]) -> Array:
        a, b = (ufuncs.node_of(_wrapped(v, dtype), dtype) for v in given[1:])
        return of_node(build.where(ufuncs.node_of(given[0], BOOL), a, b), is_scalar=False)

    return in_kept_order(chosen, (array_of(condition), *branches))


def _wrapped(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python integer as NumPy's ``where`` takes it into ``dtype``, or with its error."""
    return where_number(value, dtype) if type(value) is int and dtype.kind in "iu" else value


def _typed(value: Any) -> bool:
    kinds = (int, float, complex, np.generic, np.ndarray, TracedScalar)
    return isinstance(value, kinds) or hasattr(value, "read_node")


def _common(values: Sequence[Any]) -> np.dtype[Any]:
    """NumPy's result type of arrays and numbers, Python numbers being weak."""
    return np.result_type(*map(_probe, values))


def _probe(value: Any) -> Any:
    """A number, or an array of no axes, that counts in type resolution as ``value`` does."""
    if value is None or type(value) is TracedScalar:
        return getattr(value, "value", None)
    is_number = isinstance(value, int | float | complex) and not isinstance(value, np.generic)
    return value if is_number else np.zeros((), value.dtype)


@handles(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: None = None, **kwargs: Any) -> Any:
    """Bounded from below, then from above; a bound of None is none."""
    low = kwargs.pop("min", a_min)
    high = kwargs.pop("max", a_max)
    low = None if low is np._NoValue else low
    high = None if high is np._NoValue else high
    if kwargs:
        return NotImplemented
    x = array_of(a)
    if low is None and high is None:  # else it is ``positive``, which bools do not have
        return copy(x) if x.dtype != BOOL else NotImplemented
    bounds = [b for b in (low, high) if b is not None]
    if not all(_typed(b) for b in bounds):
        return NotImplemented
    known = [v for v in (x, *bounds) if type(v) is not TracedScalar and hasattr(v, "dtype")]
    if any(v.dtype.kind == "V" for v in known):  # bfloat16, for which it has no loop
        dtype = np.clip(np.empty(0, x.dtype), _probe(low), _probe(high)).dtype
    else:
        dtype = _common([x, *bounds])
    if not is_supported(dtype) or dtype == BOOL or dtype.kind == "c":  # of which NaN has two parts
        return NotImplemented
    result = x if x.dtype == dtype else astype(x, dtype)
    if low is not None:
        result = np.maximum(result, low)
    return result if high is None else np.minimum(result, high)


@handles(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: None = None) -> Any:
    """Rounded to the even neighbour in ``decimals`` places, as NumPy scales and unscales."""
    if not is_given(decimals):
        return NotImplemented
    x, decimals = array_of(a), operator.index(seen(decimals))
    if abs(decimals) >> 31:  # NumPy's errors for what is no C integer
        return NotImplemented
    if x.dtype.kind in "iu" and decimals >= 0:
        return copy(x) if x.ndim else copy(x)[()]
    if kind_of(x.dtype) != "f":
        return NotImplemented
    if decimals == 0:
        return np.rint(x)
    scale, kind = 10.0 ** abs(decimals), x.dtype  # bfloat16 is scaled in float32, and rounded
    if decimals > 0:
        found = (np.rint((x * scale).astype(kind)) / scale).astype(kind)
    else:
        found = (np.rint((x / scale).astype(kind)) * scale).astype(kind)
    in_rows = in_force().dispatching or axes_by(x, "A") is None
    return found.astype(kind, order="C" if in_rows else "F", copy=False)


@entry
@handles(np.astype)
def astype(
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    copy: bool = True,
    subok: bool = True,
    **kwargs: Any,
) -> Any:
    """The elements cast to ``dtype``; raises TypeError where ``casting`` forbids it."""
    target = np.dtype(dtype)
    x = array_of(x)
    if not np.can_cast(x.dtype, target, casting):
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule "
            f"'{casting}'"
        )
    if target == x.dtype and not copy and (order == "K" or x.is_scalar or _lies_by(x, order)):
        return x
    if not is_numeric(target):
        return eager(_cast, x, target)
    return in_order_of(
        lambda given: of_node(ufuncs.converted(given.read_node(), target), is_scalar=x.is_scalar),
        x,
        order,
    )


def _lies_by(x: Array, order: str) -> bool:
    """True if ``x`` lies in memory as an argument `order` asks for."""
    by_rows = order in ("C", "A") and x.lies_in_rows()
    return bool(by_rows or (order in ("F", "A") and x.T.lies_in_rows()))


def _cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


@handles(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """The same elements in memory of their own."""
    x = array_of(a)
    return in_order_of(lambda given: of_node(given.read_node(), is_scalar=False), x, order)


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write ``src`` into ``dst``."""
    if not hasattr(src, "dtype") and rank_of(src) == 0:
        np.copyto(np.empty((), dst.dtype), plain(src), casting)  # NumPy's errors for numbers
        src = np.asarray(plain(src)).astype(dst.dtype)
    elif where is not True:
        src = array_of(src)
        check_cast(src.dtype, dst.dtype, casting)
    src = array_of(src)
    if (lead := src.ndim - np.ndim(dst)) > 0 and all(n == 1 for n in src.shape[:lead]):
        src = src[(0,) * lead]  # as in any write
    if where is not True:
        src = np.where(mask_of(where), src.astype(dst.dtype), dst)
    assign_result(dst, array_of(src), casting)


@handles(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: Any = "raise") -> Any:
    """Elements at the positions given along an axis."""
    x = array_of(a)
    if mode != "raise":
        return NotImplemented
    if axis is None:
        x, axis = ravel(x), 0
    along = axis_of(axis, x.ndim)
    index = indices if hasattr(indices, "dtype") else np.asarray(plain(indices))
    if index.dtype.kind not in "iu":
        return NotImplemented
    taken = x[(*(slice(None),) * along, index)]
    if taken.is_scalar or (index.ndim and not along):
        return taken
    return copy(taken, "C")  # it would be a view, or lie in memory as it was taken


@handles(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """The array without NaN and infinities, in its own memory if ``copy`` is False."""
    a = array_of(x)
    if a.dtype.kind != "f" or np.ndim(nan) or not is_supported(a.dtype):
        if copy:
            return NotImplemented
        a[...] = eager(np.nan_to_num, a, nan=nan, posinf=posinf, neginf=neginf)
        return a
    kind: Any = a.dtype.type
    limits = np.finfo(kind)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf

    def made(given: Array) -> Any:
        found = np.where(np.isnan(given), kind(nan), given)
        infinite = np.where(found == -np.inf, kind(low), found)
        return np.where(found == np.inf, kind(high), infinite)

    if copy:
        found = in_order_of(made, a, "K")
        return found if found.ndim else found[()]
    a[...] = made(a)
    return a


@handles(np.shape)
def shape_of(a: Any) -> Any:
    """The shape."""
    return a.shape


@handles(np.ndim)
def ndim_of(a: Any) -> int:
    """The number of axes."""
    return len(a.shape)


@handles(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """True of complex numbers, whatever their values."""
    return bool(x.dtype.kind == "c")


@handles(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """True of all but complex numbers."""
    return bool(x.dtype.kind != "c")


@handles(np.common_type)
def common_type(*arrays: Any) -> Any:
    """The floating-point type that holds all of them."""
    return np.common_type(*[np.empty(0, a.dtype) for a in arrays])


@handles(np.size)
def size_of(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of an axis."""
    return math.prod(a.shape) if axis is None else a.shape[axis]


@handles(np.result_type)
def result_type(*values: Any) -> Any:
    """NumPy's result type."""
    return np.result_type(*(v.dtype if hasattr(v, "read_node") else v for v in values))


def _writes(function: Any) -> None:
    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, Array):
            return function(a, *map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        complete_together(a, args, kwargs)
        a[...] = eager(as_changed(function), a, *args, **kwargs)
        return None

    handles(function)(handler)


for _function in (np.put, np.place, np.putmask, np.put_along_axis):
    _writes(_function)
