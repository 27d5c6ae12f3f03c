"""Walks: a kernel's extents with the strides of every form over them, as few axes as they need.

Axes are collapsed where strides are known: neighbours that every form walks as one run become one
axis, and the freed axes, of extent 1, move to the left. So one kernel text of the rank that the
program has serves every shape and layout, and a contiguous one runs as a single long loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.node import Node
from . import kernel_ir
from .lowering import Limit, Lowered
from .memory import Memory

MemoryOf = Callable[[Node], Memory]
Joins = Callable[[int, int], bool]  # an axis, and how many elements are behind it
Lower = Callable[[str], Lowered]  # a kernel that keeps rows ALL, COSTLY ones or NOTHING resident


@dataclass(slots=True)
class Launch:
    """One launch of a kernel, whatever the back end: its memory, and what it needs besides."""

    lowered: Lowered
    buffers: list[int]  # for each address form
    offsets: list[int]  # for each address form, bytes
    work: int = 0  # items; the back end says of what
    workspace: int = 0  # bytes shared by all threads: partial results and row values
    scratch: int = 0  # bytes for each thread: resident rows

    @property
    def launched(self) -> bool:
        """True if there is anything to do: an element, or a reduction over no rows."""
        return self.work > 0 or bool(self.lowered.ir.outer)

    @property
    def shares_launches(self) -> bool:
        """True for what may be computed by the launch of others that need nothing of it."""
        return self.launched

    @property
    def shares_buffers(self) -> bool:
        """True if others may write what it does not touch of a buffer while it reads there."""
        return False

    @property
    def geometry(self) -> Any:
        """What all that share a launch have in common."""
        return None

    @property
    def shared_bytes(self) -> int:
        """Memory that the launch gives its kernel beside others'; see `together.ROOM`."""
        return 0

    @property
    def words(self) -> int:
        """About how many numbers its kernel is given."""
        kernel = self.lowered.ir
        return len(kernel.forms) * (1 + kernel.rank) + 2 * (kernel.rank + len(kernel.scalars))


Bind = Callable[[Lower, MemoryOf], Launch]


@dataclass(slots=True)
class Walk:
    """Extents with the strides of every form over them, rows first."""

    extents: list[int]
    strides: list[list[int]]  # [form][axis]

    def keep(self, axes: Sequence[int]) -> Walk:
        """The walk over ``axes`` alone."""
        return Walk([self.extents[a] for a in axes], [[s[a] for a in axes] for s in self.strides])

    def collapsed(self, joins: Joins = lambda axis, inner: True) -> Walk:
        """Neighbouring axes merged where every form allows it; ones in front keep the rank.

        Others stay as they are, too, unless an axis ``joins`` the elements that those behind it
        have already.
        """
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
            elif joins(axis, extents[0]) and all(
                s[axis] == t[0] * extents[0] for s, t in zip(self.strides, strides, strict=True)
            ):
                extents[0] *= n
            else:
                extents.insert(0, n)
                for form, step in enumerate(strides):
                    step.insert(0, self.strides[form][axis])
        lead = max(rank, 1) - len(extents)
        return Walk([1] * lead + extents, [[0] * lead + s for s in strides])


@dataclass(slots=True)
class Walked:
    """What a lowered kernel walks: rows and elements collapsed, and where each form starts."""

    rows: Walk
    elements: Walk
    offsets: list[int]  # for each form: bytes, or the first value of an index
    places: list[Memory | None]  # for each form; None for an index
    folds: dict[int, int] = field(default_factory=dict)  # by what a limit is more, see `folded`

    def buffers(self) -> list[int]:
        """The buffer of each address form."""
        return [p.buffer for p in self.places if p is not None]

    def byte_offsets(self) -> list[int]:
        """The byte offset of each address form in its buffer."""
        return [o for o, p in zip(self.offsets, self.places, strict=True) if p is not None]


