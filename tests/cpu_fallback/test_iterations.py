"""Iterations: steps that are alike are a loop, and each element is what it is step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.strategies import same_bits

RNG = np.random.default_rng(23)
FLAGS = [np.bool_(k % 3 == 0) for k in range(40)]
SHAPES = ((0,), (1,), (7,), (512,), (513,), (1700,), (3, 0), (40, 9), (3, 700))


def escaping(x: Any, y: Any) -> Any:
    """Counts beside complex numbers, which begin alike."""
    c = x + 1j * y
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for _ in range(16):
        inside = z.real * z.real + z.imag * z.imag <= 4
        z, count = np.where(inside, z * z + c, z), count + inside
    return count


def masked(x: Any, y: Any) -> Any:
    """Truths that are read, carried and left."""
    inside, far = x > y, y < 0
    z, w = x, y
    for _ in range(14):
        inside = (z * z + w * w < 4) & inside | far
        z, w = np.where(inside, z * z - w * w + x, z), np.where(inside, 2 * z * w + y, w)
    return z, inside, w


def falling(x: Any, y: Any) -> Any:
    n = abs((x * 99).astype(np.int64))
    steps = np.zeros(n.shape, np.int64)
    for _ in range(19):
        steps = np.where(n > 1, steps + 1, steps)
        n = np.where((n & 1) == 0, n >> 1, 3 * n + 1)
    return steps, n


def halving(x: Any, y: Any) -> Any:
    """Of floats, two of which change places."""
    a, b = x.astype(np.float32), y.astype(np.float32)
    for _ in range(60):
        a, b = (a + b) / 2, a * np.float32(0.25) - b
    return a, b


def summed(x: Any, y: Any) -> Any:
    """What comes of the steps is reduced, with a row's value in each of them."""
    mean = np.max(x * y, axis=-1, keepdims=True, initial=1)
    z = x
    for _ in range(40):
        z = (z + y / mean) / (1 + z * z)
    return np.sum(np.trunc(z * 64), axis=-1), np.max(z, axis=-1, initial=0)


def in_place(x: Any, y: Any) -> Any:
    for _ in range(40):
        x[...] = (x * 0.5 + y) / (1 + x * x)
    return y - x


def apart(x: Any, y: Any) -> Any:
    """Elements at any steps and short runs, bytes among them."""
    z, few = x[..., ::-2], (y[..., ::-2] * 9).astype(np.int8)
    for _ in range(40):
        z = (z + few) / (2 + abs(z))
    return z


def two_steps_back(x: Any, y: Any) -> Any:
    """Each step takes what the last two have left."""
    for _ in range(40):
        x, y = y, (x - y) / (1 + y * y)
    return x, y


def numbered(x: Any, y: Any) -> Any:
    """Each step has numbers of its own, which others have, too."""
    older, newer = x, y
    for i in range(2, 40):
        older, newer = newer, ((2 * i - 1) * x * newer - (i - 1) * older) * (1 / i)
    return newer, newer // 3


def chosen(x: Any, y: Any) -> Any:
    """Each step has a truth of its own: it is written out."""
    for i in range(40):
        x = np.where(FLAGS[i], x * 0.5 + y, y - x)
    return x


def all_kept(x: Any, y: Any) -> Any:
    """Each step is a result: they are written out."""
    found = []
    for _ in range(40):
        x = (x * 0.5 + y) / (1 + x * x)
        found.append(x)
    return tuple(found)


REPEATED = (escaping, masked, falling, halving, summed, in_place, apart, two_steps_back, numbered)


@pytest.mark.parametrize("program", (*REPEATED, chosen, all_kept), ids=lambda p: p.__name__)
def test_results(program: Callable[..., Any]) -> None:
    for shape in SHAPES:
        x, y = RNG.normal(size=(2, *shape))
        ours = x.copy()
        with np.errstate(all="ignore"):
            wanted = program(x, y)
            got = fc.fused(program)(ours, y)
        pairs = zip(_all(got), _all(wanted), strict=True)
        assert all(same_bits(np.asarray(one), np.asarray(want)) for one, want in pairs), shape
        assert same_bits(ours, x), shape


def _all(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("program", (*REPEATED, chosen, all_kept), ids=lambda p: p.__name__)
def test_text(program: Callable[..., Any]) -> None:
    """It is as long as a step, however many there are."""
    text = "".join(fc.lower(program, *RNG.normal(size=(2, 3, 700))).emit("c"))
    assert ("for (int step = 0; step < " in text) == (program in REPEATED)
    if program in REPEATED:
        assert len(text.splitlines()) < 240
        assert "fc_min(FC_CHUNK, " in text  # elements that wait


def test_least_is_left() -> None:
    """Squares of what is left are no values of their own to the next step."""
    (text,) = fc.lower(masked, *RNG.normal(size=(2, 700))).emit("c")
    step = text.split("++step)")[1].split("}")[0]
    assert step.count("= b") == 4  # two truths, two numbers


STEPS: tuple[Callable[[Any, Any, int], Any], ...] = (
    lambda a, b, i: a + b,
    lambda a, b, i: a - b,
    lambda a, b, i: np.maximum(a, b),
    lambda a, b, i: np.where(a > b, a, b - a),
    lambda a, b, i: a * 3 - b,
    lambda a, b, i: a * (i + 3) - b,
    lambda a, b, i: (a > i - 9) * b,
)


@pytest.mark.parametrize("seed", range(24))
def test_drawn_steps(seed: int) -> None:
    """Steps that are drawn: of what was left, what was given, and what they have made so far."""
    rng = np.random.default_rng(seed)
    given, carried, steps = 1 + seed % 3, 1 + seed % 4, int(rng.integers(6, 30))
    plan = [
        (int(rng.integers(0, len(STEPS))), *map(int, rng.integers(0, given + carried + k, 2)))
        for k in range(int(rng.integers(carried, 14)))
    ]
    left = [given + carried + int(k) for k in rng.integers(0, len(plan), carried)]
    kind = ("f8", "f4", "i8")[seed % 3]

    def program(*values: Any) -> Any:
        own, state = list(values[:given]), list(values[given:])
        for step in range(steps):
            known = [*own, *state]
            for op, i, j in plan:
                known.append(STEPS[op](known[i], known[j], step))
            state = [known[i] for i in left]
        return tuple(state)

    for shape in ((5,), (1200,), (3, 517)):
        values = [(rng.normal(size=shape) * 9).astype(kind) for _ in range(given + carried)]
        with np.errstate(all="ignore"):
            wanted = program(*values)
            got = fc.fused(program)(*values)
        assert all(map(same_bits, got, wanted)), shape
