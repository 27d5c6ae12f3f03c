"""The CUDA back end for the engine: `bind_here` chooses launches, `emit` gives their sources."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from ..codegen.layout import Layout
from ..codegen.texts import complex_text, read
from ..fusion import kernel_ir as ir
from ..fusion.assembly import Assembly, assemble
from ..fusion.cost import SHORT, WINDOW, Machine
from ..fusion.together import parted
from ..fusion.walk import Lower, MemoryOf
from ..graph.tree import SCANNED_ROW
from .choice import (
    BLOCK,
    BOTH,
    COLUMN,
    COMPACTION,
    GROUP,
    LATE,
    LONGEST,
    LOOP,
    NEAR,
    NS_PER_BYTE,
    NS_PER_COST,
    OWN_SHARED,
    SCAN,
    SHARED,
    TILES,
    WAITING_BYTES,
    Facts,
    columns_across,
)
from .columns import ColumnEmitter
from .compactions import CompactionEmitter
from .device import Device
from .emit import PLACEHOLDER, CudaEmitter, Text
from .kept_rows import KeptRowEmitter
from .late import LateEmitter
from .launch import CudaBound, Variant, bind
from .loops import LoopEmitter
from .program import CudaProgram, not_loaded
from .rows import RowEmitter
from .scans import LongScanEmitter, ScanEmitter
from .shared import launched
from .source import CudaSource
from .tiles import TileEmitter


def emit(bound: CudaBound, contract: bool = False) -> CudaSource:
    """The CUDA source of the kernel variant that ``bound`` launches; its symbol names its text."""
    made = emit_text(bound.lowered.ir, bound.variant, contract)
    digest = hashlib.sha256(made.text.encode()).hexdigest()[:12]
    symbol = f"{bound.lowered.ir.name}_{digest}"
    function = made.function.replace(PLACEHOLDER, f"{symbol}_block")
    return CudaSource(
        symbol, made.text.replace(PLACEHOLDER, symbol), made.parameters, function, made.bounds,
        bound.own_blocks, bound.variant.blocks,
    )  # fmt: skip


def emit_text(kernel: ir.KernelIR, variant: Variant, contract: bool) -> Text:
    """The text of ``kernel`` in ``variant``, with PLACEHOLDER for its symbol."""
    kinds: dict[str, type[CudaEmitter]] = {
        LOOP: LoopEmitter,
        TILES: TileEmitter,
        COLUMN: ColumnEmitter,
        COMPACTION: CompactionEmitter,
        LATE: LateEmitter,
        SCAN: LongScanEmitter,
    }
    of_rows: type[RowEmitter] = ScanEmitter if kernel.scans else RowEmitter
    if variant.skeleton == BLOCK and variant.kept in (SHARED, BOTH):
        of_rows = KeptRowEmitter
    return kinds.get(variant.skeleton, of_rows)(kernel, variant, contract).emit()


def program(
    assembly: Assembly,
    sources: Sequence[CudaSource | None],
    layout: Layout,
    device: Device,
    contract: bool = False,
) -> CudaProgram:
    """The program of ``assembly`` on ``device``.

    Raises CompilerError if its kernels cannot be compiled. Arguments that do not start at a
    multiple of 16 bytes get a program of their own when they first come.
    """

    def unaligned() -> CudaProgram:
        bind_one_by_one = partial(bind, aligned=False, facts=device_facts(), contract=contract)
        other = assemble(assembly.plan, assembly.places.strides, bind_one_by_one)
        other.companies = parted(assembly.companies, other.steps)
        emitted = [emit(s, contract) if isinstance(s, CudaBound) else None for s in other.steps]
        return CudaProgram(other, emitted, layout, device)

    return CudaProgram(assembly, sources, layout, device, unaligned)


def bind_here(lower: Lower, memory: MemoryOf, contract: bool) -> CudaBound:
    """As `launch.bind`, for this machine's devices."""
    return bind(lower, memory, facts=device_facts(), contract=contract)


