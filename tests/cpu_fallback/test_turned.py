"""What lies across the runs of a loop, as a transposed matrix does, is put along them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.threads import set_thread_count
from tests.capture_check import equal
from tests.marks import one_in

RNG = np.random.default_rng(3)


def added(a: Any, b: Any) -> Any:
    return a.T + b * 2


def copied(a: Any, b: Any) -> Any:
    return np.ascontiguousarray(a.T), b.T[::-1] * 3


def two_of_them(a: Any, b: Any) -> Any:
    """Both across what they are written to, and one of them as it is, too."""
    return np.stack([a.T - b, a.T * a.T]) + (b - a.T)


def written(a: Any, b: Any) -> Any:
    b += a.T
    a[::2] -= b.T[::2]
    return b[:, ::-1] + a.T


def planes(a: Any, b: Any) -> Any:
    x = a[: len(a) // 4 * 4].reshape(4, -1, a.shape[1])
    return x.transpose(2, 0, 1) * 2 + x.transpose(2, 0, 1)[::-1], b + 1


PROGRAMS = (added, copied, two_of_them, written, planes)


@pytest.mark.parametrize("shape", [(300, 200), (129, 517), (1000, 33), (17, 4099), (2600, 9)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u8", "c8", "i2", "c16"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(10)
def test_values(program: Callable[..., Any], dtype: str, shape: tuple[int, int]) -> None:
    """NumPy's, arguments included, in any number of threads."""
    a, b = RNG.integers(-99, 99, shape), RNG.integers(-99, 99, shape[::-1])
    theirs = a.astype(dtype), b.astype(dtype)
    mine = [x.copy() for x in theirs]
    before = set_thread_count(3)
    try:
        got = fc.lower(program, *mine)(*mine)
    finally:
        set_thread_count(before)
    equal(got, program(*theirs))
    equal(mine, list(theirs))


def test_only_where_it_is_worth_it() -> None:
    """Small ones and others that lie alike share one text, for all strides."""

    def text(a: Any, b: Any) -> str:
        (kernel,) = fc.lower(added, a, b).kernels
        return kernel.source

    large, small = np.ones((200, 300)), np.ones((20, 30))
    assert "fc_turn_8(" in text(large, large.T.copy())
    assert "fc_turn_4(" in text(large.astype("f4"), large.T.astype("f4", "C"))
    for a, b in ((small, small.T.copy()), (large, large.T), (large[:, ::2], large.T[::2].copy())):
        assert "fc_turn" not in text(a, b)
