"""Overlap: arrays that share memory, and the one array whose memory holds them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..record.view import address_of

NDArray = np.ndarray[Any, Any]
Overlaps = tuple[tuple[int, int, int], ...]


def overlaps_of(arrays: Sequence[NDArray]) -> Overlaps:
    """The pairs of arrays that may share memory, with the distance of their first elements."""
    found = []
    for i, a in enumerate(arrays):
        for j in range(i):
            b = arrays[j]
            if np.may_share_memory(a, b):
                found.append((j, i, address_of(a) - address_of(b)))
    return tuple(found)


def groups_of(count: int, overlaps: Overlaps) -> list[list[int]]:
    """The numbers of the arrays, those that share memory together."""
    group = list(range(count))
    for i, j, _ in overlaps:
        a, b = group[i], group[j]
        group = [min(a, b) if g in (a, b) else g for g in group]
    return [[i for i in range(count) if group[i] == g] for g in sorted(set(group))]


def mergeable(a: NDArray, b: NDArray) -> bool:
    """True if two arrays that share memory are views of one row of elements."""
    return (
        a.dtype == b.dtype
        and (address_of(a) - address_of(b)) % a.dtype.itemsize == 0
        and a.flags.writeable == b.flags.writeable
    )
