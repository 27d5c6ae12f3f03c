"""What CuPy's kernels give where NumPy gives something else, by emitted kernels on the emulator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fusecuda.emit_cuda import nvrtc
from fusecuda.graph import build
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph
from tests import emulated, emulator
from tests.strategies import same_bits

RNG = np.random.default_rng(3)
needs_emulator = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")


def graph_of(name: str, dtypes: list[np.dtype[Any]], count: int) -> Graph:
    """One operation on whole arrays."""
    nodes = [build.parameter(i, (count,), d) for i, d in enumerate(dtypes)]
    result = build.resolve(getattr(np, name), *dtypes)[-1]
    return Graph(tuple(nodes), (build.elementwise(name, nodes, result),))


def emitted(name: str, *operands: np.ndarray) -> np.ndarray:
    """What the emitted kernel gives, which is what the interpreter says."""
    graph = graph_of(name, [a.dtype for a in operands], operands[0].size)
    found = emulated.run(graph, list(operands))[0][0]
    assert same_bits(found, interpret(graph, list(operands), CUPY)[0]), name
    return found


def operand(dtype: str) -> np.ndarray:
    """Numbers and special values; of integers the ends."""
    kind = np.dtype(dtype).kind
    if kind == "c":
        part = "f4" if dtype == "c8" else "f8"
        joined = np.empty(400, dtype)
        joined.real, joined.imag = operand(part), RNG.permutation(operand(part))
        return RNG.permutation(joined)
    if kind in "iu":
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.max, info.max // 2, 0, 1, 7], dtype)
        some = RNG.integers(max(info.min, -70), 70, 394).astype(dtype)
        return RNG.permutation(np.concatenate([np.repeat(ends, 20), some])[:400])
    special = np.repeat([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], 20)
    return RNG.permutation(np.concatenate([special, RNG.normal(size=260)])).astype(dtype)


INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u4", "u8")
CASES = [
    *((name, d) for name in ("left_shift", "right_shift", "fmod", "lcm") for d in INTEGERS),
    *((n, d) for n in ("maximum", "minimum", "fmax", "fmin") for d in ("f2", "f4", "f8")),
    *((n, d) for n in ("multiply", "divide", "square", "reciprocal") for d in ("c8", "c16")),
]


@needs_emulator
@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_the_interpreter_says(name: str, dtype: str) -> None:
    """Over special values."""
    emitted(name, *(operand(dtype) for _ in range(getattr(np, name).nin)))


LEAST, MOST = -(2**63), 2**63 - 1
VALUES = {  # name, dtype: operands, and what CuPy's text makes of them
    ("left_shift", "i8"): ([5, 5, 5, 5], [LEAST, MOST, 64, 3], [5, 0, 0, 40]),
    ("right_shift", "i8"): ([-5, -5, -5, 40], [LEAST, MOST, 64, 3], [-5, -1, -1, 5]),
    ("left_shift", "u8"): ([5, 5], [2**32, 2**32 + 1], [5, 10]),
    ("left_shift", "i1"): ([1, 1, 1], [7, 8, -128], [-128, 0, 0]),
    ("fmod", "i8"): ([MOST, LEAST, -7, 7], [7, MOST, 4, 0], [1, 0, -3, 0]),
    ("fmod", "u8"): ([2**64 - 1, 9], [7, 4], [2, 1]),
    ("fmod", "i4"): ([2**31 - 1, -7], [7, 4], [1, -3]),
    ("lcm", "i1"): ([15, 20, -128], [13, 19, -128], [61, 124, -128]),
    ("lcm", "i8"): ([MOST, 6], [5, 4], [2**63 - 5, 12]),
    ("maximum", "f4"): ([0.0, -0.0, np.nan], [-0.0, 0.0, 1.0], [0.0, 0.0, np.nan]),
    ("minimum", "f2"): ([0.0, -0.0, 1.0], [-0.0, 0.0, np.nan], [-0.0, -0.0, np.nan]),
    ("fmax", "f8"): ([-0.0, 0.0, np.nan], [0.0, -0.0, 1.0], [0.0, 0.0, 1.0]),
    ("fmin", "f4"): ([0.0, -0.0, 1.0], [-0.0, 0.0, np.nan], [-0.0, -0.0, 1.0]),
}


@needs_emulator
@pytest.mark.parametrize(("name", "dtype"), VALUES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values(name: str, dtype: str) -> None:
    """As CuPy's routine has them on a device."""
    *operands, want = (np.array(v, dtype) for v in VALUES[name, dtype])
    assert same_bits(emitted(name, *operands), want)


@needs_emulator
@pytest.mark.parametrize(("dtype", "small"), [("c8", 2.0**-13), ("c16", 2.0**-30)])
def test_complex_products_are_fused(dtype: str, small: float) -> None:
    """A part's last product is one with the sum: of equal ones the first one's error is left."""
    a = np.array([complex(1 + small, 1 + small)], dtype)
    assert emitted("multiply", a, a)[0].real == small**2
    assert emitted("square", a)[0].real == small**2


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize(("symbol", "fused", "products"), [("*", 1, 3), ("/", 2, 10)])
def test_nvrtc_fuses_cupys_text_so(symbol: str, fused: int, products: int) -> None:
    """Sums in PTX; of differences its own compiler makes one with the first product."""
    cupy = pytest.importorskip("cupy")
    include = Path(cupy.__file__).parent / "_core" / "include"
    within = [include, *(include / "cupy" / "_cccl" / n for n in ("thrust", "libcudacxx", "cub"))]
    text = f"""
        #include <cupy/complex.cuh>
        extern "C" __global__ void k(complex<double>* a, complex<double>* b)
        {{ b[threadIdx.x] = a[threadIdx.x] {symbol} b[threadIdx.x]; }}"""
    flags = (*nvrtc.options("compute_90"), *(f"-I{p}" for p in within))
    ptx = nvrtc.compile_text(text, flags)[0].decode()
    entry = ptx[ptx.index(".entry") :]
    assert len(re.findall(r"\bfma\.rn\.f64", entry)) == fused
    assert len(re.findall(r"\bmul\.f64", entry)) == products
