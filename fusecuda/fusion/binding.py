"""Binding: the numbers of one launch, and the choice among a kernel's variants.

Axes are collapsed here, where strides are known: neighbours that every form walks as one run become
one axis, and the freed axes, of extent 1, move to the left. So one kernel text of the rank that the
program has serves every shape and layout, and a contiguous one runs as a single long loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph.node import Node
from ..graph.ops import OPS
from ..graph.tree import CHUNK
from . import cost, kernel_ir
from .lowering import Limit, Lowered

LOOP, ROW, COLUMN = "loop", "row", "column"
COLUMN_BLOCK = 32  # row values computed side by side where the rows lie side by side in memory
_PARTS = 64  # a split row has at most so many parts


@dataclass(frozen=True, slots=True)
class Memory:
    """Where a node's elements are: a buffer, the byte offset in it, and byte strides."""

    buffer: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """Which text of a kernel fits: its skeleton, and which forms walk the inner axis by one.

    ``unit[f]`` is True where form ``f`` steps by one element, False where it stands still; None
    means that any strides will do.
    """

    skeleton: str
    unit: tuple[bool, ...] | None


@dataclass(slots=True)
class Bound:
    """One launch: which variant, its integers in the order of the ABI, and its memory needs.

    ``dims`` holds the parts of a row and their length, the extents (rows first), then for each form
    its strides (and, for an index form, its offset), then the limits.
    """

    lowered: Lowered
    variant: Variant
    dims: list[int]
    buffers: list[int]  # for each address form
    offsets: list[int]  # for each address form, bytes
    work: int  # items: elements of a loop, (parts of) rows of a reduction, blocks of columns
    grain: int  # items below which a thread is not worth its start
    workspace: int  # bytes shared by all threads: partial results and row values
    scratch: int  # bytes for each thread: resident rows

    @property
    def launched(self) -> bool:
        """True if there is anything to do: an element, or a reduction over no rows."""
        return self.work > 0 or bool(self.lowered.ir.outer)


@dataclass(slots=True)
class _Walk:
    """Extents with the strides of every form over them, rows first."""

    extents: list[int]
    strides: list[list[int]]  # [form][axis]

    def keep(self, axes: Sequence[int]) -> _Walk:
        return _Walk([self.extents[a] for a in axes], [[s[a] for a in axes] for s in self.strides])

    def collapsed(self) -> _Walk:
        """Neighbouring axes merged where every form allows it; ones in front keep the rank."""
        rank = len(self.extents)
        extents = [1]
        strides: list[list[int]] = [[0] for _ in self.strides]
        for axis in range(rank - 1, -1, -1):
            n = self.extents[axis]
            if n == 1:
                continue
            if extents[0] == 1:
                extents[0] = n
                for form, step in enumerate(strides):
                    step[0] = self.strides[form][axis]
            elif all(
                s[axis] == t[0] * extents[0] for s, t in zip(self.strides, strides, strict=True)
            ):
                extents[0] *= n
            else:
                extents.insert(0, n)
                for form, step in enumerate(strides):
                    step.insert(0, self.strides[form][axis])
        lead = max(rank, 1) - len(extents)
        return _Walk([1] * lead + extents, [[0] * lead + s for s in strides])


def bind(lowered: Lowered, memory: Callable[[Node], Memory]) -> Bound:
    """The launch of ``lowered`` with the shapes it was lowered for, on the memory given.

    ``memory(node)`` tells where ``node`` is in memory.
    """
    kernel = lowered.ir
    row_rank = len(lowered.row_shape)
    offsets: list[int] = []
    strides: list[list[int]] = []
    places: list[Memory | None] = []
    for form, access in zip(kernel.forms, lowered.accesses, strict=True):
        if access.node is None or form.dtype is None:
            offsets.append(access.at.offsets[0])
            strides.append(list(access.at.coefs[0]))
            places.append(None)
            continue
        place = memory(access.node)
        places.append(place)
        offsets.append(place.offset + access.at.offset(place.strides))
        strides.append(list(access.at.strides(place.strides)))
    walk = _Walk(list(lowered.row_shape + lowered.shape), strides)
    rows = walk.keep(range(row_rank)).collapsed()
    elements = walk.keep(range(row_rank, len(walk.extents)))
    if kernel.kind == "loop":
        elements = _innermost_first(kernel, elements)
    elements = elements.collapsed()
    variant = _choose(kernel, rows, elements)
    parts, length = _split(kernel, variant, rows, elements)
    dims = [parts, length]
    dims += elements.extents if kernel.kind == "loop" else rows.extents + elements.extents
    for f, form in enumerate(kernel.forms):
        if kernel.kind != "loop":
            dims += rows.strides[f]
        dims += elements.strides[f]
        if form.dtype is None:
            dims.append(offsets[f])
    dims += [_limit(limit, memory) for limit in lowered.limits]
    work, per_item = _work(variant, rows, elements, parts)
    count = math.prod(rows.extents)
    resident = math.prod(elements.extents)
    return Bound(
        lowered,
        variant,
        dims,
        [p.buffer for p in places if p is not None],
        [o for o, p in zip(offsets, places, strict=True) if p is not None],
        work,
        max(1, int(cost.GRAIN_ELEMENTS / max(1.0, per_item * _weight(kernel)))),
        _workspace(kernel, count, parts),
        _scratch(kernel, variant, resident),
    )


