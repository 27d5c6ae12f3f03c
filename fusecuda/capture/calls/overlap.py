"""Overlap: how arrays lie, which of them share memory, and the one array that holds them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...cpu_fallback.array_object import bounds_of
from ...graph.dtypes import is_numeric
from ..record.view import address_of

NDArray = np.ndarray[Any, Any]
Overlaps = tuple[tuple[int, int, int], ...]


def overlaps_of(arrays: Sequence[NDArray]) -> Overlaps:
    """The pairs of arrays that may share memory, with the distance of their first elements.

    An array without elements shares it with itself alone.
    """
    spans = sorted([(*bounds_of(a), i) for i, a in enumerate(arrays) if a.size])
    found = []
    reaching: list[tuple[int, int, int]] = []  # those that end behind where the present one begins
    for span in spans:
        reaching = [other for other in reaching if other[1] > span[0]]
        found += [(min(i, span[2]), max(i, span[2])) for _, _, i in reaching]
        reaching.append(span)
    first_of: dict[int, int] = {}
    for i, array in enumerate(arrays):
        if not array.size and (first := first_of.setdefault(id(array), i)) != i:
            found.append((first, i))
    return tuple([(i, j, address_of(arrays[j]) - address_of(arrays[i])) for i, j in sorted(found)])


def overlaps_itself(array: NDArray) -> bool:
    """True unless it is known that no two elements of ``array`` share memory."""
    reach = array.itemsize
    for step, extent in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if extent > 1 and step < reach:
            return array.size > 0
        reach += step * (extent - 1)
    return False


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


def why_not(array: NDArray) -> str:
    """Why kernels cannot work on ``array`` where it lies, or an empty string."""
    if not is_numeric(array.dtype):
        return f"an argument has dtype {array.dtype.name}"
    if array.dtype.itemsize == 0 or not array.dtype.isnative:
        return f"an argument has dtype {array.dtype}"
    if not array.flags.aligned:
        return "an argument is not aligned"
    if any(s % array.dtype.itemsize for s in array.strides):
        return "the elements of an argument do not lie on a grid"
    if array.flags.writeable and overlaps_itself(array):
        return "elements of an argument share memory"
    return ""
