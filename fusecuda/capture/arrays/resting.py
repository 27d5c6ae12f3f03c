"""Resting: elementwise work of no small size that NumPy does, where recording it is in vain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...cpu_fallback.pool import pool
from ..record.recorder import VAIN_BELOW
from ..record.rest import operation_rests
from .memory import fits, in_force

# Of one dtype where their operands are, and the same to a bit in kernels and NumPy.
_ALIKE = frozenset((
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.positive, np.absolute,
    np.sqrt, np.square, np.maximum, np.minimum,
))  # fmt: skip
EXACT = _ALIKE | frozenset((
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.invert,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or, np.logical_not,
))  # fmt: skip
_ndarray = np.ndarray


def rests(a: Any, b: Any, limit: int, nodes: int = 1) -> bool:
    """True if NumPy is to compute of ``a`` and ``b`` what the user's line says, elementwise.

    That is where recording was in vain, as `operation_rests` knows; ``a`` and ``b`` are None while
    they are pending. If it is recorded, ``nodes`` are made.
    """
    most = VAIN_BELOW * limit
    if not (_is_middling(a, most) and _is_middling(b, most)):
        return False
    if type(a) is _ndarray and type(b) is _ndarray and a.shape != b.shape and not fits(a, b, most):
        return False
    possible = a is not None and b is not None
    return operation_rests(in_force().recorded_by, possible, nodes)


def _is_middling(part: Any, most: int) -> bool:
    if type(part) is _ndarray:
        return bool(part.nbytes <= most and part.dtype.kind != "c")
    return not isinstance(part, complex | np.complexfloating)


def by_numpy(ufunc: np.ufunc, *parts: Any) -> Any:
    """``ufunc(*parts)``, in memory that was used before where that changes nothing else."""
    first, last = parts[0], parts[-1]
    if type(first) is not _ndarray:
        first, last = last, first
    if ufunc in _ALIKE and type(first) is _ndarray and first.dtype.kind == "f":
        kind = type(last)
        if (
            kind is float
            or kind is int
            or (kind is _ndarray and last.dtype == first.dtype and last.shape == first.shape)
        ):
            return ufunc(*parts, out=pool.empty(first.shape, first.dtype))
    return ufunc(*parts)
