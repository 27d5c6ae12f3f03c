"""Running sums and products by emulated CUDA kernels: one tree, by the extent alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.backend import machine, prelude, program
from fusecuda.emit_cuda.choice import SCAN
from fusecuda.emit_cuda.grids import told_by
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.tree import LANES, SCANNED_ROW, SCANNED_TILE, _tiles_before, tree_scan
from fusecuda.options import Options
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.emit_cuda.test_cuda_shapes import compare
from tests.fusion.test_scans import chain, columns, result_of, two
from tests.marks import at_length, chosen, few, one_in
from tests.strategies import DTYPES, lay_out, mixed_values, same_bits, strides_of

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(6)
LENGTHS = (1, 4, 129, 513, 1500)
USUAL = [np.dtype(name) for name in ("float16", "float32")]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
@one_in(24)
def test_bits(dtype: Any, name: str) -> None:
    """Along rows and columns of every length and layout, of special values too."""
    parameters, outputs, arrays = [], [], []
    kind = result_of(name, dtype)
    if kind is None:
        return
    for n in LENGTHS:
        for shape, axis in (((3, n), 1), ((n, 9), 0), ((n,), 0), ((2, n, 3), 1)):
            layout = str(RNG.choice(["contiguous", "mixed"]))
            values = mixed_values(RNG, dtype, shape)
            if name in ("cummax", "cummin"):  # of which zero it is, either will do
                values = values + dtype.type(0)
            arrays.append(lay_out(values, layout))
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
@one_in(10)
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


@pytest.mark.parametrize("length", [SCANNED_ROW, 50 * SCANNED_ROW])
def test_the_error_is_small(length: int) -> None:
    """Of what the tree adds up, against NumPy's one after the other."""
    x = RNG.random(length).astype("f4")
    exact = np.cumsum(x.astype("f8"))
    ours = np.abs(tree_scan(np.add, x, np.float32(-0.0)) - exact) / exact
    theirs = np.abs(np.cumsum(x) - exact) / exact
    depth = 4 + 5 + 4 + (length / 512 if length <= SCANNED_ROW else 8 + 6 * 3)
    assert ours.max() < depth * 2.0**-24 and ours.mean() < theirs.mean() / 2


LONG = SCANNED_ROW + 1


def halves(x: Any) -> Any:
    """Two scans, one of what the other gives, and what is written before either."""
    return np.cumsum(np.cumsum(x, axis=-1) * 0.5, axis=-1), x * 2, np.cumprod(1 + x / 99, axis=-1)


@pytest.mark.parametrize("order", ["forward", "shuffled"])
@one_in(4)
def test_long_rows_are_in_tiles(order: str) -> None:
    """Whichever block starts first; rows that lie anyhow, and columns."""
    x = RNG.normal(size=(2, LONG)).astype("f4")
    for a in (x, x[::-1, ::-1], np.asfortranarray(x)):
        device = compare(halves, a, order=order)
        assert {b.variant.skeleton for p, _ in device.reports for b in p.bounds} == {SCAN}
    compare(lambda x: np.cumsum(x, axis=0) - x, RNG.normal(size=(LONG, 3)), order=order)


def test_tiles_in_groups() -> None:
    """Of 32 tiles, and of 32 groups: the words between launches are zero again."""
    for dtype, tiles in (("i4", 70), ("u1", 33), ("f2", 5)):
        n = tiles * SCANNED_TILE - 7
        x = RNG.integers(0, 9, size=n).astype(dtype)
        graph = fc.lower(lambda x: np.cumsum(x) * 2, x).graph
        assembly, sources = emulated.assembled(graph)
        device = emulated.EmulatedDevice("shuffled")
        ready = program(assembly, sources, plan_memory(assembly, 1), device)
        (want,) = interpret(graph, [x], CUPY)
        assert all(same_bits(ready([x])[0], want) for _ in range(2))
        assert dtype == "f2" or np.array_equal(want, np.cumsum(x) * 2)


