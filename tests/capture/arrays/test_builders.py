"""`numpy.r_`, `c_`, `mgrid` and `ogrid`: arrays made of what they are indexed with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.capture_check import equal

GRID = type(np.mgrid).__mro__[1](sparse=True)  # an object that nobody knows
BUILT: dict[str, Callable[..., Any]] = {
    "columns": lambda x, n: np.c_[np.ones(len(x)), x, x**2],
    "columns of rows": lambda x, n: np.c_[x.reshape(3, 3), x[:3] * n],
    "a row": lambda x, n: np.r_[x, 1, x.sum()],
    "a row of integers": lambda x, n: np.r_[x.astype(int), 2],
    "a row of a number more": lambda x, n: np.r_[n, x, 0.5],
    "a range": lambda x, n: np.r_[0:n, n, x],
    "flags": lambda x, n: np.r_[True, x[1:] != x[:-1]],
    "a list": lambda x, n: np.r_[[x[0], n], x],
    "a directive": lambda x, n: np.r_["0,2", x, x * n],
    "a grid": lambda x, n: np.mgrid[0:n, : x.size] * x,
    "an open grid": lambda x, n: np.ogrid[-1 : 1 : n * 1j, 0:n][0] + x,
}


@pytest.mark.parametrize("name", BUILT)
def test_built(name: str) -> None:
    """Replayed, of other values and for another number, and a number is one of Python's."""
    function = BUILT[name]
    fused = fc.fused(function, strict=True)
    for n in (3, 3, 4, 2):
        x = np.arange(9.0) * n - 5
        equal(fused(x, n), function(x, n))
        assert "replayed" in fused.explain().splitlines()[0]


def test_built_in_a_block() -> None:
    """With no look at what they are built of."""
    with fc.fused():
        x = fnp.arange(4.0)
        columns, row = fnp.c_[x, x * 2], fnp.r_[x, [x[0], 2], 5]
        assert columns.storage.pending and row.storage.pending
    np.testing.assert_array_equal(columns, np.c_[np.arange(4.0), np.arange(4.0) * 2])
    assert row.tolist() == [0, 1, 2, 3, 0, 2, 5]


def test_slices_of_numbers_that_opaque_code_is_given() -> None:
    """They are plain numbers there."""
    fused = fc.fused(lambda x, n: (x * 2, GRID[0 : 1 : n * 1j, 0:n][1].sum()))
    assert fused(np.ones(3), 4)[1] == 6
    assert "it calls GRID" in fused.explain()
