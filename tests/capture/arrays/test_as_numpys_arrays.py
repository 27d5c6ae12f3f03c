"""Lazy arrays where NumPy's own would be: keys of iterators, exports, odd values, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused

pytestmark = pytest.mark.usefixtures("both_ways")


def outcome(function: Callable[[Any], Any], xp: Any) -> tuple[str, Any]:
    """What ``function`` gives with the namespace ``xp``, or the type and text of its error."""
    try:
        return "", np.asarray(function(xp)).tolist()
    except Exception as error:
        return type(error).__name__, str(error)


def written(xp: Any, array: Any, key: Any, value: Any) -> Any:
    """The array after a write through its iterator."""
    array.flat[key] = value
    return array


def grid(xp: Any) -> Any:
    return xp.arange(9.0).reshape(3, 3)


FLAT: dict[str, Callable[[Any], Any]] = {
    "mask": lambda xp: grid(xp).flat[xp.arange(9) % 2 == 0],
    "mask of another extent": lambda xp: grid(xp).flat[xp.arange(4) > 1],
    "places": lambda xp: grid(xp).flat[xp.array([[1, 8], [3, -1]])],
    "one place": lambda xp: grid(xp).flat[xp.array(4)],
    "number": lambda xp: grid(xp).flat[xp.sum(xp.ones(3, int))],
    "out of range": lambda xp: grid(xp).flat[xp.array([9])],
    "of columns": lambda xp: grid(xp).T.flat[xp.arange(9) > 4],
    "slice": lambda xp: grid(xp).flat[2:5],
    "write by a mask": lambda xp: written(xp, grid(xp), xp.arange(9) % 2 == 0, xp.arange(5)),
    "write at places": lambda xp: written(xp, grid(xp), xp.array([1, 7]), -1),
    "write to columns": lambda xp: written(xp, grid(xp).T, xp.arange(9) > 4, [10, 20]),
    "write of lists": lambda xp: written(xp, grid(xp), [1, 2], [xp.sum(xp.ones(2)), 7]),
    "compared": lambda xp: grid(xp).flat == grid(xp).T.flat,
    "listed": lambda xp: [float(v) for v in grid(xp).flat],
}


@pytest.mark.parametrize("name", FLAT)
def test_iterators_take_lazy_keys_and_values(name: str) -> None:
    assert outcome(FLAT[name], fnp) == outcome(FLAT[name], np)


def test_an_iterator_goes_on() -> None:
    it = fnp.arange(4.0).flat
    assert isinstance(it, np.flatiter)
    assert (next(it), it.index, len(it)) == (0.0, 1, 4)
    assert list(it) == [1.0, 2.0, 3.0]
    assert fnp.sin(fnp.zeros((2, 2)).flat).shape == (4,)


def test_what_is_read_only_is_exported_so() -> None:
    x = fnp.arange(5.0)
    x.flags.writeable = False
    for shown in (x, x[1:], fnp.broadcast_to(fnp.ones(1), (2,))):
        with pytest.raises(BufferError):
            shown.__dlpack__()
    assert np.from_dlpack(fnp.sum(x)).shape == ()


def test_exported_memory_is_shared() -> None:
    x = fnp.arange(5.0)
    shared = np.from_dlpack(x[1:])
    x[1] = 7
    assert shared[0] == 7


def put(xp: Any, dtype: Any, key: Any, value: Any) -> Any:
    made = xp.zeros((2, 2), dtype)
    made[key] = value
    return made


VALUES = [np.timedelta64(3, "s"), np.datetime64(3, "s"), np.str_("4"), np.bytes_(b"5"), "6", "x"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("dtype", ["i8", "u1", "f8", "?", "c16"])
def test_writes_of_no_numbers(dtype: str, value: Any) -> None:
    for key in ((0, 1), ..., slice(1)):
        results = [outcome(lambda xp, k=key: put(xp, dtype, k, value), xp) for xp in (fnp, np)]
        assert results[0][0] == results[1][0], (key, results)
        if not results[0][0]:
            assert results[0] == results[1]


PIECES: dict[str, Callable[[Any, Any], Any]] = {
    "condition": lambda xp, x: xp.piecewise(x, x > 3, [4, 0]),
    "conditions": lambda xp, x: xp.piecewise(x, [x > 3, x < 0], [lambda v: v * 2, -1, 7]),
    "too many": lambda xp, x: xp.piecewise(x, x > 3, [4, 0, 1]),
}


ONE: dict[str, Callable[[Any, float], Any]] = {
    "array": lambda xp, value: xp.array(value),
    "sum": lambda xp, value: xp.sum(xp.full(2, value / 2)),
}


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("one", ONE)
@pytest.mark.parametrize("value", [1.0, 5.0])
def test_pieces_of_one_number(name: str, one: str, value: float) -> None:
    def call(xp: Any) -> Any:
        return PIECES[name](xp, ONE[one](xp, value))

    assert outcome(call, fnp) == outcome(call, np)


def test_reshapes_by_columns_copy_where_they_are_told_to() -> None:
    x = fnp.arange(6.0).reshape(2, 3)
    for call in (fnp.reshape, fc.Array.reshape, np.reshape):
        with pytest.raises(ValueError, match="copy"):
            call(x, (6,), order="F", copy=False)
        seen = call(x.T, (6,), order="F", copy=False)
        copied = call(x.T, (6,), order="F", copy=True)
        seen[0] += 1
        copied[0] -= 50
        assert x[0, 0] == seen[0]
    assert x[0, 0] == 3


def test_reshapes_by_columns_in_a_function() -> None:
    @fused(strict=True)
    def changed(x: Any) -> Any:
        y = np.reshape(x, (6,), order="F", copy=True)
        y += 1
        return y

    given = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    expected = given.ravel("F") + 1
    for _ in range(3):
        np.testing.assert_array_equal(changed(given), expected)
    np.testing.assert_array_equal(given, np.arange(6.0).reshape(2, 3))


def in_place(array: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    getattr(array, name)(*args, **kwargs)
    return array


METHODS: dict[str, Callable[[Any], Any]] = {
    "choices one by one": lambda xp: xp.array([0, 1]).choose(xp.array([1, 2]), xp.array([7, 8])),
    "choices in a list": lambda xp: xp.array([0, 1]).choose([xp.array([1, 2]), xp.array([7, 8])]),
    "many choices": lambda xp: xp.arange(4).choose(*xp.arange(16).reshape(4, 4)),
    "wrapped choices": lambda xp: xp.array([5, -1]).choose(xp.ones(2), xp.zeros(2), mode="wrap"),
    "stable sort": lambda xp: in_place(xp.array([3, 1, 2]), "sort", stable=True),
    "sort of no axis": lambda xp: in_place(grid(xp), "sort", axis=None),
    "partition of no axis": lambda xp: in_place(grid(xp), "partition", 2, axis=None),
    "partition": lambda xp: in_place(xp.array([3, 1, 2]), "partition", 1, axis=0),
    "joined, out and dtype": lambda xp: xp.concatenate([grid(xp)], out=grid(xp), dtype=float),
    "stacked, out and dtype": lambda xp: xp.stack([grid(xp)[0]] * 3, out=grid(xp), dtype=float),
    "joined out": lambda xp: xp.concatenate([grid(xp)], out=grid(xp) + 1, dtype=None),
    "dot by name": lambda xp: xp.array([3, 1, 2]).dot(b=xp.array([1, 2, 3])),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_numpys_arguments(name: str) -> None:
    found, expected = outcome(METHODS[name], fnp), outcome(METHODS[name], np)
    assert found[0] == expected[0]
    assert found[0] or found == expected


def test_choices_are_not_written_to() -> None:
    last = fnp.array([7, 8])
    assert fnp.array([0, 1]).choose(fnp.array([1, 2]), last).tolist() == [1, 8]
    assert last.tolist() == [7, 8]


def test_arrays_of_bounded_depth() -> None:
    for depth in (2, 1):
        made = [outcome(lambda xp, n=depth: xp.array([[1], [2]], ndmax=n), xp) for xp in (fnp, np)]
        assert made[0] == made[1]
