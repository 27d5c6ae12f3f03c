"""Operators and assignments of CuPy arrays that come again do what NumPy's do, from the tape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy")

from fusecuda import fused
from tests.cupy_host import host, seen
from tests.tape_check import Watch, X, watching  # noqa: F401

COMPARING = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
OTHERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "a view": lambda x: x[::-1],
    "a row": lambda x: x[:1],
    "an integer": lambda x: 3,
    "a float": lambda x: -0.0,
    "NaN": lambda x: float("nan"),
    "a NumPy scalar": lambda x: np.float64(2.5),
}


def check(step: Callable[[Any], list[Any]], values: Any, times: int = 3) -> None:
    """``step`` gives what it gives on NumPy, the first times and from the tape."""
    with np.errstate(all="ignore"):
        wanted = step(values.copy())
    for _ in range(times):
        with fused(device="cpu", strict=True):
            found = step(host(values))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(seen(got), want, strict=True)


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "?"])
def test_operators(dtype: str, watch: Watch) -> None:
    """Of an array with itself, views and numbers, on either side."""

    def step(x: Any) -> list[Any]:
        found = [] if dtype == "?" else [-x, abs(x)]
        for i, other in enumerate(OTHERS.values()):
            function, another = COMPARING[i % 6], COMPARING[(i + 3) % 6]
            found += [function(x, other(x)), another(x, other(x)), x + other(x)]
        return [*found, 2.5 - x, 3 / (x + 1), 2 > x, 0.5 == x]  # noqa: SIM300

    check(step, (np.arange(6) - 2).astype(dtype).reshape(2, 3))
    assert watch.followed > watch.learned


def test_the_same_operand_twice_is_no_other_one(watch: Watch) -> None:
    """Of two arrays that are alike the tape knows which is meant."""
    for turn in range(6):
        x, y = X + turn, X * 2 - turn
        with fused(device="cpu", strict=True):
            a, b = host(x), host(y)
            pair = (a, a) if turn % 2 else (a, b)
            first = pair[0] - pair[1]
            second = first + first if turn % 3 else first + pair[0]
            a += a
            a -= b
        want = x - x if turn % 2 else x - y
        np.testing.assert_array_equal(seen(first), want)
        np.testing.assert_array_equal(seen(second), want + want if turn % 3 else want + x)
        np.testing.assert_array_equal(seen(a), x + x - y)


@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_assignments(dtype: str, watch: Watch) -> None:
    """In views, of other arrays and of the array's own elements, with a cast and without."""

    def step(x: Any) -> list[Any]:
        x[1:, 1:] = x[:-1, :-1]
        x[2:] = x[2:, ::-1]
        x[1:, ::2] += x[:1, ::2]
        y = x.astype("f4")
        y[:, 0] = x[:, 1]
        y[0] = x[-1]
        y[1:3] = x[:1]
        y[3] = 7
        y[2, 1:] = y.sum()
        return [x, y]

    check(step, (np.arange(24) % 7 - 3).astype(dtype).reshape(4, 6))
    assert watch.followed > watch.learned


def test_an_assignment_under_errstate_is_one_of_its_own() -> None:
    """Whether faults raise is part of what the tape knows an assignment by."""
    for turn in range(4):
        x = host(np.zeros(4, "i4"))
        with fused(device="cpu"), np.errstate(all="raise" if turn % 2 else "ignore"):
            x[1:] = host(np.ones(3, "i4"))
        np.testing.assert_array_equal(seen(x), [0, 1, 1, 1])


def test_shapes_that_do_not_fit_raise() -> None:
    for _ in range(3):
        x, y = host(X), host(X[:, 1:])
        with fused(device="cpu"):
            with pytest.raises(ValueError, match="broadcast"):
                x < y  # noqa: B015
            with pytest.raises(ValueError, match="broadcast"):
                x[1:] = y
        np.testing.assert_array_equal(seen(x), X)
