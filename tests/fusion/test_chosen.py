"""Elements chosen from parts by their place: rolled, padded, sliced, copied and partly written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

X = np.random.default_rng(5).integers(-99, 99, size=(12, 80)).astype(float)


def around(q: Any) -> Any:
    return q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:] - 4 * q[1:-1, 1:-1]


def on_a_ring(x: Any) -> Any:
    return sum(np.roll(x, s, axis) for s in (-1, 1) for axis in (0, 1)) - 4 * x


def life(x: Any) -> Any:
    alive = x > 0
    near = sum(
        np.roll(np.roll(alive, i, 0), j, 1).astype(np.uint8)
        for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
    )  # fmt: skip
    return (near == 3) | (alive & (near == 2))


def opened(x: Any) -> Any:
    """Narrow elements are computed again more cheaply than they are kept."""
    alive = x > 0
    eroded = alive[1:-1] & alive[:-2] & alive[2:]
    return eroded[1:-1] | eroded[:-2] | eroded[2:]


def edged(x: Any) -> Any:
    return around(np.pad(x, 1, mode="edge"))


def wrapped(x: Any) -> Any:
    return around(np.pad(x, 1, mode="wrap"))


def reflected(x: Any) -> Any:
    return around(np.pad(x, 1, mode="reflect"))


def edged_widely(x: Any) -> Any:
    """What lies at the edge is walked otherwise than what lies inside."""
    q = np.pad(x, ((0, 0), (3, 3)), mode="edge")
    return q[:, :-6] + q[:, 3:-3] * 2 + q[:, 6:]


def curvature(x: Any) -> Any:
    down, along = np.gradient(x)
    twice, crossed = np.gradient(down)
    _, last = np.gradient(along)
    return last * down * down - 2 * along * down * crossed + twice * along * along


def relaxed(x: Any) -> Any:
    out = x.copy()
    out[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    return out


def first_row(x: Any) -> Any:
    out = x.copy()
    out[0] = 7.0
    return out


def of_rows(x: Any) -> Any:
    q = np.roll(x, 1, axis=0)
    return (q - np.roll(x, 2, axis=1)).sum(axis=1)


def of_columns(x: Any) -> Any:
    return np.pad(x, 1, mode="edge").sum(axis=0), np.roll(x, 3, axis=1).max(axis=0)


def recurrence(x: Any) -> Any:
    """Numbers, each of the one before it, are written by one kernel."""
    out = x.copy()
    for t in range(1, 9):
        out[0, t] = 0.5 * out[0, t - 1] + 0.25 * x[1, t]
    return out[0, :9].sum()


def ends_of_a_ring(x: Any) -> Any:
    """One place in memory is read inside by one choice, and at an end by itself."""
    ring = np.roll(x, 2, axis=0) + x
    return np.concatenate([ring[:3], ring * 2, ring[-2:]])


LAUNCHES: dict[Callable[..., Any], int] = {
    on_a_ring: 1, life: 2, opened: 2, edged: 1, wrapped: 1, reflected: 1, edged_widely: 1,
    curvature: 3, relaxed: 1, first_row: 1, of_rows: 1, of_columns: 1, recurrence: 3,
    ends_of_a_ring: 1,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8])
@pytest.mark.parametrize("function", LAUNCHES, ids=lambda f: f.__name__)
@one_in(8)
def test_elements_are_chosen_where_they_are_read(
    function: Callable[..., Any], dtype: type, emitted: str
) -> None:
    x = X.astype(dtype)
    program = fc.lower(function, x)
    if dtype is np.float64 and emitted == "c":
        assert program.launches == LAUNCHES[function], program.explain(full=True)
    equal(program(x), function(x.copy()))


def test_a_choice_of_memory_is_one_read() -> None:
    """Each of the five elements of a stencil on a ring is read once."""
    (kernel,) = fc.lower(on_a_ring, X).kernels
    loop = kernel.source.split("for (int64_t k = 0;")[1]
    assert loop.count("[k];") == 5
    assert "fc_choose" not in kernel.source


def test_nothing_is_read_outside_of_what_is_chosen_from() -> None:
    """At the edges, where nothing is chosen of what is rolled, a run of zeros is read for it."""

    def edged(x: Any) -> Any:
        near = np.roll(x, 1, axis=0) + np.roll(x, -1, axis=0)
        return np.concatenate([x[:1], near[1:-1], x[-1:]]) * 2

    (kernel,) = fc.lower(edged, X).kernels
    places = set(re.findall(r"\*(from\d+) = ", kernel.source))
    assert len(places) == 2
    assert places == set(re.findall(r"if \(!v\d+\) (from\d+) = ", kernel.source))
    equal(fc.lower(edged, X)(X), edged(X))


def test_runs_inside_compute_the_middle_alone() -> None:
    """A loop of the differences in the middle, and one of all three."""
    (kernel,) = fc.lower(lambda x: np.gradient(x, axis=1) * 2, X).kernels
    _, inside, anywhere = kernel.source.split("for (int64_t k = 0;")
    assert inside.count(" - ") == 1
    assert anywhere.count(" - ") == 3


def test_narrow_elements_are_computed_again() -> None:
    """Of bools a vector holds eight times as many as of doubles: nothing is kept between."""

    def twice(alive: Any) -> Any:
        eroded = alive[1:-1] & alive[:-2] & alive[2:]
        return eroded[1:-1] | eroded[:-2] | eroded[2:]

    alive = X > 0
    program = fc.lower(twice, alive)
    assert program.launches == 1, program.explain(full=True)
    equal(program(alive), twice(alive))


def program_of(seed: int) -> Callable[[Any], Any]:
    """A function that moves elements about, computes of them, and may reduce what comes out."""
    draw = random.Random(seed)
    steps = [(draw.choice("rrpgcfsj"), draw.randrange(2), draw.randrange(-3, 4)) for _ in range(4)]
    modes, last = draw.choices(("edge", "wrap", "reflect", "symmetric"), k=4), draw.choice("nnrc")

    def moves(x: Any) -> Any:
        before = x
        for (kind, axis, by), mode in zip(steps, modes, strict=True):
            before, x = x, x * 2 - 1
            if kind == "r":
                x = np.roll(before, by, axis) + x
            elif kind == "p":
                x = np.pad(before, abs(by), mode=mode)[:, 2:]
            elif kind == "g":
                x = np.gradient(x, axis=axis)
            elif kind == "c":
                x = before.copy()
                x[1:-2, 2:-1] = before[2:-1, 1:-2] * 3 - by
            elif kind == "f":
                x = np.flip(before, axis) - x
            elif kind == "s":
                x = x[1:, 1:] - before[:-1, :-1]
            else:
                x = np.concatenate([before[:3], x, before[-2:]], axis=0)
        return x.sum(axis=0) if last == "r" else x.sum(axis=1) if last == "c" else x

    return moves


@pytest.mark.parametrize(
    "first", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(12, 240, 12)]]
)
def test_random_moves(first: int, emitted: str) -> None:
    """Sums are of whole numbers and of halves, which no order rounds."""
    for seed in range(first, first + 12):
        function = program_of(seed)
        x = np.random.default_rng(seed).integers(-99, 99, size=(9, 70)).astype(float)
        equal(fc.lower(function, x)(x), function(x.copy()))
