"""Errors of writes at integer arrays and of counts, and what their types allow, against NumPy."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fusecuda import fused
from tests.capture_check import equal, lazy, twin
from tests.marks import few, one_in

OUT, MINUS, ODD = np.array([0, 5, 1]), np.array([1, -6, 2]), np.array([0, 1])
THREE = np.arange(3)


def put(a: Any, key: Any, value: Any) -> None:
    a[key] = value


FAILING: dict[str, Callable[[Any], Any]] = {
    "too large": lambda a: put(a, OUT, 1.0),
    "too small": lambda a: put(a, (MINUS, THREE), 1.0),
    "of the last axis": lambda a: put(a, (slice(None), OUT), 1.0),
    "of a list": lambda a: put(a, [0, 9], 1.0),
    "of uint64": lambda a: put(a, np.array([2**64 - 1, 2**63], np.uint64), 1.0),
    "of uint8": lambda a: put(a, np.array([200, 1], np.uint8), 1.0),
    "of nothing": lambda a: put(a[:0], THREE, 1.0),
    "far away": lambda a: put(a, np.array([2**62, -(2**63)]), 1.0),
    "values that do not fit": lambda a: put(a, ODD, np.ones(3)),
    "values that do not fit, too large": lambda a: put(a, OUT, np.ones((2, 2))),
    "values of more axes": lambda a: put(a, (ODD, ODD), np.ones((2, 2))),
    "values for columns": lambda a: put(a, (slice(None), ODD), np.ones((2, 5))),
    "indices that do not fit": lambda a: put(a, (ODD, THREE), 1.0),
    "indices that do not fit, too large": lambda a: put(a, (OUT, ODD), 1.0),
    "too many indices": lambda a: put(a, (ODD, ODD, ODD), 1.0),
    "floats": lambda a: put(a, THREE * 1.0, 1.0),
    "a text": lambda a: put(a, ODD, "x"),
    "a complex number": lambda a: put(a, ODD, 1j),
    "into integers": lambda a: put(a.astype(int), ODD, np.nan),
    "a large integer": lambda a: put(a.astype(np.int8), ODD, 300),
    "at, too large": lambda a: np.add.at(a, OUT, 1.0),
    "at, too small": lambda a: np.maximum.at(a, (THREE, MINUS), 1.0),
    "at, values that do not fit": lambda a: np.add.at(a, ODD, np.ones(3)),
    "at, values of more axes": lambda a: np.add.at(a, (ODD, ODD), np.ones((1, 2))),
    "at, indices that do not fit": lambda a: np.add.at(a, (ODD, THREE), 1.0),
    "at, complex": lambda a: np.add.at(a, ODD, 1j),
    "at, text": lambda a: np.add.at(a, ODD, "x"),
    "at, bits": lambda a: np.bitwise_or.at(a, ODD, 1),
    "at, no value": lambda a: np.add.at(a, ODD),
    "at, one value too many": lambda a: np.negative.at(a, ODD, 1),
    "at, too many values": lambda a: np.add.at(a, ODD, 1, 2),
    "bincount, negative": lambda a: np.bincount(a[0].astype(int) - 99, minlength=3),
    "bincount, floats": lambda a: np.bincount(a[0], minlength=3),
    "bincount, rows": lambda a: np.bincount(a.astype(int), minlength=3),
    "bincount, weights": lambda a: np.bincount(a[0].astype(int), a[0, :2], 99),
    "bincount, complex": lambda a: np.bincount(a[0].astype(int) * 0, a[0] * 1j, 99),
    "bincount, minlength": lambda a: np.bincount(a[0].astype(int), minlength=-1),
    "bincount, no minlength": lambda a: np.bincount(a[0].astype(int) * 0, None, 1.5),
    "histogram, no bins": lambda a: np.histogram(a, 0, (0, 1)),
    "histogram, range": lambda a: np.histogram(a, 2, (1, 0)),
    "histogram, NaN": lambda a: np.histogram(a, 2, (0, np.nan)),
    "histogram, three ends": lambda a: np.histogram(a, 2, (0, 1, 2)),
    "histogram, too fine": lambda a: np.histogram(a, 9, (1e17, 1e17 + 16)),
    "choose, shapes": lambda a: np.choose(a[0] > 0, [a[0], a[0, :3]]),
    "choose, uint64": lambda a: np.choose(a[0].astype(np.uint64) % 2, [a[0], a[0]]),
    "choose, too large": lambda a: np.choose(a[0].astype(int) * 0 + 2, [a[0], a[0]]),
    "choose, floats": lambda a: np.choose(a[0] * 0, [a[0], a[0]]),
    "choose, no choices": lambda a: np.choose(a[0] > 0, []),
}  # fmt: skip


def told(function: Callable[[Any], Any], a: Any) -> tuple[Any, str]:
    """The type and the text of the error of ``function``."""
    try:
        function(a)
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("no error")


def caught(function: Callable[[Any], Any], a: Any) -> Any:
    """What a program sees of an error, and of the array after it."""
    a[0] += 1
    try:
        function(a)
    except Exception as error:
        a[1] = 7
        text = str(error)
    with contextlib.suppress(Exception):
        function(a)
        a[2] = 9
    return a * 2, text


@pytest.mark.parametrize("name", FAILING)
@one_in(8)
def test_errors(name: str, recorded: None) -> None:
    """NumPy's errors at the statement, in and out of functions; arrays stay as they were."""
    function = FAILING[name]
    want = told(function, twin(A))

    def plainly(a: Any) -> Any:
        a[0] *= 3
        function(a)
        return a

    def handled(a: Any) -> Any:
        return caught(function, a)

    array, other = lazy(A), A.copy()
    assert told(function, array) == want
    equal(handled(array), handled(other))
    equal(array, other)
    first, second = fused(plainly), fused(handled)
    for _ in range(2):
        array, other = A.copy(), A.copy()
        assert told(first, array) == told(plainly, other) == want
        equal(array, other)
        equal(second(array), handled(other))
        equal(array, other)


