"""Loops over every second, third or fourth of narrow elements, and backwards: steps in the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in

DTYPES = ("u1", "i2", "f4", "f8", "c16", "f2")
STEPS = (2, 3, 4, 5, -1, -2)


def shifted(x: Any, y: Any) -> Any:
    return np.roll(x, 3, axis=-1) + y


def framed(x: Any, y: Any) -> Any:
    return np.pad(x, 2)[2:-2, 1:-3] * y


def joined(x: Any, y: Any) -> Any:
    return np.concatenate([x, y[:, ::-1]], axis=1) - np.concatenate([y, x], axis=1)


def spread(x: Any, y: Any) -> Any:
    out = np.zeros((x.shape[0], 3 * x.shape[1]), x.dtype)
    out[:, 1::3] = x + y
    return out


def of_rows(x: Any, y: Any) -> Any:
    return (x * y[:1]).sum(axis=1), (x + y).max(axis=0) if x.dtype.kind != "c" else x.sum(0)


PROGRAMS = (shifted, framed, joined, spread, of_rows)


def arrays(dtype: str, step: int, extent: int = 37) -> tuple[Any, Any]:
    rng = np.random.default_rng(abs(step))
    memory = rng.integers(0, 50, (2, 7, extent * abs(step))).astype(dtype)
    return tuple(memory[:, :, ::step])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(32)
def test_values(program: Callable[..., Any], dtype: str) -> None:
    """Of small whole numbers, which sums of any order give alike."""
    for step in STEPS:
        x, y = arrays(dtype, step)
        found, wanted = fc.lower(program, x, y)(x, y), program(x, y)
        for a, b in zip(
            *((v if isinstance(v, tuple) else (v,)) for v in (found, wanted)), strict=True
        ):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


@pytest.mark.parametrize(
    ("dtype", "step", "text"),
    [
        ("u1", 1, "in0[k]"),
        ("u1", 3, "in0[3 * k]"),
        ("i2", -1, "in0[-k]"),
        ("u1", 5, "fc_pick_1(near0, in0, s0_n"),
        ("f4", 3, "k * s0_n"),
    ],
)
def test_what_is_in_the_text(dtype: str, step: int, text: str) -> None:
    x, _ = arrays(dtype, step)
    assert text in fc.lower(lambda a: a + a, x).emit("c")[0]


def test_few_texts_serve_all_steps() -> None:
    """A step is one of five numbers or an argument; of doubles it is 1 or an argument."""
    for dtype, count in (("u1", 5), ("f4", 3), ("f8", 2)):
        made = (fc.lower(lambda a: a + a, arrays(dtype, s)[0]).emit("c")[0] for s in range(1, 30))
        assert len({text.partition("void")[2] for text in made}) == count


@pytest.mark.parametrize("step", [3, -1])
def test_runs_beside_a_frame_stay_in_the_zeros(step: int) -> None:
    """Of which there are 4,096 bytes: what lies outside is read from there, at the same step."""
    x = np.full((2, 20_000 * abs(step)), 7, "u1")[:, ::step]
    program = fc.lower(lambda a: np.pad(a, ((0, 1), (0, 0)))[1:] + a, x)
    np.testing.assert_array_equal(program(x), [[14] * 20_000, [7] * 20_000])
    (text,) = program.emit("c")
    assert "fc_zeros" in text
    assert (") / 3);" in text) == (step == 3)  # reading on would find other constants


@pytest.mark.parametrize("step", [1, 2])
def test_indices_of_what_lies_apart(step: int) -> None:
    """Where elements are side by side, how far they are apart is in the text."""
    rng = np.random.default_rng(4)
    table, places = rng.normal(size=100 * step)[::step], rng.integers(-100, 100, 5000)
    out = np.zeros(100 * step)[::step]

    def program(t: Any, i: Any, out: Any) -> Any:
        np.add.at(out, i, t[i])
        return t[i] * 2

    expected = out.copy()
    np.add.at(expected, places, table[places])
    lowered = fc.lower(program, table, places, out)
    texts = [text for text in lowered.emit("c") if "limit0" in text]
    assert texts
    assert all(("_0 * (int64_t)sizeof(double)" in text) == (step == 1) for text in texts)
    function = fc.fused(program, strict=True)
    np.testing.assert_array_equal(function(table, places, out), table[places] * 2)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("count", [255, 256])
def test_bytes_that_are_looked_up(count: int) -> None:
    """Where there is an element for each no index is tested, and gcc makes no vectors of it."""
    image = np.random.default_rng(8).integers(0, 256, (70, 80), dtype=np.uint8)

    def program(t: Any, i: Any) -> Any:
        return t[i], np.bincount(i.ravel(), minlength=256)

    table = np.arange(count, dtype=np.uint8)[::-1].copy()
    lowered = fc.lower(program, table, image)
    text = "".join(lowered.emit("c"))
    assert ("unroll 8" in text) == (count == 256)
    assert ("const bool ok" in text) == (count == 255)
    function = fc.fused(program, strict=True)
    if count == 255:
        with pytest.raises(IndexError):
            function(table, image)
    image = np.minimum(image, count - 1)
    for got, want in zip(function(table, image), program(table, image), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["as many", "joined", "a row for all"])
def test_doubles_that_are_read_backwards(kind: str) -> None:
    """They have a step in the text, unless few are read again and again; others stay vectors."""
    x = np.arange(40 * 500.0).reshape(40, 500)
    y = x[:1, ::-1] if kind == "a row for all" else x[:, ::-1]

    def f(x: Any, y: Any) -> Any:
        return np.concatenate([x, y, x * 2], axis=1) if kind == "joined" else x * 2 + y

    lowered = fc.lower(f, x, y, device="cpu")
    np.testing.assert_array_equal(lowered(x, y), f(x, y))
    (step,) = lowered.assembly.steps
    steps = step.variant.steps
    assert (steps is not None and {-1, 1} <= {*steps}) is (kind != "a row for all")
