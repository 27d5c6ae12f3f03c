"""Halves and complex numbers in programs: values, dtypes, views of parts, and one kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc

pytestmark = pytest.mark.usefixtures("both_ways")

TYPES = ["float16", "complex64", "complex128"]
# How far functions may be off, relative to the largest value: a few units of the last place.
NEAR = {"float16": 2e-3, "complex64": 1e-6, "complex128": 1e-14}


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=shape)
    return (drawn + 1j * rng.normal(size=shape) if dtype[0] == "c" else drawn).astype(dtype)


def agree(function: Callable[..., Any], *arrays: Any, near: float) -> Any:
    """What ``function`` gives fused, recorded and replayed, which is what it gives plainly."""
    fused = fc.fused(function)
    for _ in range(3):
        mine, theirs = [a.copy() for a in arrays], [a.copy() for a in arrays]
        got, want = fused(*mine), function(*theirs)
        pairs = zip(got if type(got) is tuple else (got,), want if type(want) is tuple else (want,),
                    strict=True)  # fmt: skip
        for g, w in [*pairs, *zip(mine, theirs, strict=True)]:
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            np.testing.assert_allclose(g, w, rtol=near, atol=near * max(1, np.abs(w).max()))
    return fused


@pytest.mark.parametrize("dtype", TYPES)
def test_a_chain_is_one_kernel(dtype: str) -> None:
    """Arithmetic, functions and a selection, with numbers and with another type."""

    def chain(x: Any, y: Any) -> Any:
        z = np.exp(x * 0.5) + y / 3 - x
        return np.where(np.abs(z) > 1, z, -z) * np.float32(2)

    fused = agree(chain, values(dtype, (40, 7)), values(dtype, (7,), 1), near=NEAR[dtype])
    assert "in 1 launch" in fused.explain()


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(dtype: str) -> None:
    """Sums, means, deviations and tests, over rows, columns and everything."""

    def reduced(x: Any) -> Any:
        rest = (x - x.mean(axis=1, keepdims=True)).sum(axis=0)
        return x.sum(), x.mean(axis=0), x.var(axis=1), x.std(), x.any(axis=1), rest

    agree(reduced, values(dtype, (30, 600)), near=20 * NEAR[dtype])


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_deviations_of_complex_numbers_in_a_real_type() -> None:
    """NumPy drops imaginary parts of the mean, not of the distances from it."""

    def deviations(x: Any) -> Any:
        return x.std(axis=0, dtype=np.float64), x.var(dtype=np.float64)

    agree(deviations, values("complex128", (30, 6)), near=NEAR["complex128"])


def test_a_sum_of_halves_is_rounded_once() -> None:
    """4096 ones and then a half each: in halves, nothing more would be added."""
    x = np.ones(6000, np.float16)
    assert fc.fused(lambda a: a.sum())(x) == np.float16(6000)
    assert fc.fused(lambda a: a.mean())(np.full(70000, 3, np.float16)) == 3
    assert fc.fused(lambda a: a.var())(np.tile([1, 3], 35000).astype(np.float16)) == 1


def test_extremes_of_halves() -> None:
    """Maxima, places and products; infinities and NaN as in NumPy."""
    x = values("float16", (20, 90))
    x[3, 5], x[4, 1], x[5, 2] = np.nan, np.inf, -np.inf
    agree(
        lambda a: (a.max(axis=1), a.min(axis=0), np.argmax(a, axis=1), np.argmin(a, axis=0)),
        x, near=0,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_parts_are_views(dtype: str) -> None:
    """Writing to a part writes to the number, and a part follows it."""

    def program(w: Any) -> Any:
        w.imag[:, 1:] = 0
        w.real[w.real < 0] = 1
        part = w.real
        w *= 2
        w.real[0] += w.imag[0]
        return part + 1, w.conj(), np.angle(w), np.real(w) * np.imag(w), w.T.imag[::2]

    fused = agree(program, values(dtype, (6, 8)), near=NEAR[dtype])
    assert fused.explain().startswith("program: replayed")


def test_julia_is_one_kernel() -> None:
    """Twenty steps of z² + c, in one pass."""

    def julia(z: Any, c: Any) -> Any:
        for _ in range(20):
            z = z * z + c
        return np.abs(z)

    z = np.linspace(-0.6, 0.6, 40)[:, None] + 1j * np.linspace(-0.6, 0.6, 30)
    fused = agree(lambda z: julia(z, -0.1 + 0.2j), z, near=1e-13)
    assert "in 1 launch" in fused.explain()


def test_products_of_parts_are_rounded_apart() -> None:
    """No product is fused with a sum: the square of (1 + 2^-30) (1 + i) has no real part."""
    x = np.full(64, (1 + 2.0**-30) * (1 + 1j))
    got = fc.fused(lambda a: a * a)(x)
    assert not got.real.any()
    assert (got.imag == 2 * ((1 + 2.0**-30) * (1 + 2.0**-30))).all()


def test_casts_that_lose_a_part_warn() -> None:
    """As NumPy's do; to bool nothing is lost."""
    x = values("complex128", (5,))
    with pytest.warns(np.exceptions.ComplexWarning):
        got = fc.fused(lambda a: a.astype(float) + 1)(x)
    np.testing.assert_array_equal(got, x.real + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fc.fused(lambda a: a.astype(bool))(x).all()


def test_doubles_become_halves_in_one_rounding() -> None:
    """Just above the middle between two halves; by way of a float it would be rounded down."""
    x = np.array([1 + 2.0**-11 + 2.0**-40, 65520 - 2.0**-20, 2.0**-25 + 2.0**-60, 1e300, np.nan])
    got = fc.fused(lambda a: (a * 1).astype(np.float16))(x)
    want = np.array([1 + 2.0**-10, 65504, 2.0**-24, np.inf, np.nan], np.float16)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", ["c8", "c16"])
def test_parts_of_what_is_pending_are_read_in_the_same_kernel(kind: str) -> None:
    """Nothing is computed for them first, in a function, and written parts are seen."""

    def steps(c: Any) -> Any:
        z = c
        for _ in range(3):
            z = np.where(z.real * z.real + z.imag * z.imag <= 4, z * z + c, z)
        return z, z.real + z.imag

    def written(c: Any) -> Any:
        z = c * c
        z.real = z.imag
        return z + 1, z.real * 2

    c = (np.linspace(-2, 1, 40) + 1j * np.linspace(-1, 1, 40)).astype(kind)
    executable = fc.lower(steps, c)
    assert executable.launches == 1, executable.explain()
    for function in (steps, written):
        agree(function, c, near=1e-15 if kind == "c16" else 1e-6)


@pytest.mark.parametrize("op", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("n", [1, 3, 16, 40])
def test_extremes_of_zeros_are_the_first(op: np.ufunc, n: int) -> None:
    """Of two halves that are equal NumPy takes the first, whatever their signs."""
    zeros, gone = np.zeros(n, np.float16), np.full(n, np.nan, np.float16)
    call = fc.fused(op)
    for a, b in ((zeros, -zeros), (-zeros, zeros), (gone, zeros), (zeros, gone)):
        assert call(a, b).tobytes() == op(a, b).tobytes()
