"""Running sums and products by emulated CUDA kernels: one tree, by the extent alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.backend import machine
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.tree import LONGEST_SCAN, tree_scan
from fusecuda.options import Options
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.emit_cuda.test_cuda_shapes import compare
from tests.fusion.test_scans import chain, columns, two
from tests.marks import chosen
from tests.strategies import DTYPES, lay_out, mixed_values, same_bits, strides_of

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(6)
LENGTHS = (1, 4, 129, 513, 1500)
USUAL = [np.dtype(name) for name in ("float16", "float32")]


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
def test_bits(dtype: Any, name: str) -> None:
    """Along rows and columns of every length and layout, of special values too."""
    parameters, outputs, arrays = [], [], []
    kind = getattr(np, name)(np.empty(0, dtype)).dtype
    for n in LENGTHS:
        for shape, axis in (((3, n), 1), ((n, 9), 0), ((n,), 0), ((2, n, 3), 1)):
            layout = str(RNG.choice(["contiguous", "mixed"]))
            arrays.append(lay_out(mixed_values(RNG, dtype, shape), layout))
            x = build.parameter(len(parameters), shape, dtype)
            parameters.append(x)
            outputs.append(build.library(name, [x], shape, kind, None, (("axis", axis),)))
    graph = Graph(tuple(parameters), tuple(outputs))
    with np.errstate(all="ignore"):
        want = interpret(graph, arrays, CUPY)
    results, device = emulated.run(graph, arrays, strides_of(arrays))
    for x, got, expected in zip(arrays, results, want, strict=True):
        assert same_bits(got, expected), x.shape
    product_of_complex = name == "cumprod" and dtype.kind == "c"
    assert bool(device.reports) != product_of_complex


def products(x: Any) -> Any:
    return np.cumprod(1 + x / 100, axis=-1) - 1, np.cumsum(x[..., ::-1], axis=-1).sum(axis=-1)


def of_rows(x: Any) -> Any:
    """Beside values that rows have one of, and reductions over rows."""
    y = np.cumsum(x * x.max(axis=1, keepdims=True), axis=1)
    return y, y.max(axis=1).sum(), np.cumsum(np.broadcast_to(x[:, :1], x.shape), axis=1)


@pytest.mark.parametrize("function", [two, products, of_rows, columns])
@pytest.mark.parametrize("length", [5, pytest.param(640, marks=pytest.mark.slow), 1030])
def test_with_what_is_around(function: Callable[..., Any], length: int) -> None:
    """What comes before and after is computed by the same launch; a row is read once a pass."""
    x = RNG.normal(size=(3, length)).astype("f4")
    for a in (x, np.asfortranarray(x.astype("f8")), x[::-1, ::-1]):
        device = compare(function, a)
        assert len(device.reports) <= 2 + (function is columns)


def test_nothing_and_scalars() -> None:
    """No rows, no elements, one element."""
    for shape in ((0, 5), (5, 0), (1, 1)):
        compare(lambda a: np.cumsum(a, axis=1) + 1, np.ones(shape))
    compare(np.cumsum, np.float64(3).reshape(1))


def test_functions_of_doubles() -> None:
    """Steps of a chunk are taken one by one where there would be too much for registers."""
    x = RNG.normal(size=(3, 1200))
    executable = fc.lower(chain, x)
    (got,), device = emulated.run(executable.graph, [x])
    assert len(device.reports) == 1 and np.allclose(got, chain(x), rtol=1e-12)
    ((prepared, _),) = device.reports
    assert prepared.grid == 1


def test_the_error_is_small() -> None:
    """Of what the tree adds up, against NumPy's one after the other."""
    x = RNG.random(LONGEST_SCAN).astype("f4")
    exact = np.cumsum(x.astype("f8"))
    ours = np.abs(tree_scan(np.add, x, np.float32(-0.0)) - exact) / exact
    theirs = np.abs(np.cumsum(x) - exact) / exact
    depth = 4 + 5 + 4 + LONGEST_SCAN / 512
    assert ours.max() < depth * 2.0**-24 and ours.mean() < theirs.mean() / 2


def test_longer_rows_are_cupys() -> None:
    """By the extent alone: a warp would be too slow for a long row."""
    for length, kind in ((LONGEST_SCAN, "reduction"), (LONGEST_SCAN + 1, "library")):
        x = build.parameter(0, (2, length), np.dtype("f4"))
        graph = Graph((x,), (build.library("cumsum", [x], x.shape, x.dtype, None, (("axis", 1),)),))
        executable = compile_graph(graph, {}, Options(device="cuda"))
        assert [k.kind for k in executable.kernels] == [kind]
    assert machine().longest_scan == LONGEST_SCAN


def test_unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fusion it has the same bits, from a kernel of its own."""
    x = build.parameter(0, (2, 600), np.dtype("f4"))
    graph = Graph((x,), (build.library("cumsum", [x], x.shape, x.dtype, None, (("axis", 1),)),))
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    executable = compile_graph(graph, {}, Options(device="cuda"))
    assert [k.kind for k in executable.kernels] == ["reduction"]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_75", "sm_90")))
def test_registers(arch: str) -> None:
    """Scans neither spill nor use local memory."""
    sources = sources_of(columns, np.ones((7, 1030), "f4"))
    for function in (chain, two, of_rows):
        sources += sources_of(function, np.ones((7, 1030)))
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, (name, registers)
