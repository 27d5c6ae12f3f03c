"""Compactions by emulated CUDA kernels: one launch each, and NumPy's own selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fusecuda.codegen.kept_rows import keeps
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.backend import prelude, program
from fusecuda.errors import FlushError
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT32, FLOAT64, INT64
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.structure import is_compaction
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts
from tests.fusion.test_compactions import greater, masks, of_all_shapes, positive, twice
from tests.lazy_device import LazyDevice
from tests.marks import chosen, few, one_in
from tests.random_graphs import merge, random_graph
from tests.strategies import DTYPES, same_bits, strides_of

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(12)
ORDERS = ("forward", "reverse", "shuffled")
USUAL = [np.dtype(name) for name in ("bool", "float16", "float64", "complex64")]
X = build.parameter(0, (9001,), FLOAT64)


def check(graph: Graph, arrays: Sequence[Any], order: str = "reverse") -> Any:
    """Emulated kernels give the interpreter's bits; the device with its reports is returned."""
    with np.errstate(all="ignore"):
        want = interpret(graph, arrays, CUPY)
    got, device = emulated.run(graph, arrays, strides_of(arrays), order)
    for g, w in zip(got, want, strict=True):
        assert same_bits(w, g), f"{g!r} is not {w!r}"
    return device


@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
@one_in(8)
def test_bits(dtype: Any) -> None:
    """Elements and rows of special values, of arrays and masks that lie in any way."""
    graph, arrays = of_all_shapes(dtype)
    device = check(graph, arrays)
    assert len(device.reports) == len(graph.outputs)


class Remembering(emulated.EmulatedDevice):
    """A device that keeps the words that are to be zero between launches."""

    def __init__(self, order: str) -> None:
        super().__init__(order)
        self.zeroed: list[Array] = []

    def zeros(self, nbytes: int) -> Array:
        """Zeros, kept."""
        self.zeroed.append(super().zeros(nbytes))
        return self.zeroed[-1]


@pytest.mark.parametrize("order", ORDERS)
def test_tiles(order: str) -> None:
    """Several tiles, whichever block comes first; the words between launches are zero again."""
    found = greater(X, 0)
    rows = build.reshape(X, (9001, 1))
    nodes = (
        build.compact(twice(X), found),
        build.compact(build.iota(X.shape, 0), found),
        build.compact(build.concatenate([rows, twice(rows)], 1), found),
    )
    graph = Graph((X,), nodes)
    assembly, sources = emulated.assembled(graph)
    device = Remembering(order)
    ready = program(assembly, sources, plan_memory(assembly, 1), device)
    for mask in masks(9001):
        x = positive(9001, mask)
        results = [np.array(r) for r in ready([x])]
        for got, want in zip(results, interpret(graph, [x]), strict=True):
            assert same_bits(got, want)
    assert device.zeroed and not any(words.any() for words in device.zeroed)


@pytest.mark.parametrize("order", ORDERS)
def test_few_long_rows_are_shared(order: str) -> None:
    """Several blocks test the same rows, and each writes a part of those that are picked."""
    for shape in ((3, 5000), (5, 2049), (40, 3, 600)):
        r = build.parameter(0, shape, FLOAT32)
        m = build.parameter(1, shape[:1], BOOL)
        x = RNG.normal(size=shape).astype("f4")
        for mask in (RNG.random(shape[0]) < 0.5, np.arange(shape[0]) > 0):
            device = check(Graph((r, m), (build.compact(twice(r), m),)), [x, mask], order)
            (prepared, _), *_ = device.reports
            assert (prepared.bounds[0].integers["parts"] > 1) == (shape[1] > 3)


LOOK_BACK = """
extern "C" __global__ void look(uint64_t *states, int64_t *before, int tile, unsigned count)
{
    const int64_t found = fc_picked_before(states, tile, count);
    before[threadIdx.x] = found;
}
"""


@pytest.mark.parametrize("known", [0, 1, 32, 33, 64, 97])
def test_looking_back(known: int) -> None:
    """Over tiles that have told what they have picked alone, to one that knows all before it."""
    module = emulator.Module(prelude() + LOOK_BACK)
    counts = RNG.integers(0, 2049, 99)
    states = counts.astype("u8") | np.uint64(1 << 62)
    states[known] = int(counts[: known + 1].sum()) | 1 << 63
    states[98], before = 0, np.zeros(32, "i8")
    module.launch("look", 1, 32, [states, before, np.int32(98), np.uint32(counts[98])])
    assert (before == counts[:98].sum()).all()
    assert int(states[98]) == int(counts.sum()) | 1 << 63


def test_many_tiles() -> None:
    """More than a warp looks back at, of which the last is not whole."""
    long = build.parameter(0, (70 * 2048 + 5,), BOOL)
    mask = np.arange(long.size) % 3 == 0
    ((prepared, _),) = check(Graph((long,), (build.compact(long, long),)), [mask]).reports
    assert prepared.grid == 71


def test_one_mask_one_launch() -> None:
    """The mask, what it picks and where that is are one kernel, which reads its input once."""
    mask = greater(twice(X), 1)
    nodes = [build.compact(v, mask) for v in (X, twice(X), build.iota(X.shape, 0))]
    x = RNG.normal(size=9001)
    device = check(Graph((X,), tuple(nodes)), [x])
    ((prepared, report),) = device.reports
    names = [name for name, _ in prepared.parameters]
    (read,) = [report.read[i] for i, name in enumerate(names) if name.startswith("in")]
    written = [report.written[i] for i, name in enumerate(names) if name.startswith("out")]
    assert read == x.nbytes and written == [8 * (x * 2 > 1).sum()] * 3


