"""Exports to CUDA: the host's function, as C++ of a stub, starts kernels on the emulator."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls.recording import record_function
from fusecuda.engine import build
from fusecuda.options import Options
from fusecuda.tools.export.cuda_text import HOST, CudaText
from fusecuda.tools.export.signature import signature_of
from tests.emulated import EmulatedDevice
from tests.emulator.build import compiler
from tests.exported import (
    NDArray,
    Program,
    argument_names,
    busy,
    c_argument,
    copied,
    counted,
    diffuse,
    every_second,
    flat,
    has_bfloat16,
    random,
    scaled,
    several,
    softmax,
    total,
)
from tests.marks import one_in

STUB = """
#pragma once
#include <stddef.h>
typedef int cudaError_t;
typedef struct fc_stream *cudaStream_t;
enum { cudaSuccess = 0, cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct dim3 { unsigned x, y; explicit dim3(unsigned x, unsigned y = 1) : x(x), y(y) {} };
typedef int fc_launched(const void *kernel, unsigned grid, unsigned x, unsigned y, void **args,
                        size_t shared, void *stream);
extern "C" { inline fc_launched *&fc_hook() { static fc_launched *hook; return hook; } }
static inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                           size_t shared, cudaStream_t stream)
{ return fc_hook()(kernel, grid.x, block.x, block.y, args, shared, stream); }
static inline cudaError_t cudaFuncSetAttribute(const void *, int, int) { return 0; }
#include <string.h>
static inline cudaError_t cudaMemsetAsync(void *at, int value, size_t count, cudaStream_t)
{ memset(at, value, count); return 0; }
static inline const char *cudaGetErrorString(cudaError_t) { return "an error of CUDA's"; }
"""


OURS = """
typedef struct {{ float re, im; }} fc_c64;
extern "C" {{
const void *fc_symbols[] = {{{listed}}};
void fc_set(fc_launched *hook) {{ fc_hook() = hook; }}
}}
"""


def cuda_host(folder: Path, made: fc.Exported, symbols: Sequence[str]) -> Any:
    """The host's function of a CUDA export, as a C++ compiler makes it of the stub."""
    (folder / "cuda_runtime.h").write_text(STUB)
    host = made.source.read_text().partition(HOST)[2]
    kernels = "".join(
        f"static void {s}() {{ volatile int own = {i}; (void)own; }}\n"
        for i, s in enumerate(symbols)
    )
    listed = ", ".join(f"(const void *){s}" for s in symbols)
    ours = OURS.format(listed=listed)
    text = f'#include "{made.name}.h"\n#include <math.h>\n{kernels}{ours}{host}'
    (folder / "host.cpp").write_text(text)
    flags = ["-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC", "-I."]
    subprocess.run(
        [str(compiler()), "-x", "c++", *flags, "host.cpp", "-o", "host.so"], cwd=folder, check=True
    )
    return ctypes.CDLL(str(folder / "host.so"))


def aligned(nbytes: int) -> NDArray:
    """Bytes that start at a multiple of 256."""
    raw = np.full(nbytes + 256, 0xA5, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + nbytes]


def on_device(value: NDArray) -> NDArray:
    made = aligned(value.nbytes).view(value.dtype).reshape(value.shape)
    made[...] = value
    return made


CUDA_PROGRAMS = [
    Program(softmax, (random((37, 129), "f4"),)),
    Program(diffuse, (random(3_000), 0.1, 0.5)),
    Program(several, (random((30, 7)), random((30, 7)))),
    Program(lambda x, n: (x - x.mean()) / x.std() + n, (random(20_001), 3)),
    Program(counted, (random(1000, "i1"), random(1000) > 0, -7)),
    Program(scaled, (random(7, "c8"), 0.1, 3)),
    *([Program(softmax, (random((9, 33), "bfloat16"),))] if has_bfloat16() else []),
]
HOOK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 3, ctypes.c_void_p, ctypes.c_size_t,
    ctypes.c_void_p,
)  # fmt: skip


