"""What has no order is added up in one total for each row where rows are computed side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

RNG = np.random.default_rng(29)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def of_columns(x: Any) -> Any:
    """All that has no order, beside a sum that has one and a place."""
    halves = np.where(x > 3, 0.5, 0.25)
    found = x.sum(0), x.max(0), x.min(0), np.any(x, axis=0), np.all(x > 2, axis=0)
    return *found, np.sum(x > 3, axis=0), halves.sum(axis=0), x.argmax(axis=0)


def of_rows(x: Any) -> Any:
    y = x.T
    return y.sum(1), y.max(1), y.min(1), np.any(y, axis=1), np.sum(y > 3, axis=1), y.prod(axis=1)


def extremes(dtype: str, *shape: int) -> Any:
    """Elements of any size, of which sums wrap around."""
    if dtype == "?":
        return RNG.random(shape) < 0.9
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(8)
def test_values_along_columns(dtype: str) -> None:
    """In chunks of any number of elements, and in several; of a part of a block, too."""
    for shape in itertools.product((1, 3, 32, 33, 300, 512, 513, 1100), (40, 150)):
        x = extremes(dtype, *shape)
        equal(fc.lower(of_columns, x)(x), of_columns(x))


@pytest.mark.parametrize("dtype", DTYPES)
@one_in(8)
def test_values_of_short_rows(dtype: str) -> None:
    """Whatever rows lie along."""
    for length in (1, 5, 32):
        x = extremes(dtype, 150, length)
        for given in (x.T, np.asfortranarray(x).T, np.repeat(x, 2, axis=0)[::2].T):
            equal(fc.lower(of_rows, given)(given), of_rows(given))


def test_sums_of_large_elements_are_not_narrow() -> None:
    """Those of a chunk of bytes fit into 32 bits, and those of a chunk of integers do not."""
    for dtype in ("u2", "i2", "i4", "u4"):
        x = np.full((1030, 70), np.iinfo(dtype).max, dtype)
        equal(fc.lower(lambda x: x.sum(0), x)(x), x.sum(0))


@pytest.mark.parametrize("function", [of_columns, of_rows], ids=lambda f: f.__name__)
def test_only_floats_have_lanes(function: Callable[..., Any]) -> None:
    """Of a sum of floats all lanes wait, of all else one total."""
    x = extremes("i4", 24, 200)
    source = "".join(kernel.source for kernel in fc.lower(function, x).kernels)
    assert source.count("[FC_LANES * ") == (function is of_columns)


def test_numbers_are_the_same_for_all_rows() -> None:
    """Arguments, and what is computed of them, are no arrays; nor do they lose their values."""

    def scaled(x: Any, low: Any, width: Any) -> Any:
        step = np.sqrt(width) * 2.0
        total = np.sum((x + low) / step, axis=0)
        return total * step + low, np.sum(x * total, axis=0) / (step + total)

    x = RNG.random((40, 130))
    numbers = np.float64(0.25), np.float64(3.0)
    lowered = fc.lower(scaled, x, *numbers)
    equal(lowered(x, *numbers), scaled(x, *numbers), 12)
    fused = fc.fused(scaled, strict=True)
    for low, width in ((0.25, 3.0), (0.5, 4.0), (1.5, 5.0)):
        given = x, np.float64(low), np.float64(width)
        equal(fused(*given), scaled(*given), 12)
    source = "".join(kernel.source for kernel in lowered.kernels)
    assert "[c] = a->scalar[" not in source


def test_a_number_is_given_once_to_all() -> None:
    """One that the elements use, and later the rows."""

    def scaled(x: Any, k: Any) -> Any:
        return np.where(x > k, np.maximum(x, k), x - k)[1:].max(axis=0) * k

    x = RNG.random((40, 70))
    equal(fc.lower(scaled, x, 0.5)(x, 0.5), scaled(x, 0.5))
