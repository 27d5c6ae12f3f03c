"""Ufuncs: which of NumPy's each of CuPy's is, and where the two differ."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from ...graph import build
from ...graph.dtypes import FLOAT16, DType, is_supported
from ...graph.node import Node
from ...graph.ops import OPS
from ..arrays.array import Array
from ..arrays.dispatch import call_ufunc
from ..arrays.ufuncs import SPECIAL, op_name
from ..record.numbers import TracedScalar

# CuPy computes these otherwise than NumPy. On the CPU a script follows NumPy; on a GPU it follows
# CuPy, so there CuPy does them itself.
#
#   operation             operands            NumPy                      CuPy
#   floor_divide          floating-point      corrected by the remainder floor(x / y)
#   remainder, divmod     floating-point      exact remainder            x - floor(x / y) * y
#   power                 integers            negative exponent raises   0, 1 or -1
#   reciprocal            integers            of 0 the smallest one      of 0 it is 0
#   exp, log, sqrt, sin,  complex             C99's special values,      Thrust's, in their own type
#   cos, sinh, cosh                           ours in double precision
#   degrees, radians      halves              times a float              times a half
#   around                halves, singles     in their own type          in double precision
#   nansum                complex             leaves out elements        leaves out parts
#   clip                  NaN as a bound      NaN                        no bound
#   arange                steps not whole     multiples of a difference  multiples of the step
#   gather by indices     integers            out of range raises        wraps around
#   a[i, j]               integer indices     a scalar                   a 0-d view
#   reductions            rank 0 results      a scalar                   a 0-d array
DIFFERENT: dict[np.ufunc, str] = {
    np.floor_divide: "f",
    np.remainder: "f",
    np.divmod: "f",
    np.power: "iu",
    np.reciprocal: "iu",
    **dict.fromkeys((np.exp, np.log, np.sqrt, np.sin, np.cos, np.sinh, np.cosh), "c"),
}
OF_HALVES = frozenset({np.degrees, np.rad2deg, np.radians, np.deg2rad})


def _pairs() -> dict[Any, np.ufunc]:
    found: dict[Any, np.ufunc] = {}
    for name in dir(cupy):
        ours, theirs = getattr(cupy, name), getattr(np, name, None)
        if type(ours) is cupy.ufunc and isinstance(theirs, np.ufunc) and name not in _UNLIKE:
            found[ours] = theirs
    return found


_UNLIKE = frozenset({"i0", "sinc", "fix", "frexp"})
UFUNCS = _pairs()


def _caller(ufunc: np.ufunc) -> Callable[..., Any]:
    def call(*inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(Array, ufunc, "__call__", inputs, kwargs)

    return call


CALLS: dict[np.ufunc, Callable[..., Any]] = {u: _caller(u) for u in UFUNCS.values()}


@functools.lru_cache(maxsize=4096)
def loop_of(
    ufunc: np.ufunc, device: str, *types: DType | type
) -> tuple[str, tuple[DType, ...], bool] | None:
    """The op-table row of ``ufunc`` for operands of ``types``, its loop, and if it may fail.

    None where there is no single row, or CuPy is to do it.
    """
    name = op_name(ufunc)
    if name is None or ufunc in SPECIAL or ufunc.nout != 1 or ufunc is np.clip:
        return None
    loop = build.resolve(ufunc, *types)
    different = DIFFERENT.get(ufunc, "") if device != "cpu" else ""
    if ufunc in OF_HALVES and device != "cpu" and loop[0] == FLOAT16:
        return None
    if any(d.kind in different for d in loop) or not build.fusible(name, loop[:-1]):
        return None
    return name, loop, bool(OPS[name].may_fail)


def number(value: Any, dtype: DType) -> Node:
    """The node of a number; zeros are made anew, for a cache would mix up their signs."""
    if type(value) is TracedScalar:
        return value.node(dtype)
    return _constant(value, dtype) if value else build.constant(value, dtype)


_constant = functools.lru_cache(maxsize=4096, typed=True)(build.constant)


@functools.lru_cache(maxsize=512)
def can_cast(source: DType, target: DType) -> bool:
    """True if a result of ``source`` may be written to an array of ``target``."""
    return np.can_cast(source, target, "same_kind") and is_supported(target)


def differs(ufunc: np.ufunc, args: Sequence[Any], device: str) -> bool:
    """True if CuPy's own ``ufunc`` gives other values than NumPy's for ``args``, and they count."""
    if device == "cpu":
        return False
    if ufunc in OF_HALVES:
        return any(np.can_cast(a.dtype, FLOAT16) for a in args[:1] if hasattr(a, "dtype"))
    kinds = DIFFERENT.get(ufunc)
    return kinds is not None and any(_kind(a) in kinds for a in args)


def _kind(value: Any) -> str:
    """The kind of an operand's dtype; of integers of Python's, which follow arrays, none."""
    if type(value) is TracedScalar:
        value = value.value
    return getattr(getattr(value, "dtype", None), "kind", "f" if type(value) is float else " ")
