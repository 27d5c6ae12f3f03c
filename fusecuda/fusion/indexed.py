"""Indexed: what a kernel reads and writes at places that values tell, where its arrays lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import kernel_ir
from .lowering import Lowered
from .walk import MemoryOf, limit_value

_BYTE = np.dtype(np.uint8)
_LARGEST = 255


class Place(NamedTuple):
    """A statement, the extents that its indices lie in, and the bytes to the next of the last."""

    statement: kernel_ir.LookUp | kernel_ir.Scatter
    extents: list[int]
    step: int


def places_of(lowered: Lowered, memory: MemoryOf) -> list[Place]:
    """What looks up elements or writes at indices, on the memory given."""
    found = []
    for s in lowered.ir.statements():
        if isinstance(s, kernel_ir.LookUp | kernel_ir.Scatter) and s.limits:
            numbers = [limit_value(lowered.limits[n], memory) for pair in s.limits for n in pair]
            found.append(Place(s, numbers[::2], numbers[-1]))
    return found


def are_dense(kernel: kernel_ir.KernelIR, places: Sequence[Place]) -> bool:
    """True if there are places, and one more in the last of each leads to the next element."""
    return bool(places) and all(p.step == _itemsize(kernel, p) for p in places)


def _itemsize(kernel: kernel_ir.KernelIR, place: Place) -> int:
    dtype = kernel.forms[place.statement.form].dtype
    assert dtype is not None
    return dtype.itemsize


def are_sure(kernel: kernel_ir.KernelIR, places: Sequence[Place]) -> bool:
    """True if all indices are bytes, and each byte leads to an element."""
    made = {s.out: s for s in kernel.statements() if not isinstance(s, kernel_ir.Effect)}

    def is_byte(value: int) -> bool:
        s = made.get(value)
        if isinstance(s, kernel_ir.Compute) and s.op == "convert" and s.dtype.kind in "iu":
            return s.operand_dtypes[0] == _BYTE
        return isinstance(s, kernel_ir.Load) and s.dtype == _BYTE

    indices = [
        pair
        for p in places
        if not isinstance(p.statement, kernel_ir.Search)
        for pair in zip(p.statement.indices, p.extents, strict=True)
    ]
    return bool(indices) and all(n > _LARGEST and is_byte(value) for value, n in indices)
