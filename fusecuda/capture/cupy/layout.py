"""Layout: what an array shows of its storage, read off its address and strides."""

from __future__ import annotations

import functools
import math

from ...graph.index_map import IndexMap, Shape, axis_map, contiguous_strides
from ..record.view import View


@functools.lru_cache(maxsize=8192)
def view_of(extents: Shape, shape: Shape, strides: tuple[int, ...] | None, offset: int) -> View:
    """The view of a row-major storage of ``extents`` that starts at element ``offset``.

    ``strides`` are in elements; None for a contiguous array.
    """
    if strides is None:
        strides = contiguous_strides(shape)
    size = math.prod(shape)
    walked = zip(shape, strides, contiguous_strides(shape), strict=True)
    in_rows = all(n == 1 or own == row for n, own, row in walked)
    if offset == 0 and size == math.prod(extents) and in_rows:
        return View.whole(shape)
    if size == 0:
        return View(extents, axis_map([(0, 0, None)] * len(extents), len(shape)), shape)
    by_axis = _by_axis(extents, shape, strides, offset)
    if by_axis is not None:
        return View(extents, by_axis, shape)
    flat = (math.prod(extents),)
    return View(flat, IndexMap(len(shape), (offset,), (strides,)), shape)


def _by_axis(
    extents: Shape, shape: Shape, strides: tuple[int, ...], offset: int
) -> IndexMap | None:
    """The view as a slice of each axis of the storage, or None if it is none."""
    steps = contiguous_strides(extents)
    starts = []
    for extent, step in zip(extents, steps, strict=True):
        start = min(offset // step, extent - 1) if extent else 0
        starts.append(start)
        offset -= start * step
    if offset:
        return None
    rows: list[tuple[int, int, int | None]] = [(s, 0, None) for s in starts]
    free = set(range(len(extents)))
    for j, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if extent == 1 or stride == 0:
            continue
        walked = (
            a for a in sorted(free)
            if extents[a] > 1 and stride % steps[a] == 0 and abs(stride) >= steps[a]
        )  # fmt: skip
        axis = next(walked, None)  # the outermost one that it walks in whole steps
        if axis is None:
            return None
        free.discard(axis)
        factor = stride // steps[axis]
        last = starts[axis] + factor * (extent - 1)
        if not 0 <= last < extents[axis]:
            return None
        rows[axis] = (starts[axis], factor, j)
    return axis_map(rows, len(shape))