@pytest.mark.parametrize("name", ["too large", "at, too small"])
def test_errors_after_large_updates(name: str, recorded: None, nothing_is_undone: None) -> None:
    """The call cannot begin again."""
    test_errors(name, recorded)


def test_errors_that_a_with_statement_swallows() -> None:
    """``suppress`` gets the error at its statement; ``errstate`` changes nothing."""

    def program(a: Any, i: Any) -> Any:
        with contextlib.suppress(IndexError):
            a[i] = 1
            a[0] = 9
        return a * 2

    mine = fused(program)
    for i in (ODD, OUT, ODD):
        array, other = A.copy(), A.copy()
        equal(mine(array, i), program(other, i))
        equal(array, other)


A = np.arange(20.0).reshape(5, 4) - 3


def test_arrays_that_may_not_be_written(recorded: None) -> None:
    """NumPy's error, and nothing is changed."""
    for function in (lambda a: put(a, ODD, 1.0), lambda a: np.add.at(a, ODD, 1.0)):
        want = A.copy()
        want.flags.writeable = False
        expected = told(function, want)
        mine = fused(function)
        for _ in range(3):
            assert told(mine, want) == expected
            assert told(mine, np.broadcast_to(A[0], (5, 4))) == expected
        equal(want, A)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter finds what is out of bounds, and NumPy raises."""
    monkeypatch.setenv("FUSECUDA_CC", "false")
    for name in ("too large", "at, too small"):
        mine = fused(lambda a, name=name: FAILING[name](a))
        for _ in range(2):
            array = A.copy()
            assert told(mine, array) == told(FAILING[name], A.copy())
            equal(array, A)


# --- numbers and types

TYPES = ("i1", "u4", "f4", "?", "u1", "i2", "i8", "u8", "f2", "f8", "c8", "c16")
VALUES: tuple[Any, ...] = (
    1, 300, -1, 2**40, 2**70, 1.5, np.nan, 1e39, True, 2j, np.int8(3), np.float32(0.1),
    np.uint64(2**63), np.array(7), np.array([0.1, 200.0]), np.array([100, 100], "i1"),
    np.array([1, 70000]), [1, 2], np.array([1, 3], "u2"), np.array([0.1, 9], "f2"),
)  # fmt: skip


def outcome_of(function: Callable[..., Any], array: Any, value: Any) -> Any:
    """The array after a call, or the type and the text of its error."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(array, value)
    except Exception as error:
        return type(error), str(error)
    return np.asarray(array)


@pytest.mark.parametrize("dtype", few(TYPES, 4))
@pytest.mark.parametrize("name", few(["add", "set", "subtract", "multiply", "maximum"], 2))
@one_in(18)
def test_numbers_and_types(dtype: str, name: str, recorded: None) -> None:
    """NumPy's rules of casts and overflows, and its errors, for each type and value."""
    at = np.array([0, 0])

    def function(a: Any, v: Any) -> None:
        if name == "set":
            a[at] = v
        else:
            getattr(np, name).at(a, at, v)

    for value in VALUES:
        array = np.array([1, 0, 1]).astype(dtype)
        want = outcome_of(function, array.copy(), value)
        got = outcome_of(function, lazy(array), value)
        if isinstance(want, tuple):
            assert got == want, value
        else:
            equal(got, want)


def test_types_in_functions() -> None:
    """A few of them as a function's arguments, as numbers that change from call to call."""

    def program(a: Any, b: Any, at: Any, v: Any, n: Any) -> Any:
        np.add.at(a, at, n)
        np.add.at(b, at, v)
        b[at[:1]] = n
        np.subtract.at(b, at, n)
        return a * 2, b.sum()

    mine = fused(program)
    for call in range(4):
        ours, theirs = ((np.arange(4, dtype="i2"), np.arange(4, dtype="f4")) for _ in range(2))
        rest = np.array([1, 1, call]), np.array([0.1, 1e8, 2.0], "f4"), 1000 * call
        equal(mine(*ours, *rest), program(*theirs, *rest))
        equal(ours, theirs)
