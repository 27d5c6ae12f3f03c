"""SciPy's functions that are reductions put together, recorded; SciPy writes them in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported, kind_of
from ..record.origin import module_of
from .array import Array

Function = Callable[..., Any]


def handler_of(function: Any) -> Function | None:
    """What records ``function``, or None if it is called as it is."""
    if not module_of(function).startswith("scipy.special."):
        return None
    return _HANDLERS.get(getattr(function, "__name__", ""))


def _as_floats(a: Any) -> Any:
    """``a`` as an array of floats, or None where SciPy is to compute."""
    if not isinstance(a, Array) or a.ndim == 0 or a.size == 0 or a.dtype.kind == "c":
        return None
    if not is_supported(a.dtype):
        return None
    return a if kind_of(a.dtype) == "f" else a.astype(np.float64)


def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """The logarithm of the sum of exponentials; as SciPy, the largest apart from the others."""
    x = _as_floats(a)
    if x is None or b is not None or return_sign:
        return NotImplemented
    largest = np.max(x, axis=axis, keepdims=True)
    is_largest = x == largest
    shift = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    others = np.where(is_largest, x.dtype.type(0), np.exp(x - shift))
    over = {"axis": axis, "keepdims": keepdims}
    count = np.sum(is_largest.astype(x.dtype), **over)
    rest = np.sum(others, **over) / count
    return np.log1p(rest) + np.log(count) + np.max(x, **over)


def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials over their sum."""
    a = _as_floats(x)
    if a is None:
        return NotImplemented
    powers = np.exp(a - np.max(a, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`."""
    a = _as_floats(x)
    if a is None:
        return NotImplemented
    largest = np.max(a, axis=axis, keepdims=True)
    shifted = a - np.where(np.isfinite(largest), largest, a.dtype.type(0))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


_HANDLERS: dict[str, Function] = {
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
}
