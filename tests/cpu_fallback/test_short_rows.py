"""Short rows are computed side by side, along whichever of their axes is long enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal

RNG = np.random.default_rng(3)


def distances(x: Any, y: Any) -> Any:
    d = x[:, None, :] - y[None, :, :]
    return np.sqrt(np.sum(d * d, axis=2))


def nearest(x: Any, y: Any) -> Any:
    """The largest of each row, and how far on it is, and what the rows add up to."""
    d = np.abs(x[:, None, :] - y)
    return d.max(axis=2), d.argmax(axis=2), np.sum(d, axis=2) / (1 + d.min(axis=2))


@pytest.mark.parametrize("program", [distances, nearest], ids=lambda p: p.__name__)
@pytest.mark.parametrize("shape", [(40, 4), (4, 40), (9, 31), (40, 63), (3, 5), (1, 9), (0, 8)])
@pytest.mark.parametrize("length", [1, 3, 7, 32])
def test_values(program: Callable[..., Any], shape: tuple[int, int], length: int) -> None:
    """NumPy's, whatever the rows lie along."""
    x, y = (RNG.integers(-9, 9, (n, length)) / 2 for n in shape)
    equal(fc.lower(program, x, y)(x, y), program(x, y))


@pytest.mark.parametrize("shape", [(40, 4), (4, 40), (12, 31)])
def test_one_text_has_both_ways(shape: tuple[int, int]) -> None:
    """Of few or many rows, and of those that are long along another axis than the last."""
    x, y = (RNG.random((n, 3)) for n in shape)
    (kernel,) = fc.lower(distances, x, y).kernels
    assert "_side(a, begin, end, scratch)" in kernel.source


def test_what_goes_by_the_order_of_rows() -> None:
    """Elements that are picked, and sums that are added in turn."""

    def picked(x: Any, y: Any) -> Any:
        d = np.abs(x[:, None, :] - y)
        out = np.zeros(5)
        np.add.at(out, np.arange(len(x) * len(y)).reshape(len(x), -1) % 5, d.sum(axis=2))
        return d[d.max(axis=2) > 4], out

    x, y = (RNG.normal(size=(n, 3)) * 3 for n in (40, 4))
    fused = fc.fused(picked)
    for _ in range(3):
        equal(fused(x, y), picked(x, y), 14)


def skeletons(function: Callable[..., Any], x: Any) -> list[str]:
    """How each kernel takes rows; the values are those of rows that lie apart."""
    apart = np.repeat(x, 2, axis=1)[:, ::2]
    lowered = fc.lower(function, x, device="cpu")
    equal(lowered(x), fc.lower(function, apart)(apart))
    return [step.variant.skeleton for step in lowered.assembly.steps]


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_rows_that_fill_the_lanes(dtype: str) -> None:
    """What is added up is, one row after the other; what is looked for, or shorter, is not."""
    x = (RNG.normal(size=(300, 32)) * 9).astype(dtype)
    assert skeletons(lambda x: np.sum(x * x + x, axis=1), x) == ["row"]
    assert skeletons(lambda x: np.sum(x * x, axis=1), x[:, :31].copy()) == ["any"]
    assert skeletons(lambda x: np.argmax(x * 3, axis=1), x) == ["any"]
    assert skeletons(lambda x: np.sum(np.exp(x * 0.25), axis=1), x) == ["any"]