@pytest.mark.skipif(compiler() is None, reason="needs g++")
@pytest.mark.parametrize("program", CUDA_PROGRAMS, ids=range(len(CUDA_PROGRAMS)))
@one_in(6)
def test_on_the_emulator(program: Program, tmp_path: Path) -> None:
    """The host's function starts the kernels with all that they need, on the stream given."""
    made = fc.export(program.function, *program.args, path=tmp_path, target="cuda", name="run")
    text = cuda_text(program.function, program.args)
    library = cuda_host(tmp_path, made, list(text.sources))
    device = EmulatedDevice()
    module = device.load(list(text.sources.values()))
    table = (ctypes.c_void_p * len(text.sources)).in_dll(library, "fc_symbols")
    symbols = dict(zip(map(int, table), text.sources, strict=True))  # type: ignore[arg-type]
    waiting = list(text.prepared)
    expected = copied(program.args)
    result = fc.lower(program.function, *copied(program.args))(*expected)
    results = [r for r in flat(result) if not any(r is a for a in flat(expected))]
    given = [on_device(v) if isinstance(v, np.ndarray) else v for v in flat(copied(program.args))]
    outputs = [on_device(np.full(np.shape(r), 7).astype(r.dtype)) for r in results]
    library.run_workspace_bytes.restype = ctypes.c_size_t
    workspace = aligned(library.run_workspace_bytes())
    for array in (*given, *outputs, workspace[: text.counters_at], workspace[text.counters_at :]):
        if isinstance(array, np.ndarray) and array.nbytes:
            device.address(array)

    def launched(
        kernel: int, grid: int, x: int, y: int, args: int, shared: int, stream: int
    ) -> int:
        prepared = waiting.pop(0)
        bound = prepared.bounds[0]
        assert symbols[kernel] == prepared.symbol and stream == 0x5EED
        assert (grid, (x, y), shared) == (prepared.grid, bound.block, bound.shared)
        device.work(module[prepared.symbol], prepared, args)()
        return 0

    hook = HOOK(launched)
    library.fc_set(hook)
    arrays = [v for v in given if isinstance(v, np.ndarray)]
    numbers = [v for v in given if not isinstance(v, np.ndarray)]
    listed = [c_argument(v) for v in (*arrays, *numbers, *outputs)]
    at = ctypes.c_void_p(workspace.ctypes.data if workspace.nbytes else None)
    assert library.run(*listed, at, ctypes.c_void_p(0x5EED)) == 0
    assert not waiting
    for output, wanted in zip(outputs, results, strict=True):
        np.testing.assert_allclose(output, wanted, rtol=1e-6)
    for got, wanted in zip(given, flat(expected), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    listed[0] = ctypes.c_void_p(arrays[0].ctypes.data + 8)
    assert library.run(*listed, at, None) == -2


def cuda_text(function: Any, args: Any) -> CudaText:
    """The texts of an export to CUDA."""
    recording = record_function(function, copied(args), Options(device="cpu"))
    executable = build(recording.graph, {}, Options(device="cuda"))
    return CudaText(executable, recording.leaves, signature_of(recording, "run"))


@pytest.mark.skipif(compiler() is None, reason="needs g++")
@pytest.mark.parametrize("first", [0, 1])
def test_an_argument_may_be_called_as_what_is_generated(first: int, tmp_path: Path) -> None:
    """Each word of the host's function names an argument, of either kind."""
    given = random(20_001), np.array([1, 2]), 1.5, 3
    text = fc.export(busy, *given, path=tmp_path, target="cuda").source.read_text()
    names = argument_names(text.partition(HOST)[2])
    assert {"cudaStream_t", "fc_counters", "fc_kernel", "dim3"} <= set(names)
    args = every_second(names, first)
    made = fc.export(total(names), *args, path=tmp_path, target="cuda", name="total")
    symbols = list(cuda_text(total(names), args).sources)
    assert cuda_host(tmp_path, made, symbols).total_message
