"""Rows are reduced along and across in one pass, by the tree of any reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.program import set_thread_count
from fusecuda.engine import build as compile_graph
from fusecuda.fusion import crossing
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.variants import CROSSED, CROSSED_SHORT
from fusecuda.graph import build
from fusecuda.graph.dtypes import is_reducible, kind_of
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.options import Options
from tests.marks import chosen, one_in
from tests.strategies import DTYPES, lay_out, mixed_values, random_values, same_bits, strides_of

X, Y = np.random.default_rng(7).normal(size=(2, 700, 70))
SHAPES = ((64, 33), (65, 512), (511, 40), (513, 513), (1100, 100), (70, 1030))
KINDS = ("sum", "prod", "max", "min", "any", "all")


def both(x: Any, y: Any) -> Any:
    return x.sum(axis=0), x.sum(axis=1)


def turned(x: Any, y: Any) -> Any:
    """What is first reduced is the column."""
    z = x * y
    return z.mean(axis=0), z.max(axis=1) - z.min(axis=1), y.mean(axis=0) - x.max(axis=0)


def training(x: Any, y: Any) -> Any:
    """The loss, its gradient and what a bias becomes."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    d = (p - y) / len(x)
    return (y * np.log(p)).sum(axis=1).mean(), d, y[0] - 0.1 * d.sum(axis=0)


def in_place(x: Any, y: Any) -> Any:
    """What was there before and what is there now."""
    before = x.sum(axis=0)
    x -= x.mean(axis=1, keepdims=True)
    return before, x.sum(axis=0), x


def of_three_axes(x: Any, y: Any) -> Any:
    x, y = x.reshape(70, 10, 70), y.reshape(70, 10, 70)
    z = x / np.abs(y).sum(axis=2, keepdims=True)
    return z, z.sum(axis=(0, 1)), (x * y).max(axis=(0, 1)) * 2


def of_two_in_a_row(x: Any, y: Any) -> Any:
    x, y = x.reshape(140, 5, 70), y.reshape(140, 5, 70)
    z = x - y.mean(axis=(1, 2), keepdims=True)
    return z, (z * z).sum(axis=0), y.min(axis=0) + 1


def broadcast(x: Any, y: Any) -> Any:
    """A row's value stands at all of its places."""
    z = x[:1] + y[:, :1]
    return z.sum(axis=1), z.sum(axis=0), np.broadcast_to(y.sum(axis=1)[:, None], y.shape).sum(0)


def running(x: Any, y: Any) -> Any:
    """A running sum is no such row's."""
    return np.cumsum(x, axis=1), x.sum(axis=0)


def read_by_rows(x: Any, y: Any) -> Any:
    """A mean of columns is known when all rows are done."""
    return x.sum(axis=1), x - x.mean(axis=0)


def centered(x: Any, y: Any) -> Any:
    """Nor is one that stands beside elements to be at the foot of them."""
    z = x - x.mean(axis=0)
    return z.max(axis=1), y


