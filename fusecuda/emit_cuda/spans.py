"""Spans: what the memory of a launch decides, which forms share it and how far indices reach."""

from __future__ import annotations

from collections.abc import Iterator

from ..fusion import kernel_ir as ir
from ..fusion.lowering import Lowered
from ..fusion.walk import MemoryOf, Walked, limit_value


def aliased(kernel: ir.KernelIR, walked: Walked) -> frozenset[int]:
    """The forms whose buffer is both read and written, or written twice."""
    by_buffer: dict[int, list[int]] = {}
    for f, buffer in zip(address_forms(kernel), walked.buffers(), strict=True):
        by_buffer.setdefault(buffer, []).append(f)
    return frozenset(
        f for shared in by_buffer.values() for f in shared
        if len(shared) > 1 and any(kernel.forms[g].store for g in shared)
    )  # fmt: skip


def address_forms(kernel: ir.KernelIR) -> list[int]:
    """The forms that are addresses."""
    return [f for f, form in enumerate(kernel.forms) if form.dtype is not None]


def walked_spans(kernel: ir.KernelIR, walked: Walked) -> Iterator[int]:
    """How many elements each address form walks over, from its first to its last."""
    walks = (walked.elements, walked.rows)
    for f in address_forms(kernel):
        span = 0
        for over in walks if kernel.kind != "loop" else walks[:1]:
            for n, s in zip(over.extents, over.strides[f], strict=True):
                span += abs(s) * max(n - 1, 0)
        dtype = kernel.forms[f].dtype
        assert dtype is not None
        yield span // dtype.itemsize


def reaches(lowered: Lowered, memory: MemoryOf) -> Iterator[int]:
    """The extents along which elements are looked up, and how far from the first these lie."""
    for s in lowered.ir.statements():
        if isinstance(s, ir.LookUp):
            pairs = [[limit_value(lowered.limits[n], memory) for n in p] for p in s.limits]
            yield from (extent for extent, _ in pairs)
            far = sum(abs(stride) * max(extent - 1, 0) for extent, stride in pairs)
            yield 2 * far // _itemsize(lowered, s.form)  # with what is walked besides


def _itemsize(lowered: Lowered, form: int) -> int:
    dtype = lowered.ir.forms[form].dtype
    assert dtype is not None
    return dtype.itemsize
