"""The C back end as the engine sees it: `emit` gives sources."""

from __future__ import annotations

import hashlib

from ..fusion.binding import Bound
from ..fusion.variants import (  # fmt: skip
    ANY,
    COLUMN,
    COMPACTED_ROWS,
    COMPACTION,
    CROSSED,
    CROSSED_SHORT,
    LATE,
    LOOP,
    ROW,
)
from .emit import PLACEHOLDER, KernelEmitter
from .emit_columns import ColumnEmitter
from .emit_compaction import CompactionEmitter, RowCompactionEmitter
from .emit_crossed import CrossedEmitter, CrossedShortEmitter
from .emit_late import LateEmitter
from .emit_loop import LoopEmitter
from .emit_packed import PackedEmitter
from .emit_rows import RowEmitter
from .emit_short import AnyEmitter
from .loader import KernelSource

_EMITTERS: dict[str, type[KernelEmitter]] = {
    LOOP: LoopEmitter,
    COMPACTION: CompactionEmitter,
    COMPACTED_ROWS: RowCompactionEmitter,
    LATE: LateEmitter,
    ROW: RowEmitter,
    COLUMN: ColumnEmitter,
    ANY: AnyEmitter,
    CROSSED: CrossedEmitter,
    CROSSED_SHORT: CrossedShortEmitter,
}


def emit(bound: Bound, traffic: bool = False) -> KernelSource:
    """The C source of the kernel variant that ``bound`` launches; its symbol names its text.

    With ``traffic`` it counts every access to an array element (see traffic.h).
    """
    emitter = _EMITTERS[bound.variant.skeleton]
    if bound.variant.packed and not traffic:
        emitter = PackedEmitter
    text = emitter(bound.lowered.ir, bound.variant, traffic).emit()
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    symbol = f"{bound.lowered.ir.name}_{digest}"
    return KernelSource(symbol, text.replace(PLACEHOLDER, symbol))