def test_what_is_costly_is_computed_of_what_is_picked() -> None:
    """And what the test keeps would be too much is computed again."""
    many = [build.parameter(i, (9001,), FLOAT64) for i in range(5)]
    roots = build.elementwise("exp", [many[0]], FLOAT64)
    total = many[0]
    for other in many[1:]:
        total = build.elementwise("add", [total, other], FLOAT64)
    nodes = build.compact(roots, greater(roots, 1)), build.compact(total, greater(many[0], 0))
    every = [build.compact(m, greater(total, 0)) for m in many]
    graph = Graph(tuple(many), (*nodes[1:], *every))
    check(graph, [RNG.normal(size=9001) for _ in many])
    got, _ = emulated.run(Graph((many[0],), nodes[:1]), [x := RNG.normal(size=9001)])
    assert np.allclose(got[0], np.exp(x)[np.exp(x) > 1], rtol=1e-14)


def test_gathers_guards_and_row_values() -> None:
    """Reads at computed places, of parts, and values that rows have one of."""
    at = build.parameter(1, (9001,), INT64)
    picked = build.compact(build.gather(X, [at]), greater(build.gather(X, [at]), 0))
    x, places = RNG.normal(size=9001), RNG.integers(-9001, 9001, 9001)
    check(Graph((X, at), (picked,)), [x, places])
    r, m = build.parameter(0, (700, 6), FLOAT64), build.parameter(1, (700,), BOOL)
    scale = build.parameter(2, (700,), FLOAT64)
    spread = build.broadcast_to(build.reshape(scale, (700, 1)), r.shape)
    everywhere = build.broadcast_to(build.parameter(3, (), BOOL), (700,))
    joined = build.concatenate([r, build.elementwise("multiply", [r, spread], FLOAT64)], 1)
    nodes = (
        build.compact(joined, m),
        build.compact(spread, m),
        build.compact(r, greater(scale, 0)),
        build.compact(r, everywhere),
        build.compact(scale, everywhere),
    )
    graph = Graph((r, m, scale, everywhere.operands[0]), nodes)
    for whole in (True, False):
        rows, scales = RNG.normal(size=r.shape), RNG.normal(size=700)
        check(graph, [rows, RNG.random(700) < 0.3, scales, np.array(whole)])


def test_memory() -> None:
    """Where few are picked no memory is kept for those that are not."""
    assert keeps(8, 1, 1) and not keeps(1 << 15, 1, 2)
    assert keeps(1 << 20, 40, 100) and not keeps(1 << 20, 10, 100)


def test_a_captured_stream_is_refused() -> None:
    """How many there are is looked at, which a graph of the user's cannot do."""
    graph = Graph((X,), (build.compact(X, greater(X, 0)),))
    assembly, sources = emulated.assembled(graph)
    device = LazyDevice()
    ready = program(assembly, sources, plan_memory(assembly, 1), device)
    device.on(7)
    device.captured.add(7)
    with pytest.raises(FlushError, match=r"compact_greater.* cannot be captured"):
        ready([RNG.normal(size=9001)])


@pytest.mark.parametrize("seed", few(range(40, 100, 5), 1))
def test_random_programs(seed: int) -> None:
    """What anything picks by anything, beside other results."""
    case = merge([random_graph(seed + i, failing=False) for i in range(1 + 4 * (seed > 40))])
    graph = case.graph
    values = [n for n in graph.nodes() if n.shape and n.size and n.dtype in DTYPES]
    compacts = []
    for _ in range(12):
        value = values[int(RNG.integers(len(values)))]
        lead = value.shape[: int(RNG.integers(1, len(value.shape) + 1))]
        alike = [n for n in values if n.shape == lead] or [build.iota(lead, 0)]
        tested = alike[int(RNG.integers(len(alike)))]
        zero = build.broadcast_to(build.constant(0, tested.dtype), lead)
        mask = build.elementwise("not_equal", [tested, zero], BOOL)
        compacts.append(build.compact(value, tested if tested.dtype == BOOL else mask))
    targets = graph.targets + (None,) * len(compacts) if graph.targets else ()
    whole = Graph(graph.parameters, (*graph.outputs, *compacts), "random", targets)
    taken = [a.copy() if isinstance(a, np.ndarray) else a for a in case.arguments]
    with np.errstate(all="ignore"):
        want = interpret(whole, taken, CUPY)
    results, _ = emulated.run(whole, case.arguments, case.strides)
    for node, got, expected in zip(whole.outputs, results, want, strict=True):
        if is_compaction(node):
            assert got is not None and same_bits(got, expected)


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
def test_registers(arch: str) -> None:
    """Compactions neither spill nor use local memory."""
    r, m = build.parameter(0, (700, 6), FLOAT64), build.parameter(1, (700,), BOOL)
    root = build.elementwise("exp", [X], FLOAT64)
    graphs = (
        Graph((X,), (build.compact(twice(X), greater(X, 0)),)),
        Graph((X,), (build.compact(root, greater(root, 1)),)),
        Graph((X,), (build.compact(build.iota(X.shape, 0), greater(twice(X), 1)),)),
        Graph((r, m), (build.compact(twice(r), m),)),
    )
    sources = [s for g in graphs for s in emulated.assembled(g)[1] if s is not None]
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 64, (name, registers)
