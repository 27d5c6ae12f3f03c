"""Halos: tiles of a loop with late stores, and how far their elements are read by other tiles.

A tile has a power of two of elements along each axis. Its edges are the elements that those of
other tiles may read; sides are chosen so that these are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..fusion import kernel_ir as ir
from ..fusion.positions import is_row_major, steps_apart
from ..fusion.waiting import late_reads
from ..fusion.walk import Walked
from .choice import LOOP_THREADS, WAITING_BYTES, power_of_two
from .quotients import DOWN, FACTOR, quotient_by

AT_ONCE = 4  # elements of a thread whose loads are under way together
_LEAST = LOOP_THREADS * AT_ONCE  # elements of a tile
_MOST = 8192
_LINE = 32  # elements along the last axis, so that accesses are of whole sectors
_FILLED = 2  # tiles for each multiprocessor, below which they are made smaller


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of ``sides``: how many there are, and the ``halos`` of elements that others read."""

    extents: tuple[int, ...]
    sides: tuple[int, ...]
    halos: tuple[int, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """How many there are along each axis."""
        return tuple(-(-n // s) for n, s in zip(self.extents, self.sides, strict=True))

    @property
    def inner(self) -> tuple[int, ...]:
        """The elements along each axis that no other tile reads."""
        pairs = zip(self.sides, self.halos, strict=True)
        return tuple(max(0, side - 2 * halo) for side, halo in pairs)

    @property
    def edges(self) -> int:
        """The elements of a tile that others may read."""
        return math.prod(self.sides) - math.prod(self.inner)

    @property
    def reach(self) -> tuple[int, ...]:
        """How many tiles away along each axis are the farthest ones that are read."""
        return tuple(-(-halo // side) for halo, side in zip(self.halos, self.sides, strict=True))

    def integers(self, divisor: Callable[[str, int], dict[str, int]]) -> dict[str, int]:
        """The numbers by name; ``divisor`` gives those that an index is divided by."""
        around = [2 * reach + 1 for reach in self.reach]
        found = {"size": math.prod(self.sides), "edges": self.edges, "around": math.prod(around)}
        for a, (count, near) in enumerate(zip(self.counts, around, strict=True)):
            found |= divisor(f"tiles_n{a}", count) | divisor(f"around_n{a}", near)
        outer = 1  # elements inside along all axes before
        for a, (side, halo, inner) in enumerate(
            zip(self.sides, self.halos, self.inner, strict=True)
        ):
            below = math.prod(self.sides[a + 1 :])
            found |= {
                f"shift_n{a}": side.bit_length() - 1, f"below_n{a}": below.bit_length() - 1,
                f"mask_n{a}": side - 1, f"halo_n{a}": halo, f"inner_n{a}": inner,
                f"span_n{a}": side - inner, f"slab_n{a}": outer * (side - inner) * below,
                f"reach_n{a}": self.reach[a],
            }  # fmt: skip
            for name in (f"span_n{a}", f"inner_n{a}"):
                by, down = quotient_by(found[name], wide=False)
                found |= {f"{name}_{FACTOR}": by, f"{name}_{DOWN}": down}
            outer *= inner
        return found


def capacity(kernel: ir.KernelIR) -> int:
    """The most elements of a tile: a block's shared memory has all that waits of them."""
    room = WAITING_BYTES * _LEAST // sum(s.dtype.itemsize for s in kernel.late)
    return min(_MOST, 1 << (room.bit_length() - 1))


def tiles_of(kernel: ir.KernelIR, walked: Walked, processors: int) -> Tiles:
    """The tiles of a loop with late stores."""
    extents = tuple(walked.elements.extents)
    size, reads = capacity(kernel), _reads(kernel, walked)
    while size > _LEAST and math.prod(extents) < _FILLED * processors * size:
        size //= 2
    sides = _sides(extents, reads, size)
    cut = [side < n for side, n in zip(sides, extents, strict=True)]
    return Tiles(extents, sides, tuple(h * c for h, c in zip(reads, cut, strict=True)))


def joined(kernel: ir.KernelIR, walked: Walked) -> Walked:
    """``walked`` with axes merged, unless elements that are near would be far away then."""
    reads, walk = _reads(kernel, walked), walked.elements
    walked.elements = walk.collapsed(lambda axis, inner: reads[axis] * inner <= _LINE)
    return walked


def _reads(kernel: ir.KernelIR, walked: Walked) -> list[int]:
    """How far along each axis elements are read that are written late.

    Reads that step otherwise than the writes are of other elements: the planner has seen to it. If
    addresses do not tell how far elements are apart, they may be anywhere.
    """
    walk = walked.elements
    found = [0] * len(walk.extents)
    for store, load in late_reads(kernel, walked):
        strides, distance = walk.strides[store], walked.offsets[load] - walked.offsets[store]
        if strides != walk.strides[load] or not distance:
            continue
        if not is_row_major(walk.extents, strides):
            return [n - 1 for n in walk.extents]
        apart = steps_apart(walk.extents, strides, distance) or found
        found = [max(h, abs(by)) for h, by in zip(found, apart, strict=True)]
    return found


def _sides(extents: tuple[int, ...], reads: list[int], size: int) -> tuple[int, ...]:
    """Sides of ``size`` elements together: the longer, the farther elements are read along them."""
    last = len(extents) - 1
    sides = [1] * last + [min(size, _LINE, power_of_two(extents[last]))]
    while math.prod(sides) < size:
        axes = [a for a, n in enumerate(extents) if sides[a] < n]
        if not axes:  # the tile has everything
            sides[last] *= size // math.prod(sides)
            break
        sides[max(axes, key=lambda a: (reads[a] / sides[a], a))] *= 2
    return tuple(sides)
