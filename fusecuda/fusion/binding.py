"""Binding: the numbers of one launch, and the choice among a kernel's variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ..graph.tree import CHUNK
from . import cost, crossing, kernel_ir
from .byte_chains import MANY, chains_of
from .indexed import are_dense, are_sure, places_of
from .lowering import Lowered
from .needs import again, grain, kept_bytes, streams, whole, workspace
from .stages import ALL, COSTLY
from .waiting import Wait, wait_of
from .walk import Launch, Lower, MemoryOf, Walk, Walked, limit_value, walk

LOOP, ROW, COLUMN, ANY = "loop", "row", "column", "any"
COMPACTION, COMPACTED_ROWS = "compaction", "compacted rows"
LATE = "late"  # a loop with late stores
CROSSED = "crossed"  # rows that are reduced along and across
CROSSED_SHORT = "crossed short rows"  # the same of many rows of a few elements, side by side
_COMPACTED = 4096  # elements that one thread at least takes of a compaction
COLUMN_BLOCK = 64  # rows at most that are computed side by side where they lie so in memory
SHORT_ROW = 32  # elements up to which rows are computed side by side however they lie
_FEWEST = 8  # rows for which that is done
_RESIDENT_BLOCK = 32  # and where the threads keep all their elements
_FEW_COLUMNS = 128  # whose elements are near in memory, however many rows there are
_SHORT = 8  # elements: an axis along which a run costs more than its elements
_ALONG = (0, 1)  # elements from one to the next that every text may have
# Others in loops, by the bytes of an element: backwards, every second one, parts of pixels. gcc
# makes vectors of every second double as quickly with any steps, and leaves the last of a run to no
# vector where it skips elements: of short runs those are many. Every second float that is read is
# put beside the next one, for a block of a run. One form with any steps gives all of them any.
_STEPS = dict.fromkeys((1, 2), (0, 1, -1, 2, 3, 4))
_STEPS_OF_LONG = _STEPS | {4: (0, 1, -1, 2)}
_STEPS_OF_WHOLE = _STEPS_OF_LONG | {8: (0, 1, -1)}  # where all that goes backwards is as large
_LONG = 256
_STEPS_OF_READS = {4: (0, 1, 2)}
_BLOCK = 16
_WORTH = 1 << 14  # elements: fewer are not worth a text of their own
_INSIDE = 64  # elements at most of the short axes that are walked within a run of a long one
_LONG_RUN = 64  # elements along the last axis that are run along, whatever is before it
_LINE = 64  # bytes that memory gives at once
_NEAR = 16  # extent of an axis that is long beside them
ANY_STEP = 1 << 30  # of a form that walks the inner axis as an argument says, beside others
_PARTS = 64  # a split row has at most so many parts


@dataclass(frozen=True, slots=True)
class Variant:
    """Which text of a kernel fits: its skeleton, and how forms walk the inner axis.

    The skeleton ANY has two ways, rows one after the other and rows side by side, for any strides.

    ``steps[f]`` is how many elements form ``f`` walks from one to the next: 1, 0 where it stands
    still, and in loops another number of `_STEPS`. None means that any strides
    will do. With ``tables`` what is computed from a byte alone is looked up. So many of a loop's
    last axes are walked ``inside`` a run along the one before, which is then the inner axis. Where
    it is ``dense``, indices lead to elements side by side; where it is ``sure``, all are bytes, and
    there is an element for each. The forms that are ``turned`` lie across the runs, and are put
    along them some at a time.
    """

    skeleton: str
    steps: tuple[int, ...] | None
    tables: bool = False
    inside: int = 0
    dense: bool = False
    sure: bool = False
    turned: tuple[int, ...] = ()


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

    variant: Variant = Variant(LOOP, None)
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
    dims = [0 if variant.skeleton == ANY else 1, block] if block else [parts, length]
    dims += elements.extents if kernel.kind == "loop" else rows.extents + elements.extents
    for f, form in enumerate(kernel.forms):
        if kernel.kind != "loop":
            dims += rows.strides[f]
        dims += elements.strides[f]
        if form.dtype is None:
            dims.append(walked.offsets[f])
    for number, limit in enumerate(lowered.limits):
        dims.append(limit_value(limit, memory) * walked.folds.get(number, 1))
    if wait is not None:
        dims += [wait.behind, wait.ahead, wait.room]
    work, per_item = _work(kernel, variant, rows, lowered.work, parts, block)
    if variant.inside:
        inside = max(1, math.prod(elements.extents[-variant.inside :]))
        work, per_item = work // inside, inside
    count = math.prod(rows.extents)
    scratch = kept_bytes(kernel, max(1, block) * math.prod(elements.extents))
    scratch += sum(whole(s.dtype.itemsize * wait.room) for s in kernel.late) if wait else 0
    in_parts = parts > 1 and not kernel.cross  # the rows, or what else is walked
    kept = count * scratch if in_parts else 0  # all threads share what is kept of rows in parts
    if kernel.cross:
        row = math.prod(elements.extents)
        kept = crossing.left(kernel, work, row)
        if variant.skeleton == CROSSED:
            scratch += crossing.waiting(kernel, length, row)
        else:
            scratch += crossing.waiting_of_short(kernel, row)
    if wait is not None:  # how many elements each part has, and those that wait for other parts'
        each = parts * (wait.behind + wait.ahead)
        kept = whole(8 * parts) + sum(whole(each * s.dtype.itemsize) for s in kernel.late)
    return Bound(
        lowered,
        walked.buffers(),
        walked.byte_offsets(),
        work,
        workspace(kernel, count, parts if in_parts else 1) + kept,
        0 if in_parts and wait is None else scratch,
        variant,
        dims,
        grain(kernel, work, per_item),
        kernel.phases if in_parts else 1,
        streams(kernel, walked),
        again(kernel, walked),
    )


def _are_read_quickly(lowered: Lowered, variant: Variant, walked: Walked) -> bool:
    """True if elements are read as quickly from memory as what would be kept of them.

    They lie side by side, or so do few columns with the next ones, or windows share them.
    """
    if variant.skeleton == COLUMN:
        few = walked.rows.extents[-1] <= _FEW_COLUMNS and lowered.work >= _WORTH
        return few or _overlap(lowered.ir, walked.rows, walked.elements)
    return variant.skeleton in (ROW, CROSSED) and bool(variant.steps)


def _walked(lowered: Lowered, memory: MemoryOf) -> tuple[Lowered, Walked, Variant]:
    """A kernel with its walk on the memory given, and which of its texts fits that."""
    walked = walk(lowered, memory, folds=True)
    walked.rows = _longest_beside(lowered.ir, walked.rows, walked.elements)
    walked.elements = _apart_from_tests(lowered.ir, walked.elements)
    if _is_by_strides(lowered.ir, walked.elements):
        walked.elements = _longest_runs(walked.elements)
    return lowered, walked, _choose(lowered.ir, walked.rows, walked.elements)


def _longest_beside(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> Walk:
    """The rows with their longest axis last, if along the last one too few of few elements lie."""
    *outer, inner = rows.extents or [0]
    longest = max(outer, default=0)
    is_fixed = kernel.kind == "loop" or kernel.segment is not None or kernel.outer or kernel.cross
    ordered = (kernel_ir.Scatter, kernel_ir.Compact)
    is_ordered = any(isinstance(s, ordered) for s in kernel.statements())
    is_long = math.prod(elements.extents) > SHORT_ROW
    if is_fixed or is_long or is_ordered or inner >= _FEWEST or longest <= inner:
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
    if fixed or inner > _SHORT or longest <= inner:
        return walk
    tests = {f for s in kernel.statements() if isinstance(s, kernel_ir.InRange) for f, _ in s.tests}
    if not any(walk.strides[f][-1] for f in tests):
        return walk
    return _with_last(walk, outer.index(longest))


def _with_last(walk: Walk, axis: int) -> Walk:
    axes = [a for a in range(len(walk.extents)) if a != axis]
    return walk.keep([*axes, axis])


def _choose(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> Variant:
    if kernel.compacts:
        skeleton = COMPACTION if kernel.kind == "loop" else COMPACTED_ROWS
        return Variant(skeleton, _pattern(kernel, elements))
    if kernel.late:
        return Variant(LATE, _pattern(kernel, elements))
    if kernel.kind == "loop":
        return _loop(kernel, elements)
    by_row = _pattern(kernel, elements)
    if kernel.cross and _are_short(kernel, rows, elements):
        return Variant(CROSSED_SHORT, None)
    if kernel.cross:
        return Variant(CROSSED, by_row)
    by_column = _pattern(kernel, rows) if stand_side_by_side(kernel, rows) else None
    in_step = by_column is not None and _overlap(kernel, rows, elements)
    if by_row is not None and not in_step and not _are_short(kernel, rows, elements):
        return Variant(ROW, by_row)
    many = _FEWEST if elements.extents[-1] > 1 else cost.GRAIN_ELEMENTS
    if by_column is not None and rows.extents[-1] >= many:
        return Variant(COLUMN, by_column)
    return Variant(ANY, None)


def _overlap(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> bool:
    """True if rows are windows that slide by one element: side by side they are one run, too."""
    return any(
        form.dtype is not None
        and not form.store
        and rows.strides[f][-1] == elements.strides[f][-1] == form.dtype.itemsize
        for f, form in enumerate(kernel.forms)
    )


def _loop(kernel: kernel_ir.KernelIR, walk: Walk) -> Variant:
    tables = math.prod(walk.extents) >= MANY and bool(chains_of(kernel))
    inside = _inside(kernel, walk)
    if inside:
        turned = _turned(kernel, walk) if inside == 1 else ()
        return Variant(LOOP, _steps_of_runs(kernel, walk, turned), tables, inside, turned=turned)
    return Variant(LOOP, _steps(kernel, walk), tables)


def _steps_of_runs(
    kernel: kernel_ir.KernelIR, walk: Walk, turned: Sequence[int]
) -> tuple[int, ...]:
    """How a loop's forms step along its runs if axes are walked within them.

    One text serves all strides; where some are turned, the others are known if they are one.
    """
    forms = range(len(kernel.forms))
    across = [f not in turned and not _is_beside(kernel, f, walk.strides[f][-2]) for f in forms]
    steps = [ANY_STEP if not turned or across[f] else 1 for f in forms]
    return tuple([1 if kernel.forms[f].dtype is None else steps[f] for f in forms])


def _is_beside(kernel: kernel_ir.KernelIR, form: int, stride: int) -> bool:
    dtype = kernel.forms[form].dtype
    return dtype is not None and stride == dtype.itemsize


def _turned(kernel: kernel_ir.KernelIR, walk: Walk) -> tuple[int, ...]:
    """The forms that are read across the runs of a loop, as a transposed matrix beside another.

    Their elements lie side by side along the axis that is walked within the runs.
    """
    if math.prod(walk.extents) < _WORTH or walk.extents[-1] < _SHORT:
        return ()
    plain, others = set[int](), set[int]()
    for s in kernel.statements():
        is_plain = isinstance(s, kernel_ir.Load) and s.guard is None
        (plain if is_plain else others).update(kernel_ir.forms_of([s]))
    wide = [d is not None and d.itemsize in (4, 8) for d in (f.dtype for f in kernel.forms)]
    across = [
        abs(s[-2]) >= _LINE and _is_beside(kernel, f, s[-1]) for f, s in enumerate(walk.strides)
    ]
    return tuple([f for f in sorted(plain - others) if wide[f] and across[f]])


def _steps(kernel: kernel_ir.KernelIR, walk: Walk) -> tuple[int, ...] | None:
    """How a loop's forms step along the last axis, or None if no text has such a step."""
    last = walk.extents[-1]
    more: Mapping[int, Sequence[int]] = _STEPS_OF_LONG if last >= _LONG else _STEPS
    if last >= _LONG and math.prod(walk.extents) >= _WORTH and _are_whole(kernel, walk):
        more = _STEPS_OF_WHOLE
    return _pattern(kernel, walk, more, _STEPS_OF_READS if last >= _BLOCK else {})


