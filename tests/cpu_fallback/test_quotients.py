"""Quotients by a divisor that elements share are divisions to the bit, whatever is divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.strategies import same_bits

KINDS = [np.float64, np.float32]
SPECIAL = [0.0, -0.0, 1.0, -3.5, 5e-324, 1e-45, -1e-310, 3e38, -1e308, np.inf, -np.inf, np.nan]


def quotients(x: Any, by: Any) -> Any:
    """The elements by one number."""
    return x / by


def shares(x: Any) -> Any:
    """Each row by its first element, which all others share."""
    total = np.max(x[:, :1], axis=1, keepdims=True)
    return x / total, np.max(x / total, axis=1)


def _magnitudes(kind: Any, rng: np.random.Generator, n: int) -> Any:
    """Numbers of all magnitudes, subnormal ones, neighbours of whole ones."""
    bits: Any = np.uint64 if kind is np.float64 else np.uint32
    anything = rng.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(kind)
    near = np.nextafter(rng.integers(1, 100, n).astype(kind), kind(rng.choice([0, 1000])))
    tiny = rng.integers(1, 4000, n).astype(bits).view(kind)
    everyday = rng.normal(size=n).astype(kind)
    return np.concatenate([anything, near, tiny, everyday, everyday * kind(1e-30)])


def _is_multiplied(exe: fc.Executable) -> bool:
    return any("fc_divide_by_" in kernel.source for kernel in exe.kernels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_bits(kind: Any) -> None:
    """Everyday elements alone, and all magnitudes among them, by numbers of all magnitudes."""
    rng = np.random.default_rng(11)
    x = _magnitudes(kind, rng, 3000)
    everyday = (rng.random(4000) * 100).astype(kind)
    exe = fc.lower(quotients, x, kind(3))
    assert _is_multiplied(exe)
    other = fc.lower(quotients, everyday, kind(3))
    divisors = _magnitudes(kind, rng, 60)
    divisors = np.concatenate([divisors, np.array(SPECIAL).astype(kind), kind(2.0) ** [-120, 120]])
    for by in divisors.astype(kind):
        assert same_bits(exe(x, by), x / by), by
        assert same_bits(other(everyday, by), everyday / by), by


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours(kind: Any) -> None:
    """One element far from all others changes none of them, wherever it stands."""
    rng = np.random.default_rng(12)
    exe = fc.lower(quotients, np.ones(3000, kind), kind(7))
    for far in np.array(SPECIAL).astype(kind):
        x = (rng.random(3000) + 1).astype(kind)
        x[rng.integers(0, 3000, 3)] = far
        assert same_bits(exe(x, kind(7)), x / kind(7))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [31, 32, 700])
def test_rows(kind: Any, n: int) -> None:
    """Rows by a number of their own, kept and reduced, with rows for which there is none."""
    rng = np.random.default_rng(13)
    x = (rng.normal(size=(40, n)) * 10.0 ** rng.integers(-20, 20, (40, 1))).astype(kind)
    x[:12, 0] = SPECIAL
    x[20:32, -1] = SPECIAL
    exe = fc.lower(shares, x)
    assert _is_multiplied(exe)
    ratio, largest = exe(x)
    assert same_bits(ratio, x / x[:, :1])
    assert same_bits(largest, np.max(x / x[:, :1], axis=1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("special", [1.0, np.inf, 1e-310])
def test_in_place(kind: Any, special: float) -> None:
    """What is overwritten is read as it was, also where elements are divided in a second try."""

    @fc.fused(strict=True)
    def scaled(x: Any, y: Any, by: Any) -> Any:
        y[...] = x - y
        x /= by
        return x + 1

    rng = np.random.default_rng(14)
    for n in (5, 40, 5000):
        x, y = rng.normal(size=(2, n)).astype(kind)
        x[n // 2] = special
        a, b = x.copy(), y.copy()
        got = scaled(a, b, kind(3))
        wanted = (x / kind(3)).astype(kind)
        assert same_bits(a, wanted)
        assert same_bits(b, x - y)
        assert same_bits(got, wanted + kind(1))


@pytest.mark.parametrize("kind", KINDS)
def test_long_rows_in_place(kind: Any) -> None:
    """They are divided: where the same elements are written, a second try would read the first."""

    def scaled(x: Any, by: Any) -> None:
        x /= by

    rng = np.random.default_rng(16)
    x, by = (rng.random((3, 40_000)) + 1).astype(kind), (rng.random((3, 1)) + 1).astype(kind)
    exe = fc.lower(scaled, x, by)
    assert _is_multiplied(exe)
    wanted = x / by
    exe(x, by)
    assert same_bits(x, wanted)


def test_running_totals() -> None:
    """A running total is a divisor of one element alone."""

    def program(x: Any, y: Any) -> Any:
        return y / np.cumsum(x, axis=1)

    x, y = np.random.default_rng(15).random((2, 4, 600)) + 1
    exe = fc.lower(program, x, y)
    assert not _is_multiplied(exe)
    assert same_bits(exe(x, y), program(x, y))


def test_where_it_pays() -> None:
    """Not where elements have divisors of their own, nor among much else, nor in few elements."""

    def own(x: Any, y: Any) -> Any:
        return x / y

    def heavy(x: Any) -> Any:
        return np.arctan2(np.exp(np.sin(x)), np.tanh(np.power(x, 1.5))) / 3.7

    x = np.ones(1000)
    assert not _is_multiplied(fc.lower(own, x, x))
    assert not _is_multiplied(fc.lower(heavy, x))
    assert _is_multiplied(fc.lower(own, x, 3.0))


def test_a_row_that_is_divided_again_is_counted_once() -> None:
    """Totals without an order are taken by the loop itself, but not by one that may run twice."""
    x = np.random.default_rng(5).uniform(1, 2, (40, 700))
    x[3, 5] = x[7, 600] = 1e-310  # far from all divisors

    def count(x: Any) -> Any:
        return np.sum(x / x.max(axis=1, keepdims=True) > 0.6, axis=1)

    program = fc.lower(count, x)
    assert "fc_is_far_f64" in program.emit("c")[0]
    np.testing.assert_array_equal(program(x), count(x))


def of_whole(x: Any, by: Any) -> Any:
    """All that there is of a division of whole numbers."""
    return x // by, x % by, np.fmod(x, by)


def _whole_numbers(rng: np.random.Generator, n: int) -> Any:
    """Of all magnitudes, small ones, neighbours of powers of two and of multiples."""
    bits = rng.integers(-(2**63), 2**63 - 1, n, dtype=np.int64, endpoint=True)
    anything = bits >> rng.integers(0, 64, n)
    edges = [s * 2**k + d for k in (10, 31, 49, 50, 51, 62) for s in (1, -1) for d in (-1, 0, 1)]
    ends = np.array([*edges, -(2**63), 2**63 - 1, 0, 1, -1], np.int64)
    return np.concatenate([anything, ends])


def test_whole_numbers() -> None:
    """Small elements alone, and all magnitudes among them, by any number, by zero."""
    rng = np.random.default_rng(17)
    x = _whole_numbers(rng, 3000)
    small = rng.integers(-(2**49), 2**49, 4000) // rng.integers(1, 2**40, 4000)
    exe, other = (fc.lower(of_whole, a, np.int64(3)) for a in (x, small))
    assert all("fc_remainder_by_s64" in kernel.source for kernel in exe.kernels)
    for by in (*_whole_numbers(rng, 40).tolist(), *range(-12, 13), 255, 1000, 4096):
        for lowered, given in ((exe, x), (other, small)):
            with np.errstate(all="ignore"):
                wanted = of_whole(given, np.int64(by))
            for mine, theirs in zip(lowered(given, np.int64(by)), wanted, strict=True):
                np.testing.assert_array_equal(mine, theirs, str(by))


@pytest.mark.parametrize("far", [2**50, -(2**50) - 1, 2**61 + 1, -(2**63), 2**63 - 1])
def test_neighbours_of_long_numbers(far: int) -> None:
    """One element that doubles do not hold changes none of the others, wherever it stands."""
    rng = np.random.default_rng(18)
    x = rng.integers(-(10**6), 10**6, 3000)
    x[rng.integers(0, 3000, 3)] = far
    for mine, theirs in zip(
        fc.lower(of_whole, x, np.int64(7))(x, np.int64(7)), of_whole(x, 7), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_whole_numbers_in_place() -> None:
    """What is overwritten is read as it was, also where elements are divided in a second try."""

    @fc.fused(strict=True)
    def digits(x: Any, by: Any) -> Any:
        last = x % by
        x //= by
        return last

    for n in (5, 40, 5000):
        x = np.arange(n) * 12345
        x[n // 2] = 2**60 + 1
        given = x.copy()
        assert same_bits(digits(given, 10), x % 10)
        assert same_bits(given, x // 10)