def walk(lowered: Lowered, memory: MemoryOf, collapse: bool = True, folds: bool = False) -> Walked:
    """The walk of ``lowered`` for its shapes; ``memory`` tells where a node lies.

    The axes of its elements are as they are in the graph unless they ``collapse``, in loops those
    behind what is tested, too, if it ``folds``.
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
    whole = Walk(list(lowered.row_shape + lowered.shape), strides)
    rows = whole.keep(range(row_rank)).collapsed()
    elements = whole.keep(range(row_rank, len(whole.extents)))
    more: dict[int, int] = {}
    if kernel.late:
        elements = as_written(kernel, elements, offsets)
    elif kernel.kind == "loop" and not kernel.is_ordered:
        elements = innermost_first(kernel, elements)
        more = folded(kernel, elements, offsets) if folds else {}
    elif _takes_any_order(kernel):
        elements = innermost_first(kernel, forwards(kernel, elements, offsets))
    return Walked(rows, elements.collapsed() if collapse else elements, offsets, places, more)


def folded(kernel: kernel_ir.KernelIR, walk: Walk, offsets: list[int]) -> dict[int, int]:
    """Let tests count elements of the axes that follow, which then are one with the axis tested.

    A test of a row's number, of rows of m, is one of m times the number plus a place in the row,
    with m times the limit; so colours of a picture that is rolled are one run with its columns.
    ``walk`` and ``offsets`` are changed; gives by what each limit is more.
    """
    tests = [t for s in kernel.statements() if isinstance(s, kernel_ir.InRange) for t in s.tests]
    indices = {f for f, form in enumerate(kernel.forms) if form.dtype is None}
    others = kernel_ir.Index, kernel_ir.Gather, kernel_ir.Search
    if not tests or any(isinstance(s, others) for s in kernel.statements()):
        return {}
    more: dict[int, int] = {}
    for inner in range(len(walk.extents) - 1, 0, -1):
        strides = walk.strides
        changed = {f for f in indices if strides[f][inner - 1]}
        limits = {limit for f, limit in tests if f in changed}
        if (
            any(strides[f][inner] for f in indices)
            or any(strides[f][inner - 1] not in (-1, 0, 1) for f in indices)
            or any(limit in limits for f, limit in tests if f not in changed)
            or any(
                s[inner - 1] != s[inner] * walk.extents[inner]
                for f, s in enumerate(strides)
                if f not in indices
            )
        ):
            break
        behind = [math.prod(walk.extents[a + 1 :]) for a in range(inner, len(walk.extents))]
        m = walk.extents[inner] * behind[0]
        for f in changed:
            step = strides[f][inner - 1]
            offsets[f] = offsets[f] * m + (m - 1) * (step < 0)
            strides[f][:] = [stride * m for stride in strides[f]]
            strides[f][inner:] = [step * n for n in behind]
        more |= dict.fromkeys(limits, m)
    return more


def as_written(kernel: kernel_ir.KernelIR, walk: Walk, offsets: list[int]) -> Walk:
    """The walk in the order of the addresses that the first late store of ``kernel`` writes to.

    Where that lies backwards along an axis, all forms begin at its end: ``offsets`` are changed.
    """
    form = kernel.late[0].form
    for axis, n in enumerate(walk.extents):
        if walk.strides[form][axis] < 0:
            for other, strides in enumerate(walk.strides):
                offsets[other] += strides[axis] * (n - 1)
                strides[axis] = -strides[axis]
    axes = range(len(walk.extents))
    return walk.keep(sorted(axes, key=lambda a: -walk.strides[form][a]))


def _takes_any_order(kernel: kernel_ir.KernelIR) -> bool:
    """True for reductions that give the same in whatever order the elements of a row are taken."""
    if not kernel.stages or kernel.segment is not None or kernel.scans or kernel.cross:
        return False
    reduced = [r for stage in kernel.stages for r in stage.reduces]
    exact = ("max", "min", "any", "all")
    return not kernel.is_ordered and all(
        r.kind in exact or (r.kind in ("sum", "prod") and r.dtype.kind in "iu") for r in reduced
    )


def forwards(kernel: kernel_ir.KernelIR, walk: Walk, offsets: list[int]) -> Walk:
    """The walk from the other end of axes along which all lies backwards; ``offsets`` change."""
    strides = [[*own] for own in walk.strides]
    addresses = [f for f, form in enumerate(kernel.forms) if form.dtype is not None]
    for axis, n in enumerate(walk.extents):
        if min((strides[f][axis] for f in addresses), default=0) < 0 and all(
            strides[f][axis] <= 0 for f in addresses
        ):
            for form, own in enumerate(strides):
                offsets[form] += own[axis] * (n - 1)
                own[axis] = -own[axis]
    return Walk(walk.extents, strides)


def limit_value(limit: Limit, memory: MemoryOf) -> int:
    """The extent or byte stride that an integer argument holds."""
    node, axis, stride = limit
    return memory(node).strides[axis] if stride else node.shape[axis]


def innermost_first(kernel: kernel_ir.KernelIR, walk: Walk) -> Walk:
    """The walk with the axis innermost along which most forms step by one element.

    A loop's elements are independent, so their order is free, if it has no scatter.
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