def _are_whole(kernel: kernel_ir.KernelIR, walk: Walk) -> bool:
    """True if forms that step backwards reach as many elements as there are."""
    return all(
        stride or n == 1
        for form, strides in zip(kernel.forms, walk.strides, strict=True)
        if form.dtype is not None and strides[-1] < 0
        for stride, n in zip(strides, walk.extents, strict=True)
    )


def _is_by_strides(kernel: kernel_ir.KernelIR, walk: Walk) -> bool:
    """True for a loop of several axes that takes all its strides from arguments, in any order."""
    fixed = kernel.kind != "loop" or kernel.is_ordered or kernel.late or len(walk.extents) < 2
    if fixed or any(isinstance(s, kernel_ir.InRange) for s in kernel.statements()):
        return False
    return _steps(kernel, walk) is None


def _longest_runs(walk: Walk) -> Walk:
    """The walk of such a loop with its last axis, unless it is short, where runs go along it.

    The axis that is walked within the runs comes last.
    """
    *outer, before, last = range(len(walk.extents))
    if walk.extents[last] < min(_LONG_RUN, walk.extents[before]):
        return walk
    return walk.keep([*outer, last, before])


def _inside(kernel: kernel_ir.KernelIR, walk: Walk) -> int:
    """How many axes at the end are walked within a run along the one before them.

    Those that are short, for a run of three elements costs as much as one of thirty. Not where
    tests of indices end runs, nor where eight floats or doubles that lie side by side are a vector
    as they are. And one, where all strides are arguments anyway.
    """
    return _short_axes(kernel, walk) or int(_is_by_strides(kernel, walk))


