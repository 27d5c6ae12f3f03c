"""Binding: the numbers of one launch, and the choice among a kernel's variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..graph.ops import OPS
from ..graph.tree import CHUNK
from . import cost, crossing, kernel_ir
from .byte_chains import MANY, chains_of
from .lowering import Lowered
from .stages import ALL, COSTLY
from .waiting import Wait, wait_of
from .walk import Launch, Lower, MemoryOf, Walk, Walked, limit_value, walk

LOOP, ROW, COLUMN, ANY = "loop", "row", "column", "any"
COMPACTION, COMPACTED_ROWS = "compaction", "compacted rows"
LATE = "late"  # a loop with late stores
CROSSED = "crossed"  # rows that are reduced along and across
_COMPACTED = 4096  # elements that one thread at least takes of a compaction
COLUMN_BLOCK = 64  # rows at most that are computed side by side where they lie so in memory
_SHORT_ROW = 32  # elements up to which rows are computed side by side however they lie
_FEWEST = 8  # rows for which that is done
_RESIDENT_BLOCK = 32  # and where the threads keep all their elements
_SHORT = 8  # elements: an axis along which a run costs more than its elements
_ALONG = (0, 1)  # elements from one to the next that every text may have
# Others in loops, by the bytes of an element: backwards, every second one, parts of pixels. gcc
# makes vectors of wider types with any steps, as quickly, and leaves the last of a run to no vector
# where it skips elements: of short runs those are many.
_STEPS = dict.fromkeys((1, 2), (0, 1, -1, 2, 3, 4))
_STEPS_OF_LONG = _STEPS | {4: (0, 1, -1, 2)}
_LONG = 256
_PARTS = 64  # a split row has at most so many parts


@dataclass(frozen=True, slots=True)
class Variant:
    """Which text of a kernel fits: its skeleton, and how forms walk the inner axis.

    The skeleton ANY has two ways, rows one after the other and rows side by side, for any strides.

    ``steps[f]`` is how many elements form ``f`` walks from one to the next: 1, 0 where it stands
    still, and in loops another number of `_STEPS`. None means that any strides
    will do. With ``tables`` what is computed from a byte alone is looked up.
    """

    skeleton: str
    steps: tuple[int, ...] | None
    tables: bool = False


@dataclass(slots=True)
class Bound(Launch):
    """One launch of the C back end: which variant, and its integers in the order of the ABI.

    ``dims`` holds the parts of a row and their length (where rows are computed side by side, how
    many are; and 0 parts say so to a kernel that can do both; where it reduces across rows, the
    parts of a chunk of them and the lanes side by side), the extents (rows first), then for each
    form its strides (and, for an index form, its offset), then the limits, and the `Wait` of late
    stores. ``work`` counts elements of a loop, (parts of) rows of a reduction, blocks of rows side
    by side, or parts of chunks.
    """

    variant: Variant = Variant(LOOP, None)
    dims: list[int] = field(default_factory=list)
    grain: int = 1  # items below which a thread is not worth its start
    phases: int = 1  # passes over rows that are cut into parts, one after the other
    streams: bool = False  # what is written goes to memory past the caches


def bind(lower: Lower, memory: MemoryOf) -> Bound:
    """The launch of what ``lower`` gives with the shapes it has, on the memory given.

    ``memory(node)`` tells where ``node`` is in memory.
    """
    lowered, walked, variant = _walked(lower(ALL), memory)
    if variant.skeleton in (ROW, CROSSED) and variant.steps and lowered.ir.resident:
        # Elements side by side are read as quickly as what would be kept of them.
        lowered, walked, variant = _walked(lower(COSTLY), memory)
    kernel, rows, elements = lowered.ir, walked.rows, walked.elements
    wait = wait_of(kernel, walked) if kernel.late else None
    parts, length = _split(kernel, variant, rows, elements, wait)
    block = _block(kernel, variant, rows, elements)
    dims = [1 if variant.skeleton == COLUMN else 0, block] if block else [parts, length]
    dims += elements.extents if kernel.kind == "loop" else rows.extents + elements.extents
    for f, form in enumerate(kernel.forms):
        if kernel.kind != "loop":
            dims += rows.strides[f]
        dims += elements.strides[f]
        if form.dtype is None:
            dims.append(walked.offsets[f])
    dims += [limit_value(limit, memory) for limit in lowered.limits]
    if wait is not None:
        dims += [wait.behind, wait.ahead, wait.room]
    work, per_item = _work(kernel, variant, rows, lowered.work, parts, block)
    count = math.prod(rows.extents)
    scratch = _scratch(kernel, max(1, block) * math.prod(elements.extents))
    scratch += sum(_whole(s.dtype.itemsize * wait.room) for s in kernel.late) if wait else 0
    in_parts = parts > 1 and not kernel.cross  # the rows, or what else is walked
    kept = count * scratch if in_parts else 0  # all threads share what is kept of rows in parts
    if kernel.cross:
        kept = crossing.left(kernel, work, math.prod(elements.extents))
        scratch += crossing.waiting(kernel, length, math.prod(elements.extents))
    if wait is not None:  # how many elements each part has, and those that wait for other parts'
        each = parts * (wait.behind + wait.ahead)
        kept = _whole(8 * parts) + sum(_whole(each * s.dtype.itemsize) for s in kernel.late)
    return Bound(
        lowered,
        walked.buffers(),
        walked.byte_offsets(),
        work,
        _workspace(kernel, count, parts if in_parts else 1) + kept,
        0 if in_parts and wait is None else scratch,
        variant,
        dims,
        _grain(kernel, work, per_item),
        kernel.phases if in_parts else 1,
        _streams(kernel, walked),
    )


def _streams(kernel: kernel_ir.KernelIR, walked: Walked) -> bool:
    """True if results go past the caches, which do not hold them until somebody reads them.

    Lines that are written into caches are read first: they count twice. What is overwritten where
    it has been read is there anyway.
    """
    read: set[int] = set()
    written: set[int] = set()
    moved = 0
    for number, (form, place) in enumerate(zip(kernel.forms, walked.places, strict=True)):
        if form.dtype is None or place is None:
            continue
        strides = [*walked.rows.strides[number], *walked.elements.strides[number]]
        extents = [*walked.rows.extents, *walked.elements.extents]
        own = math.prod(n for n, stride in zip(extents, strides, strict=True) if stride)
        moved += own * form.dtype.itemsize * (2 if form.store else 1)
        (written if form.store else read).add(place.buffer)
    return moved >= cost.STREAM_BYTES and not read & written


def _walked(lowered: Lowered, memory: MemoryOf) -> tuple[Lowered, Walked, Variant]:
    """A kernel with its walk on the memory given, and which of its texts fits that."""
    walked = walk(lowered, memory)
    walked.elements = _apart_from_tests(lowered.ir, walked.elements)
    return lowered, walked, _choose(lowered.ir, walked.rows, walked.elements)


def _apart_from_tests(kernel: kernel_ir.KernelIR, walk: Walk) -> Walk:
    """The walk of a loop with its longest axis innermost, if tests change along a short one.

    A run ends where a test changes; results that are joined along a short axis (`numpy.stack`) are
    better written one after the other.
    """
    *outer, inner = walk.extents
    longest = max(outer, default=0)
    fixed = kernel.kind != "loop" or kernel.is_ordered or kernel.late
    if fixed or inner > _SHORT or longest <= inner:
        return walk
    tests = {f for s in kernel.statements() if isinstance(s, kernel_ir.InRange) for f, _ in s.tests}
    if not any(walk.strides[f][-1] for f in tests):
        return walk
    axes = list(range(len(walk.extents)))
    axes.append(axes.pop(outer.index(longest)))
    return walk.keep(axes)


def _choose(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> Variant:
    if kernel.compacts:
        skeleton = COMPACTION if kernel.kind == "loop" else COMPACTED_ROWS
        return Variant(skeleton, _pattern(kernel, elements))
    if kernel.late:
        return Variant(LATE, _pattern(kernel, elements))
    if kernel.kind == "loop":
        tables = math.prod(elements.extents) >= MANY and bool(chains_of(kernel))
        steps = _STEPS_OF_LONG if elements.extents[-1] >= _LONG else _STEPS
        return Variant(LOOP, _pattern(kernel, elements, steps), tables)
    by_row = _pattern(kernel, elements)
    if kernel.cross:
        return Variant(CROSSED, by_row)
    if by_row is not None and not _are_short(kernel, rows, elements):
        return Variant(ROW, by_row)
    by_column = _pattern(kernel, rows) if stand_side_by_side(kernel, rows) else None
    many = _FEWEST if elements.extents[-1] > 1 else cost.GRAIN_ELEMENTS
    if by_column is not None and rows.extents[-1] >= many:
        return Variant(COLUMN, by_column)
    return Variant(ANY, None)


def stand_side_by_side(kernel: kernel_ir.KernelIR, rows: Walk) -> bool:
    """True if rows that are neighbours along the last axis have the same segment, or are whole."""
    forms = kernel_ir.forms_of(s for stage in kernel.stages for s in stage.head)
    return kernel.segment is None or not any(rows.strides[f][-1] for f in forms)


def _are_short(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> bool:
    """True for many rows of a few elements."""
    if not stand_side_by_side(kernel, rows):
        return False
    return math.prod(elements.extents) <= _SHORT_ROW and rows.extents[-1] >= COLUMN_BLOCK


def _pattern(
    kernel: kernel_ir.KernelIR, walk: Walk, more: Mapping[int, Sequence[int]] = MappingProxyType({})
) -> tuple[int, ...] | None:
    """How many elements each form steps along the last axis, or None if no text has such a step.

    Forms of elements of so many bytes may have ``more`` steps.
    """
    if walk.extents[-1] < 2:
        return None
    pattern = []
    for form, strides in zip(kernel.forms, walk.strides, strict=True):
        if form.dtype is None:
            pattern.append(1)  # an index is computed from its strides in every variant
            continue
        step, rest = divmod(strides[-1], form.dtype.itemsize)
        if rest or step not in more.get(form.dtype.itemsize, _ALONG):
            return None
        pattern.append(step)
    return tuple(pattern)


def _split(
    kernel: kernel_ir.KernelIR, variant: Variant, rows: Walk, elements: Walk, wait: Wait | None
) -> tuple[int, int]:
    """Into how many parts a row is cut, and their length, a power of two of chunks."""
    length = math.prod(elements.extents)
    if wait is not None:
        each = wait.part(cost.GRAIN_ELEMENTS // 2)
        return -(-length // each), each
    if kernel.cross:
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
    if variant.skeleton != COLUMN and not (
        variant.skeleton == ANY and _are_short(kernel, rows, elements)
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


def _grain(kernel: kernel_ir.KernelIR, work: int, per_item: float) -> int:
    """Items below which a thread is not worth its start; all, where they are taken in order."""
    if kernel.is_ordered and not kernel.compacts:
        return max(1, work)
    return max(1, int(cost.GRAIN_ELEMENTS / max(1.0, per_item * _weight(kernel))))


def _weight(kernel: kernel_ir.KernelIR) -> float:
    """The cost of one element relative to one that is only read."""
    total = 4
    for stage in kernel.stages:
        for statement in stage.body:
            if isinstance(statement, kernel_ir.Compute):
                total += OPS[statement.op].cost
    return total / 4


def _workspace(kernel: kernel_ir.KernelIR, rows: int, parts: int) -> int:
    """Bytes for the partial results of split rows and for the row values of outer reductions."""
    if kernel.compacts:
        return 16 * parts
    partial = sum(len(s.reduces) for s in kernel.stages) if parts > 1 else 0
    return 16 * rows * parts * partial + 16 * rows * len(kernel.outer)


def _scratch(kernel: kernel_ir.KernelIR, length: int) -> int:
    return sum(_whole(length * d.itemsize) for d in kernel.resident)


def _whole(nbytes: int) -> int:
    """So many bytes, or some more, that what follows begins with a cache line."""
    return -(-nbytes // 64) * 64
