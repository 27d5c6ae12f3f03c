"""`numpy.errstate` in a fused function: kernels never warn, and NumPy's functions as asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
REGULAR = np.array([[1.0, 2.0], [2.0, 5.0]])


def logs(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        sign, log = np.linalg.slogdet(x)
        ratio = x / (x - x[0, 0])
    return sign * log + np.where(np.isfinite(ratio), ratio, 0.0)


def nested(x: Any) -> Any:
    with np.errstate(all="ignore"):
        first = np.nanmean(x / 0) + x
        with np.errstate(divide="warn"):
            second = np.percentile(x, 30)
    return first + second


class Solver:
    def __init__(self, a: Any) -> None:
        with np.errstate(all="ignore"):
            self.a = np.asarray(a) / np.abs(np.asarray(a)).max()

    def solve(self, b: Any) -> Any:
        with np.errstate(over="ignore"):
            return np.linalg.inv(self.a + np.eye(2)) @ b


def solved(x: Any) -> Any:
    return Solver(x).solve(x[0])


@pytest.mark.parametrize("function", [logs, nested, solved], ids=lambda f: f.__name__)
def test_functions_with_an_errstate_are_replayed(function: Any) -> None:
    fused = fc.fused(function, strict=True)
    for x in (REGULAR, REGULAR, REGULAR + 1):
        with np.errstate(all="ignore"):
            equal(fused(x), function(x))
        assert fused.explain().startswith(f"{function.__name__}: replayed")
    assert np.geterr()["divide"] == "warn"


def quiet(x: Any) -> Any:
    with np.errstate(all="ignore"):
        made = np.linalg.det(x) + x
    return made


def loud(x: Any) -> Any:
    return np.linalg.det(x) + x


def mixed(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        made = x @ x
    return made + x.max()


@pytest.mark.parametrize("function", [quiet, loud, mixed], ids=lambda f: f.__name__)
def test_a_replay_warns_where_the_program_does(function: Any) -> None:
    """Of what NumPy computes; an infinite matrix makes it compute what is invalid."""
    fused = fc.fused(function)
    for x in (REGULAR, REGULAR, np.full((2, 2), np.inf), np.full((2, 2), np.inf)):
        found = []
        for call in (function, fused):
            with warnings.catch_warnings(record=True) as given:
                warnings.simplefilter("always")
                equal(call(x), call(x))
            found.append([str(w.message) for w in given])
        assert found[0] == found[1]


def test_a_state_that_raises_is_numpys() -> None:
    @fc.fused
    def f(x: Any) -> Any:
        try:
            with np.errstate(all="raise"):
                return 1 / x
        except FloatingPointError:
            return x * 0 - 1

    for x in (np.arange(3.0), np.arange(3.0) + 1, np.arange(3.0)):
        equal(f(x), np.full(3, -1.0) if x[0] == 0 else 1 / x)
    assert "np.errstate" in f.explain()
