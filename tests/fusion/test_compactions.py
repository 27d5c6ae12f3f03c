"""Compactions: what a mask picks is written by one kernel, and is NumPy's own selection."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.threads import set_thread_count, thread_count
from fusecuda.engine import Executable
from fusecuda.engine import build as compile_graph
from fusecuda.errors import GraphError
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.structure import is_compaction
from fusecuda.graph.verify import verify
from fusecuda.options import Options
from fusecuda.tools.traffic import count_traffic
from tests.marks import chosen, few
from tests.random_graphs import merge, random_graph
from tests.strategies import DTYPES, LAYOUTS, lay_out, mixed_values, same_bits, strides_of

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(11)
LONG = 131_101  # elements: more than one thread is worth


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every graph's and kernel's IR is checked."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")


@pytest.fixture
def threads() -> Iterator[None]:
    """The number of threads is as it was, afterwards."""
    before = thread_count()
    yield
    set_thread_count(before)


def ran(graph: Graph, arrays: list[Array]) -> Executable:
    """The executable of ``graph``, whose results are the interpreter's."""
    executable = compile_graph(graph, strides_of(arrays), Options())
    check(executable, arrays)
    return executable


def check(executable: Executable, arrays: list[Array]) -> None:
    with np.errstate(all="ignore"):
        want = interpret(executable.graph, arrays)
        results = executable.run(arrays)
    for i, (got, expected) in enumerate(zip(results, want, strict=True)):
        assert got is not None and same_bits(got, expected), f"output {i}"
        assert got.flags.carray, f"output {i}"


def masks(count: int) -> Iterator[Array]:
    """Masks of ``count`` elements: none, all, the first, the last, every other, at random."""
    at = np.arange(count)
    yield from (at < 0, at >= 0, at == 0, at == count - 1, at % 2 == 1, RNG.random(count) < 0.5)


SHAPES = ((1,), (7,), (513,), (30, 40), (3, 5, 7), (2, 600), (1, 1))
USUAL = [np.dtype(name) for name in ("bool", "float16", "float64", "complex64")]


def of_all_shapes(dtype: Any) -> tuple[Graph, list[Array]]:
    """Compactions of elements and rows, and arrays and masks for them that lie in any way."""
    parameters: list[Node] = []
    outputs: list[Node] = []
    arrays: list[Array] = []

    def given(values: Array) -> Node:
        arrays.append(lay_out(values, str(RNG.choice(LAYOUTS))))
        parameters.append(build.parameter(len(parameters), values.shape, values.dtype))
        return parameters[-1]

    for shape in SHAPES:
        for axes in range(1, len(shape) + 1):
            mask = given(RNG.random(shape[:axes]) < 0.6)
            outputs.append(build.compact(given(mixed_values(RNG, dtype, shape)), mask))
    return Graph(tuple(parameters), tuple(outputs)), arrays


@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
def test_bits(dtype: Any) -> None:
    """Elements and rows of special values, of arrays and masks that lie in any way."""
    executable = ran(*of_all_shapes(dtype))
    assert {k.kind for k in executable.kernels} == {"loop"}


