"""Packs: which neighbours in memory a thread moves together, and which accesses are aligned.

What is not aligned is read one by one: neighbours come from a cache. Written so, each piece would
go to memory by itself; so a loop's packs begin where all that it writes is aligned, and where no
beginning is, its threads take elements a warp apart, so that those of a warp are neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..fusion import kernel_ir as ir
from ..fusion.walk import Walked
from .choice import GROUP

PACK_BYTES = 16
WARP = 32
SPREAD = 4  # elements of a thread that are a warp apart
LONG_LINE = 8  # packs of a line from which on one may be less than whole


@dataclass(frozen=True, slots=True)
class Packing:
    """How elements are moved: ``packed`` ``width`` at a time, forms ``apart`` one by one.

    A line's first pack has ``head`` elements unless that is 0; a ``spread`` one's are a warp apart.
    """

    packed: bool = False
    width: int = 1
    apart: frozenset[int] = frozenset()
    head: int = 0
    spread: bool = False


def chosen_packing(
    kernel: ir.KernelIR, walked: Walked, unit: Sequence[bool], aligned: bool
) -> Packing:
    """The packing for a kernel whose ``unit`` forms step by one, if buffers are ``aligned``.

    A lane of a row has its own neighbours, wherever they begin. Where not all rows are aligned it
    takes them one by one, by the text for any strides: its loads are under way together all the
    same, and another text for each access would be many.
    """
    inner = walked.elements.extents
    units = frozenset(f for f, form in enumerate(kernel.forms) if form.dtype and unit[f])
    if kernel.kind != "loop":
        whole = units and all(n == 1 for n in inner[:-1])
        packed = whole and not _misfits(kernel, walked, units, GROUP, 0, aligned)
        return Packing(bool(packed), GROUP)
    if not units:
        return Packing()
    width = _width(kernel, units)
    found = []
    for head in range(width):
        apart = _misfits(kernel, walked, units, width, head, aligned)
        if not any(kernel.forms[f].store for f in apart):
            found.append(Packing(True, width, apart, head))
    best = min(found, key=lambda p: (len(p.apart), p.head), default=None)
    if best is not None and (inner[-1] >= LONG_LINE * width or not (best.apart or best.head)):
        return best
    if inner[-1] >= LONG_LINE * SPREAD * WARP:
        return Packing(True, SPREAD, units, spread=True)
    return Packing()


def _width(kernel: ir.KernelIR, units: frozenset[int]) -> int:
    """The elements of a pack: what 16 bytes hold of the widest, twice that for mixed types."""
    sizes = [form.dtype.itemsize for f, form in enumerate(kernel.forms)
             if f in units and form.dtype is not None]  # fmt: skip
    width = PACK_BYTES // max(sizes)
    return min(8, width if min(sizes) == max(sizes) else 2 * width)


def _misfits(
    kernel: ir.KernelIR,
    walked: Walked,
    units: frozenset[int],
    width: int,
    head: int,
    aligned: bool,
) -> frozenset[int]:
    """The forms of ``units`` of which some pack is not aligned, if the first begins at ``head``."""
    if not aligned:
        return units
    found = set()
    for f in units:
        dtype = kernel.forms[f].dtype
        assert dtype is not None
        need = min(PACK_BYTES, width * dtype.itemsize)
        steps = [walked.offsets[f] + head * dtype.itemsize, *walked.elements.strides[f][:-1]]
        if kernel.kind != "loop":
            steps += walked.rows.strides[f]
        if any(n % need for n in steps):
            found.add(f)
    return frozenset(found)
