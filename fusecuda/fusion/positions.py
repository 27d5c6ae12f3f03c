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
    found = steps_apart(extents, strides, distance)
    return 0 if found is None else as_position(extents, found)


def as_position(extents: Sequence[int], apart: Sequence[int]) -> int:
    """The number of positions that so many elements along each axis are."""
    return sum(q * math.prod(extents[axis + 1 :]) for axis, q in enumerate(apart))


def steps_apart(
    extents: Sequence[int], strides: Sequence[int], distance: int
) -> tuple[int, ...] | None:
    """How many elements these two are apart along each axis; None if no two are."""
    if not extents:
        return None if distance else ()
    n, *inner = extents
    stride, *rest = strides
    for q in (distance // stride, distance // stride + 1) if n > 1 else (0,):
        below = steps_apart(inner, rest, distance - q * stride) if abs(q) < n else None
        if below is not None:
            return q, *below
    return None
