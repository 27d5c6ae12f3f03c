"""What makes arrays contiguous copies just where NumPy does: writes go where NumPy's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal, twin
from tests.marks import one_in

_PARTS: list[Any] = [
    lambda x: x, lambda x: x[2:], lambda x: x[::2], lambda x: x[:, 1:], lambda x: x[1],
    lambda x: x.T, lambda x: x[:, 2], lambda x: x[:, 2:3], lambda x: x[1:2, ::2],
    lambda x: x[::-1], lambda x: x[1, 2, ...], lambda x: x[2:2], lambda x: x[:, None, :1],
    lambda x: x.reshape(-1)[3:9], lambda x: x[1, 2:3][::-1],
]  # fmt: skip
_MAKE: list[Any] = [
    np.ascontiguousarray,
    lambda x: np.ascontiguousarray(x, np.float32),
    lambda x: np.ascontiguousarray(x, dtype=np.float64),
    np.asfortranarray,
    lambda x: np.asarray(x, order="C"),
    lambda x: np.asarray(x, order="F"),
    lambda x: np.array(x, copy=None, order="C"),
    lambda x: np.require(x, requirements="C"),
    lambda x: x.astype(float, order="C", copy=False),
    lambda x: x.astype(float, order="F", copy=False),
    lambda x: x.astype(float, order="A", copy=False),
    lambda x: x.astype(float, copy=False),
    lambda x: x.conj(),
]


def _written(part: Callable[[Any], Any], make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def write(x: Any) -> Any:
        made = make(part(x))
        made += 10
        return made, x * 2

    return write


@pytest.mark.parametrize("make", _MAKE)
@one_in(24)
def test_writes_reach_what_is_contiguous_already(make: Callable[[Any], Any]) -> None:
    """They are seen in the array that was given, or are not, as with NumPy's own function."""
    given = [np.arange(20.0).reshape(4, 5), np.asfortranarray(np.arange(12.0).reshape(4, 3))]
    given += [np.arange(24.0).reshape(4, 6)[:, ::2], np.arange(3.0).reshape(1, 3)]
    for x in given:
        for part in _PARTS:
            try:
                part(x)
            except (IndexError, ValueError):
                continue
            write = _written(part, make)
            wanted_of, got_of = twin([x]), twin([x])
            wanted, got = write(*wanted_of), fc.fused(write)(*got_of)
            equal([*got, *got_of], [*wanted, *wanted_of])
