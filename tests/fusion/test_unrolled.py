"""Reductions of a few elements become combinations, in the order of the tree, where it pays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.fusion.cost import CPU, Machine
from fusecuda.fusion.unrolled import unrolled
from fusecuda.graph import build, index_map
from fusecuda.graph.dtypes import is_reducible
from fusecuda.graph.interpret import CUPY, NUMPY, interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.passes import simplify
from tests.marks import one_in
from tests.random_graphs import random_graph
from tests.strategies import mixed_values, same_bits

KINDS = ["sum", "prod", "max", "min"]


def reduction(kind: str, dtype: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Graph:
    x = build.parameter(0, shape, np.dtype(dtype))
    return Graph((x,), (build.reduce(kind, x, axes),))


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
@one_in(8)
def test_the_bits_are_the_trees(dtype: str, kind: str, group: int) -> None:
    """For each length up to eight, also over two axes, on the lanes of a CPU and of a GPU."""
    rng = np.random.default_rng(3)
    of_two: list[Any] = [((4100, 2, 3), (1, 2)), ((30, 2, 140, 3), (1, 3))]
    for shape, axes in [*(((4100, n), (1,)) for n in range(1, 9)), *of_two]:
        graph = reduction(kind, dtype, shape, axes)
        short = unrolled(graph, Machine(1, 1, group=group, short=8))
        assert all(n.op != "reduce" for n in short.nodes())
        x = mixed_values(rng, np.dtype(dtype), shape)
        (want,) = interpret(graph, [x], KERNELS if group == 1 else CUPY)
        assert same_bits(interpret(short, [x])[0] + 0, want + 0)


def test_a_sum_of_negative_zeros_is_positive() -> None:
    """As NumPy's is."""
    got = fc.fused(lambda a: a.sum(axis=1))(np.full((5000, 3), -0.0))
    assert not np.signbit(got).any()


def test_pairwise_distances_are_one_kernel(emitted: str) -> None:
    """Nothing of the size of all differences is stored."""

    def program(a: Any, b: Any) -> Any:
        return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1)).sum(axis=1)

    a, b = np.random.default_rng(0).normal(size=(2, 90, 3))
    exe = fc.lower(program, a, b)
    assert exe.launches == 1, exe.explain(full=True)
    np.testing.assert_allclose(exe(a, b), program(a, b), rtol=1e-12)


def moved_twice(x: Any, m: Any) -> Any:
    return x @ m @ m


def lengths_out(q: Any, m: Any) -> Any:
    q = q / np.abs(q * q).max(1, keepdims=True)
    return np.stack([q[:, 0] * q[:, 1], q[:, 1] + q[:, 2]], -1)


def lengths_out_twice(q: Any, m: Any) -> Any:
    """Each element is computed once, however it is reached."""
    for _ in range(2):
        q = np.exp(q - q.max(1, keepdims=True))
    return q[:, 0] * 3 + q[:, 1] - q[:, 2]


@pytest.mark.parametrize("program", [moved_twice, lengths_out, lengths_out_twice])
def test_short_rows_are_taken_apart(program: Any, emitted: str) -> None:
    """Where single elements of rows are all that follows, as in products of small matrices."""
    rng = np.random.default_rng(2)
    x, m = rng.integers(-9, 9, (5000, 3)).astype(float), rng.integers(-9, 9, (3, 3)).astype(float)
    exe = fc.lower(program, x, m)
    assert exe.launches == 1, exe.explain(full=True)
    np.testing.assert_allclose(exe(x, m), program(x, m), rtol=1e-14, atol=1e-12)
    exponents = exe.kernels[0].source.count("= fc_exp")
    assert emitted == "cuda" or exponents == 6 * (program is lengths_out_twice)


def test_operations_of_a_row_are_taken_apart_once() -> None:
    """Not once for each way that leads to them."""

    def program(x: Any) -> Any:
        for _ in range(40):
            x = x * x + x
        return x.sum(1)

    x = np.full((5000, 3), -0.5)
    exe = fc.lower(program, x)
    assert exe.launches == 1
    np.testing.assert_allclose(exe(x), program(x), rtol=1e-14)


@pytest.mark.parametrize("case", ["broadcast", "shared", "long", "few"])
def test_what_stays_a_reduction(case: str) -> None:
    """Rows that are needed again as rows, long ones, and a handful of them."""
    shape = {"few": (7, 3), "long": (5000, 9)}.get(case, (5000, 3))
    x = build.parameter(0, shape, np.dtype("f8"))
    doubled = build.elementwise("add", [x, x], x.dtype)
    total = build.reduce("sum", doubled, (1,))
    outputs = [total]
    if case == "broadcast":
        spread = build.broadcast_to(build.reshape(total, (5000, 1)), (5000, 3))
        outputs = [build.elementwise("divide", [x, spread], x.dtype)]
    elif case == "shared":
        outputs.append(doubled)
    graph = Graph((x,), tuple(outputs))
    assert unrolled(graph, CPU) is graph


def shortly_reduced(graph: Graph) -> Graph:
    """``graph`` with sums of at most eight elements along the last axis for its results.

    So are first elements times those sums.
    """
    outputs = []
    for node in graph.outputs:
        if not node.shape or not node.shape[-1] or not is_reducible("sum", node.dtype):
            continue
        shape = (*node.shape[:-1], min(8, node.shape[-1]))
        first = build.index(node, index_map.identity(len(shape)), shape)
        total = build.reduce("sum", first, (len(shape) - 1,))
        lead = index_map.axis_map([(0, 1, a) for a in range(len(shape) - 1)], len(shape))
        pair = [build.convert(first, total.dtype), build.index(total, lead, shape)]
        times = build.elementwise("multiply", pair, total.dtype)
        rows = [(0, 1, a) for a in range(len(shape) - 1)]
        ends = index_map.axis_map([*rows, (0, 0, None)], len(shape) - 1)
        outputs += [total, build.index(times, ends, shape[:-1])]
    return Graph(graph.parameters, tuple(outputs))


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("first", range(0, 120, 40))
@one_in(6)
def test_random_graphs_keep_their_bits(
    first: int, group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of whatever is computed, however few the rows are."""
    monkeypatch.setattr("fusecuda.fusion.unrolled.FEWEST", 1)
    meaning = replace(NUMPY, group=group)
    changed = 0
    for seed in range(first, first + 40):
        case = random_graph(seed)
        graph = simplify(shortly_reduced(case.graph))
        short = unrolled(graph, Machine(1, 1, group=group, short=8))
        changed += short is not graph
        want = interpret(graph, case.arguments, meaning)
        for a, b in zip(interpret(short, case.arguments, meaning), want, strict=True):
            assert same_bits(a, b), seed
    assert changed >= 10