PROGRAMS: dict[Callable[..., Any], int] = {
    both: 1, turned: 1, training: 1, in_place: 1, of_three_axes: 1, of_two_in_a_row: 1,
    broadcast: 1, running: 2, read_by_rows: 2, centered: 2,
}  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["contiguous", "fortran", "backwards", "spread"])
@one_in(8)
def test_launches_and_values(function: Callable[..., Any], layout: str) -> None:
    """One kernel, with NumPy's values, however the rows lie in memory."""
    if layout == "contiguous":
        assert len(fc.lower(function, X, Y).kernels) == PROGRAMS[function]
    ways = {"fortran": np.asfortranarray, "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1]}
    laid = ways.get(layout, lambda a: np.repeat(a, 2, axis=1)[:, ::2] if layout == "spread" else a)
    found = fc.fused(function)(laid(X.copy()), laid(Y.copy()))
    for a, b in zip(found, function(X.copy(), Y.copy()), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_emitted_c(golden: Callable[[str, str], None]) -> None:
    """The text, as one would read it."""
    executable = fc.lower(turned, X, Y)
    golden("crossed_rows.c", executable.explain(full=True) + "\n" + "\n".join(executable.emit("c")))


def _crossed(number: int, shape: tuple[int, ...], dtype: Any) -> tuple[Node, list[Node]]:
    """All reductions of an array along its rows and across them; see `all_kinds` about -0."""
    x = build.parameter(number, shape, dtype)
    found = []
    for kind in KINDS:
        if not is_reducible(kind, dtype):
            continue
        operand = x
        if kind in ("max", "min") and kind_of(dtype) == "f":
            operand = build.elementwise("add", [x, build.constant(0.0, dtype)], dtype)
        found += [build.reduce(kind, operand, (axis,)) for axis in (1, 0)]
    return x, found


@pytest.mark.parametrize(("threads", "lanes"), [(1, "many"), (3, "many"), (1, "one")])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(16)
def test_bits(dtype: Any, threads: int, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every kind, type and extent, special values included, by one thread or several.

    A work item takes as many lanes side by side as usual, or has a whole chunk and takes one.
    """
    if lanes == "one":
        for name in ("_FEWEST", "_FEWEST_OF_LONG", "_AT_HAND"):
            monkeypatch.setattr(crossing, name, 1)
    rng = np.random.default_rng(3)
    drawn = [values(rng, dtype, s) for values in (mixed_values, random_values) for s in SHAPES]
    assert CROSSED in _check_bits(drawn, dtype, threads)


def _check_bits(drawn: list[np.ndarray], dtype: Any, threads: int) -> set[str]:
    """Compare with the interpreter; the skeletons of the kernels."""
    pairs = [_crossed(number, values.shape, dtype) for number, values in enumerate(drawn)]
    graph = Graph(tuple(x for x, _ in pairs), tuple(o for _, found in pairs for o in found))
    arrays = [lay_out(values, "mixed") for values in drawn]
    executable = compile_graph(graph, strides_of(arrays), Options())
    before = set_thread_count(threads)
    try:
        with np.errstate(all="ignore"):
            results = executable.run(arrays)
    finally:
        set_thread_count(before)
    with np.errstate(all="ignore"):
        expected = interpret(graph, arrays)
    for node, got, want in zip(graph.outputs, results, expected, strict=True):
        assert got is not None and same_bits(got, want), (node.reduction, node.operands[0].shape)
    return {s.variant.skeleton for s in executable.assembly.steps if isinstance(s, Bound)}


SHORT_SHAPES = ((64, 2), (513, 3), (1100, 10), (2000, 32), (64, 17))


USUAL = [np.dtype(name) for name in ("bool", "int8", "int64", "float16", "float64")]


@pytest.mark.parametrize("threads", chosen([1, 3], [1]))
@pytest.mark.parametrize("dtype", chosen(DTYPES, USUAL), ids=str)
@one_in(6)
def test_bits_of_short_rows(dtype: Any, threads: int) -> None:
    """They are computed side by side, their places in chunks."""
    rng = np.random.default_rng(5)
    drawn = [
        values(rng, dtype, s) for values in (mixed_values, random_values) for s in SHORT_SHAPES
    ]
    skeletons = _check_bits(drawn, dtype, threads)
    assert CROSSED_SHORT in skeletons and CROSSED not in skeletons


def training_of_few_classes(x: Any, y: Any) -> Any:
    """The loss by row values that keep their axis, the gradient, and what a bias becomes."""
    x, y = x.reshape(-1, 10), y.reshape(-1, 10)
    top = x.max(axis=1, keepdims=True)
    e = np.exp(x - top)
    total = e.sum(axis=1, keepdims=True)
    d = (e / total - y) / len(x)
    return np.mean(top + np.log(total)), d, d.sum(axis=0)


def of_few_in_threes(x: Any, y: Any) -> Any:
    """Rows that are counted along two axes, a few of them side by side at a time."""
    x, y = x.reshape(70, 70, 10), y.reshape(70, 70, 10)
    z = x - x.mean(axis=2, keepdims=True) * y
    return z, z.sum(axis=(0, 1)), (x[:, ::-1] * y).max(axis=(0, 1))


def votes(x: Any, y: Any) -> Any:
    """Where a row is largest, counted across rows."""
    best = x.argmax(axis=1)
    chosen = np.arange(x.shape[1]) == best[:, None]
    return best, chosen.sum(axis=0), np.where(chosen, y, 0).sum(axis=0)


def votes_of_few(x: Any, y: Any) -> Any:
    return votes(x.reshape(-1, 7), y.reshape(-1, 7))


def places_across(x: Any, y: Any) -> Any:
    """Where a column is largest is found by columns."""
    return x.argmax(axis=0), x.max(axis=1)


def places_behind(x: Any, y: Any) -> Any:
    return x.max(axis=1), x.argmax(axis=0)


SHORT_PROGRAMS = {
    training_of_few_classes: 1, of_few_in_threes: 1, votes: 1, votes_of_few: 1, places_across: 2,
    places_behind: 2,
}  # fmt: skip


@pytest.mark.parametrize("function", SHORT_PROGRAMS, ids=lambda f: f.__name__)
@one_in(6)
def test_launches_and_values_of_short_rows(function: Callable[..., Any]) -> None:
    assert len(fc.lower(function, X, Y).kernels) == SHORT_PROGRAMS[function]
    for a, b in zip(fc.fused(function)(X, Y), function(X, Y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_emitted_c_of_short_rows(golden: Callable[[str, str], None]) -> None:
    """The text, as one would read it."""
    executable = fc.lower(votes_of_few, X, Y)
    text = executable.explain(full=True) + "\n" + "\n".join(executable.emit("c"))
    golden("crossed_short_rows.c", text)


def test_few_rows_and_very_long_ones_are_reduced_apart() -> None:
    """What such rows leave would be as much as they are."""
    for shape in ((8, 4000), (32, 8), (100, 40_000)):
        plan = fc.lower(both, np.ones(shape), np.ones(shape)).assembly.plan
        roles = [set(step.roles.values()) for step in plan.steps if not isinstance(step, Node)]
        assert all("cross" not in role for role in roles), shape
