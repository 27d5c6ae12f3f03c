"""Functions that are composed of operations: one graph with what is before and behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused

NDArray = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
MATRICES = RNG.standard_normal((5, 4, 4))

COMPOSED: dict[str, Callable[[Any], Any]] = {
    "differences from a number": lambda x: np.diff(x, prepend=0.0),
    "differences between ends": lambda x: np.diff(x, axis=0, n=2, prepend=x[:1], append=7),
    "traces": lambda x: np.trace(x, axis1=1, axis2=2),
    "traces beside the diagonal": lambda x: np.trace(x, offset=1, axis1=-1, axis2=0),
    "diagonals": lambda x: np.diagonal(x, axis1=2, axis2=1) * 2,
    "traces by notation": lambda x: np.einsum("nii->n", x),
    "a product of diagonals": lambda x: np.einsum("nii,nji->j", x, x),
    "norms of order 3": lambda x: np.linalg.norm(x, 3, axis=1),
    "norms of order -0.5": lambda x: np.linalg.norm(x, -0.5, axis=0, keepdims=True),
    "norms of matrices": lambda x: np.linalg.norm(x, axis=(2, 0)),
    "norm of a matrix": lambda x: np.linalg.norm(x[0], "fro"),
    "sums of columns": lambda x: np.linalg.norm(x, 1, axis=(1, 2)),
    "sums of rows": lambda x: np.linalg.norm(x, -np.inf, axis=(0, -1), keepdims=True),
    "running sums": lambda x: np.nancumsum(np.where(x > 1, np.nan, x), 1),
    "running products": lambda x: np.nancumprod(np.where(x > 1, np.nan, x)),
    "shifted": lambda x: np.fft.fftshift(x),  # noqa: PLW0108 - a lambda of ours is recorded
    "shifted back": lambda x: np.fft.ifftshift(x, axes=1),
    "logarithms of sums": lambda x: np.logaddexp.reduce(x * 400, axis=1),
    "logarithms to base 2": lambda x: np.logaddexp2.reduce(x, axis=-1, keepdims=True),
    "lengths": lambda x: np.hypot.reduce(x * 1e-200, axis=0),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name: str) -> None:
    function = COMPOSED[name]
    lowered = fc.lower(function, MATRICES)
    found, wanted = lowered(MATRICES), function(MATRICES)
    assert (type(found), found.shape, found.dtype) == (type(wanted), wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.logaddexp2, np.hypot])
def test_reductions_of_what_is_infinite(ufunc: np.ufunc) -> None:
    x = RNG.standard_normal((7, 6)) * 300
    x[0] = -np.inf
    x[1, 2], x[2, 3], x[3, 1], x[4, :2] = np.inf, -np.inf, np.nan, (np.inf, np.nan)
    x[5] = 0.0
    traced = fused(lambda a: (ufunc.reduce(a, 1), ufunc.reduce(a[5]), ufunc.reduce(a[:0])))
    with np.errstate(all="ignore"):
        wanted = ufunc.reduce(x, 1), ufunc.reduce(x[5]), ufunc.reduce(x[:0])
    for found, expected in zip(traced(x), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_diagonals_of_more_axes() -> None:
    x = RNG.standard_normal((2, 3, 4, 5))
    for axes in ((0, 1), (3, 1), (-1, 0)):
        found = fc.lower(lambda a, axes=axes: np.diagonal(a, 1, *axes) * 2, x)(x)
        np.testing.assert_array_equal(found, np.diagonal(x, 1, *axes) * 2)
