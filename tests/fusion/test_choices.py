"""What is written to one element of each row is a choice where the rows are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.dtypes import INT64
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.passes import simplify
from fusecuda.options import Options
from tests.emulated import run as emulated
from tests.marks import one_in
from tests.strategies import DTYPES, mixed_values, same_bits

RNG = np.random.default_rng(11)
X = RNG.normal(size=(70, 9))
LABELS = RNG.integers(-9, 9, 70)


def gradient(x: Any, labels: Any) -> Any:
    """Of a cross-entropy, with what a bias becomes."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    loss = -np.log(p[np.arange(len(labels)), labels]).mean()
    p[np.arange(len(labels)), labels] -= 1.0
    return loss, p / len(labels), p.sum(axis=0)


def one_hot(x: Any, labels: Any) -> Any:
    """Ones among zeros, of which only a sum is left."""
    hot = np.zeros(x.shape)
    hot[np.arange(len(x)), labels] = 1
    return -(hot * x).sum(axis=1).mean(), hot.sum(axis=0)


def counted(x: Any, labels: Any) -> Any:
    y = np.abs(x)
    np.add.at(y, (np.arange(len(x)), labels), x[:, 0])
    np.maximum.at(y, (np.arange(len(x)), labels % 9), 2.0)
    return y


def of_rows_of_matrices(x: Any, labels: Any) -> Any:
    """An index in the middle; two axes count."""
    y = x.reshape(7, 10, 9) * 2
    at = labels[:7, None] % 10
    y[np.arange(7)[:, None], at, np.arange(9)] = x[:7] + 1
    return y.sum(axis=1)


def of_whole_vectors(x: Any, labels: Any) -> Any:
    y = x.reshape(10, 7, 9) + 1
    y[np.arange(10), labels[:10] % 7] = x[:10]
    return y


def repeated(x: Any, labels: Any) -> Any:
    """Places may come twice: no choice."""
    y = x * 2
    y[labels, labels % 9] += 1.0
    return y


def of_few_rows(x: Any, labels: Any) -> Any:
    """Not each row has a place."""
    y = x * 2
    y[np.arange(9), labels[:9]] += 1.0
    return y


def of_rows_behind(x: Any, labels: Any) -> Any:
    """Rows are counted from the second one on."""
    y = x[:69] * 2
    z = np.concatenate([y, y[:1]])
    w = z + 1.0
    w[np.arange(-1, 69), labels] = 5.0
    return w


def in_memory(x: Any, labels: Any) -> Any:
    """What is there already is not written whole."""
    x[np.arange(len(x)), labels] = 0.0
    return x


PROGRAMS: dict[Callable[..., Any], tuple[int, bool]] = {  # launches, whether scatters are left
    gradient: (1, False), one_hot: (1, False), counted: (1, False), of_rows_of_matrices: (1, False),
    of_whole_vectors: (1, False), repeated: (2, True), of_few_rows: (2, True),
    of_rows_behind: (2, True), in_memory: (1, True),
}  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@one_in(6)
def test_values_and_launches(function: Callable[..., Any]) -> None:
    fused = fc.fused(function)
    x, labels = X.copy(), LABELS.copy()
    for _ in range(2):
        got, want = fused(x.copy(), labels), function(x.copy(), labels)
        got, want = (v if isinstance(v, tuple) else (v,) for v in (got, want))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    lowered = fc.lower(function, X, LABELS)
    launches, scattered = PROGRAMS[function]
    assert len(lowered.kernels) == launches
    assert ("scatter" in " ".join(k.name for k in lowered.kernels)) == scattered


