"""The CUDA back end as the engine sees it: `bind` chooses launches, `emit` gives their sources."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ..fusion import kernel_ir as ir
from .columns import ColumnEmitter
from .emit import PLACEHOLDER, CudaEmitter, LoopEmitter, Text
from .launch import COLUMN, LOOP, CudaBound, Variant
from .rows import RowEmitter


@dataclass(frozen=True, slots=True)
class CudaSource:
    """CUDA C of one kernel: its entry's name, the text, and its parameters (name, C type)."""

    symbol: str
    text: str
    parameters: tuple[tuple[str, str], ...]


def emit(bound: CudaBound, contract: bool = False) -> CudaSource:
    """The CUDA source of the kernel variant that ``bound`` launches; its symbol names its text."""
    made = emit_text(bound.lowered.ir, bound.variant, contract)
    digest = hashlib.sha256(made.text.encode()).hexdigest()[:12]
    symbol = f"{bound.lowered.ir.name}_{digest}"
    return CudaSource(symbol, made.text.replace(PLACEHOLDER, symbol), made.parameters)


def emit_text(kernel: ir.KernelIR, variant: Variant, contract: bool) -> Text:
    """The text of ``kernel`` in ``variant``, with PLACEHOLDER for its symbol."""
    kinds: dict[str, type[CudaEmitter]] = {LOOP: LoopEmitter, COLUMN: ColumnEmitter}
    return kinds.get(variant.skeleton, RowEmitter)(kernel, variant, contract).emit()


@cache
def prelude() -> str:
    """What every kernel stands on, as one text."""
    return "\n".join(
        (
            _read("emit_cuda", "fusecuda.cuh"),
            _read("codegen", "integers.h"),
            _read("emit_cuda", "math.cuh"),
        )
    )


def _read(folder: str, name: str) -> str:
    return resources.files(f"fusecuda.{folder}").joinpath(name).read_text(encoding="utf-8")
