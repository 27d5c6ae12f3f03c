"""Packs: which neighbours in memory a thread moves together, and which accesses are aligned.

What is not aligned is read one by one: neighbours come from a cache. Written so, each piece would
go to memory by itself; so a loop's packs begin where all that it writes is aligned, and where no
beginning is, its threads take elements a warp apart, so that those of a warp are neighbours. The
lanes of a row pass on to their neighbours what belongs to the packs of these (`fc_store_row`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..fusion import kernel_ir as ir
from ..fusion.walk import Walked
from .choice import GROUP

PACK_BYTES = 16
WARP = 32
SCATTERED = 4  # elements of a thread where they lie anyhow
SPREAD = 4  # elements of a thread that are a warp apart
LONG_LINE = 8  # packs of a line from which on one may be less than whole


@dataclass(frozen=True, slots=True)
class Packing:
    """How elements are moved: ``packed`` ``width`` at a time, forms ``apart`` one by one.

    A line's first pack has ``head`` elements unless that is 0; a ``spread`` one's are a warp apart.
    Packs of rows that are ``free`` lie as the launch says.
    """

    packed: bool = False
    width: int = 1
    apart: frozenset[int] = frozenset()
    head: int = 0
    spread: bool = False
    free: bool = False


def chosen_packing(
    kernel: ir.KernelIR, walked: Walked, unit: Sequence[bool], aligned: bool
) -> Packing:
    """The packing for a loop whose ``unit`` forms step by one, if buffers are ``aligned``."""
    inner = walked.elements.extents
    units = frozenset(f for f, form in enumerate(kernel.forms) if form.dtype and unit[f])
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


def row_packing(
    kernel: ir.KernelIR, walked: Walked, unit: Sequence[bool] | None, aligned: bool
) -> Packing:
    """The packing for rows whose ``unit`` forms step by one, or where some step otherwise.

    A lane of a row has its own neighbours, wherever they are. Unless all forms have whole packs,
    each access is chosen by the launch: so few texts do for all layouts. Rows of several axes have
    packs where no pack lies in two runs of the innermost one.
    """
    *outer, inner = walked.elements.extents
    is_run = all(n == 1 for n in outer)
    forms = frozenset(f for f, form in enumerate(kernel.forms) if form.dtype)
    whole = whole_forms(kernel, walked, aligned)
    if unit is not None and whole and all(f in whole or not unit[f] for f in forms):
        return Packing(is_run or inner % GROUP == 0, GROUP)
    return Packing(is_run, GROUP, free=is_run)


def whole_forms(kernel: ir.KernelIR, walked: Walked, aligned: bool) -> frozenset[int]:
    """The forms of which all packs of all rows are neighbours at a multiple of their alignment."""
    units = frozenset(
        f for f, form in enumerate(kernel.forms)
        if form.dtype and walked.elements.strides[f][-1] == form.dtype.itemsize
    )  # fmt: skip
    return units - _misfits(kernel, walked, units, GROUP, 0, aligned)


def whole_turned(walked: Walked, kernel: ir.KernelIR, turned: frozenset[int]) -> frozenset[int]:
    """Of the forms that are ``turned``, those whose packs along the axis before the last are so."""
    found = set()
    for f in turned:
        dtype = kernel.forms[f].dtype
        assert dtype is not None
        strides = walked.elements.strides[f]
        need = min(PACK_BYTES, GROUP * dtype.itemsize)
        if not any(n % need for n in (walked.offsets[f], *strides[:-2], strides[-1])):
            found.add(f)
    return frozenset(found)


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
