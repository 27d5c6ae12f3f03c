"""Arrays that are put together of parts: one kernel with a store for each, nothing before it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

X, Y = np.random.default_rng(3).normal(size=(2, 24, 40))


def channels(x: Any, y: Any) -> Any:
    out = np.empty((*x.shape, 3))
    out[..., 0] = x * y + 1
    out[..., 1] = x - y * 2
    out[..., 2] = np.sqrt(x * x + y * y)
    return out


def rows(x: Any, y: Any) -> Any:
    out, level = np.zeros_like(x), y[0]
    for t in range(12):
        level = 0.9 * level + 0.1 * x[t]
        out[2 * t], out[2 * t + 1] = level, -level
    return out


def halves(x: Any, y: Any) -> Any:
    out = np.empty(2 * x.size)
    out[::2], out[1::2] = x.ravel() * 2 + 1, np.abs(y).ravel()
    return out


def stacked(x: Any, y: Any) -> Any:
    return np.stack([np.sqrt(x * x + y * y) * x, x - y / 3, y], axis=-1)


def joined(x: Any, y: Any) -> Any:
    return np.concatenate([x / y * 3 - x, x * x / (y * y + 1)]) * 2


def partly(x: Any, y: Any) -> Any:
    out = np.zeros((2, *x.shape))
    out[1] = x * y
    return out


def crossing(x: Any, y: Any) -> Any:
    out = np.empty((3, *x.shape))
    out[:2], out[1:] = x * 2, y * 3
    return out


def crossing_in_place(x: Any, y: Any) -> Any:
    y[:2], y[1:3] = x[:2] * 2, x[1:3] * 3


def seen_between(x: Any, y: Any) -> Any:
    out = np.zeros((2, *x.shape))
    out[0] = x * y
    before = out.sum(axis=0)
    out[1] = x - y
    return out, before


def in_place(x: Any, y: Any) -> Any:
    x[0], x[1] = y[0] * 2, x[2] + y[1]
    x[3:5] = y[3:5]


def read_first(x: Any, y: Any) -> Any:
    old = x[1] * 3
    x[0], x[1] = y[0] * 2, y[1] - 1
    return old


def read_turned(x: Any, y: Any) -> Any:
    old = x[1, ::-1] * 3
    x[0], x[1] = y[0] * 2, y[1] - 1
    return old


def read_after(x: Any, y: Any) -> Any:
    x[0] = y[0] * 2
    x[1] = x[0] + 1
    x[2] = x[1] * x[0]


def rolled(x: Any, y: Any) -> Any:
    for k in range(5):
        x[k] = np.roll(x[k], k, axis=0)
    y[::2], y[1::2] = y[1::2] * 2, y[::2, ::-1]


def shifted(x: Any, y: Any) -> Any:
    x[:-1] = x[1:] * 2
    x[-1] = y[0]


def neighbours(x: Any, y: Any) -> Any:
    """The nine neighbours of each pixel of pictures, as convolutions take them."""
    pixels = (x[None, None, :16, :] + y[:16, None, None, :]).reshape(16, 16, 4, 10)
    padded = np.pad(pixels, ((1, 1), (1, 1), (0, 0), (0, 0)))
    return np.concatenate([padded[i : i + 16, j : j + 16] for i in range(3) for j in range(3)], 3)


def streamed(x: Any, y: Any) -> Any:
    """As a lattice Boltzmann step: all that is stacked shares what it is computed of."""
    moved = [np.roll(x if i % 2 else y, (i - 4, i // 2), axis=(0, 1)) for i in range(9)]
    mean = sum(moved[1:], moved[0]) / 9
    square = 1.5 * (mean * mean)
    along = [3.0 * (k * mean - square) for k in range(9)]
    return np.stack([m - 0.6 * (m - 0.1 * a * a) for m, a in zip(moved, along, strict=True)])


def ringed(x: Any, y: Any) -> Any:
    """What is rolled is made of what is rolled: one array is read behind several tests."""
    flow = [x * (1 + np.roll(y, -1, axis=axis)) for axis in (0, 1)]
    back = [np.roll(f, 1, axis=axis) for f, axis in zip(flow, (0, 1), strict=True)]
    return flow[0] - back[0] + flow[1] - back[1]


def slopes(x: Any, y: Any) -> Any:
    """Slices along one axis, and along the other, make up what is read."""
    down, along = np.gradient(x * y, 0.5)
    return np.sqrt(down * down + along * along)


def edges_first(x: Any, y: Any) -> Any:
    out = np.empty_like(x)
    out[-1], out[0] = y[0] + 1, x[1] * 2
    out[1:-1] = x[2:] - x[:-2]
    return out * out + y


def edges_overwritten(x: Any, y: Any) -> Any:
    """What slices make up is not all of it: one comes twice."""
    out = np.zeros_like(x)
    out[1:], out[:2] = x[1:] - y[1:], 3.0
    return out * out + y


def every_second(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[::2], out[1::2] = x[::2] * 2, y[1::2] - 1
    return out * out + y


def read_between(x: Any, y: Any) -> Any:
    """The end is read before it is written, and what is inside when the edges are known."""
    out = np.zeros_like(x)
    out[1:-1] = x[2:] - x[:-2]
    out[0] = y[0]
    tail = out[-2:] * 3
    out[-1] = x[0]
    return out * 2, tail, out[2] + 1


def blocks(x: Any, y: Any) -> Any:
    return np.block([[np.sqrt(x * x) * 2, x + 1], [x - y, np.sqrt(y * y) / 3]])


def blocks_of_blocks(x: Any, y: Any) -> Any:
    rows = [np.hstack([x * y, np.hstack([x - 1, y / x])]), np.hstack([y + 1, y - x, x * x])]
    return np.vstack(rows)


def edges_of_computed(x: Any, y: Any) -> Any:
    """The boundary conditions of a step."""
    out = np.sqrt(x * x + 1) / 3
    out[0] = out[-1] = 0
    out[:, 0], out[:, -1] = y[:, 1], 2 * y[:, -2]
    return out * 3 + y, out.max(axis=0)


def edges_of_numbers(x: Any, y: Any) -> Any:
    n = x.size
    weights = np.zeros(n)
    weights[0] = 1
    weights[1 : n // 2] = 2
    weights[n // 4 : n // 3] = 3
    return x.ravel() * weights


def inner_rows(x: Any, y: Any) -> Any:
    out = x * 2 - y
    out[:, 3:9] = x[:, 2:8]
    out[5:7] = 1
    return out + y, out.max(axis=1)


def edged_between(x: Any, y: Any) -> Any:
    out = x * 2
    out[0] = 0
    seen = out.copy()
    out[-1] = 0
    return seen, out * 3


def edged_and_rolled(x: Any, y: Any) -> Any:
    out = x * 2
    out[0] = out[-1] = 0
    return out - np.roll(out, 1, axis=0)


def edges_of_edges(x: Any, y: Any) -> Any:
    """Steps that follow one another, each with its edges."""
    for _ in range(3):
        x = np.sqrt(x * x + 1)
        x[0] = x[-1] = 1
        x[4:9] = y[3:8]
    return x * 2


LAUNCHES: dict[Callable[..., Any], int] = {
    ringed: 1, streamed: 1, channels: 1, rows: 1, halves: 1, stacked: 1, joined: 1, partly: 1,
    crossing: 2, crossing_in_place: 2, seen_between: 1, in_place: 1, read_first: 1, read_turned: 2,
    read_after: 1, shifted: 2, rolled: 2, neighbours: 1,
    slopes: 1, edges_first: 1, edges_overwritten: 1, every_second: 2, read_between: 4,
    blocks: 1, blocks_of_blocks: 1, edges_of_computed: 1, edges_of_numbers: 1, inner_rows: 1,
    edged_between: 5, edged_and_rolled: 3, edges_of_edges: 1,
}  # fmt: skip


@pytest.mark.parametrize("function", LAUNCHES, ids=lambda f: f.__name__)
@one_in(16)
def test_parts_are_written_to_their_places(function: Callable[..., Any], emitted: str) -> None:
    """The values are NumPy's, arguments included, in as few launches as the reads between allow."""
    mine, theirs = (X.copy(), Y.copy()), (X.copy(), Y.copy())
    program = fc.lower(function, *mine)
    more = emitted == "cuda" and function in (seen_between, in_place)  # short sums are lanes' there
    assert program.launches == LAUNCHES[function] + more, program.explain(full=True)
    equal([program(*mine), *mine], [function(*theirs), *theirs])


