"""On a device: random graphs, named programs and shapes give the interpreter's bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT64
from fusecuda.graph.index_map import contiguous_strides
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph
from fusecuda.streams.memory_plan import plan_memory
from tests.emit_cuda.test_cuda_random_dags import difference
from tests.emit_cuda.test_cuda_shapes import EXTENTS, VIEWS, centred, statistics
from tests.emulated import assembled
from tests.fusion.test_random_dags import BATCH, cases, check_together
from tests.programs import PROGRAMS, Program
from tests.random_graphs import Case
from tests.strategies import same_bits

pytestmark = pytest.mark.gpu
RNG = np.random.default_rng(5)


def on_device(value: Any) -> Any:
    """A NumPy array on the device with the strides it has; anything else as it is."""
    import cupy

    if not isinstance(value, np.ndarray):
        return value
    if value.size == 0 or value.strides == contiguous(value):
        return cupy.asarray(value)
    spans = [s * (n - 1) for s, n in zip(value.strides, value.shape, strict=True)]
    low, high = sum(min(s, 0) for s in spans), sum(max(s, 0) for s in spans) + value.itemsize
    room = cupy.zeros(high - low, cupy.uint8)
    twin = cupy.ndarray(value.shape, value.dtype, memptr=room.data - low, strides=value.strides)
    twin[...] = cupy.asarray(np.ascontiguousarray(value))
    return twin


def contiguous(value: np.ndarray) -> tuple[int, ...]:
    """The strides that the array would have in order, in bytes."""
    return tuple(s * value.itemsize for s in contiguous_strides(value.shape))


def run(graph: Graph, arguments: Sequence[Any], strides: Any = None) -> tuple[list, list]:
    """The results of ``graph`` and its arguments afterwards, brought back from the device."""
    import cupy

    from fusecuda.emit_cuda.backend import program
    from fusecuda.emit_cuda.cupy_device import current_device

    assembly, sources = assembled(graph, strides)
    ready = program(assembly, sources, plan_memory(assembly, 1), current_device())
    given = [on_device(a) for a in arguments]
    results = ready(given)
    cupy.cuda.get_current_stream().synchronize()
    back = [cupy.asnumpy(a) if isinstance(a, cupy.ndarray) else a for a in given]
    return [r if r is None else cupy.asnumpy(r) for r in results], back


def disagreement(case: Case) -> str:
    """Which output of the graph differs and how, or ""."""
    return difference(case, *run(case.graph, case.arguments, case.strides))


def without_library(batch: list[Case]) -> list[Case]:
    """Those that are kernels alone: CuPy's own functions need not have NumPy's bits."""
    return [c for c in batch if all(n.op != "library" for n in c.graph.nodes())]


@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_random_graphs(first: int) -> None:
    """Operations that are exact, many graphs in one module."""
    check_together(without_library(cases(first, failing=False)), disagreement)


def test_compactions() -> None:
    """Many tiles at once, which look back at each other while they run; and rows."""
    rows, count = (60_001, 3), 3_000_017
    x, m = build.parameter(0, (count,), FLOAT64), build.parameter(1, rows[:1], BOOL)
    r = build.parameter(2, rows, FLOAT64)
    positive = build.elementwise("greater", [x, build.constant(0.0, FLOAT64)], BOOL)
    nodes = [build.compact(v, positive) for v in (x, build.iota((count,), 0))]
    graph = Graph((x, m, r), (*nodes, build.compact(r, m)))
    for share in (0.0, 0.001, 0.5, 1.0):
        arrays = [RNG.random(count) - 1 + share, RNG.random(rows[0]) < share, RNG.random(rows)]
        results, _ = run(graph, arrays)
        for got, want in zip(results, interpret(graph, arrays, CUPY), strict=True):
            assert same_bits(want, got)


def test_scans() -> None:
    """Rows of steps, chunks and more, in rows and columns."""
    for shape in ((70, 5), (300, 1500), (5, 16_384)):
        x = RNG.normal(size=shape)
        compare(lambda a: np.cumsum(a * 2, axis=1) + 1, x)
        compare(lambda a: np.cumsum(a * 2, axis=0) + 1, x.astype("f4"))


def test_library_calls() -> None:
    """CuPy's own functions between kernels."""
    x = RNG.normal(size=(40, 30))

    def f(a: Any) -> Any:
        return np.sort(a + a, axis=1) * 2, np.cumsum(a * 2, axis=0) + 1, (a @ a.T).sum(axis=1)

    executable = fc.lower(f, x)
    results, _ = run(executable.graph, [x], executable.strides)
    for got, want in zip(results, f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def compare(function: Callable[..., Any], *arguments: Any) -> None:
    """The device gives the interpreter's bits."""
    executable = fc.lower(function, *arguments)
    memory = [in_order(a) for a in arguments]
    want = interpret(executable.graph, memory, CUPY)
    results, after = run(executable.graph, memory, executable.strides)
    for i, expected in enumerate(want):
        target = executable.graph.target(i)
        got = results[i] if target is None else after[target]
        assert same_bits(expected, got), f"{got!r} is not {expected!r}"


def in_order(value: Any) -> Any:
    """The array as a graph sees it: its axes in the order of memory."""
    from fusecuda.capture.record.view import in_memory_order

    return in_memory_order(value)[0]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1"])
@pytest.mark.parametrize("function", [statistics, centred])
def test_rows_of_every_class(function: Callable[..., Any], dtype: str) -> None:
    """From lanes of a warp to several warps."""
    for length in EXTENTS[1:]:
        compare(function, (RNG.normal(size=(3, length)) * 9).astype(dtype))


@pytest.mark.parametrize("function", [statistics, centred])
def test_columns_of_every_class(function: Callable[..., Any]) -> None:
    """Rows that lie side by side in memory."""
    for length in EXTENTS[1:]:
        compare(function, np.asfortranarray(RNG.normal(size=(37, length))))


@pytest.mark.parametrize("count", [0, 1, 31, 300])
@pytest.mark.parametrize("length", [0, 2, 200])
def test_counts(count: int, length: int) -> None:
    """No row, one row, more rows than a block has; sums of nothing."""
    x = RNG.normal(size=(count, length)).astype("f4")
    compare(lambda a: (a.sum(axis=1), a.sum(axis=0), a.sum(), np.abs(a).sum(axis=1).sum()), x)


def test_long_rows_are_split_over_blocks() -> None:
    """The last block to finish has everybody's results, many times over."""
    x = RNG.normal(size=(2, 700_001))
    for _ in range(5):
        compare(lambda a: (a.sum(axis=1), a.argmax(axis=1)), x)
        compare(lambda a: a.sum(), x)
        compare(lambda a: a.sum(axis=0), np.ascontiguousarray(x.T))


def test_what_clusters_keep() -> None:
    """Long rows and columns, which several blocks share that run at the same time."""

    def by_columns(a: Any) -> Any:
        d = a - a.mean(axis=0)
        return d, (d * d).sum(axis=0), a.argmax(axis=0)

    for shape in ((300, 40_000), (20, 300_001), (2, 17_000)):
        compare(centred, RNG.normal(size=shape).astype("f4"))
        compare(lambda a: centred(a)[1].max(), RNG.normal(size=shape).astype("f4"))
    for shape in ((5000, 2100), (1000, 40)):
        compare(by_columns, RNG.normal(size=shape).astype("f4"))


def test_counters_are_left_at_zero() -> None:
    """The same program gives the same bits at each call."""
    import cupy

    x = RNG.normal(size=(3, 400_000))
    executable = fc.lower(lambda a: (a.sum(), (a * a).sum(axis=1)), x, device="cuda")
    arrays = [cupy.asarray(x)]
    want = [cupy.asnumpy(r) for r in executable.run(arrays)]
    for _ in range(50):
        got = [cupy.asnumpy(r) for r in executable.run(arrays)]
        assert all(same_bits(a, b) for a, b in zip(want, got, strict=True))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
def test_layouts(view: str, dtype: str) -> None:
    """Strided, reversed, turned and repeated arguments, in loops and reductions."""
    x = VIEWS[view]((RNG.normal(size=(33, 45)) * 50).astype(dtype))
    compare(lambda a: (a + a, a.sum(axis=0), a.max(axis=1)), x)


@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_arguments_that_are_not_aligned(start: int) -> None:
    """Arrays that start at odd addresses get kernels that move one element at a time."""
    import cupy

    room = np.arange(1, 2003, dtype="f4")
    executable = fc.lower(lambda a: a * 2 + 1, room[:1999], device="cuda")
    (got,) = executable.run([cupy.asarray(room)[start : start + 1999]])
    assert same_bits(room[start : start + 1999] * 2 + 1, cupy.asnumpy(got))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_clipped_integers(dtype: str) -> None:
    """Compared with their bounds, and written as literals where a text has room for them."""
    x = RNG.integers(-120, 120, 5000).astype(dtype)
    compare(lambda a: (np.clip(a, 0, 100) == 100, np.maximum(np.maximum(a, a[::-1]), 0) == a), x)
    compare(lambda a: np.sum(np.clip(a, 0, 100) == 100), x)


def test_in_place_updates() -> None:
    """A slice is written where it lies; what overlaps itself is not."""

    def f(a: Any) -> None:
        a[1:-1] = a[1:-1] + (a[2:] - 2 * a[1:-1] + a[:-2]) * 0.25
        a[::2] *= 3

    compare(f, RNG.normal(size=(40, 8)))
    compare(f, RNG.normal(size=(4000, 300)))


@pytest.mark.parametrize("shape", [(48, 200), (300, 5000)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_named_programs(program: Program, shape: tuple[int, int]) -> None:
    """NumPy's results but for rounding."""
    import cupy

    arguments = program.arguments(np.random.default_rng(3), *shape)
    want = program.function(*arguments)
    executable = fc.lower(program.function, *arguments, device="cuda")
    results = executable.run([cupy.asarray(a) for a in arguments])
    for got, wanted in zip(results, want if isinstance(want, tuple) else (want,), strict=True):
        np.testing.assert_allclose(cupy.asnumpy(got), wanted, rtol=1e-9, atol=1e-11)


ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda m, x, y: (x + y * 2 - x / 3) * (y - 1),
    "in turn": lambda m, x, y: m.sqrt(m.abs(x)) / (m.abs(y) + 1) - m.minimum(x, y),
    "choice": lambda m, x, y: m.where(x > y, x, -y) + m.maximum(x, 0),
    "rounding": lambda m, x, y: m.floor(x) + m.ceil(y) - m.trunc(x * y) + m.rint(y),
    "exponentials": lambda m, x, y: m.exp(x) * m.log(m.abs(y) + 1) + m.log1p(m.abs(x)),
    "circle": lambda m, x, y: m.sin(x) + m.cos(y) * m.tanh(x) - m.arctan2(x, y),
    "powers": lambda m, x, y: m.abs(x) ** y + m.hypot(x, y),
    "remainders": lambda m, x, y: x % y + x // y,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_blocks_give_cupys_bits(name: str, dtype: str) -> None:
    """One function by plain CuPy, in a block, and under `fused`."""
    import cupy

    x, y = (cupy.asarray(RNG.normal(size=(70, 131)).astype(dtype)) for _ in range(2))
    f = ELEMENTWISE[name]
    want = cupy.asnumpy(f(cupy, x, y))
    with fc.fused():
        block = f(cupy, x, y)
    assert type(block) is cupy.ndarray
    assert same_bits(want, cupy.asnumpy(block))
    function = fc.fused(lambda a, b: f(cupy, a, b))
    for _ in range(3):
        assert same_bits(want, cupy.asnumpy(function(x, y)))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_blocks_of_integers_give_cupys_bits(dtype: str) -> None:
    """Integers, shifts and comparisons."""
    import cupy

    x, y = (cupy.asarray(RNG.integers(1, 100, (50, 33)).astype(dtype)) for _ in range(2))

    def f(a: Any, b: Any) -> tuple[Any, ...]:
        return a * b - a // b, (a ^ b) & 15 | (a >> 1), a % b == b, cupy.maximum(a, b)

    want = [cupy.asnumpy(r) for r in f(x, y)]
    with fc.fused():
        found = f(x, y)
    assert all(same_bits(a, cupy.asnumpy(b)) for a, b in zip(want, found, strict=True))


def test_a_block_on_a_stream_of_its_own() -> None:
    """Kernels go to the stream that is current when the block ends."""
    import cupy

    x = cupy.asarray(RNG.normal(size=(400, 300)))
    cupy.cuda.get_current_stream().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        with fc.fused():
            y = (x * 2 + 1).sum(axis=1)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), (x.get() * 2 + 1).sum(axis=1), rtol=1e-12)


def test_one_program_on_two_streams() -> None:
    """Calls on streams of their own do not disturb each other."""
    import cupy

    x = RNG.normal(size=(4, 500_000))
    executable = fc.lower(lambda a: a.sum(axis=1), x, device="cuda")
    given = cupy.asarray(x)
    (first,) = executable.run([given])
    want = cupy.asnumpy(first)
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    found = []
    for _ in range(20):
        for stream in streams:
            with stream:
                found.append(executable.run([given])[0])
    for stream in streams:
        stream.synchronize()
    assert all(same_bits(want, cupy.asnumpy(r)) for r in found)


def test_calls_from_another_thread() -> None:
    """A thread that has not used CUDA yet launches kernels too."""
    from concurrent.futures import ThreadPoolExecutor

    import cupy

    x = cupy.asarray(RNG.normal(size=(40, 300)))
    executable = fc.lower(lambda a: (a * 2).sum(axis=1), cupy.asnumpy(x), device="cuda")
    want = cupy.asnumpy(executable.run([x])[0])  # its memory is free again for the thread
    cupy.cuda.get_current_stream().synchronize()
    with ThreadPoolExecutor(1) as pool:
        (found,) = pool.submit(executable.run, [x]).result()
    assert same_bits(want, cupy.asnumpy(found))