def _short_axes(kernel: kernel_ir.KernelIR, walk: Walk) -> int:
    """How many short axes at the end are beside a long one, if that is worth it."""
    sizes = [f.dtype.itemsize for f in kernel.forms if f.dtype is not None]
    if walk.extents[-1] >= _SHORT and min(sizes, default=0) >= 4 and _pattern(kernel, walk):
        return 0
    if math.prod(walk.extents) < _WORTH:
        return 0
    if kernel.is_ordered or any(isinstance(s, kernel_ir.InRange) for s in kernel.statements()):
        return 0
    count, elements = 0, 1
    for n in reversed(walk.extents):
        elements *= n
        if n > _SHORT or elements > _INSIDE:
            break
        count += 1
    return count if count < len(walk.extents) and walk.extents[-1 - count] >= _NEAR else 0


def stand_side_by_side(kernel: kernel_ir.KernelIR, rows: Walk) -> bool:
    """True if rows that are neighbours along the last axis have the same segment, or are whole."""
    forms = kernel_ir.forms_of(s for stage in kernel.stages for s in stage.head)
    return kernel.segment is None or not any(rows.strides[f][-1] for f in forms)


def _are_short(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> bool:
    """True for many rows of a few elements."""
    is_many = rows.extents[-1] >= _FEWEST and math.prod(rows.extents) >= COLUMN_BLOCK
    if not is_many or not stand_side_by_side(kernel, rows):
        return False
    return 0 < math.prod(elements.extents) <= SHORT_ROW


def _pattern(
    kernel: kernel_ir.KernelIR,
    walk: Walk,
    more: Mapping[int, Sequence[int]] = MappingProxyType({}),
    reads: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> tuple[int, ...] | None:
    """How many elements each form steps along the last axis, or None if no text has such a step.

    Forms of elements of so many bytes may have ``more`` steps, and those that are read others.
    """
    if walk.extents[-1] < 2:
        return None
    pattern = []
    for form, strides in zip(kernel.forms, walk.strides, strict=True):
        if form.dtype is None:
            pattern.append(1)  # an index is computed from its strides in every variant
            continue
        size = form.dtype.itemsize
        step, rest = divmod(strides[-1], size)
        known = step in more.get(size, _ALONG) or (not form.store and step in reads.get(size, ()))
        if rest or not known:
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
