"""fusecuda.numpy: arrays of types that stay NumPy's, and new arrays that lie as NumPy's do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp

pytestmark = pytest.mark.usefixtures("both_ways")

TYPES = [object, "S3", "U2", "M8[s]", "m8[D]", "V4", [("a", "i4"), ("b", "f8")]]
MADE: dict[str, Callable[[Any, Any], Any]] = {
    "zeros": lambda xp, t: xp.zeros(3, t),
    "ones": lambda xp, t: xp.ones((2, 3), np.dtype(t)),
    "empty": lambda xp, t: xp.empty((), dtype=t, order="F"),
    "full": lambda xp, t: xp.full((3,), 0, t),
    "zeros_like": lambda xp, t: xp.zeros_like(xp.ones((2, 3)), dtype=t),
    "ones_like": lambda xp, t: xp.ones_like(np.zeros((3, 2), t), order="F"),
    "empty_like": lambda xp, t: xp.empty_like(xp.asfortranarray(xp.ones((2, 3))), t),
    "full_like": lambda xp, t: xp.full_like(np.zeros(3, t), 0, shape=(2, 2)),
    "ascontiguousarray": lambda xp, t: xp.ascontiguousarray(np.zeros((2, 3), t).T),
    "asfortranarray": lambda xp, t: xp.asfortranarray(np.zeros((2, 3), t)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "dtype", TYPES, ids=["objects", "S3", "U2", "dates", "spans", "void", "fields"]
)
def test_arrays_without_numbers_are_numpys(name: str, dtype: Any) -> None:
    expected = MADE[name](np, dtype)
    found = MADE[name](fnp, dtype)
    assert type(found) is np.ndarray
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.strides == expected.strides
    if not name.startswith("empty"):
        np.testing.assert_array_equal(found, expected)
    found[...] = np.zeros(1, dtype)[0]


SOURCES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda xp: xp.ones((2, 3)),
    "columns": lambda xp: xp.asfortranarray(xp.ones((2, 3))),
    "axes": lambda xp: xp.ones((2, 3, 4)).transpose(1, 0, 2),
    "repeated": lambda xp: xp.broadcast_to(xp.ones((3, 1)), (2, 3, 4)),
    "number": lambda xp: xp.array(1.0),
    "numpys": lambda xp: np.ones((4, 3, 2)).T,
    "numpys axes": lambda xp: np.ones((2, 3, 4)).transpose(1, 0, 2),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["zeros_like", "empty_like", "full_like"])
def test_arrays_like_others_lie_as_numpys(name: str, source: str) -> None:
    value = (7,) if name == "full_like" else ()
    like, numpys = SOURCES[source](fnp), SOURCES[source](np)
    for order, shape in itertools.product("CFAK", [None, 5, (5,), (4, 5), (2, 3, 4), [1, 4, 3]]):
        found = getattr(fnp, name)(like, *value, order=order, shape=shape)
        expected = getattr(np, name)(numpys, *value, order=order, shape=shape)
        assert type(found) is fc.Array
        assert (found.shape, found.strides) == (expected.shape, expected.strides), (order, shape)


def test_what_repeats_is_kept_once() -> None:
    large = (1 << 32, 1 << 20)
    for made in (fnp.broadcast_to([3.0], large), fnp.broadcast_to(3.0, large)):
        assert made.shape == large
        assert made[1 << 31, 5] == 3.0
        assert not made.flags.writeable
    found = fnp.broadcast_to([[1], [2]], (2, 3))
    assert found.tolist() == [[1, 1, 1], [2, 2, 2]]
