"""Reductions of windows that overlap: the tree's bits, however the windows are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.engine import build as compile_graph
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.cost import WINDOW, Machine
from fusecuda.fusion.sliding import by_lanes
from fusecuda.fusion.unrolled import unrolled
from fusecuda.fusion.variants import COLUMN
from fusecuda.graph import build
from fusecuda.graph.index_map import IndexMap
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.options import Options
from tests import emulated
from tests.strategies import mixed_values, same_bits, strides_of

windows = np.lib.stride_tricks.sliding_window_view
KINDS = ("sum", "prod", "max", "min")
LENGTHS = (2, 9, 20, 32, 33, 43, 64, 65, 100, 128, 131, 512, 513, 700, 1024, 1100)
SIGNAL = np.random.default_rng(1).normal(size=9000)
IMAGE = np.random.default_rng(2).normal(size=(90, 100))


def slid(x: Node, count: int) -> Node:
    """The windows of ``count`` elements along the last axis."""
    *lead, n = x.shape
    rank = len(lead)
    rows = [tuple(int(j == a) for j in range(rank + 2)) for a in range(rank)]
    rows.append((0,) * rank + (1, 1))
    view = IndexMap(rank + 2, (0,) * (rank + 1), tuple(rows))
    return build.index(x, view, (*lead, n - count + 1, count))


def of_windows(kind: str, dtype: Any, shape: tuple[int, ...], count: int) -> Graph:
    x = build.parameter(0, shape, np.dtype(dtype))
    return Graph((x,), (build.reduce(kind, slid(x, count), (len(shape),)),))


def machine(group: int) -> Machine:
    return Machine(1, 1, group=group, window=WINDOW)


@pytest.fixture(autouse=True)
def of_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few windows are enough."""
    monkeypatch.setattr("fusecuda.fusion.unrolled.FEWEST", 1)


@pytest.mark.parametrize("group", [1, 4])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
def test_the_bits_are_the_trees(dtype: str, group: int) -> None:
    """Of short windows, and of long ones by what lanes combine; on a CPU's lanes and on a GPU's."""
    rng = np.random.default_rng(3)
    for i, count in enumerate(LENGTHS):
        kind = KINDS[i % 4] if dtype == "f8" else "sum"
        for shape in ((count + 40,), (2, count + 33)):
            graph = of_windows(kind, dtype, shape, count)
            prepared = by_lanes(unrolled(graph, machine(group)), machine(group))
            assert all(n.op != "reduce" for n in prepared.nodes()), count
            x = mixed_values(rng, np.dtype(dtype), shape)
            meaning = KERNELS if group == 1 else CUPY
            (want,) = interpret(graph, [x], meaning)
            assert same_bits(interpret(prepared, [x], meaning)[0], want), (count, kind)


@pytest.mark.parametrize("count", [20, 100, 300])
def test_kernels_have_the_interpreters_bits(count: int) -> None:
    """As they are emitted for the CPU."""
    graph = of_windows("sum", "f8", SIGNAL.shape, count)
    (want,) = interpret(graph, [SIGNAL], KERNELS)
    (got,) = compile_graph(graph, strides_of([SIGNAL]), Options()).run([SIGNAL])
    assert same_bits(got, want)


@pytest.mark.parametrize("count", [5, 20, 100, 300])
def test_on_a_device(count: int) -> None:
    """As they are emitted for a GPU: each thread has a window."""
    x = SIGNAL[:500]
    graph = of_windows("sum", "f8", x.shape, count)
    (want,) = interpret(graph, [x], CUPY)
    (got,), device = emulated.run(graph, [x])
    assert same_bits(got, want)
    assert not any("reduce" in name for name in emulated.launches(device))


PROGRAMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "mean": (lambda x: windows(x, 20).mean(1) * 2, 1),
    "std": (lambda x: windows(x, 20).std(1), 1),
    "spread": (lambda x: (windows(x, 5).max(1) - windows(x, 5).min(1)) / windows(x, 5).std(1), 1),
    "weights": (lambda x: (windows(x, 20) * np.arange(20.0)).sum(1), 1),
    "steps": (lambda x: windows(x, 20)[::4].mean(1), 1),
    "long": (lambda x: windows(x, 100).mean(1) * 2, 2),
    "longer": (lambda x: windows(x, 300).max(1) + 1, 2),
    "long deviation": (lambda x: windows(x, 100).std(1), 1),
    "dear": (lambda x: np.exp(windows(x, 20)).sum(1), 1),
    "centred": (lambda x: windows(x, 20) - windows(x, 20).mean(1, keepdims=True), 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_launches(name: str) -> None:
    """A short window is one kernel with all around it; lanes of a long one are an array."""
    program, launches = PROGRAMS[name]
    executable = fc.lower(program, SIGNAL)
    assert executable.launches == launches
    np.testing.assert_allclose(executable(SIGNAL), program(SIGNAL), rtol=1e-9, atol=1e-12)


OF_IMAGES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: windows(x, (3, 3)).sum((2, 3)) * 2,
    "max": lambda x: windows(x, (5, 5)).max((-2, -1)),
    "std": lambda x: windows(x, (3, 3)).std((2, 3)),
    "down": lambda x: windows(x, 20, 0).mean(-1),
    "across": lambda x: windows(x, 20, axis=1).min(axis=-1),
    "pooled": lambda x: windows(x, (3, 3))[::2, ::2].mean((2, 3)),
}


@pytest.mark.parametrize("name", OF_IMAGES)
def test_windows_of_images(name: str) -> None:
    executable = fc.lower(OF_IMAGES[name], IMAGE)
    assert executable.launches == 1
    assert all(kernel.kind == "loop" for kernel in executable.kernels)
    np.testing.assert_allclose(executable(IMAGE), OF_IMAGES[name](IMAGE), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("long deviation", "reduction"), ("centred", "resident"), ("dear", "reduction")],
)
def test_what_stays_a_reduction(name: str, kind: str) -> None:
    """Windows that are long or dear, or whose elements are needed again, and kept for that."""
    (kernel,) = fc.lower(PROGRAMS[name][0], SIGNAL).kernels
    assert kernel.kind == kind


def test_what_windows_share_is_not_kept() -> None:
    """It is read from memory as quickly as from where each window would keep its own."""
    executable = fc.lower(PROGRAMS["long deviation"][0], SIGNAL)
    (step,) = executable.assembly.steps
    assert isinstance(step, Bound) and not step.lowered.ir.resident


def test_what_is_too_long_advances_in_columns() -> None:
    """Windows that are no few reads, nor made of lanes: side by side, for so they lie in memory."""
    executable = fc.lower(lambda x: windows(x, 100).std(1), SIGNAL)
    (step,) = executable.assembly.steps
    assert isinstance(step, Bound)
    assert step.variant.skeleton == COLUMN


def test_weights_are_not_slid() -> None:
    """What depends on the place in its window is no other window's."""
    executable = fc.lower(lambda x: (windows(x, 100) * np.arange(100.0)).sum(1), SIGNAL)
    assert executable.launches == 1
    np.testing.assert_allclose(
        executable(SIGNAL), windows(SIGNAL, 100) @ np.arange(100.0), rtol=1e-9, atol=1e-9
    )


def test_tiles_stay_rows() -> None:
    """Rows that share no element are no windows."""
    x = build.parameter(0, (60000,), np.dtype("f8"))
    tiles = build.index(x, IndexMap(2, (0,), ((12, 1),)), (5000, 12))
    graph = Graph((x,), (build.reduce("sum", tiles, (1,)),))
    assert by_lanes(unrolled(graph, machine(1)), machine(1)) is graph
