"""Launches: which variant of a kernel fits the shapes at hand, its grid, and its integers by name.

A row's length alone decides the reduction tree (see tree.cuh); how many threads, warps and
blocks share a row is decided here, from lengths and counts, and changes no bit.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..codegen import names
from ..fusion.lowering import Lowered
from ..fusion.stages import ALL, NOTHING
from ..fusion.walk import Lower, MemoryOf, Walked, limit_value, walk
from ..graph.dtypes import computed_in
from .choice import (
    BLOCK,
    BOTH,
    BOTH_CHUNKS,
    CHUNK,
    COLUMN,
    COMPACTION,
    GROUP,
    LATE,
    LOOP,
    LOOP_THREADS,
    MOST_CHUNKS,
    NOWHERE,
    REGISTERS,
    SCAN,
    SHARED,
    SHARED_WARPS,
    SHORT,
    STEP,
    TILES,
    Facts,
    Keeping,
    chosen_skeleton,
    chunks_of_a_group,
    columns_across,
    keeping,
    keeping_warps,
    power_of_two,
    shared_places,
    squeezed,
    tile_side,
    turned_walk,
    unit_pattern,
)
from .grids import Grids
from .halos import joined
from .online import merged
from .packs import SCATTERED, WARP, Packing, chosen_packing, row_packing, whole_forms, whole_turned
from .spans import aliased, reaches, walked_spans
from .variant import CudaBound, Variant

SHORT_THREADS = 128
ENOUGH = 8  # blocks for each multiprocessor
MOST_PARTS = 1024
MOST_TURNS = 16  # rows that a block takes one after the other
LEVELS = 7, 21  # of the tree that a thread of columns has registers for: few, or as many as any
_NARROW = (1 << 31) - (1 << 20)  # a grid may overshoot


def bind(
    lower: Lower,
    memory: MemoryOf,
    aligned: bool = True,
    facts: Facts | None = None,
    contract: bool = False,
) -> CudaBound:
    """The launch of what ``lower`` gives for its shapes, on the memory given.

    Rows that no block of threads can keep are read again by each stage; with ``contract`` stages
    are merged that an online form can do in one. Unless every buffer is ``aligned`` to 16 bytes,
    elements are moved one by one. ``facts`` are those of the device.
    """
    facts = facts or Facts()
    lowered = lower(ALL)
    walked = squeezed(walk(lowered, memory, collapse=not lowered.ir.late))
    if lowered.ir.late:
        walked = squeezed(joined(lowered.ir, walked))
    kept = keeping(lowered.ir, walked, facts)
    if lowered.ir.resident and kept.where == NOWHERE:
        lowered = lower(NOTHING)
        walked = squeezed(walk(lowered, memory))
        if contract and chosen_skeleton(lowered.ir, walked)[0] == BLOCK:
            lowered = replace(lowered, ir=merged(lowered.ir))
    turned: frozenset[int] = frozenset()
    is_free = lowered.ir.kind == "loop" and not lowered.ir.compacts and not lowered.ir.late
    if is_free and unit_pattern(lowered.ir, walked.elements) is None:
        walked, turned = turned_walk(lowered.ir, walked)
    return _Binder(lowered, walked, memory, aligned, turned, kept, facts).bound()


class _Binder(Grids):
    """The numbers of one launch."""

    def __init__(
        self,
        lowered: Lowered,
        walked: Walked,
        memory: MemoryOf,
        aligned: bool,
        turned: frozenset[int],
        kept: Keeping,
        facts: Facts,
    ) -> None:
        self.processors = facts.multiprocessors
        self.enough_blocks = ENOUGH * facts.multiprocessors
        self.lowered = lowered
        self.kernel = lowered.ir
        self.walked = walked
        self.kept = kept
        self.skeleton, unit = chosen_skeleton(self.kernel, walked)
        if turned:
            self.skeleton, unit = TILES, self._unit_but(turned)
        self.length = math.prod(walked.elements.extents)
        self.rows = math.prod(walked.rows.extents) if self.kernel.kind != "loop" else 1
        ranks = len(walked.rows.extents), len(walked.elements.extents)
        column = self.skeleton == COLUMN
        packing = Packing(True, GROUP) if turned else self._packing(unit, aligned)
        if (packing.free or not packing.packed) and self.skeleton in (SHORT, BLOCK, LOOP, SCAN):
            unit = None  # one text for all strides: the elements come one by one anyway
        self.head = packing.head
        self.variant = Variant(
            self.skeleton, unit, f"m{ranks[0] - 1}" if column else f"n{ranks[1] - 1}",
            packing.packed, packing.width, aliased(self.kernel, walked), self._wide(memory), *ranks,
            turned=turned, kept=kept.where, apart=packing.apart, headed=packing.head > 0,
            spread=packing.spread,
            side=tile_side(self.kernel, walked, turned, facts.multiprocessors) if turned else 0,
        )  # fmt: skip
        self.whole: frozenset[int] = frozenset()
        if packing.free or turned:
            self.whole = whole_forms(self.kernel, walked, aligned)
        if aligned:
            self.whole |= whole_turned(walked, self.kernel, turned)
        self.out = CudaBound(
            lowered,
            walked.buffers(),
            walked.byte_offsets(),
            variant=self.variant,
            integers=self._integers(memory),
        )

    def _packing(self, unit: tuple[bool, ...] | None, aligned: bool) -> Packing:
        """How elements are read and written together where no axis is turned."""
        kernel, is_loop = self.kernel, self.kernel.kind == "loop"
        others = self.skeleton == COLUMN or kernel.segment is not None or kernel.compacts
        if is_loop and unit is not None and not others:
            return chosen_packing(kernel, self.walked, unit, aligned)
        if not is_loop and not others:
            return row_packing(kernel, self.walked, unit, aligned)
        return Packing(width=1 if is_loop else GROUP)

    def bound(self) -> CudaBound:
        """The launch, its grid chosen by the skeleton."""
        if self.rows * max(self.length, 1) == 0 and not self.kernel.outer:
            return self.out
        {
            LOOP: self._loop,
            TILES: self._tiles,
            SHORT: self._short,
            BLOCK: self._long,
            COLUMN: self._columns,
            COMPACTION: self._compaction,
            LATE: self._late,
            SCAN: self._long_scan,
        }[self.skeleton]()
        self._outer_rows()
        return self.out

    # --- facts about memory

    def _wide(self, memory: MemoryOf) -> bool:
        """True if indices need 64 bits: of loops, of what they walk, of what gathers may reach."""
        is_short = self.skeleton == SHORT
        threads = max(self._lanes() if is_short else 1, 0 if self.kernel.segment else self.length)
        spans = [self.rows * threads, self.length, *reaches(self.lowered, memory)]
        return max([*spans, *walked_spans(self.kernel, self.walked)]) >= _NARROW

    def _integers(self, memory: MemoryOf) -> dict[str, int]:
        """Every integer that a text may name: extents, strides, origins and limits."""
        found: dict[str, int] = {}
        walks = [("n", self.walked.elements)]
        if self.kernel.kind != "loop":
            walks.append(("m", self.walked.rows))
        for letter, over in walks:
            for a, n in enumerate(over.extents):
                found |= self._divisor(f"{letter}{a}", n)
        for f, form in enumerate(self.kernel.forms):
            item = 1 if form.dtype is None else form.dtype.itemsize
            found[names.whole(f)] = int(f in self.whole)
            for letter, over in walks:
                for a, s in enumerate(over.strides[f]):
                    found[names.stride(f, f"{letter}{a}")] = s // item
            if form.dtype is None:
                found[names.origin(f)] = self.walked.offsets[f]
        for number, limit in enumerate(self.lowered.limits):
            value = limit_value(limit, memory)
            found[names.limit(number)] = (
                value // limit.node.dtype.itemsize if limit.stride else value
            )
        found["length"] = self.length
        found["rows"] = self.rows
        return found

    # --- grids

    def _loop(self) -> None:
        *lines, inner = self.walked.elements.extents
        width = self.variant.width
        packs = (self.head > 0) + -(-max(0, inner - self.head) // width)
        if self.variant.spread:
            packs = -(-inner // (WARP * width)) * WARP
        threads = math.prod(lines) * packs
        self.out.integers |= {"head": self.head, "threads": threads}
        self.out.integers |= self._divisor("packs", packs)
        self.out.work = threads
        each = LOOP_THREADS * (1 if self.variant.packed else SCATTERED)
        self._launch(-(-threads // each), LOOP_THREADS)

    def _unit_but(self, turned: frozenset[int]) -> tuple[bool, ...]:
        """Which forms step by one along the last axis; the turned ones do along another."""
        strides = self.walked.elements.strides
        forms = enumerate(self.kernel.forms)
        return tuple(f not in turned and form.dtype is not None and strides[f][-1] != 0
                     for f, form in forms)  # fmt: skip

    def _tiles(self) -> None:
        *outer, across, along = self.walked.elements.extents
        side = self.variant.side
        tiles = -(-along // side), -(-across // side)
        self.out.integers |= self._divisor("tiles_along", tiles[0])
        self.out.integers |= self._divisor("tiles_across", tiles[1])
        self.out.work = math.prod(outer) * tiles[0] * tiles[1]
        self._launch(self.out.work, side // GROUP, LOOP_THREADS * GROUP // side)

    def _lanes(self) -> int:
        """The lanes that share a short row."""
        if self.kernel.segment is not None or self.kernel.scans:
            return WARP
        return min(32, power_of_two(-(-max(self.length, 1) // GROUP)))

    def _short(self) -> None:
        """Some lanes of a warp for each row; all of them for a segment or a scan, of any length."""
        lanes = self._lanes()
        self._vary(steps=1 if self.length <= STEP and not self.kernel.scans else 4)
        if self.length > MOST_CHUNKS * CHUNK:
            self._vary(levels=LEVELS[1])
        each = SHORT_THREADS // lanes
        self.out.integers["shift"] = lanes.bit_length() - 1
        self.out.work = self.rows
        turns = self._turns(-(-self.rows // each), CHUNK // each)
        self._launch(-(-self.rows // (each * turns)), SHORT_THREADS)

    def _long(self) -> None:
        """A block, or several, for each row."""
        if self.variant.kept in (SHARED, BOTH):
            return self._kept_rows()
        chunks = -(-self.length // CHUNK)
        most = 8 if self.kernel.splittable or chunks <= 8 * MOST_CHUNKS else 32
        if self.variant.kept == REGISTERS:
            most = keeping_warps(self.kernel, self.length)
        warps = min(most, power_of_two(chunks))
        each = power_of_two(-(-chunks // warps))
        self._vary(warps=most, chunks=each if self.variant.kept == REGISTERS else 1)
        parts = 1
        if self.kernel.splittable:
            while each > 1 and self.rows * -(-chunks // (warps * each)) < self.enough_blocks:
                each //= 2
            while -(-chunks // (warps * each)) > MOST_PARTS:
                each *= 2
            parts = -(-chunks // (warps * each))
        assert each <= MOST_CHUNKS, "a row of so many elements is split"
        self.out.integers |= {"each": each, **self._divisor("parts", parts)}
        turns = self._turns(self.rows, MOST_TURNS) if parts == 1 else self._turns(1, 1)
        self.out.work = self.rows * parts
        self._partials(self.rows * parts if parts > 1 else 0, self.rows if parts > 1 else 0)
        self._launch(-(-self.rows // turns) * parts, 32 * warps)

    def _kept_rows(self) -> None:
        """Rows that stay in the shared memory of a block, or of a cluster of them."""
        blocks, own = self.kept.blocks, self.kept.own(self.length)
        chunks = BOTH_CHUNKS if self.variant.kept == BOTH else 1
        self._vary(warps=SHARED_WARPS, chunks=chunks, blocks=blocks)
        places, self.out.shared = shared_places(self.kernel, self.length, self.kept)
        self.out.integers |= {**places, "own": own, "chunks": -(-self.length // CHUNK)}
        turns = self._turns(self.rows * blocks, MOST_TURNS)
        self.out.work = self.rows
        self._launch(-(-self.rows // turns) * blocks, 32 * min(SHARED_WARPS, own))

    def _columns(self) -> None:
        """A tile of columns for each block, its threads sharing the rows of each column."""
        across = columns_across(self.length)
        lanes = LOOP_THREADS // across
        inner = self.walked.rows.extents[-1]
        tiles = -(-inner // across) * (self.rows // max(inner, 1))
        chunks = max(1, -(-self.length // CHUNK))
        each, parts = power_of_two(chunks), 1
        if self.variant.kept == SHARED:
            each, parts = self.kept.own(self.length), self.kept.blocks
            places, self.out.shared = shared_places(self.kernel, self.length, self.kept, across)
            self.out.integers |= places
            self._vary(blocks=parts)
        elif self.kernel.splittable:
            while each > 1 and tiles * -(-chunks // each) < self.enough_blocks:
                each //= 2
            while -(-chunks // each) > MOST_PARTS:
                each *= 2
            parts = -(-chunks // each)
        self._vary(levels=LEVELS[each >= 1 << LEVELS[0]])
        self.out.integers |= {"across": across, "each": each, "chunks": chunks}
        self.out.integers |= self._divisor("parts", parts)
        self.out.integers |= self._divisor("tiles", -(-inner // across))
        self.out.work = tiles * parts
        joined = parts > 1 and self.kernel.splittable
        self._partials(self.rows * parts if joined else 0, tiles if joined else 0)
        self._launch(tiles * parts, across, lanes)

    def _turns(self, blocks: int, most: int) -> int:
        """How many rows, or sets of them, a block takes, if blocks meet: a device is still full."""
        turns, most = 1, min(most, blocks // (2 * self.enough_blocks), MOST_TURNS)
        while self.kernel.outer and 2 * turns <= most:
            turns *= 2
        self.out.integers["turns"] = turns
        return turns

    def _outer_rows(self) -> None:
        """Groups of rows for reductions over rows, and room for what rows and groups give.

        Columns are one group, for a tile of them may lie in several.
        """
        if not self.kernel.outer:
            return
        if self.out.grid == 0:
            self._launch(1, self.out.block[0] if self.out.block[0] > 1 else SHORT_THREADS)
        each = chunks_of_a_group(self.rows, MOST_PARTS)
        if self.skeleton == COLUMN:
            each = power_of_two(-(-self.rows // CHUNK))
            units = group = max(1, self.out.grid // self.out.integers["parts"])
        else:
            own = self.out.integers["turns"]
            if self.skeleton == SHORT:
                own *= SHORT_THREADS >> self.out.integers["shift"]
            units, group = max(1, -(-self.rows // own)), each * CHUNK // own
        groups = max(1, -(-self.rows // (each * CHUNK)))
        self.out.integers |= {"groups": groups, "group_rows": each * CHUNK}
        self.out.integers |= {"group_units": group, "units": units}
        if not self.rows:  # a block comes to combine nothing, and there is no row to look at
            self.out.integers["turns"] = 0
        for number, reduce in enumerate(self.kernel.outer):
            self._area(f"outer{number}", self.rows * computed_in(reduce.value_dtype).itemsize)
            self._area(f"grouped{number}", 16 * groups)
        self.out.areas["finished"] = -1 - self.out.counters
        self.out.counters += groups + 1

    def _partials(self, count: int, counters: int) -> None:
        for stage in self.kernel.stages:
            for reduce in stage.reduces:
                self._area(f"partial{reduce.out}", 16 * max(count, 1))
        self.out.areas["arrivals"] = -1 - self.out.counters
        self.out.counters += max(counters, 1)


__all__ = ["BLOCK", "COLUMN", "LOOP", "SHORT", "CudaBound", "Variant", "bind"]
