"""Searches as users write them, in fused functions and blocks, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused
from tests.capture_check import equal, lazy

RNG = np.random.default_rng(3)
AT = np.sort(RNG.normal(size=40)).round(1)
VALUES = RNG.normal(size=40)
X = (RNG.normal(size=(30, 50)) * 2).round(1)
X[0, :6] = [np.nan, np.inf, -np.inf, -0.0, AT[0], AT[-1]]

ONE_KERNEL: dict[str, Callable[..., Any]] = {
    "a tone curve": lambda x, at, f: np.sqrt(np.abs(np.interp(x * 2, at, f))),
    "grouped": lambda x, at, f: np.digitize(np.abs(x), [0.2, 0.4, 0.8]) * 2,
    "grouped downwards": lambda x, at, f: np.digitize(x, [1.5, 0.5, -0.5], right=True) + x,
    "places": lambda x, at, f: np.searchsorted(at, x + 1) + np.searchsorted(at, x, "right"),
    "a method": lambda x, at, f: at.searchsorted(x[::-1, ::2]) / 2,
    "ends": lambda x, at, f: np.interp(x.T, at, f, left=-9, right=np.nan),
    "a mean of places": lambda x, at, f: np.searchsorted(at, x).mean(axis=1),
    "columns": lambda x, at, f: np.interp(x, at, f).max(axis=0),
    "every other": lambda x, at, f: np.interp(x, at[::2], f[::2]),
    "backwards": lambda x, at, f: np.interp(-x, -at[::-1], f[::-1]),
    "one number": lambda x, at, f: np.interp(0.3, at, f) + x,
    "of one point": lambda x, at, f: np.interp(x, at[:1], f[:1], left=2),
}  # fmt: skip
MORE: dict[str, Callable[..., Any]] = {
    "computed": lambda x, at, f: np.interp(x, np.cumsum(np.abs(at)), f * f),
    "edges as they come": lambda x, at, f: np.digitize(x * 2, at) + 1,
    "falling edges": lambda x, at, f: np.digitize(x, at[::-1]),
    "counts": lambda x, at, f: np.histogram(x * 2, at)[0],
    "shares": lambda x, at, f: np.histogram(x, [-2, -1, 0, 2.5], density=True),
    "a period": lambda x, at, f: np.interp(np.nan_to_num(x), at, f, period=2.5),
    "of whole numbers": lambda x, at, f: np.interp(x, np.arange(40), f) + np.arange(30)[:, None],
}


def both(function: Callable[..., Any], *arrays: Any) -> None:
    """The same by NumPy, fused twice, on lazy arrays, and of arrays in another order."""
    with np.errstate(all="ignore"):
        want = function(*arrays)
        mine = fused(function)
        for _ in range(2):
            equal(mine(*arrays), want)
        equal(function(*map(lazy, arrays)), want)


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel(name: str) -> None:
    """What is looked for is computed in the same kernel as what is made of its place."""
    function = ONE_KERNEL[name]
    both(function, X, AT, VALUES)
    mine = fused(function, strict=True)
    mine(X, AT, VALUES)
    most = 2 if name == "backwards" else 1  # an array that is computed is stored
    assert fc.lower(mine, X, AT, VALUES).launches <= most


@pytest.mark.parametrize("name", MORE)
def test_more(name: str) -> None:
    """With tables that are computed, counts, and what is left to NumPy."""
    both(MORE[name], X, AT, VALUES)


def test_lines_between_numbers_without_end() -> None:
    """Where a line is no number NumPy takes it from its other end, or its value at a point."""
    at = np.array([-2.0, -1, 0, 0, 1, 2, 3, 4])
    values = np.array([1.0, np.inf, np.inf, -np.inf, 2, np.nan, -1, -1])
    x = np.array([-2, -1.5, -1, -0.5, -0.0, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, np.nan, 9])
    both(lambda x, at, f: np.interp(x, at, f) + 0.0, x, at, values)
    both(lambda x, at, f: np.interp(x, at, np.clip(f, -1, 1) * 1.7e308), x, at, values)


def test_edges_that_change_their_order() -> None:
    """Edges that are given are looked at in each call; NumPy's error is raised for some."""
    mine = fused(lambda x, at: np.digitize(x, at) + 1)
    for edges in ([1.0, 2, 3], [3.0, 2, 1], [1.0, 1, 2], [2.0, 2, 2], [1.0, 2, np.nan]):
        equal(mine(X, np.array(edges)), np.digitize(X, edges) + 1)
    with pytest.raises(ValueError, match="monotonically"):
        mine(X, np.array([1.0, 3, 2]))
    with pytest.raises(ValueError, match="monotonically"):
        fused(lambda x: np.digitize(x, [1, 3, 2]))(X)
    equal(mine(X, np.array([1.0, 2, 5])), np.digitize(X, [1, 2, 5]) + 1)


def test_ends_that_are_numbers_of_the_program() -> None:
    """They may change from call to call."""
    mine = fused(lambda x, low, high: np.interp(x, AT, VALUES, low * 2, right=high))
    for low, high in ((1.0, 2.0), (-1.5, np.float32(3)), (7, np.array(4.0))):
        equal(mine(X, low, high), np.interp(X, AT, VALUES, low * 2, high))


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u2", "i8", "?"])
def test_types(dtype: str) -> None:
    """Elements are compared as NumPy compares them, of each type with each other."""
    x = np.nan_to_num(X, posinf=9, neginf=-9).astype(dtype)
    for kind in ("f4", "f8", "i2", "u8", "i8"):
        at, values = np.arange(-9, 31).astype(kind), VALUES.astype(kind)
        at = np.sort(at)
        both(lambda x, at, f: (np.searchsorted(at, x), np.interp(x, at, f)), x, at, values)


@pytest.mark.parametrize("count", [0, 1, 7, 513])
def test_runs_of_any_length(count: int) -> None:
    """Of values that are looked for together, and those that are left."""
    for extent in (2, 31, 33, 400):
        at, x = np.sort(RNG.normal(size=extent)), RNG.normal(size=count)
        both(lambda x, at: (np.searchsorted(at, x), np.interp(x, at, at * 2)), x, at)


def test_the_namespace() -> None:
    """Functions of `fusecuda.numpy` give lazy arrays."""
    found = fnp.interp(fnp.asarray(X), AT, VALUES)
    assert isinstance(found, fc.Array)
    equal(found, np.interp(X, AT, VALUES))
    equal(fnp.digitize(fnp.asarray(X), [0.5, 1]), np.digitize(X, [0.5, 1]))
    equal(fnp.asarray(AT).searchsorted(0.5), AT.searchsorted(0.5))
