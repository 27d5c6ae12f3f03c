"""Variants: what a text of a kernel takes for granted, and a launch of one with its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..fusion.walk import Launch
from .choice import (
    BLOCK,
    COLUMN,
    LOOP,
    LOOP_THREADS,
    NOWHERE,
    SHARED,
    SHARED_WARPS,
    SHORT,
    meeting_bytes,
)


@dataclass(frozen=True, slots=True)
class Variant:
    """Which text of a kernel fits: its skeleton and what the text takes for granted.

    ``unit[f]`` is True where form ``f`` steps by one element along ``unit_axis`` and False where it
    stands still; None means that any strides will do. ``packed`` forms are moved ``width``
    neighbours at a time; those ``apart`` are not aligned, so that their elements are moved one by
    one. A ``headed`` loop has fewer in the first pack of a line, so that the others are aligned
    where it writes; in a ``spread`` one the elements of a pack are a warp apart. Forms that are
    ``aliased`` share memory with one that is written. ``wide`` indices have 64 bits. Resident rows
    are ``kept`` in registers, ``chunks`` of 512 elements by each warp, or in shared memory, of
    ``blocks`` that are a cluster; a block has at most ``warps``. Loads that are ``turned`` are
    contiguous along the axis before the last. A thread of columns combines fewer than 1 <<
    ``levels`` chunks. A tile has ``side`` elements squared.
    """

    skeleton: str
    unit: tuple[bool, ...] | None
    unit_axis: str
    packed: bool
    width: int
    aliased: frozenset[int]
    wide: bool
    row_rank: int
    rank: int
    steps: int = 4
    chunks: int = 1
    warps: int = 4
    blocks: int = 1
    turned: frozenset[int] = frozenset()
    kept: str = NOWHERE
    levels: int = 0
    side: int = 0
    apart: frozenset[int] = frozenset()
    headed: bool = False
    spread: bool = False


@dataclass(slots=True)
class CudaBound(Launch):
    """One launch on a device: variant, grid and block, and integers by name.

    ``areas`` tells where each pointer into the workspace starts; negative ones count, from -1 on,
    the ``counters``: words that are zero between launches. ``shared`` bytes come with the launch.
    """

    variant: Variant = field(kw_only=True)
    integers: dict[str, int] = field(kw_only=True)
    grid: int = 0
    block: tuple[int, int] = (1, 1)
    counters: int = 0
    shared: int = 0
    areas: dict[str, int] = field(default_factory=dict)

    @property
    def launched(self) -> bool:
        """True if there is anything to do."""
        return self.grid > 0

    @property
    def shares_launches(self) -> bool:
        """True where blocks may be some of a larger grid."""
        return self.launched and self.geometry is not None

    @property
    def geometry(self) -> tuple[int, int, int] | None:
        """The block of a launch that it shares, and the cluster; None if it shares none.

        Warps of long rows may be more than there are chunks; blocks of short ones never meet but
        for reductions over rows, so that two are one twice as large.
        """
        skeleton = self.variant.skeleton
        if skeleton == COLUMN and self.shared:
            return None
        if skeleton == COLUMN or (skeleton == SHORT and self.own_blocks == 1):
            return *self.block, 1
        if skeleton == BLOCK and self.variant.kept == SHARED:
            return 32 * SHARED_WARPS, 1, self.variant.blocks
        fits = self.block[0] <= LOOP_THREADS and not self.shared
        if skeleton in (LOOP, SHORT) or (skeleton == BLOCK and fits):
            return LOOP_THREADS, 1, 1
        return None

    @property
    def own_blocks(self) -> int:
        """How many of its own blocks one of a shared launch is."""
        return 2 if self.variant.skeleton == SHORT and not self.lowered.ir.outer else 1

    @property
    def shared_grid(self) -> int:
        """The blocks that it has of a shared launch."""
        return -(-self.grid // self.own_blocks)

    @property
    def shared_bytes(self) -> int:
        """The shared memory that its text declares."""
        threads = LOOP_THREADS if self.variant.skeleton == COLUMN else 32
        return 0 if self.variant.skeleton == LOOP else threads * meeting_bytes(self.lowered.ir)

    @property
    def words(self) -> int:
        """About how many numbers its kernel is given."""
        kernel = self.lowered.ir
        axes, reduces = kernel.rank + kernel.row_rank, len(kernel.outer)
        reduces += sum(len(stage.reduces) for stage in kernel.stages)
        own = len(kernel.forms) * (1 + axes) + 3 * axes + 2 * len(kernel.scalars)
        return own + 2 * reduces + 12 * (self.variant.skeleton != LOOP)
