"""Fused functions that make arrays of plain data, or lists of lazy ones, and what is done then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.fft import fftfreq
from numpy.lib import stride_tricks
from numpy.lib.stride_tricks import as_strided

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

TABLE = [5, 6, 7, 8]


def lists(x: Any, y: Any) -> Any:
    smallest = np.minimum.reduce([x, y, x * 2]), np.add.reduce([x, y], axis=1)
    return np.mean([x, y], axis=0), np.max([x.max(), 3]), np.linalg.norm([x, y], axis=0), smallest


def table(x: Any, y: Any) -> Any:
    return np.array(TABLE)[x.astype(int) % 4] * y


def written(x: Any, y: Any) -> Any:
    matrices = np.array([np.eye(2)] * 2)
    matrices[0] = np.outer(x[:2], y[:2])
    ramp = np.linspace(0, 1, x.size)
    ramp[x > 1] = 7.0
    count = np.arange(5.0)
    count[:2] = x[:2]
    small = np.array(TABLE, dtype=np.uint8)
    small[np.arange(4) == x.argmax()] = 3
    return matrices, ramp, count, small, [i for i in np.arange(3)], np.tile(x, 2), np.diag(y)


def functions(x: Any, y: Any) -> Any:
    first = np.array(TABLE)
    first[0] = x[0]
    return first, np.add, np.zeros, {"mean": np.mean}, np.minimum, np.array


def branches(x: Any, y: Any) -> Any:
    weights = np.arange(4.0)
    weights[1] = x[1]
    if np.max([x.sum(), y.sum()]) > 20:
        return np.minimum.reduce([weights, y])
    return weights + np.sum([x, y])


def windows(x: Any, y: Any) -> Any:
    padded = np.pad(np.outer(x, y), 1)
    seen = np.lib.stride_tricks.as_strided(padded, (4, 4, 3, 3), padded.strides * 2)
    twice = as_strided(x, shape=(2, 3), strides=(x.strides[0], x.strides[0]))
    doubled = x * 1.5
    pairs = stride_tricks.as_strided(doubled, (3, 2), doubled.strides * 2, writeable=False)
    return seen.reshape(16, -1).sum(1), seen.max((2, 3)), twice, pairs


def grids(x: Any, y: Any) -> Any:
    """Arrays of plain data, of which a lazy mask or index picks."""
    some, first = x > 1, x.argmax()
    row, column = np.mgrid[0:4, 0:3]
    line = np.ogrid[-1 : 1 : len(x) * 1j]
    counts = np.r_[0:4, 7][:4]
    return (row[some], column[first], line[some] * 2, counts[some], np.c_[0:4, 4:8][some],
            np.hanning(4)[some], np.fft.fftfreq(4, 0.5)[some], fftfreq(4)[first],
            np.logspace(0, 1, 4)[some] + y[some])  # fmt: skip


def filled(x: Any, y: Any) -> Any:
    """Arrays of plain data that in-place operators write to."""
    total = np.zeros_like(np.linspace(0, 1, 4))
    total += x
    weights = np.array(TABLE, float)
    weights /= y.sum() + 1
    grid = np.meshgrid(np.arange(4), np.arange(2))[0] * 1.0
    grid[1] -= x
    flags = np.array([True, False, True, False])
    flags |= x > 2
    return total, weights, grid, flags, np.add(x, y, out=np.full_like(np.eye(4)[0], 3.0))


def given_to_numpy(x: Any, y: Any) -> Any:
    """Arrays of plain data that functions take which NumPy computes, then and later."""
    ramp = np.linspace(0, 1, 4)
    middle, ends = np.median(ramp), np.interp(y, ramp, x)
    ramp += x
    corner = np.diagonal(np.eye(3))
    counted = np.repeat(np.sort([3, 1, 2, 0]), x.astype(int))
    return ramp, middle, ends, np.interp(y, ramp, ramp), counted, corner


EVERY = (lists, table, written, functions, branches, windows, grids, filled, given_to_numpy)


@pytest.mark.parametrize("function", EVERY, ids=lambda f: f.__name__)
@one_in(8)
def test_recorded_with_arrays_of_plain_data(function: Callable[..., Any]) -> None:
    """Replayed, with NumPy's results at each call; NumPy's functions come back as themselves."""
    fused = fc.fused(function, strict=True)
    for offset in (0, 0, 1, 4, 9):
        x, y = np.arange(4.0) + offset, np.arange(4.0)[::-1] * 3 + offset
        equal(fused(x, y), function(x, y))
        assert fused.explain().startswith(f"{function.__name__}: replayed")


def test_given_back_anew() -> None:
    """What is returned of an array of plain data is another one each time."""

    @fc.fused(strict=True)
    def f(x: Any) -> Any:
        table = np.array([[1.0, 2.0], [3.0, 4.0]])
        return table[x > 1], table[1], table, x.sum()

    @fc.fused(strict=True)
    def of_numpys(x: Any) -> Any:
        ramp = np.linspace(0, 1, 3)
        ramp[1:] += 0 * x  # from here on it is lazy
        ends = np.arange(3.0)
        return np.convolve(ends, x), ends, np.diagonal(np.eye(2)).copy()

    for _ in range(4):
        ends, two, one = of_numpys(np.arange(2.0) + 1)
        assert (ends.tolist(), two.tolist(), one.tolist()) == ([0, 1, 4, 4], [0, 1, 2], [1, 1])
        ends[...] = two[...] = one[...] = 7
        some, row, whole, total = f(np.arange(2.0) + 1)
        assert some.tolist() == [[3, 4]] and row.tolist() == [3, 4] and total == 3
        assert whole.tolist() == [[1, 2], [3, 4]] and np.shares_memory(row, whole)
        for given in (some, row, whole):
            given[...] = 7


def test_strides_that_may_not_be_numpys() -> None:
    """NumPy computes in the order of its operands: what its strides will be is not known."""

    @fc.fused
    def f(x: Any) -> Any:
        return (x.T * 2).strides, x.strides, x[::-1].strides

    for x in (np.ones((3, 4)), np.asfortranarray(np.ones((3, 4)))):
        assert f(x) == ((x.T * 2).strides, x.strides, x[::-1].strides)


def test_the_line_that_takes_memory_is_named() -> None:
    """Where even that does not help."""

    @fc.fused
    def f(x: Any) -> Any:
        y = x * 2
        return np.ma.array(y).data[0]

    assert f(np.ones(4)) == 2
    line = f.function.__code__.co_firstlineno + 3
    assert f"it takes an array's memory ({__file__}:{line})" in f.explain()
