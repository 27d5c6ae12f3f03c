"""What is rounded in CUDA's kernels: each operation of the user's by itself, whatever NVRTC may do.

The emulator never contracts, so that is read off the code for a virtual architecture.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.graph import build
from fusecuda.graph.interpret import CUPY
from fusecuda.graph.node import Graph
from fusecuda.graph.ops import OWN, ROWS, OpRow
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import sources_of
from tests.emit_cuda.test_cuda_shapes import compare
from tests.marks import chosen
from tests.strategies import TRANSCENDENTAL

RNG = np.random.default_rng(21)
# CUDA's own functions; and what CuPy's kernels compute by one: a remainder, and complex products.
PRODUCTS = {f"{name} of complex" for name in ("multiply", "square", "divide", "reciprocal")}
FUSED = {"remainder", "fmod", "absolute of complex", "sqrt of complex", "power"} | PRODUCTS


def fused_in(sources: list[Any]) -> set[str]:
    """The kernels of ``sources`` that have a fused multiply-add."""
    ptx = nvrtc.cubin(sources, "compute_90").decode()
    entries = (text.split("\n}", 1)[0] for text in ptx.split(".visible .entry ")[1:])
    bodies = (text.split("(", 1) for text in entries)
    return {name for name, text in bodies if re.search(r"\bfma\.", text)}


def loop_of(row: OpRow, dtype: Any) -> list[Any]:
    """The sources of a loop of one operation on ``dtype``; none if it has no kernel."""
    try:
        *given, result = build.resolve(row.numpy, *(dtype,) * row.arity)
    except (TypeError, AttributeError):
        return []
    if any(d != dtype for d in given) or not build.fusible(row.name, given):
        return []
    parameters = [build.parameter(i, (64,), dtype) for i in range(row.arity)]
    graph = Graph((*parameters,), (build.elementwise(row.name, parameters, result),))
    return [s for s in emulated.assembled(graph)[1] if s is not None]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("dtype", chosen(("f2", "f4", "f8", "c8", "c16"), ("f4", "c16")))
def test_exact_operations_are_not_contracted(dtype: str) -> None:
    """Complex products have one where CuPy's have it."""
    names, sources = {}, []
    exact = [r for r in ROWS if r.home != OWN and r.name not in TRANSCENDENTAL]
    is_complex = np.dtype(dtype).kind == "c"
    for row in exact:
        for source in loop_of(row, np.dtype(dtype)):
            names[source.symbol] = row.name + " of complex" * is_complex
            sources.append(source)
    found = {names[symbol] for symbol in fused_in(sources)}
    assert len(names) > (8 if is_complex else 25) and found <= FUSED
    assert (is_complex and found >= PRODUCTS) or "remainder" in found


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("exponent", [3, -1.5])
def test_products_in_two_words_are_rounded(exponent: float) -> None:
    """What their errors are taken of is no part of a fused multiply-add."""
    executable = fc.lower(lambda x: x**exponent, np.ones(8))
    _, sources = emulated.assembled(executable.graph, executable.strides)
    ptx = nvrtc.cubin([s for s in sources if s is not None], "compute_90").decode()
    assert "mul.rn.f64" in ptx and "fma.rn.f64" in ptx


PROGRAMS: dict[str, Callable[..., Any]] = {
    "sum of products": lambda x, y: x * y + x - y * y,
    "reduced": lambda x, y: (x * y).sum(axis=1) + (x * y).mean(axis=0)[: x.shape[0]],
    "one element": lambda x, y: (x - x.mean(axis=1, keepdims=True)) * y + 3,
    "running": lambda x, y: np.cumsum(x * y, axis=1) - y,
    "turned": lambda x, y: x * y + y.T * x.T,
}


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_products_are_not_fused_with_sums(dtype: str) -> None:
    """Across the operations of a kernel, and into its sums."""
    x = fc.spec((96, 96), np.dtype(dtype))
    sources = [s for f in PROGRAMS.values() for s in sources_of(f, x, x) if "/" not in s.text]
    assert not fused_in(list({s.symbol: s for s in sources}.values()))


def numbers(dtype: str) -> tuple[Any, Any]:
    """Pairs of all sizes, with quotients that are nearly whole and far too large."""
    a = RNG.normal(size=4000) * 2.0 ** RNG.integers(-30, 30, 4000)
    b = RNG.normal(size=4000) * 2.0 ** RNG.integers(-30, 30, 4000)
    a[:1000] = (b * RNG.integers(-50, 50, 4000))[:1000]
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_remainder_is_one_fused_multiply_add(dtype: str) -> None:
    """The interpreter's is what is left of ``a``, rounded once."""
    a, b = numbers(dtype)
    floor = np.floor(a / b)
    found = CUPY.elementwise["remainder", "f"](a, b)
    assert found.dtype == a.dtype
    for x, q, y, r in zip(a.tolist(), floor.tolist(), b.tolist(), found.tolist(), strict=True):
        exact = Fraction(x) - Fraction(q) * Fraction(y)
        assert r == float(exact) if dtype == "f8" else r == float(np.float32(float(exact)))
    with np.errstate(all="ignore"):
        special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, 5.0, -1e-320]).astype(dtype)
        a, b = (v.ravel() for v in np.meshgrid(special, special))
        found, plain = CUPY.elementwise["remainder", "f"](a, b), a - np.floor(a / b) * b
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))


@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_kernels_of_remainders(dtype: str) -> None:
    """The interpreter's bits."""
    a, b = numbers("f4" if dtype == "f2" else dtype)
    with np.errstate(over="ignore"):
        compare(lambda x, y: x % y, a.astype(dtype), b.astype(dtype))