@pytest.mark.parametrize("function", [gradient, one_hot], ids=lambda f: f.__name__)
@pytest.mark.parametrize("strict", [True, False])
def test_a_place_outside_is_an_error(function: Callable[..., Any], strict: bool) -> None:
    """By the first call as by a replay; the next call is as it was."""
    fused, outside = fc.fused(function, strict=strict), LABELS.copy()
    want = fused(X, LABELS)
    for wrong in (9, -10):
        outside[3] = wrong
        with pytest.raises(IndexError, match="out of bounds"):
            fused(X, outside)
    for a, b in zip(fused(X, LABELS), want, strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("back_end", ["c", "cuda"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@one_in(12)
def test_bits(dtype: Any, back_end: str) -> None:
    """Of all types, special values included, as the interpreter of the graph that was recorded."""
    rng = np.random.default_rng(2)
    shape = (40, 6, 2)
    x, y = (build.parameter(k, shape, dtype) for k in range(2))
    value, at = build.parameter(2, (40, 2), dtype), build.parameter(3, (40,), INT64)
    computed = build.where(build.elementwise("equal", [x, y], np.dtype(bool)), x, y)
    rows = build.iota((40,), 0)
    found = [build.scatter("set", computed, value, [rows, at], "a.py:1")]
    if build.fusible("add", (dtype, dtype)):
        found.append(build.scatter("add", computed, value, [rows, at], "a.py:2"))
    graph = Graph((x, y, value, at), tuple(found))
    assert all(n.op != "library" for n in simplify(graph).nodes())
    arrays = [mixed_values(rng, dtype, s) for s in (shape, shape, (40, 2))]
    arrays.append(rng.integers(-6, 6, 40))
    with np.errstate(all="ignore"):
        want = interpret(graph, arrays)
        if back_end == "c":
            got = compile_graph(graph, {}, Options()).run(arrays)
        else:
            got, _ = emulated(graph, arrays)
    for a, b in zip(got, want, strict=True):
        assert a is not None and same_bits(a, b)


def test_gathers_of_what_is_computed() -> None:
    """What is picked alone is computed, but where its errors are the program's."""

    def picked(x: Any, at: Any) -> Any:
        return np.exp(np.sin(x - 1) * 2)[at]

    def of_many(a: Any, b: Any, c: Any, at: Any) -> Any:
        return (a * b + c)[at]

    def of_powers(x: Any, y: Any, at: Any) -> Any:
        return (y**x)[at]

    at = RNG.integers(0, 9000, 8000)
    x = RNG.normal(size=9000)
    assert len(fc.lower(picked, x, at).kernels) == 1
    np.testing.assert_allclose(fc.fused(picked, strict=True)(x, at), picked(x, at), rtol=1e-14)
    three = [RNG.normal(size=9000) for _ in range(3)]
    assert [len(fc.lower(of_many, *three, i).kernels) for i in (at, at[:99])] == [2, 1]
    assert same_bits(fc.fused(of_many, strict=True)(*three, at), of_many(*three, at))
    bad = np.zeros(9000, np.int64)
    bad[8999] = -1
    with pytest.raises(ValueError, match="negative integer powers"):
        fc.fused(of_powers, strict=True)(bad, bad + 3, at[:9] % 8999)


SQUARE, CUBE = RNG.normal(size=(40, 50)), RNG.normal(size=(9, 9, 9))


def diagonal_written(x: Any, at: Any, value: Any) -> Any:
    y = np.abs(x)
    np.fill_diagonal(y[at], value)
    return y * 2


DIAGONALS: dict[str, tuple[Any, Any, Any, int]] = {
    "whole": (SQUARE, ..., 1.5, 1),
    "tall": (SQUARE.T, ..., SQUARE[0], 1),
    "beside": (SQUARE, np.s_[:, 3:], SQUARE[0], 1),
    "below": (SQUARE, np.s_[7:], SQUARE[1], 1),
    "of a cube": (CUBE, ..., CUBE[1, 2], 1),
    "part": (SQUARE, np.s_[:20, :20], 7.0, 3),
    "backwards": (SQUARE, np.s_[::-1], SQUARE[2], 3),
}


@pytest.mark.parametrize("name", DIAGONALS)
def test_diagonals_are_choices(name: str) -> None:
    """From one edge to another; any other part is written in memory."""
    x, at, value, launches = DIAGONALS[name]
    executable = fc.lower(lambda x: diagonal_written(x, at, value), x)
    assert np.array_equal(executable(x), diagonal_written(x, at, value))
    assert executable.launches == launches


def test_a_diagonal_in_memory_is_written_to() -> None:
    """No more than that is."""

    def program(x: Any) -> None:
        np.fill_diagonal(x, 2.0)

    x, y = SQUARE.copy(), SQUARE.copy()
    executable = fc.lower(program, x)
    executable(x)
    program(y)
    assert np.array_equal(x, y)
    assert all(kernel.bytes_written < x.nbytes / 8 for kernel in executable.kernels)
