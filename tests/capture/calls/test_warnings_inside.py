"""Warnings that NumPy gives inside a fused function name the function's line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused

X = np.arange(1.0, 10.0).reshape(3, 3)


def cast(z: Any) -> Any:
    return z.astype(np.float64) + 1


def assigned(z: Any) -> Any:
    x = z.real * 1.0
    x[:] = z
    return x


def picked(z: Any) -> Any:
    x = z.real * 1.0
    x[0, [0, 2]] = z[1, :2]
    return x


def empty(z: Any) -> Any:
    return np.median(z.real[:, :0], axis=1)


def mean_of_none(z: Any) -> Any:
    return np.mean(z.real[:, :0], axis=1)


def spread_of_one(z: Any) -> Any:
    return np.std(z.real[:1] * 2, axis=0, ddof=1)


FUNCTIONS = [cast, assigned, picked, empty, mean_of_none, spread_of_one]


def _given(function: Callable[..., Any], z: Any) -> list[tuple[Any, str, int]]:
    """What is warned of, and where; of each category the first."""
    with warnings.catch_warnings(record=True) as found, fc.count_launches():
        warnings.simplefilter("always")
        function(z)
    return [(w.category, w.filename, w.lineno) for w in found][:1]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_warnings_name_the_line_of_the_program(function: Any) -> None:
    """When it is recorded, and in a replay that has NumPy compute it."""
    want = _given(function, X + 1j)
    assert want
    ours = fused(function)
    for _ in range(3):
        assert _given(ours, X + 1j) == want


def test_casts_warn_under_the_filters_that_are_set_then() -> None:
    """What is cast while warnings are ignored says nothing in a replay; else each one does."""

    def f(z: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = cast(z)
        return y + np.add(z, 1j, out=np.zeros(z.shape), casting="unsafe")

    ours = fused(f)
    for _ in range(4):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(ours(X + 1j), X * 2 + 1)
        assert [w.category for w in found] == [np.exceptions.ComplexWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(np.exceptions.ComplexWarning, match=r"^Casting complex"):
            ours(X + 1j)


def test_warnings_that_the_function_catches_are_in_its_list() -> None:
    """The list is filled in after it has been given: no replay has another one."""

    def f(x: Any, k: int) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = x * k
            if k:
                warnings.warn(f"k is {k}", stacklevel=1)
        return y, [str(w.message) for w in caught]

    ours = fused(f)
    for k in (0, 1, 2, 1, 0):
        with fc.count_launches():
            assert ours(X, k)[1] == f(X, k)[1]
