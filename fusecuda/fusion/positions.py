"""Positions: how far apart two elements are in row-major order, from their addresses."""

from __future__ import annotations

import math
from collections.abc import Sequence


def is_row_major(extents: Sequence[int], strides: Sequence[int]) -> bool:
    """True if elements in row-major order lie at ever larger addresses."""
    reach = 0
    for n, stride in zip(reversed(extents), reversed(strides), strict=True):
        if n > 1:
            if stride <= reach:
                return False
            reach += stride * (n - 1)
    return True


def positions(extents: Sequence[int], strides: Sequence[int], distance: int) -> int:
    """The positions between two elements whose addresses are ``distance`` apart; 0 if none are.

    The strides are those of `is_row_major`, so there is one answer at most.
    """
    found = _positions(extents, strides, distance)
    return 0 if found is None else found


def _positions(extents: Sequence[int], strides: Sequence[int], distance: int) -> int | None:
    if not extents:
        return None if distance else 0
    n, *inner = extents
    stride, *rest = strides
    if n == 1:
        return _positions(inner, rest, distance)
    for q in (distance // stride, distance // stride + 1):
        below = _positions(inner, rest, distance - q * stride) if abs(q) < n else None
        if below is not None:
            return q * math.prod(inner) + below
    return None