def machine() -> Machine:
    """What the planner plans for: a row is passed over again if a block of threads can keep it."""
    facts = device_facts()
    kept = facts.shared - OWN_SHARED
    return Machine(
        rows=facts.multiprocessors, row_bytes=kept, row_blocks=facts.cluster,
        across=columns_across(LONGEST), group=GROUP, inner=SHORT, window=WINDOW,
        longest=LONGEST,
        ns_per_byte=NS_PER_BYTE, ns_per_cost=NS_PER_COST, narrowest=4, reads_again=True,
        compacts=True, scanned_row=SCANNED_ROW, waits=NEAR, late_bytes=WAITING_BYTES,
    )  # fmt: skip


@cache
def device_facts() -> Facts:
    """What all CUDA devices of this machine have; where there are none, an H100's."""
    try:
        from .cupy_device import least_facts  # noqa: PLC0415 - CuPy is optional
    except ImportError:
        return Facts()
    return least_facts() or Facts()


def begin(assembly: Assembly, sources: Sequence[CudaSource | None]) -> None:
    """Begin to compile what ``assembly`` launches for the current device, if there is one."""
    wanted = launched(assembly, assembly.companies, sources)
    if wanted and has_device():
        from .cupy_device import current_device  # noqa: PLC0415 - CuPy is optional

        current_device().begin(wanted)


@cache
def has_device() -> bool:
    """True if there is a CUDA device to run on."""
    return bool(devices())


class DevicePrograms:
    """The program of an assembly on each CuPy device that it has been called on."""

    def __init__(
        self,
        assembly: Assembly,
        sources: Sequence[CudaSource | None],
        layout: Layout,
        contract: bool,
    ) -> None:
        from .cupy_device import current_device  # noqa: PLC0415 - CuPy is optional

        self._current = current_device
        self._make = partial(program, assembly, sources, layout, contract=contract)
        self._assembly = assembly
        self._programs: dict[int, CudaProgram] = {}

    @property
    def refusal(self) -> str:
        """Why a device launches no graphs of these kernels, if one has refused to."""
        return next((p.refusal for p in self._programs.values() if p.refusal), "")

    def __call__(self, arguments: Sequence[Any], lap: Any = None) -> list[Any]:
        """The results on the current device; see `CudaProgram`."""
        device = self._current()
        made = self._programs.get(device.number)
        if made is None:
            if device.is_capturing(device.stream()):
                raise not_loaded(self._assembly)
            made = self._programs[device.number] = self._make(device)
        return made(arguments, lap)


def devices() -> list[str]:
    """The CUDA devices of this machine as ``cuda:0 NAME``; empty without CuPy or a driver."""
    try:
        from .cupy_device import device_names  # noqa: PLC0415 - CuPy is optional
    except ImportError:
        return []
    return [f"cuda:{n} {name}" for n, name in enumerate(device_names())]


def _with_products(text: str) -> str:
    """``text`` with products that are no part of a fused multiply-add."""
    return re.sub(r"FC_ROUNDED\((\S+) \* (\S+)\)", r"fc_product(\1, \2)", text)


@cache
def prelude() -> str:
    """What every kernel stands on, as one text."""
    return "\n".join(
        (
            read("emit_cuda", "fusecuda.cuh"),
            read("emit_cuda", "tree.cuh"),
            read("emit_cuda", "online.cuh"),
            read("emit_cuda", "cluster.cuh"),
            read("emit_cuda", "columns.cuh"),
            read("emit_cuda", "compaction.cuh"),
            read("emit_cuda", "late.cuh"),
            read("emit_cuda", "scan.cuh"),
            read("codegen", "integers.h"),
            read("codegen", "division.h"),
            read("codegen", "philox.h"),
            read("codegen", "search.h"),
            read("emit_cuda", "math.cuh"),
            read("emit_cuda", "special.cuh"),
            read("emit_cuda", "halves.cuh").replace(
                '#include "halves.h"', read("codegen", "halves.h")
            ),
            read("codegen", "extremes.h"),
            read("codegen", "bfloats.h"),
            read("emit_cuda", "complex.cuh"),
            *(_with_products(t) for t in (read("codegen", "powers.h"), complex_text())),
        )
    )