def _innermost_first(kernel: kernel_ir.KernelIR, walk: _Walk) -> _Walk:
    """The walk with the axis innermost along which most forms step by one element.

    A loop's elements are independent, so their order is free.
    """
    rank = len(walk.extents)
    if rank < 2:
        return walk
    sizes = [f.dtype.itemsize if f.dtype else 0 for f in kernel.forms]

    def misfits(axis: int) -> int:
        return sum(
            s[axis] not in (0, size) for s, size in zip(walk.strides, sizes, strict=True) if size
        )

    last = rank - 1
    candidates = [a for a in range(rank) if walk.extents[a] > 1]
    best = min(reversed(candidates), key=misfits, default=last)
    if best == last or misfits(best) >= misfits(last):
        return walk
    order = sorted(range(rank), key=lambda a: -sum(abs(s[a]) for s in walk.strides))
    order.remove(best)
    return walk.keep([*order, best])


def _choose(kernel: kernel_ir.KernelIR, rows: _Walk, elements: _Walk) -> Variant:
    by_row = _pattern(kernel, elements)
    if kernel.kind == "loop":
        return Variant(LOOP, by_row)
    if by_row is not None:
        return Variant(ROW, by_row)
    by_column = _pattern(kernel, rows)
    many = COLUMN_BLOCK // 4 if elements.extents[-1] > 1 else cost.GRAIN_ELEMENTS
    if by_column is not None and rows.extents[-1] >= many:
        return Variant(COLUMN, by_column)
    return Variant(ROW, None)


def _pattern(kernel: kernel_ir.KernelIR, walk: _Walk) -> tuple[bool, ...] | None:
    """Which forms step by one element along the last axis, or None if some step otherwise."""
    if walk.extents[-1] < 2:
        return None
    pattern = []
    for form, strides in zip(kernel.forms, walk.strides, strict=True):
        if form.dtype is None:
            pattern.append(True)  # an index is computed from its strides in every variant
        elif strides[-1] in (0, form.dtype.itemsize):
            pattern.append(strides[-1] != 0)
        else:
            return None
    return tuple(pattern)


def _split(
    kernel: kernel_ir.KernelIR, variant: Variant, rows: _Walk, elements: _Walk
) -> tuple[int, int]:
    """Into how many parts a row is cut, and their length, a power of two of chunks."""
    length = math.prod(elements.extents)
    if variant.skeleton != ROW or not kernel.splittable or length < 2 * cost.SPLIT_ELEMENTS:
        return 1, length
    if math.prod(rows.extents) >= 8:  # enough rows for the threads
        return 1, length
    part = max(cost.SPLIT_ELEMENTS, CHUNK)
    while -(-length // part) > _PARTS:
        part *= 2
    return -(-length // part), part


def _work(variant: Variant, rows: _Walk, elements: _Walk, parts: int) -> tuple[int, float]:
    """The number of work items and how many elements each one has."""
    length = math.prod(elements.extents)
    if variant.skeleton == LOOP:
        return length, 1
    count = math.prod(rows.extents)
    if variant.skeleton == COLUMN:
        inner = rows.extents[-1]
        blocks = -(-inner // COLUMN_BLOCK)
        return count // max(inner, 1) * blocks, float(length * min(inner, COLUMN_BLOCK))
    return count * parts, length / max(parts, 1)


def _weight(kernel: kernel_ir.KernelIR) -> float:
    """The cost of one element relative to one that is only read."""
    total = 4
    for stage in kernel.stages:
        for statement in stage.body:
            if isinstance(statement, kernel_ir.Compute):
                total += OPS[statement.op].cost
    return total / 4


def _limit(limit: Limit, memory: Callable[[Node], Memory]) -> int:
    node, axis, stride = limit
    return memory(node).strides[axis] if stride else node.shape[axis]


def _workspace(kernel: kernel_ir.KernelIR, rows: int, parts: int) -> int:
    """Bytes for the partial results of split rows and for the row values of outer reductions."""
    partial = sum(len(s.reduces) for s in kernel.stages) if parts > 1 else 0
    return 16 * rows * parts * partial + 8 * rows * len(kernel.outer)


def _scratch(kernel: kernel_ir.KernelIR, variant: Variant, length: int) -> int:
    width = COLUMN_BLOCK if variant.skeleton == COLUMN else 1
    return sum(-(-length * width * d.itemsize // 64) * 64 for d in kernel.resident)
