"""Variants: which text of a kernel fits the strides it is given, on the CPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..graph.tree import LANES
from . import cost, kernel_ir
from .byte_chains import MANY, chains_of
from .packed import is_packable
from .walk import Walk
from .walked_forms import forms_of

LOOP, ROW, COLUMN, ANY = "loop", "row", "column", "any"
COMPACTION, COMPACTED_ROWS = "compaction", "compacted rows"
LATE = "late"  # a loop with late stores
CROSSED = "crossed"  # rows that are reduced along and across
CROSSED_SHORT = "crossed short rows"  # the same of many rows of a few elements, side by side
COLUMN_BLOCK = 64  # rows at most that are computed side by side where they lie so in memory
SHORT_ROW = 32  # elements up to which rows are computed side by side however they lie
FEWEST = 8  # rows for which that is done
SHORT = 8  # elements: an axis along which a run costs more than its elements
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
WORTH = 1 << 14  # elements: fewer are not worth a text of their own
_INSIDE = 64  # elements at most of the short axes that are walked within a run of a long one
_LONG_RUN = 64  # elements along the last axis that are run along, whatever is before it
_LINE = 64  # bytes that memory gives at once
_NEAR = 16  # extent of an axis that is long beside them
ANY_STEP = 1 << 30  # of a form that walks the inner axis as an argument says, beside others


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
    along them some at a time. Runs are ``packed`` before functions are computed of them.
    """

    skeleton: str
    steps: tuple[int, ...] | None
    tables: bool = False
    inside: int = 0
    dense: bool = False
    sure: bool = False
    turned: tuple[int, ...] = ()
    packed: bool = False


PLAIN = Variant(LOOP, None)  # of any strides