LOOK_BACK = """
extern "C" __global__ void look(
    uint64_t *states, double *totals, const double *own, double *before, int tile, int count)
{
    if (threadIdx.x == 0) fc_tell(own[tile], totals + tile, states + tile);
    __syncwarp();
    const double found = fc_tiles_before<fc_sum<double>>(own[tile], tile, count, states, totals);
    if (threadIdx.x == 0) before[tile] = found;
}
"""


@at_length
def test_what_comes_before_a_tile() -> None:
    """In the order of the tree, of any number of groups of groups."""
    module = emulator.Module(prelude() + LOOK_BACK)
    for count in (1, 32, 33, 1025, 1100):
        own = RNG.normal(size=count)
        states, totals = np.zeros(told_by(count), np.uint64), np.zeros(told_by(count))
        before = np.zeros(count)
        for tile in range(count):
            arguments = [states, totals, own, before, np.int32(tile), np.int32(count)]
            module.launch("look", 1, LANES, arguments)
        assert same_bits(before, _tiles_before(np.add, own, -0.0))


def test_in_place() -> None:
    """A tile is written when all of it has been read for the last time."""

    def running(x: Any) -> None:
        x[:, 1:] = np.cumsum(x[:, 1:], axis=1)

    x = RNG.integers(0, 9, size=(2, LONG)).astype("f8")
    want = x.copy()
    running(want)
    executable = fc.lower(running, x)
    _, device = emulated.run(executable.graph, [x], executable.strides, "shuffled")
    assert np.array_equal(x, want) and len(device.reports) == 1


def test_in_place_before_a_scan() -> None:
    """What is written in front of a scan is written once, behind all reads."""

    def doubled(x: Any) -> Any:
        x *= 2
        return np.cumsum(x)

    x = RNG.integers(0, 9, size=LONG)
    want = np.cumsum(2 * x)
    executable = fc.lower(doubled, x)
    results, device = emulated.run(executable.graph, [x], executable.strides)
    (got,) = [r for r in results if r is not None]
    assert np.array_equal(got, want) and len(device.reports) == 1


def test_long_rows_are_not_reduced() -> None:
    """No block has all of one: a reduction of such a row is a kernel beside."""

    def spread(x: Any) -> Any:
        y = np.cumsum(x, axis=1)
        return y / x.max(axis=1, keepdims=True), y.sum(axis=1)

    for length, kernels in ((40, 1), (LONG, 2)):
        device = compare(spread, RNG.normal(size=(2, length)))
        assert sum(len(p.bounds) for p, _ in device.reports) == kernels
    assert machine().scanned_row == SCANNED_ROW


def test_unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fusion it has the same bits, from a kernel of its own."""
    x = build.parameter(0, (2, 600), np.dtype("f4"))
    graph = Graph((x,), (build.library("cumsum", [x], x.shape, x.dtype, None, (("axis", 1),)),))
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    executable = compile_graph(graph, {}, Options(device="cuda"))
    assert [k.kind for k in executable.kernels] == ["reduction"]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
@pytest.mark.parametrize("long", few((False, True), 1), ids=["short rows", "long rows"])
def test_registers(arch: str, long: bool) -> None:
    """Scans neither spill nor use local memory."""
    sources: list[Any] = []
    for function in (chain, halves) if long else (chain, two, of_rows, columns):
        if long or function is columns:
            sources += sources_of(function, np.ones((2, LONG) if long else (7, 1030), "f4"))
        if function is not columns:
            sources += sources_of(function, np.ones((2, LONG) if long else (7, 1030)))
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, (name, registers)


def test_many_short_rows_have_more_lanes_than_elements() -> None:
    """A warp has a row, however short: its lanes are counted, too, where indices may be narrow."""
    for rows, wide in ((1 << 20, False), (1 << 27, True)):
        executable = fc.lower(lambda a: np.cumsum(a, axis=1), fc.spec((rows, 3), np.float32))
        (step,) = emulated.assembled(executable.graph)[0].steps
        assert step.grid * step.block[0] >= 32 * rows
        assert step.variant.wide == wide
