"""Sliding windows are views, and a filter of a few taps is one sum of shifted reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal, lazy, outcome

windows = np.lib.stride_tricks.sliding_window_view
as_strided = np.lib.stride_tricks.as_strided
RNG = np.random.default_rng(5)


def read_after_a_write(x: Any) -> Any:
    w = windows(x, 3)
    x[2] = 50
    first = w.sum(1)
    x += 1
    return first, w.max(1), w[1] * 2


def written_through(x: Any) -> Any:
    w = windows(x, 3, writeable=True)
    w[0, 1] = 10
    w[2] = [7, 8, 9]
    return w.sum(1), x * 1


def written_whole(x: Any) -> Any:
    """Of what is written to one place the last stays."""
    w = windows(x, 3, writeable=True)
    w[:] = np.arange(21.0).reshape(7, 3)
    w += 1
    return w * 1, x * 2


def not_written(x: Any) -> Any:
    w = windows(x, 3)
    return str(outcome(w.__setitem__, 0, 1)), w.flags.writeable, w[:, 0].flags.writeable


def windows_of_views(x: Any) -> Any:
    w = windows(x[::-2], 2)
    x[4] = -1
    return w, windows(w, (2, 2)), windows(x.reshape(3, 3).T, (2, 2)).sum((2, 3))


def strided(x: Any) -> Any:
    w = as_strided(x, (4, 3), (2 * x.strides[0], x.strides[0]))
    x[5] = 9
    return w.sum(1), w.mean(0), w.max()


PROGRAMS = (
    read_after_a_write, written_through, written_whole, not_written, windows_of_views, strided,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_windows_share_memory(program: Callable[[Any], Any]) -> None:
    """On lazy arrays and in fused functions, whatever is written to either."""
    x = np.arange(9.0)
    want = program(x)
    if program is not strided:  # NumPy's function of that name takes memory
        given = lazy(np.arange(9.0))
        equal(program(given), want)
        equal(given, x)
    fused = fc.fused(program, strict=True)
    for _ in range(3):
        given = np.arange(9.0)
        equal(fused(given), want)
        equal(given, x)


def test_strided_views_are_lowered() -> None:
    """Though the function that makes them takes memory outside of fused code."""
    x = RNG.normal(size=6000)
    executable = fc.lower(lambda x: as_strided(x, (len(x) - 4, 5), x.strides * 2).mean(1) * 2, x)
    assert executable.launches == 1
    np.testing.assert_allclose(executable(x), windows(x, 5).mean(1) * 2, rtol=1e-12)


# --- filters


def exact(x: Any, taps: Any, mode: str) -> list[float]:
    """Each sum of products, rounded once."""
    full = [
        sum((Fraction(x[i - j]) * Fraction(t) for j, t in enumerate(taps) if 0 <= i - j < len(x)),
            Fraction(0))
        for i in range(len(x) + len(taps) - 1)
    ]  # fmt: skip
    cut = {"full": 0, "valid": len(taps) - 1, "same": (len(taps) - 1) // 2}[mode]
    end = {"full": len(full), "valid": len(x), "same": cut + len(x)}[mode]
    return [float(s) for s in full[cut:end]]


@pytest.mark.parametrize("count", [1, 2, 7, 12, 32])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_a_filter_is_near_the_exact_sums(mode: Any, count: int) -> None:
    """As near as a sum in the order of the tree; one launch, with what is around it."""
    x, taps = RNG.normal(size=5000), RNG.normal(size=count)
    executable = fc.lower(lambda x, t: 2 * np.convolve(x, t, mode), x, taps)
    assert executable.launches == 1
    got, want = executable(x, taps) / 2, exact(x, taps, mode)
    bound = 12 * np.finfo(float).eps * np.abs(x).max() * np.abs(taps).sum()
    np.testing.assert_allclose(got, want, rtol=0, atol=bound)
    turned = fc.fused(np.correlate, strict=True)(x, taps[::-1], mode)
    assert np.array_equal(got, turned)  # to the bit


def test_the_order_is_that_of_windows() -> None:
    """So a filter may be written either way."""
    x, taps = RNG.normal(size=5000), RNG.normal(size=20)
    filtered = fc.fused(np.convolve, strict=True)(x, taps, "valid")
    summed = fc.fused(lambda x, t: (windows(x, 20) * t[::-1]).sum(1), strict=True)(x, taps)
    assert np.array_equal(filtered, summed)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "u8", "?"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_integers_are_exact(mode: Any, dtype: str) -> None:
    """They wrap around as NumPy's do; of bools it is told whether any product is true."""
    x, taps = (RNG.integers(0, 250, n).astype(dtype) for n in (6000, 9))
    for function in (np.convolve, np.correlate):
        equal(fc.fused(function, strict=True)(x, taps, mode), function(x, taps, mode))
        equal(fc.fused(function, strict=True)(taps, x, mode), function(taps, x, mode))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_numbers_that_are_not_finite(mode: Any) -> None:
    """A factor that meets nothing, at an edge, makes nothing of it."""
    x, taps = np.zeros(5000), np.array([1.0, np.inf, 2.0, -0.0, np.nan, 3.0])
    x[[0, 9, 400, -1]] = 1, np.inf, np.nan, 2
    for function in (np.convolve, np.correlate):
        for factors in (taps, np.array([1.0, np.inf]), np.array([np.inf, 1.0]), -taps[::3]):
            with np.errstate(all="ignore"):
                want = function(x, factors, mode)
            equal(fc.fused(function, strict=True)(x, factors, mode), want)


def test_what_is_computed_is_filtered() -> None:
    """Elements and factors may come from kernels; many factors are NumPy's."""
    x, taps = RNG.normal(size=5000), np.arange(1.0, 6.0)
    executable = fc.lower(lambda x, t: np.convolve(x * 2, t / t.sum(), "same") + 1, x, taps)
    np.testing.assert_allclose(
        executable(x, taps), np.convolve(x * 2, taps / 15, "same") + 1, rtol=1e-12, atol=1e-13
    )
    with pytest.raises(fc.NotFusedError, match="convolve"):
        fc.lower(np.convolve, x, x[:40])
    assert math.isclose(fc.fused(np.convolve)(x, x[:40])[50], np.convolve(x, x[:40])[50])