X = build.parameter(0, (LONG,), FLOAT64)
Y = build.parameter(1, (LONG,), FLOAT64)
R = build.parameter(0, (LONG // 3, 3), FLOAT64)
M = build.parameter(1, (LONG // 3,), BOOL)


def greater(a: Node, b: float) -> Node:
    return build.elementwise("greater", [a, build.constant(b, FLOAT64)], BOOL)


def twice(a: Node) -> Node:
    return build.elementwise("add", [a, a], a.dtype)


def positive(count: int, chosen: Array) -> Array:
    """Numbers of which the ``chosen`` ones are positive."""
    return (1 + np.arange(count)) * np.where(chosen, 1.0, -1.0)


@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_threads(number: int, threads: None) -> None:
    """Each thread's run goes where one thread alone would have written it."""
    set_thread_count(number)
    found = greater(X, 0)
    nodes = (build.compact(twice(X), found), build.compact(build.iota((LONG,), 0), found))
    executable = compile_graph(Graph((X,), nodes), {}, Options())
    of_rows = compile_graph(Graph((R, M), (build.compact(twice(R), M),)), {}, Options())
    blocks = itertools.chain(masks(LONG), [np.arange(LONG) // 20_000 % 2 == 1])
    for mask in blocks:
        check(executable, [positive(LONG, mask)])
        rows = np.arange(LONG // 3 * 3.0).reshape(-1, 3)
        check(of_rows, [rows, mask[: len(rows)].copy()])


def test_one_mask_one_kernel() -> None:
    """The mask, what it picks and where that is are computed by one kernel, without memory."""
    mask = greater(twice(X), 1)
    nodes = [build.compact(v, mask) for v in (X, twice(X), build.iota((LONG,), 0))]
    executable = compile_graph(Graph((X,), tuple(nodes)), {}, Options())
    assert executable.launches == len(executable.kernels) == 1
    assert executable.kernels[0].bytes_read == LONG * 8
    assert executable.kernels[0].name.startswith("compact_")


def test_two_masks_one_launch() -> None:
    """Compactions by unlike masks share a launch, and each has its own count."""
    nodes = build.compact(X, greater(X, 0)), build.compact(X, greater(Y, 0)), twice(Y)
    executable = ran(Graph((X, Y), nodes), [RNG.normal(size=LONG), RNG.normal(size=LONG)])
    assert executable.launches == 1 and len(executable.kernels) == 3


def test_the_same_twice() -> None:
    """Two results never share memory."""
    nodes = build.compact(X, greater(X, 0)), build.compact(X, greater(X, 0))
    executable = ran(Graph((X,), nodes), [RNG.normal(size=LONG)])
    first, second = executable.run([RNG.normal(size=LONG)])
    assert not np.may_share_memory(first, second)


def test_memory() -> None:
    """Where few are picked no memory is kept for those that are not."""
    executable = compile_graph(Graph((X,), (build.compact(X, greater(X, 0)),)), {}, Options())
    for share in (0.01, 0.2, 0.9):
        (result,) = executable.run([positive(LONG, RNG.random(LONG) < share)])
        assert result is not None
        held = result if result.base is None else result.base
        assert held.nbytes < 10 * result.nbytes + 200


def test_row_values() -> None:
    """What is the same for a row is computed for it, and a mask of a scalar for all."""
    scale = build.parameter(2, (LONG // 3,), FLOAT64)
    spread = build.broadcast_to(build.reshape(scale, (LONG // 3, 1)), R.shape)
    scaled = build.elementwise("multiply", [R, spread], FLOAT64)
    everywhere = build.broadcast_to(build.parameter(3, (), BOOL), (LONG // 3,))
    nodes = (
        build.compact(scaled, M),
        build.compact(spread, M),
        build.compact(R, greater(scale, 0)),
        build.compact(R, everywhere),
        build.compact(scale, everywhere),
    )
    parameters = (R, M, scale, everywhere.operands[0])
    executable = compile_graph(Graph(parameters, nodes), {}, Options())
    rows = RNG.normal(size=R.shape)
    for whole in (True, False):
        scales = RNG.normal(size=LONG // 3)
        check(executable, [rows, RNG.random(LONG // 3) < 0.3, scales, np.array(whole)])


def test_errors_come_with_counts() -> None:
    """A kernel that may fail says so in a word of its own."""
    at = build.parameter(1, (LONG,), INT64)
    node = build.compact(build.gather(X, [at]), greater(X, 0))
    executable = compile_graph(Graph((X, at), (node,)), {}, Options())
    x, places = RNG.normal(size=LONG), RNG.integers(-LONG, LONG, LONG)
    check(executable, [x, places])
    places[LONG - 1] = LONG
    with pytest.raises(IndexError):
        executable.run([x, places])
    places[LONG - 1] = 0
    check(executable, [x, places])


def test_errors_of_rows_that_are_not_picked() -> None:
    """All elements are computed where one may fail, as NumPy computes them before it picks."""
    at = build.parameter(2, R.shape, INT64)
    x = build.parameter(0, X.shape, FLOAT64)
    node = build.compact(build.gather(x, [at]), M)
    executable = compile_graph(Graph((x, M, at), (node,)), {}, Options())
    places = RNG.integers(-LONG, LONG, R.shape)
    mask = RNG.random(len(places)) < 0.3
    arrays = [RNG.normal(size=LONG), mask, places]
    check(executable, arrays)
    places[np.flatnonzero(~mask)[7], 2] = LONG
    with pytest.raises(IndexError):
        executable.run(arrays)


def test_nothing_strays() -> None:
    """An element is written for each one that is looked at, as the plan says, where results are."""
    mask = greater(X, 0)
    nodes = build.compact(X, mask), build.compact(build.iota((LONG,), 0), mask)
    executable = compile_graph(Graph((X,), nodes), {}, Options())
    traffic = count_traffic(executable, [RNG.normal(size=LONG)])
    (kernel,) = executable.kernels
    written = sum(s.sum() * a.itemsize for s, a in zip(traffic.stores, traffic.arrays, strict=True))
    assert written == kernel.bytes_written and not traffic.strays


def test_unfused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fusion it is a kernel of its own."""
    monkeypatch.setenv("FUSECUDA_FUSE", "0")
    node = build.compact(twice(X), greater(X, 0))
    executable = ran(Graph((X,), (node,)), [RNG.normal(size=LONG)])
    assert executable.launches == 3


def test_nothing_reads_it() -> None:
    """The extent of a compaction is not known to a graph, so it is a result and nothing else."""
    with pytest.raises(GraphError, match="compact"):
        verify(Graph((X,), (twice(build.compact(X, greater(X, 0))),)))


def test_for_a_device_there_is_a_kernel() -> None:
    """One launch there too, which needs no device to be planned and written."""
    graph = Graph((X,), (build.compact(twice(X), greater(X, 0)),))
    executable = compile_graph(graph, {}, Options(device="cuda"))
    assert [k.kind for k in executable.kernels] == ["loop"]
    assert "fc_pick(tile" in executable.kernels[0].source


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
    arguments = case.arguments
    taken = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        want = interpret(whole, taken)
        results = compile_graph(whole, case.strides, Options()).run(arguments)
    for node, got, expected in zip(whole.outputs, results, want, strict=True):
        if is_compaction(node):
            assert got is not None and same_bits(got, expected)


def test_text() -> None:
    """A graph with one is printed and read."""
    graph = Graph((X, Y), (build.compact(X, greater(Y, 0)),))
    text = compile_graph(graph, {}, Options()).hlo
    assert "call=compact($0, $1)" in text
    x = [RNG.normal(size=LONG), RNG.normal(size=LONG)]
    assert same_bits(compile_graph(fc.parse_hlo(text), {}, Options()).run(x)[0], x[0][x[1] > 0])