ROWS = (slice(0, 2), slice(2, 4), slice(4, 6), slice(1, 3), slice(1, None, -1), slice(0, 4, 2))
COLUMNS = (slice(0, 8), slice(8, 16), slice(0, 16, 2), slice(7, None, -1))


def program_of(seed: int) -> Callable[..., Any]:
    """A function that reads parts of arrays, and writes what it made of them to parts, later."""
    draw = random.Random(seed)

    def part() -> tuple[slice, slice]:
        return draw.choice(ROWS), draw.choice(COLUMNS)

    steps = [
        (draw.choice("rrrwwwws"), draw.randrange(3), part(), draw.randrange(3), part(),
         draw.randrange(99))
        for _ in range(draw.randrange(4, 12))
    ]  # fmt: skip

    def writes(a: Any, b: Any) -> Any:
        arrays, pending, kept = [a, b, np.zeros_like(a)], [a[:2, 8:] * 2.0], []
        for kind, target, there, source, here, number in steps:
            if kind == "r":
                pending.append(arrays[source][here] - arrays[target][there] * 0.5)
            elif kind == "w":
                arrays[target][there] = pending[number % len(pending)]
            else:
                kept.append(arrays[target].sum(axis=number % 2) if number % 3 else pending[-1] + 1)
        return [arrays[2], *kept]

    return writes


@pytest.mark.parametrize(
    "first", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(5, 400, 20)]]
)
def test_random_writes_to_parts(first: int, emitted: str) -> None:
    """Writes that cross, reads before and after them, of the same arrays and of others."""
    for seed in range(first, first + (5 if first == 0 and emitted == "cuda" else 20)):
        function = program_of(seed)
        a, b = np.random.default_rng(seed).integers(-99, 99, size=(2, 12, 16)).astype(float)
        mine, theirs = (a.copy(), b.copy()), (a.copy(), b.copy())
        program = fc.lower(function, *mine)
        equal([program(*mine), *mine], [function(*theirs), *theirs])
