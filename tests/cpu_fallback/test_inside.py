"""Loops of which the last axes are short: those are walked inside a run along the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in

RNG = np.random.default_rng(4)


def outer(x: Any, y: Any) -> Any:
    return x[:, None] * y[None, :] + 1


def products(x: Any, y: Any) -> Any:
    """Of matrices of three by three."""
    a, b = x.reshape(-1, 3, 3), x[::-1].reshape(-1, 3, 3)
    return (a[:, :, :, None] * b[:, None, :, :]).sum(axis=2) + y[0]


def channels_last(x: Any, y: Any) -> Any:
    return np.ascontiguousarray(np.transpose(x.reshape(-1, 3, 60) * y[0], (0, 2, 1)))


def picked(x: Any, y: Any) -> Any:
    """By an index, as counted along the short axis and along the long one."""
    places = np.arange(x.size)[:, None] // 2 + np.arange(3)
    return y[places % 3] + x[:, None] * places


def masked(x: Any, y: Any) -> Any:
    colours = x.reshape(-1, 20, 3)[::2, ::-1]
    return np.where((colours.sum(axis=2) > y[0])[:, :, None], colours, y)


def framed(x: Any, y: Any) -> Any:
    """Tests of indices end runs: along a short axis they differ."""
    return np.pad(x.reshape(-1, 3), ((1, 2), (1, 0)))[:, :3] + y


PROGRAMS = (outer, products, channels_last, picked, masked)


def arguments(dtype: str, count: int = 8) -> tuple[Any, Any]:
    x = RNG.integers(0, 9, 540 * count).astype(dtype)
    return x, RNG.integers(1, 9, 3).astype(dtype)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(16)
def test_values(program: Callable[..., Any], dtype: str) -> None:
    """Of small whole numbers, which sums of any order give alike."""
    if dtype == "c16" and program is masked:
        pytest.skip("complex numbers have no order")
    for count in (1, 8, 40):
        x, y = arguments(dtype, count)
        np.testing.assert_array_equal(fc.lower(program, x, y)(x, y), program(x, y))


def by_colour(x: Any, y: Any) -> Any:
    """One number for each colour, or for each pixel; written is all of pixels, or a part."""
    pixels = x.reshape(-1, 18, y.size)
    turned = np.zeros((len(pixels), y.size, 18), x.dtype)
    turned[...] = np.transpose(pixels ^ y, (0, 2, 1))
    return pixels ^ y, pixels[..., :1] + y, turned, pixels[..., 1:] - pixels[..., :1]


@pytest.mark.parametrize("colours", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["u1", "i2"])
def test_groups_of_narrow_elements(dtype: str, colours: int) -> None:
    """They are written together, if they lie so and are few."""
    for count in (1, 20, 300):
        x = RNG.integers(0, 99, 18 * colours * count).astype(dtype)
        y = RNG.integers(1, 9, colours).astype(dtype)
        got, want = fc.lower(by_colour, x, y)(x, y), by_colour(x, y)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_part_of_pixels_is_no_group() -> None:
    """What lies between the colours that are written stays as it is."""

    def first(x: Any, y: Any) -> None:
        x[..., :2] ^= y

    for count in (3, 20_000):
        mine, theirs = (np.arange(4 * count, dtype=np.uint8).reshape(count, 4) for _ in range(2))
        y = np.uint8([3, 5])
        fc.lower(first, mine, y)(mine, y)
        first(theirs, y)
        np.testing.assert_array_equal(mine, theirs)


def test_threads_share_the_long_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed inside a run is no work of its own."""
    monkeypatch.setattr("fusecuda.fusion.cost.GRAIN_ELEMENTS", 64)
    x, y = arguments("f8", 11)  # which nothing else is planned for
    program = fc.lower(outer, x, y)
    (launch,) = program.assembly.steps
    assert launch.work == x.size
    assert launch.grain <= 64 // 3
    np.testing.assert_array_equal(program(x, y), outer(x, y))


@pytest.mark.parametrize("extent", [2, 7, 8, 9])
def test_which_axis_is_long(extent: int) -> None:
    """Rows of eight doubles are long enough for runs of their own, of eight bytes not yet."""
    x, y = arguments("f8", 80)
    (text,) = fc.lower(outer, x, np.resize(y, extent)).emit("c")
    assert ("FC_NEAR" in text) == (extent < 8)
    assert ("(char *)out2 + k * s2_n0" if extent < 8 else "to2[k]") in text  # one text for all
    x, y = arguments("u1", 80)
    (text,) = fc.lower(outer, x, np.resize(y, extent)).emit("c")
    assert ("FC_NEAR" in text) == (extent < 9)
    (text,) = fc.lower(outer, x[:99], np.resize(y, extent)).emit("c")
    assert "FC_NEAR" not in text  # so few are not worth a text of their own


def test_columns_that_are_few_are_no_reason_for_a_tree() -> None:
    """A sum of three along a middle axis is two additions, whatever the few behind it are."""
    x, y = arguments("f8", 80)
    program = fc.lower(products, x, y)
    assert program.launches == 1
    assert "fc_push" not in program.emit("c")[0]


def test_tests_end_runs() -> None:
    x, y = arguments("f8")
    np.testing.assert_array_equal(fc.lower(framed, x, y)(x, y), framed(x, y))


def toned(x: Any, gain: Any) -> Any:
    """Of colours of bytes, or of halves: one after the other, backwards, and every second pixel."""
    grey = x[..., 0] // 3 + x[..., 1] // 5
    return x[:, ::-1] * gain + grey[..., None], x[::2, 1::2, ::-1] + x[::2, 1::2]


def brightened(x: Any, gain: Any) -> Any:
    """Written where it is read."""
    x[..., :2] = x[..., 1:2] * gain[:2]
    x[:, ::-3] += x[:, ::-3] // 2
    return x


@pytest.mark.parametrize("colours", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "f2"])
@pytest.mark.parametrize("program", [toned, brightened], ids=lambda p: p.__name__)
@one_in(18)
def test_narrow_elements(program: Callable[..., Any], dtype: str, colours: int) -> None:
    """They are put side by side for a run, at any step, and have NumPy's bits."""
    x = RNG.integers(0, 9, (70, 301, colours)).astype(dtype)
    gain = RNG.integers(1, 4, colours).astype(dtype)
    expected, given = program(x.copy(), gain), x.copy()
    got = fc.fused(program)(given, gain)
    np.testing.assert_equal(got, expected)


def flags(x: Any, y: Any) -> Any:
    return (x.reshape(-1, 3) > y) ^ (x.reshape(-1, 3)[:, ::-1] > 4)


def test_narrow_flags() -> None:
    x, y = arguments("u1", 80)
    program = fc.lower(flags, x, y)
    np.testing.assert_array_equal(program(x, y), flags(x, y))


def test_what_is_near() -> None:
    """Elements of a byte or two are moved; wider ones make vectors where they are."""
    for dtype, moved in (("u1", True), ("f2", True), ("f4", False)):
        x, y = arguments(dtype, 80)
        (text,) = fc.lower(outer, x, y).emit("c")
        assert ("fc_put_" in text and "fc_pick_" in text) == moved
        assert ("near2[k] =" in text) == moved
