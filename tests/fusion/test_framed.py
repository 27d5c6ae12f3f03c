"""What is written to a part of an array of one value: a frame, in the kernel that reads it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

X, Y = np.random.default_rng(4).integers(-9, 10, size=(2, 20, 72)).astype(float)


def differences(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[1:-1] = x[2:] - x[:-2]
    return out


def stencil(x: Any, y: Any) -> Any:
    out = np.zeros(x.shape)
    out[1:-1, 1:-1] = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1]
    return x + 0.5 * out, y * out


def dear(x: Any, y: Any) -> Any:
    out = np.full(x.shape, 3.0)
    out[2:, :-1] = np.sqrt(x[2:, 1:] ** 2 + y[2:, 1:] ** 2) / (1 + x[:-2, 1:] ** 2)
    return out * y


def a_column(x: Any, y: Any) -> Any:
    out = np.ones(x.shape, np.float32)
    out[:, 3] = x[:, 0] * 2
    return out


def turned(x: Any, y: Any) -> Any:
    out = np.zeros((x.shape[1], x.shape[0]))
    out[1:] = x.T[1:] + y.T[:-1]
    out.T[3, 4] = 9
    return out


def of_a_number(x: Any, y: Any) -> Any:
    out = np.zeros_like(x) + x.sum()
    out[4:9, 4:9] = y[4:9, 4:9]
    return out


def whole_by_parts(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[1:-1], out[0], out[-1] = x[1:-1] * 2, y[0], y[-1]
    return out


def by_steps(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[::2] = x[::2] * 3
    return out + y


def backwards(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[-2:0:-1] = x[1:-1] * 3
    return out + y


def in_a_loop(x: Any, y: Any) -> Any:
    for _ in range(3):
        new = np.zeros_like(x)
        new[1:-1] = 0.25 * (x[2:] + x[:-2]) + 0.5 * x[1:-1]
        x = new
    return x


def picked(x: Any, y: Any) -> Any:
    out = np.zeros_like(x)
    out[1:3] = x[np.array([5, 2]) + 0 * x[:2, 0].astype(int)] * y[:2]
    return out


def powers(x: Any, y: Any) -> Any:
    out = np.zeros(x.shape, int)
    out[1:] = np.abs(x[1:]).astype(int) ** np.abs(y[1:]).astype(int) % 97
    return out


LAUNCHES: dict[Callable[..., Any], int] = {
    differences: 1, stencil: 1, dear: 2, a_column: 1, turned: 2, of_a_number: 1,
    whole_by_parts: 1, by_steps: 3, backwards: 3, in_a_loop: 2, picked: 2, powers: 2,
}  # fmt: skip


@pytest.mark.parametrize("function", LAUNCHES, ids=lambda f: f.__name__)
@one_in(10)
def test_frames(function: Callable[..., Any], emitted: str) -> None:
    """The values are NumPy's, in the kernel that reads them where they are cheap to compute."""
    mine, theirs = (X.copy(), Y.copy()), (X.copy(), Y.copy())
    program = fc.lower(function, *mine)
    more = emitted == "cuda" and function is whole_by_parts  # edges are launches of their own there
    assert program.launches == LAUNCHES[function] + more, program.explain(full=True)
    equal([program(*mine), *mine], [function(*theirs), *theirs])


def program_of(seed: int) -> Callable[..., Any]:
    """A function that frames parts of arrays, and parts of what it has framed."""
    draw = random.Random(seed)

    def box(n: int) -> slice:
        first = draw.randrange(n - 2)
        return slice(first, draw.randrange(first + 1, n + 1))

    steps = [
        (draw.choice("zzfo"), draw.choice("+-*m"), box(20), box(72), draw.randrange(99),
         draw.randrange(99), draw.randrange(4), draw.choice("lwl"))
        for _ in range(draw.randrange(2, 7))
    ]  # fmt: skip

    def frames(x: Any, y: Any) -> Any:
        arrays = [x, y]
        for made, op, rows, columns, i, j, fill, then in steps:
            a, b = arrays[i % len(arrays)], arrays[j % len(arrays)]
            out = np.zeros_like(x) if made == "z" else np.full(x.shape, float(fill))
            u, v = a[rows, columns], b[rows, columns]
            if made == "o":
                u, v = u[::-1], b[: u.shape[0], : u.shape[1]]
            value = {"+": u + v, "-": u - 2 * v, "*": u * 0.5 + 1, "m": np.maximum(u, v)}[op]
            out[rows, columns] = value
            if then == "w":
                out[i % 20] = a[j % 20]
            arrays.append(out)
        return arrays[2:][-3:]

    return frames


@pytest.mark.parametrize(
    "first", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(5, 200, 20)]]
)
def test_random_frames(first: int, emitted: str) -> None:
    """Frames around frames, read at other places, written to once more."""
    for seed in range(first, first + (5 if first == 0 and emitted == "cuda" else 20)):
        function = program_of(seed)
        program = fc.lower(function, X, Y)
        equal(program(X, Y), function(X, Y))
