"""Loops that need nothing of each other: one launch, whatever their shapes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.together import MOST, common
from tests.capture_check import equal
from tests.marks import one_in

SIZES = (5, 300, 1, 4097, 64, 1000)
X = [np.random.default_rng(k).integers(-9, 10, n).astype(float) for k, n in enumerate(SIZES)]


def updates(*xs: Any) -> Any:
    return [x * 2 + k for k, x in enumerate(xs)]


def in_place(*xs: Any) -> Any:
    for k in range(len(xs)):
        xs[k][:] = xs[k] * 2 + k


def mixed_types(*xs: Any) -> Any:
    return [xs[0].astype(np.float32) * 3, np.abs(xs[1]).astype(int) % 7, xs[3] > 2, xs[5][::-1] * 2]


def of_matrices(*xs: Any) -> Any:
    a, b = xs[1].reshape(30, 10), xs[5].reshape(10, 100)
    return a.T * 2, b + a[:10, :1], xs[3][1:].reshape(64, 64)[::2, ::-1] * xs[4]


def one_needs_another(*xs: Any) -> Any:
    a = xs[1] * 2
    xs[1][:] = a[::-1]
    return xs[3] * 3, a


def temporaries(*xs: Any) -> Any:
    parts = [np.sort(x * 2) for x in xs]
    return [np.sort(p - 1) + q[0] for p, q in pairwise(parts)]


def many(*xs: Any) -> Any:
    return [xs[4] * k for k in range(3)] + [xs[k % 6][: 1 + k] + 1 for k in range(MOST + 9)]


def failing(*xs: Any) -> Any:
    places = np.abs(xs[0]).astype(int)
    return xs[3] * 2, xs[1][places] * 3, xs[5] + 1


def statistics(*xs: Any) -> Any:
    return [(x.mean(), (x * x).sum(), x.max()) for x in xs]


def in_two_steps(*xs: Any) -> Any:
    """As LAMB does: a number of each array, then the array by it."""
    return [x * 2 / (1 + abs(x).sum()) for x in xs]


def norms(*xs: Any) -> Any:
    rows = [x[:, None] * xs[4] for x in xs]
    return [abs(x).sum(axis=1).max() for x in rows]


LAUNCHES: dict[Callable[..., Any], int] = {
    updates: 1, in_place: 1, mixed_types: 1, of_matrices: 1, one_needs_another: 2,
}  # fmt: skip
REDUCTIONS = {
    statistics: {"c": 1, "cuda": 1}, in_two_steps: {"c": 1, "cuda": 2}, norms: {"c": 1, "cuda": 1},
}  # fmt: skip


@pytest.mark.parametrize("function", [*LAUNCHES, *REDUCTIONS, temporaries, many, failing])
@one_in(6)
def test_kernels_share_a_launch(function: Callable[..., Any], emitted: str) -> None:
    """The values are NumPy's, arguments included."""
    mine, theirs = [x.copy() for x in X], [x.copy() for x in X]
    program = fc.lower(function, *mine)
    if function in LAUNCHES:
        assert program.launches == LAUNCHES[function], program.explain(full=True)
    if function in REDUCTIONS:  # those of 512 threads a block share none on a device
        assert program.launches == REDUCTIONS[function][emitted], program.explain(full=True)
    for _ in range(2):
        equal([program(*mine), *mine], [function(*theirs), *theirs])


def test_what_was_parted_since_is_launched_apart() -> None:
    """As kernels that a user has edited are: the text that joins them does not know of it."""
    assert common([(0, 1), (2,), (3, 4)], [(0,), (1,), (2,), (3, 4)]) == [(0,), (1,), (2,), (3, 4)]
    assert common([(0,), (1,)], [(0, 1)]) == [(0,), (1,)]


def edges(x: Any) -> Any:
    """As of fields in boxes: rows first, whose corners the columns read."""
    x[0], x[-1] = x[1], x[-2]
    x[:, 0], x[:, -1] = x[:, 1], x[:, -2]


def bands_that_meet(x: Any) -> Any:
    x[:, 2:4] = x[:, 7:9] * 2
    x[:, 3:5] = x[:, 8:10] + 1


def bands_apart(x: Any) -> Any:
    x[:, 2:4] = x[:, 7:9] * 2
    x[1:, 4:6] = x[1:, 8:10] + 1
    x[::2, -1] = 5.0


def every_second(x: Any) -> Any:
    x[::2, 1:] = x[::2, :-1] * 2
    x[1::2, 1:] = x[1::2, :-1] + 1


EDGES = {edges: (2, 4), bands_that_meet: (2, 2), bands_apart: (1, 3), every_second: (1, 2)}


@pytest.mark.parametrize("function", EDGES)
def test_edges_share_a_launch(function: Callable[..., Any], emitted: str) -> None:
    """Those that touch no element of each other's, however they lie among one another."""
    mine = np.random.default_rng(7).integers(-9, 9, size=(20, 30)).astype(float)
    theirs = mine.copy()
    program = fc.lower(function, mine)
    most = EDGES[function][emitted == "cuda"]  # there nobody may write to what a launch reads
    assert program.launches <= most, program.explain(full=True)
    for _ in range(2):
        equal([program(mine), mine], [function(theirs), theirs])
