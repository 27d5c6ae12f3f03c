"""The place of an extreme in a chunk: the first of the largest, or of what is no number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusecuda import fused
from tests.marks import at_length, one_in

LENGTHS = (1, 5, 31, 32, 33, 63, 64, 65, 511, 512, 513, 1025, 4095, 4097, 9000)
ODD = (np.nan, np.inf, -np.inf, -0.0)


@fused(strict=True)
def places(x: Any) -> Any:
    return x.argmax(), x.argmin(), x.argmax(1), x.argmin(1), x.argmax(0), x.argmin(0)


@fused(strict=True)
def places_of_sums(x: Any) -> Any:
    return places(x + x)


def check(x: np.ndarray[Any, Any]) -> None:
    wanted = x.argmax(), x.argmin(), x.argmax(1), x.argmin(1), x.argmax(0), x.argmin(0)
    for function in (places, places_of_sums):  # of what is in memory, and of what is computed
        for found, place in zip(function(x), wanted, strict=True):
            np.testing.assert_array_equal(found, place)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u1", "i2", "i8", "bool"])
@one_in(24)
def test_the_first_of_many(dtype: str) -> None:
    """Of few values, so that there are many."""
    rng = np.random.default_rng(0)
    for length in LENGTHS:
        check(rng.integers(-3, 4, (3, length)).astype(dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@one_in(10)
def test_what_is_no_number_comes_first(dtype: str) -> None:
    rng = np.random.default_rng(1)
    for length in LENGTHS:
        x = rng.integers(-3, 4, (4, length)).astype(dtype)
        for row in range(3):
            x[row, rng.integers(0, length, row + 1)] = rng.choice(ODD, row + 1)
        check(x)
    x = np.ones((2, 513), dtype)
    x[0, [40, 512]] = x[1, -1] = np.nan
    check(x)
    x = np.zeros((2, 70), dtype)
    x[:, -1] = 1, np.nan
    check(x)


@pytest.mark.parametrize("dtype", ["f8", "u1"])
@at_length
def test_rows_with_gaps(dtype: str) -> None:
    x = np.random.default_rng(2).integers(0, 120, (6, 1300)).astype(dtype)
    spread = np.broadcast_to(x[:1], x.shape), np.broadcast_to(x[:, :1], x.shape)
    for part in (x[:, ::2], x[:, ::-1], x[::2, 3:], x[::-1, :40], x.T, *spread):
        check(part)


def test_no_more_is_read_than_is_there() -> None:
    """Before and behind the rows lie larger elements, and such as are no numbers."""
    for length in (1, 31, 33, 600, 4100):
        for odd in (np.nan, np.inf):
            x = np.full((3, length + 64), odd)
            x[:, 32:-32] = np.random.default_rng(3).normal(size=(3, length))
            check(x[:, 32:-32])
