"""Cuts: where a kernel would hold too many operations, little is stored between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.cost import MAX_STAGED, MAX_STATEMENTS
from fusecuda.tools.programs.rows import named

N = 4000


def weighted(count: int) -> Callable[[Any], Any]:
    """A mean of so many neighbours, each with a weight of six operations."""

    def blur(x: Any) -> Any:
        centre = x[: N - count]
        total = weights = np.zeros(N - count)
        for k in range(count):
            near = x[k : N - count + k]
            weight = np.exp(-((near - centre) ** 2) / 0.02 - k * 0.1)
            total = total + weight * near
            weights = weights + weight
        return total / weights

    return blur


@pytest.mark.parametrize("count", [40, 60, 110])
def test_two_sums_of_the_same_are_cut_at_one_place(count: int) -> None:
    """A kernel leaves both sums and no weight, however they are reached in the graph."""
    program = fc.lower(weighted(count), fc.spec(N))
    *former, last = program.kernels
    assert 0 < len(former) <= 10 * count // MAX_STATEMENTS
    size = 8 * (N - count)
    assert [k.bytes_written for k in former] == [2 * size] * len(former)
    assert last.bytes_written == size
    x = np.random.default_rng(3).normal(size=N)
    np.testing.assert_allclose(program(x), weighted(count)(x), rtol=1e-13)


def orthonormal(a: Any) -> Any:
    """The columns of ``a`` made so by Gram and Schmidt, and what takes them apart again."""
    q, r = np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt((a[:, k] * a[:, k]).sum())
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = (q[:, k] * a[:, j]).sum()
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def test_reductions_that_need_others_are_cut() -> None:
    """A text grows with each of them; what does not need others shares a kernel as ever."""
    program = fc.lower(orthonormal, fc.spec((9, 7)))
    assert max(len(kernel.source) for kernel in program.kernels) < 100_000
    a = np.random.default_rng(4).normal(size=(9, 7))
    ours, plain = a.copy(), a.copy()
    for got, want in zip(program(ours), orthonormal(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    np.testing.assert_allclose(ours, plain, atol=1e-12)


def test_reductions_that_need_no_others_are_not_cut() -> None:
    def counts(x: Any) -> Any:
        above = [(x > k).sum(axis=1) for k in range(MAX_STAGED + 4)]
        return *above, ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)

    assert len(fc.lower(counts, fc.spec((400, 100))).kernels) == 1


def test_a_filter_of_25_points_is_one_kernel() -> None:
    program = named("bilateral filter")
    function = fc.fused(program.make(np), strict=True)
    (image,) = program.arguments(1000)
    np.testing.assert_allclose(function(image), program.make(np)(image), rtol=1e-13)
    with fc.count_launches() as counter:
        function(image)
    assert counter.total == 1


def test_parts_at_many_places_are_computed_once() -> None:
    """Whoever takes each row of a state by itself computes nothing again: it stays one kernel."""

    def slope(y: Any) -> Any:
        x, y, z = y
        return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(y: Any) -> Any:
        first = slope(y)
        second = slope(y + 0.005 * first)
        third = slope(y + 0.005 * second)
        last = slope(y + 0.01 * third)
        return y + 0.01 / 6 * (first + 2 * second + 2 * third + last)

    y = np.random.default_rng(4).normal(size=(3, N))
    program = fc.lower(step, y)
    assert program.launches == 1, program.explain(full=True)
    np.testing.assert_allclose(program(y), step(y), rtol=1e-13)


def test_numbers_of_places_are_never_stored() -> None:
    """Two kernels count for themselves, although one does so for each of its rows."""

    def nearest(far: Any) -> Any:
        i = np.arange(far.shape[1])
        before = np.cumsum(far - i, axis=1) + i
        after = np.cumsum((far + i)[:, ::-1], axis=1)[:, ::-1] - i
        return before * after

    far = np.random.default_rng(4).integers(0, 9, size=(60, 50)).astype(float)
    program = fc.lower(nearest, far)
    assert program.launches == 2, program.explain(full=True)
    np.testing.assert_array_equal(program(far), nearest(far))
