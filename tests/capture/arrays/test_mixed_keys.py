"""Keys of integer arrays beside numbers, slices and new axes: as NumPy takes them, in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.marks import one_in

A = np.arange(4 * 5 * 6, dtype=float).reshape(4, 5, 6)


def random_key(rng: np.random.Generator) -> tuple[Any, ...]:
    """At most three parts that take an axis, one of them an array, with anything between."""
    count = int(rng.integers(1, 4))
    shapes: list[tuple[int, ...]] = [(3,), (2, 1), (1,)]
    parts: list[Any] = []
    for axis in range(count):
        n = A.shape[axis]
        parts.append(
            [
                int(rng.integers(-n, n)),
                slice(*sorted(int(i) for i in rng.integers(0, n + 1, 2))),
                slice(None, None, int(rng.choice([-1, 2]))),
                rng.integers(-n, n, shapes[rng.integers(len(shapes))]),
                rng.integers(-n, n, 3).tolist(),
            ][rng.integers(5)]
        )
    for _ in range(rng.integers(0, 2)):
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if rng.random() < 0.4:
        at = int(rng.integers(0, len(parts) + 1))
        behind = sum(p is not None for p in parts[at:])  # which count axes from the end
        for k, part in enumerate(p for p in parts[at:] if p is not None):
            if isinstance(part, int):
                place = next(i for i, p in enumerate(parts) if i >= at and p is part)
                parts[place] = part % A.shape[A.ndim - behind + k]
        parts.insert(at, Ellipsis)
    return tuple(parts)


def read(x: Any, key: Any) -> Any:
    return x[key] * 2


def written(x: Any, key: Any) -> Any:
    """One number after the other, as an index may come twice."""
    y = x + 1
    y[key] = x[key] * 3 + 0.5
    return y


def added(x: Any, key: Any) -> Any:
    y = x * 2
    np.add.at(y, key, x[key])
    y[key] -= 1
    return y


def _called(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize("function", [read, written, added])
@pytest.mark.parametrize("seed", range(8))
@one_in(8)
def test_random_keys(function: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        key = random_key(rng)
        wanted = _called(function, A, key)
        fused = fc.fused(lambda x, key=key: function(x, key))
        assert_same(_called(fused, A), wanted, key)
        assert_same(_called(function, fnp.asarray(A), key), wanted, key)


def assert_same(got: Any, wanted: Any, key: Any) -> None:
    if isinstance(wanted, str):
        assert got == wanted, key
        return
    got = np.asarray(got)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype, key
    np.testing.assert_array_equal(got, wanted, err_msg=str(key))


@pytest.mark.parametrize(
    ("function", "launches"),
    [
        (lambda x, i: x[i, 0, 1] + x[0, i, 1:][:, 0] * 2, 1),
        (lambda x, i: x[:, i, 2].sum(axis=1), 1),
        (lambda x, i: x[i, :, 0] * x[i, 0, :5] + x[:, 1, None, i][:, :1, 0], 1),
        (lambda x, i: x[i, None, 1:3] - 1, 1),
    ],
    ids=["columns", "sums", "apart", "new axes"],
)
def test_they_are_fused(function: Any, launches: int) -> None:
    """A read is no step of its own."""
    index = np.array([3, 0, 1, 1])
    lowered = fc.lower(function, A, index)
    assert lowered.launches == launches
    np.testing.assert_array_equal(lowered(A, index), function(A, index))


def test_an_index_that_leads_nowhere_raises() -> None:
    """Nothing is written."""

    @fc.fused
    def moved(x: Any, i: Any) -> Any:
        x[i, 0] += 1
        return x

    x = np.zeros((4, 3))
    for _ in range(3):
        moved(x, np.array([0, 1]))
    before = x.copy()
    with pytest.raises(IndexError, match="out of bounds"):
        moved(x, np.array([0, 4]))
    np.testing.assert_array_equal(x, before)


class _Column:
    """A column of a table: it has a dtype and a shape, and says what it is as an array."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)
        self.dtype, self.shape, self.ndim = self.values.dtype, self.values.shape, self.values.ndim

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.values, dtype)


def test_objects_with_dtypes_are_the_arrays_that_they_say() -> None:
    """As indices and masks, where elements are read, written and added to."""

    def of(xp: Any) -> Any:
        x = xp.arange(40_000.0) * 2  # large enough to be recorded
        places, mask = _Column([2, 0]), _Column(np.arange(40_000) % 3 == 1)
        seen = [x[places], x[mask], x.reshape(2, -1)[1, places]]
        x[places] = 5
        x[mask] = 7
        xp.add.at(x, places, 3)
        return [np.asarray(part).tolist() for part in (*seen, x)]

    assert of(fnp) == of(np)
