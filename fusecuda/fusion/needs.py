"""Needs: what a launch of the C back end takes of memory, and which work is worth a thread."""

from __future__ import annotations

import math
from collections.abc import Collection

from ..graph.ops import OPS
from ..graph.structure import STRUCTURES
from . import cost, kernel_ir
from .walk import Walked


def streams(kernel: kernel_ir.KernelIR, walked: Walked) -> bool:
    """True if results go past the caches, which do not hold them until somebody reads them.

    Lines that are written into caches are read first: they count twice. What is overwritten where
    it has been read is there anyway.
    """
    moved = 0
    for number, (form, place) in enumerate(zip(kernel.forms, walked.places, strict=True)):
        if form.dtype is None or place is None:
            continue
        strides = [*walked.rows.strides[number], *walked.elements.strides[number]]
        extents = [*walked.rows.extents, *walked.elements.extents]
        own = math.prod(n for n, stride in zip(extents, strides, strict=True) if stride)
        moved += own * form.dtype.itemsize * (2 if form.store else 1)
    return moved >= cost.STREAM_BYTES and not _overwrites(kernel, walked)


def again(kernel: kernel_ir.KernelIR, walked: Walked) -> bool:
    """True if elements may be computed twice: nothing is written where it is read, unless late."""
    return not _overwrites(kernel, walked, {s.form for s in kernel.late})


def _overwrites(
    kernel: kernel_ir.KernelIR, walked: Walked, late: Collection[int] = frozenset()
) -> bool:
    """True if some buffer is read and written, otherwise than by the forms ``late``."""
    used: tuple[set[int], set[int]] = set(), set()
    for number, (form, place) in enumerate(zip(kernel.forms, walked.places, strict=True)):
        if place is not None and number not in late:
            used[form.store].add(place.buffer)
    return not used[0].isdisjoint(used[1])


def grain(kernel: kernel_ir.KernelIR, work: int, per_item: float, tallies: bool) -> int:
    """Items below which a thread is not worth its start; all, where they are taken in order."""
    if kernel.is_ordered and not (kernel.compacts or tallies):
        return max(1, work)
    return max(1, int(cost.GRAIN_ELEMENTS / max(1.0, per_item * weight(kernel))))


def weight(kernel: kernel_ir.KernelIR) -> float:
    """The cost of one element relative to one that is only read."""
    total = 4
    for stage in kernel.stages:
        for statement in stage.body:
            if isinstance(statement, kernel_ir.Compute):
                total += OPS[statement.op].cost
            elif isinstance(statement, kernel_ir.Search):
                total += STRUCTURES["search"].cost
    return total / 4


def workspace(kernel: kernel_ir.KernelIR, rows: int, parts: int) -> int:
    """Bytes for the partial results of split rows and for the row values of outer reductions."""
    if kernel.compacts:
        return 16 * parts
    partial = sum(len(s.reduces) for s in kernel.stages) if parts > 1 else 0
    return 16 * rows * parts * partial + 16 * rows * len(kernel.outer)


def kept_bytes(kernel: kernel_ir.KernelIR, length: int) -> int:
    """The bytes of resident rows of so many elements."""
    return sum(whole(length * d.itemsize) for d in kernel.resident)


def whole(nbytes: int) -> int:
    """So many bytes, or some more, that what follows begins with a cache line."""
    return -(-nbytes // 64) * 64
