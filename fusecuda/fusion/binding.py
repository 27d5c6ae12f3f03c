"""Binding: the numbers of one launch, for the variant of a kernel that fits its strides."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ..graph.tree import CHUNK
from . import cost, crossing, kernel_ir
from .indexed import are_dense, are_sure, places_of
from .lowering import Lowered
from .needs import again, grain, kept_bytes, streams, whole, workspace
from .stages import ALL, COSTLY
from .tallies import pays as tallies_pay
from .tallies import tallied
from .variants import (
    ANY,
    COLUMN,
    COLUMN_BLOCK,
    COMPACTED_ROWS,
    COMPACTION,
    CROSSED,
    CROSSED_SHORT,
    FEWEST,
    LATE,
    LOOP,
    PLAIN,
    ROW,
    SHORT,
    SHORT_ROW,
    WORTH,
    Variant,
    are_short,
    choose,
    is_by_strides,
    longest_runs,
    overlap,
)
from .waiting import Wait, wait_of
from .walk import Launch, Lower, MemoryOf, Walk, Walked, limit_value, walk

_COMPACTED = 4096  # elements that one thread at least takes of a compaction
_RESIDENT_BLOCK = 32  # rows side by side where the threads keep all their elements
_FEW_COLUMNS = 128  # whose elements are near in memory, however many rows there are
_PARTS = 64  # a split row has at most so many parts


@dataclass(slots=True)
class Bound(Launch):
    """One launch of the C back end: which variant, and its integers in the order of the ABI.

    ``dims`` holds the parts of a row and their length (where rows are computed side by side, how
    many are; and 0 parts say so to a kernel that can do both; where it reduces across rows, the
    parts of a chunk of them and the lanes side by side), the extents (rows first), then for each
    form its strides (and, for an index form, its offset), then the limits, and the `Wait` of late
    stores. ``work`` counts elements of a loop, but for the axes
    walked inside its runs, (parts of) rows of a reduction, blocks of rows side
    by side, or parts of chunks.
    """

    variant: Variant = PLAIN
    dims: list[int] = field(default_factory=list)
    grain: int = 1  # items below which a thread is not worth its start
    phases: int = 1  # passes over rows that are cut into parts, one after the other
    streams: bool = False  # what is written goes to memory past the caches
    again: bool = False  # elements may be computed twice: none is written where it is read

    @property
    def shares_buffers(self) -> bool:
        """True: a kernel in C promises nothing of what it reads, as `const restrict` does."""
        return True


def bind(lower: Lower, memory: MemoryOf) -> Bound:
    """The launch of what ``lower`` gives with the shapes it has, on the memory given.

    ``memory(node)`` tells where ``node`` is in memory.
    """
    lowered, walked, variant = _walked(lower(ALL), memory)
    if lowered.ir.resident and _are_read_quickly(lowered, variant, walked):
        lowered, walked, variant = _walked(lower(COSTLY), memory)
    kernel, rows, elements = lowered.ir, walked.rows, walked.elements
    places = places_of(lowered, memory)
    variant = replace(variant, dense=are_dense(kernel, places), sure=are_sure(kernel, places))
    wait = wait_of(kernel, walked) if kernel.late else None
    parts, length = _split(kernel, variant, rows, elements, wait)
    block = _block(kernel, variant, rows, elements)
    first = [0 if variant.skeleton == ANY else 1, block] if block else [parts, length]
    tallies = _has_tallies(lowered, elements, memory)
    work, per_item = _work(kernel, variant, rows, lowered.work, parts, block)
    if variant.inside:
        inside = max(1, math.prod(elements.extents[-variant.inside :]))
        work, per_item = work // inside, inside
    count, row = math.prod(rows.extents), math.prod(elements.extents)
    in_parts = parts > 1 and not kernel.cross  # the rows, or what else is walked
    own, shared = kept_bytes(kernel, max(1, block) * row), 0
    if wait is not None:  # how many elements each part has, and those that wait for other parts'
        each = parts * (wait.behind + wait.ahead)
        shared = whole(8 * parts) + sum(whole(each * s.dtype.itemsize) for s in kernel.late)
        own += sum(whole(s.dtype.itemsize * wait.room) for s in kernel.late)
    elif kernel.cross:
        shared = crossing.left(kernel, work, row)
        own += _waiting(kernel, variant, length, row)
    elif in_parts:  # all threads share what is kept of rows in parts
        own, shared = 0, count * own
    return Bound(
        lowered,
        walked.buffers(),
        walked.byte_offsets(),
        work,
        workspace(kernel, count, parts if in_parts else 1) + shared,
        own,
        variant,
        first + _dims(lowered, walked, memory, wait),
        grain(kernel, work, per_item, tallies),
        kernel.phases if in_parts else 2 if tallies and kernel.fills else 1,
        streams(kernel, walked),
        again(kernel, walked),
    )


def _dims(lowered: Lowered, walked: Walked, memory: MemoryOf, wait: Wait | None) -> list[int]:
    """The integers behind the first two: extents, strides and offsets, limits, what waits."""
    kernel, rows, elements = lowered.ir, walked.rows, walked.elements
    is_loop = kernel.kind == "loop"
    dims = [*elements.extents] if is_loop else rows.extents + elements.extents
    for f, form in enumerate(kernel.forms):
        if not is_loop:
            dims += rows.strides[f]
        dims += elements.strides[f]
        if form.dtype is None:
            dims.append(walked.offsets[f])
    for number, limit in enumerate(lowered.limits):
        dims.append(limit_value(limit, memory) * walked.folds.get(number, 1))
    return dims if wait is None else [*dims, wait.behind, wait.ahead, wait.room]


def _has_tallies(lowered: Lowered, elements: Walk, memory: MemoryOf) -> bool:
    """True if each thread scatters to tallies of its own, which are added up afterwards."""
    kernel = lowered.ir
    counts = [limit_value(lowered.limits[s.limits[0][0]], memory) for s in tallied(kernel)]
    return bool(counts) and tallies_pay(max(counts), math.prod(elements.extents))


def _waiting(kernel: kernel_ir.KernelIR, variant: Variant, length: int, row: int) -> int:
    """The bytes of what a chunk of rows has until it is folded, by the skeleton."""
    if variant.skeleton == CROSSED:
        return crossing.waiting(kernel, length, row)
    return crossing.waiting_of_short(kernel, row)


def _are_read_quickly(lowered: Lowered, variant: Variant, walked: Walked) -> bool:
    """True if elements are read as quickly from memory as what would be kept of them.

    They lie side by side, or so do few columns with the next ones, or windows share them.
    """
    if variant.skeleton == COLUMN:
        few = walked.rows.extents[-1] <= _FEW_COLUMNS and lowered.work >= WORTH
        return few or overlap(lowered.ir, walked.rows, walked.elements)
    return variant.skeleton in (ROW, CROSSED) and bool(variant.steps)


def _walked(lowered: Lowered, memory: MemoryOf) -> tuple[Lowered, Walked, Variant]:
    """A kernel with its walk on the memory given, and which of its texts fits that."""
    walked = walk(lowered, memory, folds=True)
    walked.rows = _longest_beside(lowered.ir, walked.rows, walked.elements)
    walked.elements = _apart_from_tests(lowered.ir, walked.elements)
    if is_by_strides(lowered.ir, walked.elements):
        walked.elements = longest_runs(walked.elements)
    return lowered, walked, choose(lowered.ir, walked.rows, walked.elements)


def _longest_beside(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> Walk:
    """The rows with their longest axis last, if along the last one too few of few elements lie."""
    *outer, inner = rows.extents or [0]
    longest = max(outer, default=0)
    is_fixed = kernel.kind == "loop" or kernel.segment is not None or kernel.outer or kernel.cross
    ordered = (kernel_ir.Scatter, kernel_ir.Compact)
    is_ordered = any(isinstance(s, ordered) for s in kernel.statements())
    is_long = math.prod(elements.extents) > SHORT_ROW
    if is_fixed or is_long or is_ordered or inner >= FEWEST or longest <= inner:
        return rows
    return _with_last(rows, outer.index(longest))


def _apart_from_tests(kernel: kernel_ir.KernelIR, walk: Walk) -> Walk:
    """The walk of a loop with its longest axis innermost, if tests change along a short one.

    A run ends where a test changes; results that are joined along a short axis (`numpy.stack`) are
    better written one after the other.
    """
    *outer, inner = walk.extents
    longest = max(outer, default=0)
    fixed = kernel.kind != "loop" or kernel.is_ordered or kernel.late
    if fixed or inner > SHORT or longest <= inner:
        return walk
    tests = {f for s in kernel.statements() if isinstance(s, kernel_ir.InRange) for f, _ in s.tests}
    if not any(walk.strides[f][-1] for f in tests):
        return walk
    return _with_last(walk, outer.index(longest))


def _with_last(walk: Walk, axis: int) -> Walk:
    axes = [a for a in range(len(walk.extents)) if a != axis]
    return walk.keep([*axes, axis])


def _split(
    kernel: kernel_ir.KernelIR, variant: Variant, rows: Walk, elements: Walk, wait: Wait | None
) -> tuple[int, int]:
    """Into how many parts a row is cut, and their length, a power of two of chunks."""
    length = math.prod(elements.extents)
    if wait is not None:
        each = wait.part(cost.GRAIN_ELEMENTS // 2)
        return -(-length // each), each
    if kernel.cross and variant.skeleton == CROSSED:
        parts = crossing.parts_of_chunk(math.prod(rows.extents), length)
        return parts, crossing.lanes_at_hand(kernel, parts, length)
    if kernel.compacts:
        each = max(1, _COMPACTED // length) if kernel.row_rank else _COMPACTED
        return -(-(math.prod(rows.extents) if kernel.row_rank else length) // each), each
    if variant.skeleton not in (ROW, ANY) or length < 2 * cost.SPLIT_ELEMENTS:
        return 1, length
    if not kernel.splittable and kernel.phases == 1:
        return 1, length
    if math.prod(rows.extents) >= 8:  # enough rows for the threads
        return 1, length
    part = max(cost.SPLIT_ELEMENTS, CHUNK)
    while -(-length // part) > _PARTS:
        part *= 2
    return -(-length // part), part


def _block(kernel: kernel_ir.KernelIR, variant: Variant, rows: Walk, elements: Walk) -> int:
    """How many rows are computed side by side: the more, the longer the runs that are read.

    0 where rows are computed one after the other.
    """
    if variant.skeleton not in (COLUMN, CROSSED_SHORT) and not (
        variant.skeleton == ANY and are_short(kernel, rows, elements)
    ):
        return 0
    most = _RESIDENT_BLOCK if kernel.resident else COLUMN_BLOCK
    inner = rows.extents[-1]
    if inner <= _RESIDENT_BLOCK:
        return inner
    blocks = max(2, -(-inner // most))  # a block for each of two threads
    return min(most, -(-inner // (8 * blocks)) * 8)


def _work(
    kernel: kernel_ir.KernelIR, variant: Variant, rows: Walk, elements: int, parts: int, block: int
) -> tuple[int, float]:
    """The number of work items and how many of all ``elements`` each one has."""
    if variant.skeleton == LOOP:
        return elements, 1
    if variant.skeleton in (COMPACTION, COMPACTED_ROWS, LATE):
        return parts, elements / max(parts, 1)
    count = math.prod(rows.extents)
    if kernel.cross:
        items = crossing.chunks(count) * parts
        return items, elements / items
    length = elements / max(count, 1)
    if block:
        inner = rows.extents[-1]
        return count // max(inner, 1) * -(-inner // block), float(length * block)
    return count * parts, length / max(parts, 1)
