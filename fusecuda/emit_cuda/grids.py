"""Grids: launches whose blocks tell each other something, and what all grids are made of."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..fusion import kernel_ir as ir
from ..fusion.walk import Walked
from ..graph.dtypes import computed_in
from ..graph.tree import LANES, SCANNED_TILE
from .choice import COMPACTED, LOOP_THREADS, power_of_two, row_tiles
from .halos import tiles_of
from .quotients import DOWN, FACTOR, quotient_by
from .variant import CudaBound, Variant


class Grids:
    """A launch that is being made: ``out``, of a kernel on memory that is walked."""

    kernel: ir.KernelIR
    walked: Walked
    variant: Variant
    out: CudaBound
    length: int  # of a row
    rows: int
    processors: int
    enough_blocks: int

    # --- what a launch has

    def _divisor(self, name: str, value: int) -> dict[str, int]:
        """An integer that a text may divide by, and what it does instead."""
        by, down = quotient_by(value, self.variant.wide)
        return {name: value, f"{name}_{FACTOR}": by, f"{name}_{DOWN}": down}

    def _area(self, name: str, nbytes: int) -> None:
        self.out.areas[name] = self.out.workspace
        self.out.workspace += -(-nbytes // 256) * 256

    def _vary(self, **changes: Any) -> None:
        self.variant = self.out.variant = replace(self.variant, **changes)

    def _launch(self, grid: int, x: int, y: int = 1) -> None:
        self.out.grid, self.out.block = grid, (x, y)

    # --- grids

    def _compaction(self) -> None:
        """Tiles of elements; or of rows, which several blocks share where there are few."""
        if self.kernel.kind == "loop":
            tiles, blocks = (-(-self.length // COMPACTED),) * 2
        else:
            rows, tiles, parts, each = row_tiles(self.rows, self.length, self.enough_blocks)
            blocks, lanes = tiles * parts, min(LOOP_THREADS, power_of_two(self.length))
            self.out.integers |= self._divisor("parts", parts)
            self.out.integers |= {"tile_rows": rows, "each": each, "shift": lanes.bit_length() - 1}
        self.out.integers |= {"tiles": tiles, "blocks": blocks}
        self._ordered(blocks, tiles)

    def _long_scan(self) -> None:
        """Tiles of rows, of which a block tells those behind it what it comes to."""
        tiles = -(-self.length // SCANNED_TILE)
        scans = [s for s in self.kernel.statements() if isinstance(s, ir.Scan)]
        blocks, each = self.rows * tiles, self.rows * told_by(tiles)
        self.out.integers |= self._divisor("rows", self.rows)
        self.out.integers |= {
            "tiles": tiles,
            "blocks": blocks,
            "told": told_by(tiles),
            "states_each": each,
        }
        for scan in scans:
            self._area(f"totals{scan.out}", each * computed_in(scan.dtype).itemsize)
        self._ordered(blocks, each * len(scans))

    def _ordered(self, blocks: int, states: int) -> None:
        """Blocks in the order in which they start, and states in which they tell each other."""
        for name, words in (("states", 2 * states), ("tickets", 1), ("finished", 1)):
            self.out.areas[name] = -1 - self.out.counters
            self.out.counters += words
        self.out.work = blocks
        self._launch(blocks, LOOP_THREADS)

    def _late(self) -> None:
        """Tiles, whose edges wait in the workspace until the last block has read them."""
        tiles = tiles_of(self.kernel, self.walked, self.processors)
        blocks = math.prod(tiles.counts)
        self.out.integers |= tiles.integers(self._divisor)
        for store in self.kernel.late:
            self._area(f"edge{store.form}", max(1, blocks * tiles.edges) * store.dtype.itemsize)
        self.out.areas["arrivals"] = -1 - self.out.counters
        self.out.counters += blocks
        self.out.work = blocks
        self._launch(blocks, LOOP_THREADS)


def told_by(tiles: int) -> int:
    """What the tiles of a row tell: one of each, of each 32, of each 32 of those, and so on."""
    return tiles + (told_by(-(-tiles // LANES)) if tiles > LANES else 0)
