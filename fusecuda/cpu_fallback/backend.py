"""The C back end as the engine sees it: `emit` gives sources, `compile` native launches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from ..fusion.binding import COLUMN, LOOP, ROW, Bound
from .emit import PLACEHOLDER, KernelEmitter, LoopEmitter
from .emit_columns import ColumnEmitter
from .emit_reduction import RowEmitter
from .loader import KernelSource, LoadedKernel, load_kernels

ABI = 2
_EMITTERS: dict[str, type[KernelEmitter]] = {
    LOOP: LoopEmitter,
    ROW: RowEmitter,
    COLUMN: ColumnEmitter,
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
    sources: Sequence[KernelSource], traffic: bool = False
) -> dict[str, LoadedKernel]:
    """The loaded kernels by symbol; raises CompilerError where they cannot be had."""
    return load_kernels(sources, prelude(traffic), epilogue(), abi=ABI)


@cache
def prelude(traffic: bool = False) -> str:
    """What stands above the kernels of every translation unit."""
    return "\n".join(
        [
            _read("cpu_fallback", "abi.h"),
            _vector_math(),
            _read("codegen", "integers.h"),
            _read("codegen", "prelude.h"),
            _read("cpu_fallback", "runs.h"),
            _read("codegen", "reduce.h"),
            _read("cpu_fallback", "traffic.h") if traffic else "",
        ]
    )


@cache
def epilogue() -> str:
    """What stands below them: the driver."""
    return _read("cpu_fallback", "driver.h")


def _vector_math() -> str:
    """The vector math headers as one text, each include replaced by the file it names."""
    lines = []
    for line in _read("cpu_fallback", "vecmath.h").splitlines():
        if line.startswith('#include "'):
            lines.append(_read("cpu_fallback", line.split('"')[1]))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _read(folder: str, name: str) -> str:
    return resources.files(f"fusecuda.{folder}").joinpath(name).read_text(encoding="utf-8")
