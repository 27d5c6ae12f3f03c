"""Ufuncs: which of NumPy's each of CuPy's is, and where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from ..array import Array
from ..functions import call_ufunc

# CuPy computes these otherwise than NumPy. On the CPU a script follows NumPy; on a GPU it follows
# CuPy, so there CuPy does them itself.
#
#   operation             operands            NumPy                      CuPy
#   floor_divide          floating-point      corrected by the remainder floor(x / y)
#   remainder, divmod     floating-point      exact remainder            x - floor(x / y) * y
#   power                 integers            negative exponent raises   0, 1 or -1
#   gather by indices     integers            out of range raises        wraps around
#   a[i, j]               integer indices     a scalar                   a 0-d view
#   reductions            rank 0 results      a scalar                   a 0-d array
DIFFERENT = {
    np.floor_divide: "f",
    np.remainder: "f",
    np.divmod: "f",
    np.power: "iu",
}


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


def differs(ufunc: np.ufunc, args: Sequence[Any], device: str) -> bool:
    """True if CuPy's own ``ufunc`` gives other values than NumPy's for ``args``, and they count."""
    kinds = DIFFERENT.get(ufunc) if device != "cpu" else None
    return kinds is not None and any(
        getattr(getattr(a, "dtype", None), "kind", "f" if type(a) is float else "") in kinds
        for a in args
    )
