"""Ufuncs of CuPy's that NumPy has as functions or not at all: SciPy's, and a few more, as rows.

Only of float32 and float64: of halves and integers CuPy's results have other types than SciPy's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from cupy._core import elementwise_copy as COPY  # noqa: N812 - the kernel of assignments

from ...graph.dtypes import FLOAT32, FLOAT64
from ...graph.ops import SCIPY_NAMES
from ..arrays.array import Array
from ..arrays.ufuncs import apply_row
from ..record.numbers import TracedScalar
from . import internals

_WEAK = frozenset({int, float, TracedScalar})


def call_of(kernel: Any, args: Sequence[Any]) -> Callable[..., Any] | None:
    """What records a call of ``kernel`` without keywords, or None where CuPy is to do it."""
    if not isinstance(kernel, cupy.ufunc) or len(args) != kernel.nin:
        return None
    call = _call_of(kernel)
    return call if call is not None and all(map(_is_taken, args)) else None


def _is_taken(value: Any) -> bool:
    if isinstance(value, internals.ndarray):
        return value.dtype in (FLOAT32, FLOAT64)
    return type(value) in _WEAK


@functools.lru_cache(maxsize=256)
def _call_of(kernel: Any) -> Callable[..., Any] | None:
    special = sys.modules.get("cupyx.scipy.special")
    for name in SCIPY_NAMES:
        if getattr(special, name, None) is kernel:
            return functools.partial(_row, name)
    if kernel is cupy.i0:
        return functools.partial(_row, "i0")
    if kernel is cupy.fix:
        return np.trunc
    return _reciprocal_root if kernel is getattr(sys.modules.get("cupyx"), "rsqrt", None) else None


def _row(name: str, *args: Any) -> Any:
    return apply_row(Array, name, args)


def _reciprocal_root(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


__all__ = ["COPY", "call_of"]
