"""What heavy loops look up in large arrays is asked for beforehand; nothing else changes."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.strategies import same_bits

RNG = np.random.default_rng(8)
POINTS = RNG.random((30_000, 3))  # more than the caches of a core hold
NEAR = POINTS[:100]


def areas(points: Any, corners: Any) -> Any:
    """Of triangles, with what is added up of them."""
    a, b, c = (points[corners[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    size = np.sqrt((normal * normal).sum(axis=1))
    return normal / size[:, None], size.sum()


def forces(points: Any, corners: Any) -> Any:
    """A loop that reduces nothing, of places from the end as well."""
    x, y = points[:, 0], points[:, 1]
    i, j = corners[:, 0] - 5, corners[:, 1]
    dx, dy = x[i] - x[j], y[i] - y[j]
    r2 = dx * dx + dy * dy + 0.01
    return np.exp(-r2) * dx / r2**1.5


def sampled(points: Any, corners: Any) -> Any:
    """Along two axes, and rows side by side that are short."""
    table = points.reshape(300, 300)
    values = table[corners & 255, corners >> 8]
    return np.arcsinh(np.sin(values)).sum(axis=1), np.tanh(np.sin(values[:, 1])) * values[:, 0]


def scaled(points: Any, corners: Any) -> Any:
    """So little for each place that the processor sees enough."""
    return points[corners[:, 0], 0] * 2.0


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("function", [areas, forces, sampled])
@pytest.mark.parametrize("count", [1, 2, 9, 3000])
def test_values(function: Any, count: int) -> None:
    """Of few elements and many, of large arrays and small ones."""
    for points in (POINTS, NEAR if function is not sampled else POINTS):
        corners = RNG.permuted(np.arange(count * 3) % len(points)).reshape(count, 3)
        lowered = fc.lower(function, points, corners)
        assert any("__builtin_prefetch" in kernel.source for kernel in lowered.kernels)
        unfused = function(points, corners)
        for got, wanted in zip(lowered(points, corners), unfused, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_what_is_light_is_left_alone() -> None:
    lowered = fc.lower(scaled, POINTS, np.zeros((10, 3), int))
    assert not any("__builtin_prefetch" in kernel.source for kernel in lowered.kernels)


def test_a_place_that_is_none_raises() -> None:
    corners = RNG.integers(0, len(POINTS), (3000, 3))
    corners[2000, 1] = len(POINTS)
    lowered = fc.lower(areas, POINTS, corners)
    with pytest.raises(IndexError):
        lowered(POINTS, corners)


@pytest.mark.skipif(sys.platform != "linux", reason="needs mprotect")
def test_no_index_behind_the_last_is_read() -> None:
    """Behind them is memory that nobody may read."""
    count, size = 64, mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    whole = np.frombuffer(memory, np.int64, 2 * count, size - 16 * count).reshape(count, 2)
    whole[:] = RNG.integers(0, len(POINTS), (count, 2))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + size), size, 0) == 0
    lowered = fc.lower(forces, POINTS, whole)
    assert same_bits(lowered(POINTS, whole), lowered(POINTS, whole.copy()))
