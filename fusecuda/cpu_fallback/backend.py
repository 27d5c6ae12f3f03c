"""The C back end as the engine sees it: `emit` gives sources, `compile` native launches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ..fusion.binding import (
    ANY,
    COLUMN,
    COMPACTED_ROWS,
    COMPACTION,
    CROSSED,
    LATE,
    LOOP,
    ROW,
    Bound,
)  # fmt: skip
from .emit import PLACEHOLDER, KernelEmitter
from .emit_columns import AnyEmitter, ColumnEmitter
from .emit_compaction import CompactionEmitter, RowCompactionEmitter
from .emit_crossed import CrossedEmitter
from .emit_late import LateEmitter
from .emit_loop import LoopEmitter
from .emit_rows import RowEmitter
from .loader import KernelSource, LoadedKernel, kernels_at_hand, load_kernels
from .texts import ABI, DRIVER, driver, epilogue, prelude

_EMITTERS: dict[str, type[KernelEmitter]] = {
    LOOP: LoopEmitter,
    COMPACTION: CompactionEmitter,
    COMPACTED_ROWS: RowCompactionEmitter,
    LATE: LateEmitter,
    ROW: RowEmitter,
    COLUMN: ColumnEmitter,
    ANY: AnyEmitter,
    CROSSED: CrossedEmitter,
}


def emit(bound: Bound, traffic: bool = False) -> KernelSource:
    """The C source of the kernel variant that ``bound`` launches; its symbol names its text.

    With ``traffic`` it counts every access to an array element (see traffic.h).
    """
    emitter = _EMITTERS[bound.variant.skeleton]
    text = emitter(bound.lowered.ir, bound.variant, traffic).emit()
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    symbol = f"{bound.lowered.ir.name}_{digest}"
    return KernelSource(symbol, text.replace(PLACEHOLDER, symbol))


def compile_kernels(
    sources: Sequence[KernelSource], traffic: bool = False, most: int | None = None
) -> dict[str, LoadedKernel]:
    """The loaded kernels by symbol; raises CompilerError where they cannot be had.

    At ``most`` so many compilers run at once, by default as many as there are processors.
    """
    return load_kernels(sources, prelude(traffic), epilogue(), abi=ABI, most=most)


def load_driver() -> LoadedKernel:
    """The driver, from a library of its own; raises CompilerError where it cannot be had."""
    source = KernelSource(DRIVER, driver())
    return load_kernels([source], prelude(), epilogue(), abi=ABI)[DRIVER]


def are_at_hand(sources: Sequence[KernelSource]) -> bool:
    """True if these kernels, and the driver, can be had without a compiler, or cannot at all."""
    return is_driver_at_hand() and kernels_at_hand(sources, prelude(), epilogue(), abi=ABI)


def is_driver_at_hand() -> bool:
    """True if the driver can be had without a compiler, or not at all."""
    source = KernelSource(DRIVER, driver())
    return kernels_at_hand([source], prelude(), epilogue(), abi=ABI)