def choose(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> Variant:
    if kernel.compacts:
        skeleton = COMPACTION if kernel.kind == "loop" else COMPACTED_ROWS
        return Variant(skeleton, _pattern(kernel, elements))
    if kernel.late:
        return Variant(LATE, _pattern(kernel, elements))
    if kernel.kind == "loop":
        return _loop(kernel, elements)
    by_row = _pattern(kernel, elements)
    if kernel.cross and are_short(kernel, rows, elements):
        return Variant(CROSSED_SHORT, None)
    if kernel.cross:
        return Variant(CROSSED, by_row)
    by_column = _pattern(kernel, rows) if stand_side_by_side(kernel, rows) else None
    in_step = by_column is not None and overlap(kernel, rows, elements)
    is_short = are_short(kernel, rows, elements) and not _fill_lanes(kernel, elements)
    if by_row is not None and not in_step and not is_short:
        return Variant(ROW, by_row)
    many = FEWEST if elements.extents[-1] > 1 else cost.GRAIN_ELEMENTS
    if by_column is not None and rows.extents[-1] >= many:
        return Variant(COLUMN, by_column)
    return Variant(ANY, None)


def overlap(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> bool:
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
    turned = _turned(kernel, walk) if inside == 1 else ()
    if not turned and _is_packed(kernel, walk):
        inside = _inside_packed(kernel, walk)
        steps = None if inside else _pattern(kernel, walk)
        return Variant(LOOP, steps, inside=inside, packed=True)
    if inside:
        return Variant(LOOP, _steps_of_runs(kernel, walk, turned), tables, inside, turned=turned)
    return Variant(LOOP, _steps(kernel, walk), tables)


def _is_packed(kernel: kernel_ir.KernelIR, walk: Walk) -> bool:
    """True for a loop of functions whose runs fill no vectors: they are short, or lie apart."""
    if kernel.is_ordered or kernel.fills or math.prod(walk.extents) < _BLOCK:
        return False
    statements = list(kernel.statements())
    if not is_packable(statements):
        return False
    tested = any(isinstance(s, kernel_ir.InRange) for s in statements)
    size = min(f.dtype.itemsize for f in kernel.forms if f.dtype is not None)
    full = _LONG if tested else _LINE // size
    return walk.extents[-1] < full or _steps(kernel, walk) is None


def _inside_packed(kernel: kernel_ir.KernelIR, walk: Walk) -> int:
    """How many axes at the end are walked inside the runs of a packed loop: short ones.

    Not where tests change along the runs: each would have to be as long as the shortest.
    """
    count = _count_of_short(walk)
    tests = {f for s in kernel.statements() if isinstance(s, kernel_ir.InRange) for f, _ in s.tests}
    return 0 if any(walk.strides[f][-1 - count] for f in tests) else count


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
    if math.prod(walk.extents) < WORTH or walk.extents[-1] < SHORT:
        return ()
    plain, others = set[int](), set[int]()
    for s in kernel.statements():
        is_plain = isinstance(s, kernel_ir.Load) and s.guard is None
        (plain if is_plain else others).update(forms_of([s]))
    wide = [d is not None and d.itemsize in (4, 8) for d in (f.dtype for f in kernel.forms)]
    across = [
        abs(s[-2]) >= _LINE and _is_beside(kernel, f, s[-1]) for f, s in enumerate(walk.strides)
    ]
    return tuple([f for f in sorted(plain - others) if wide[f] and across[f]])


def _steps(kernel: kernel_ir.KernelIR, walk: Walk) -> tuple[int, ...] | None:
    """How a loop's forms step along the last axis, or None if no text has such a step."""
    last = walk.extents[-1]
    more: Mapping[int, Sequence[int]] = _STEPS_OF_LONG if last >= _LONG else _STEPS
    if last >= _LONG and math.prod(walk.extents) >= WORTH and _are_whole(kernel, walk):
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


def is_by_strides(kernel: kernel_ir.KernelIR, walk: Walk) -> bool:
    """True for a loop of several axes that takes all its strides from arguments, in any order."""
    fixed = kernel.kind != "loop" or kernel.is_ordered or kernel.late or len(walk.extents) < 2
    if fixed or any(isinstance(s, kernel_ir.InRange) for s in kernel.statements()):
        return False
    return _steps(kernel, walk) is None


def longest_runs(walk: Walk) -> Walk:
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
    return _short_axes(kernel, walk) or int(is_by_strides(kernel, walk))


def _short_axes(kernel: kernel_ir.KernelIR, walk: Walk) -> int:
    """How many short axes at the end are beside a long one, if that is worth it."""
    sizes = [f.dtype.itemsize for f in kernel.forms if f.dtype is not None]
    if walk.extents[-1] >= SHORT and min(sizes, default=0) >= 4 and _pattern(kernel, walk):
        return 0
    if math.prod(walk.extents) < WORTH:
        return 0
    if kernel.is_ordered or any(isinstance(s, kernel_ir.InRange) for s in kernel.statements()):
        return 0
    return _count_of_short(walk)


def _count_of_short(walk: Walk) -> int:
    """How many short axes at the end are beside a long one."""
    count, elements = 0, 1
    for n in reversed(walk.extents):
        elements *= n
        if n > SHORT or elements > _INSIDE:
            break
        count += 1
    return count if count < len(walk.extents) and walk.extents[-1 - count] >= _NEAR else 0


def stand_side_by_side(kernel: kernel_ir.KernelIR, rows: Walk) -> bool:
    """True if rows that are neighbours along the last axis have the same segment, or are whole."""
    forms = forms_of(s for stage in kernel.stages for s in stage.head)
    return kernel.segment is None or not any(rows.strides[f][-1] for f in forms)


def are_short(kernel: kernel_ir.KernelIR, rows: Walk, elements: Walk) -> bool:
    """True for many rows of a few elements."""
    is_many = rows.extents[-1] >= FEWEST and math.prod(rows.extents) >= COLUMN_BLOCK
    if not is_many or not stand_side_by_side(kernel, rows):
        return False
    return 0 < math.prod(elements.extents) <= SHORT_ROW


def _fill_lanes(kernel: kernel_ir.KernelIR, elements: Walk) -> bool:
    """True for rows that are added up in one pass, each of as many elements as there are lanes.

    They are whole vectors one after the other; side by side each is read from lines of its own.
    What computes functions fills longer vectors then.
    """
    (stage, *others) = kernel.stages
    computed = [s for s in stage.body if isinstance(s, kernel_ir.Compute)]
    costs = [cost.computed_cost(s.op, s.operand_dtypes) for s in computed]
    summed = all(r.kind == "sum" or r.value_dtype.kind in "iub" for r in stage.reduces)
    places = any(r.kind.startswith("arg") for r in stage.reduces)
    plain = summed and not places and max(costs, default=0) < cost.FUNCTION_COST
    return plain and not others and tuple(elements.extents) == (LANES,)


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
