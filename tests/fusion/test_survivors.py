"""Focused tests for planted bugs (tests/mutations/table.py) that others let pass or notice late."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.program import set_thread_count
from fusecuda.engine import build as compile_graph
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.memory import ALIGNMENT
from fusecuda.graph import build
from fusecuda.graph.dtypes import FLOAT64
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.options import Options
from fusecuda.streams.liveness import assign_offsets
from fusecuda.tools.traffic import count_traffic
from tests.strategies import same_bits
from tests.timelines import lived


@pytest.fixture
def three_threads() -> Iterator[None]:
    """Kernels run on three threads."""
    before = set_thread_count(3)
    yield
    set_thread_count(before)


@pytest.mark.parametrize("join", [np.concatenate, np.hstack])
def test_parts_of_a_whole_are_read_inside_their_bounds(join: Any) -> None:
    """Each element of each part is read once, and nothing beside them, although lengths differ."""
    x, y = np.arange(40.0), np.arange(7.0)
    traffic = count_traffic(fc.lower(lambda x, y: join([x, y, x + 1]) * 2, x, y), (x, y))
    assert traffic.strays == 0
    assert (traffic.loads[0] == 2).all()
    assert (traffic.loads[1] == 1).all()


def test_rows_that_are_kept_are_not_confused() -> None:
    """Two costly values are kept for a second pass, each in a row of its own."""

    def function(x: Any, y: Any) -> Any:
        e, g = np.exp(x), np.exp2(y)
        total = (e * g).sum(axis=1, keepdims=True)
        return e / total, g - total

    x, y = np.random.default_rng(0).normal(size=(2, 9, 700))
    executable = fc.lower(function, x, y)
    (step,) = executable.assembly.steps
    assert isinstance(step, Bound)
    assert len(step.lowered.ir.resident) == 2
    for got, want in zip(executable(x, y), function(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_touching_lives_are_apart_and_offsets_aligned() -> None:
    """A step reads one temporary while it writes the next: both are live in it."""
    spans = ((0, 1, 100), (1, 2, 100), (2, 3, 33), (0, 3, 7))
    lives = [lived(first, last, nbytes) for first, last, nbytes in spans]
    offsets, size = assign_offsets(lives)
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    taken = sorted((offsets[i], offsets[i] + lives[i].nbytes) for i in (0, 1, 3))
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))
    assert size >= taken[-1][1]


def test_each_thread_has_rows_of_its_own(three_threads: None) -> None:
    """The block has room for the resident rows of every thread that may run."""

    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    executable = fc.lower(softmax, fc.spec((211, 613)))
    (step,) = executable.assembly.steps
    assert isinstance(step, Bound)
    assert step.scratch >= 613 * 8
    assert executable.memory.block_bytes >= 3 * step.scratch


def test_an_index_out_of_bounds_leaves_arguments_and_later_calls_alone() -> None:
    """The call raises, the argument that it overwrites is as it was, the next call is right."""

    def scale(x: Any, y: Any, i: Any) -> None:
        x *= y[i]

    fused = fc.fused(scale)
    x, y = np.arange(1.0, 6.0), np.arange(10.0, 14.0)
    good, bad = np.array([0, -1, 2, 3, 1]), np.array([0, 1, 4, 2, -5])
    fused(x, y, good)
    kept = x.copy()
    for _ in range(2):
        with pytest.raises(IndexError):
            fused(x, y, bad)
        np.testing.assert_array_equal(x, kept)
    fused(x, y, good)
    np.testing.assert_array_equal(x, kept * y[good])


def test_several_sums_of_one_long_row(three_threads: None) -> None:
    """A row that is cut into parts keeps the partial results of its reductions apart."""
    x = build.parameter(0, (200_001,), FLOAT64)
    squares = build.elementwise("multiply", [x, x], FLOAT64)
    sums = [build.reduce(kind, node, (0,)) for node in (x, squares) for kind in ("sum", "max")]
    graph = Graph((x,), tuple(sums))
    values = np.random.default_rng(1).normal(size=200_001)
    executable = compile_graph(graph, {}, Options())
    assert executable.launches == 1
    for got, want in zip(executable.run([values]), interpret(graph, [values]), strict=True):
        assert got is not None
        assert same_bits(got, want)


def test_strided_rows_of_a_matrix() -> None:
    """Every second row and column, elementwise and reduced: no neighbour is read in their place."""
    x = np.random.default_rng(2).normal(size=(12, 90))
    twice = fc.fused(lambda x: x * 2)
    largest = fc.fused(lambda x: (x.max(axis=1), x.max(axis=0)))
    views = (x[:, ::2], x[::2], x[::3, ::-1], x[::-1], x.T[::2], x[:, :45], x[:, :60:2], x[5, ::7])
    for view in views:
        np.testing.assert_array_equal(twice(view), view * 2)
        if view.ndim == 2:
            rows, columns = largest(view)
            np.testing.assert_array_equal(rows, view.max(axis=1))
            np.testing.assert_array_equal(columns, view.max(axis=0))


def test_sums_of_rows_meet_other_rows() -> None:
    """What is computed of one row is taken from another, upside down or along the columns."""
    x = np.random.default_rng(3).integers(0, 100, (40, 40)).astype(float)
    fused = fc.fused(lambda x: (x - x.sum(axis=1)[::-1, None], x - x.sum(axis=1)))
    sums = x.sum(axis=1)
    for got, want in zip(fused(x), (x - sums[::-1, None], x - sums), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_cast_to_integer_and_back_loses_the_sign_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """-0.5 becomes 0, and 0 becomes +0.0: not one truncation, which would give -0.0."""
    monkeypatch.delenv("FUSECUDA_CC", raising=False)  # compiled with optimisation
    x = np.array([-0.5, -0.0, 0.5, -1.5, 7.25] * 20)
    for dtype in (np.int64, np.int32, np.int8):
        got = fc.fused(lambda x, dtype: x.astype(dtype).astype(np.float64))(x, dtype)
        assert same_bits(got, x.astype(dtype).astype(np.float64))


def test_two_results_of_one_value_have_memory_of_their_own() -> None:
    """Both hold it, and writing to one does not show in the other."""
    executable = fc.lower(lambda x: (np.negative(x), np.negative(x)), fc.spec((5,)))
    for k in range(3):
        x = np.arange(5.0) + 17.5 * k
        first, second = executable(x)
        assert not np.shares_memory(first, second)
        np.testing.assert_array_equal(first, -x)
        np.testing.assert_array_equal(second, -x)
