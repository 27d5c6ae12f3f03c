"""Cuts: where a kernel would hold too many operations, little is stored between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.cost import MAX_STATEMENTS
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


def test_a_filter_of_25_points_is_one_kernel() -> None:
    program = named("bilateral filter")
    function = fc.fused(program.make(np), strict=True)
    (image,) = program.arguments(1000)
    np.testing.assert_allclose(function(image), program.make(np)(image), rtol=1e-13)
    with fc.count_launches() as counter:
        function(image)
    assert counter.total == 1
