"""Kernels of a line of C for the tests of compiler, loader and cache."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from fusecuda.cpu_fallback.compiler import Compiler, find_compiler
from fusecuda.cpu_fallback.loader import KernelSource, KernelTable, LoadedKernel

ABI = 7
PRELUDE = f"#include <stdint.h>\n#include <math.h>\nint64_t fc_abi(void) {{ return {ABI}; }}\n"

FakeCc = Callable[[str], Path]


def constant(name: str, value: int) -> KernelSource:
    """A kernel whose entry returns `value` and whose function name_twice returns its double."""
    text = f"int {name}(void) {{ return {value}; }}\n"
    return KernelSource(name, text + f"int {name}_twice(void) {{ return 2 * {value}; }}")


def call(kernel: LoadedKernel, suffix: str = "") -> int:
    result: int = ctypes.CFUNCTYPE(ctypes.c_int)(kernel.address(suffix))()
    return result


def load(table: KernelTable, *kernels: KernelSource) -> dict[str, LoadedKernel]:
    return table.load(kernels, PRELUDE, "", ABI)


def real_compiler() -> Compiler:
    compiler = find_compiler()
    assert compiler is not None
    return compiler
