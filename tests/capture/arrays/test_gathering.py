"""Lists of lazy arrays and numbers, where NumPy takes one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.capture_check import equal
from tests.marks import one_in


def _put(xp: Any, value: Any, dtype: Any = float) -> Any:
    target = xp.zeros((2, 3, 4), dtype)
    target[1] = value
    return target


def _added(xp: Any, at: Any, value: Any) -> Any:
    target = xp.zeros((2, 2))
    xp.add.at(target, at, value)
    return target


LISTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "rows put": lambda xp, x, y: _put(xp, (x, y, x * 2)),
    "rows and a list put": lambda xp, x, y: _put(xp, [x, [1, 2, 3, 4], y]),
    "rows put among integers": lambda xp, x, y: _put(xp, (x, y, x), int),
    "numbers": lambda xp, x, y: xp.array([x.sum(), 1.0, y.max()]),
    "numbers of other types": lambda xp, x, y: xp.array([x.sum() > 1, 2]),
    "a complex number": lambda xp, x, y: xp.array((x[0], 2j)),
    "a matrix": lambda xp, x, y: xp.array([[x[0], 1], [2, y[0]]]),
    "rows": lambda xp, x, y: xp.array([x, y * 2]),
    "as single": lambda xp, x, y: xp.array([x[0], 1], dtype=xp.float32),
    "as integers": lambda xp, x, y: xp.asarray((x.mean(), y.mean(), 1.5), dtype=int),
    "without elements": lambda xp, x, y: xp.array([x[:0], y[:0]]),
    "an operand": lambda xp, x, y: x[:2] + [x.sum(), 1],  # noqa: RUF005
    "a first operand": lambda xp, x, y: [x.sum(), 1] * y[:2],
    "operands of a ufunc": lambda xp, x, y: xp.maximum([x[0], 2.0], y[:2]),
    "a mean": lambda xp, x, y: xp.mean([x, y], axis=0),
    "a maximum": lambda xp, x, y: xp.max([x.max(), y.max(), 3]),
    "a median": lambda xp, x, y: xp.median([x.sum(), y.sum(), 1.0]),
    "a norm": lambda xp, x, y: xp.linalg.norm([x, y], axis=0),
    "a product": lambda xp, x, y: xp.dot([x[0], x[1]], [y[0], y[1]]),
    "reduced": lambda xp, x, y: xp.minimum.reduce([x, y, x * 2]),
    "added at pairs of indices": lambda xp, x, y: _added(
        xp, (xp.asarray([0, 1, 1]), (x[:3] % 2).astype(int)), y[:3]
    ),
    "clipped": lambda xp, x, y: xp.clip([x.sum(), 3.0], 0, 2),
    "joined": lambda xp, x, y: xp.concatenate([x, y[:1]]),
    "no array": lambda xp, x, y: xp.array([x, y[:1]]),
    "two shapes put": lambda xp, x, y: _put(xp, (x, y, 3)),
}


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The values, with their type, or the error."""
    try:
        made = np.asarray(function(*args))
    except Exception as error:
        return type(error), str(error)
    return made.dtype, made.tolist()


@pytest.mark.parametrize("name", LISTS)
@one_in(4)
def test_lists(name: str) -> None:
    """In a block they are NumPy's, and in a fused function at each call."""
    function = LISTS[name]
    fused = fc.fused(lambda x, y: function(np, x, y))
    for offset in range(3):
        x, y = np.arange(4.0) + offset, np.arange(4.0)[::-1] * 3
        want = outcome(function, np, x, y)
        assert outcome(fused, x, y) == want
        with fc.fused():
            assert outcome(function, fnp, fnp.asarray(x), fnp.asarray(y)) == want


def test_a_list_is_no_look() -> None:
    """What is put together waits as its parts do."""
    with fc.fused():
        x = fnp.arange(4000.0)
        y = fnp.zeros((2, 4000))
        y[:] = [x * 2, x + 1]
        z = fnp.mean([y[0], x], axis=0)
        z += fnp.minimum.reduce([x, z])
        assert y.storage.pending and z.storage.pending
    assert float(z[3]) == 4.5 + 3.0


def test_followed_numbers_in_lists() -> None:
    """They may change, and none is looked at."""
    fused = fc.fused(
        lambda x, n, a: (np.array([x.sum(), n, 2 * a]), x[:2] * [x[3], n]), strict=True
    )
    for n, a in ((1, 0.5), (2, 0.5), (7, 1.5)):
        x = np.arange(4.0) * a
        first, second = fused(x, n, a)
        assert first.tolist() == [x.sum(), n, 2 * a] and second.tolist() == [0.0, x[1] * n]
    assert fused.traces == 1


WAITING: dict[str, Callable[[Any], Any]] = {
    "first of what is joined": lambda x: np.concatenate([[x[0], 1.0], x * 2]),
    "all of what is joined": lambda x: np.concatenate([[x[0], x[1]], (x[2],)]),
    "rows": lambda x: np.vstack([[x[0], x[1]], [x[2], x[3]]]),
    "columns": lambda x: np.stack([[x[0], x[1]], x[:2]], 1),
    "points of a line": lambda x: np.interp(x, [x.min(), 0, x.max()], [0.0, 0.5, 1.0]),
    "an operand": lambda x: np.einsum("i,i->", x[:2], [x.max(), x.min()]),
    "sorted numbers": lambda x: np.searchsorted([x.min(), 0, x.max()], x),
    "places": lambda x: np.take(x, [x.argmin(), x.argmax()]),
    "what is appended": lambda x: np.append(x, [x.min(), x.max()]),
    "what is in front": lambda x: np.ediff1d(x, to_begin=[x[0], x[1]]),
    "what is copied": lambda x: _copied_to(x * 1, [x[3], x[2]]),
    "weights": lambda x: np.convolve(x, [x[0], x[1]]),
    "a condition": lambda x: np.where([x[0] > 0, x[1] > 0], x[:2], 0.0),
    "repeated": lambda x: np.tile([x[0], x[1]], 3),
    "a matrix": lambda x: np.linalg.solve([[x[0], 9], [9, x[1]]], [x[2], x[3]]),
    "one operand": lambda x: np.exp([x[0], x[1]]),
    "a filling": lambda x: np.full((3, 2), [x[0], x[1]]),
}


def _copied_to(target: Any, source: Any) -> Any:
    np.copyto(target[:2], source)
    return target


@pytest.mark.parametrize("name", WAITING)
def test_lists_wait_as_their_parts_do(name: str) -> None:
    """No function that takes one looks at it."""
    function = WAITING[name]
    fused = fc.fused(function, strict=True)
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal(6)
        np.testing.assert_allclose(fused(x), function(x), rtol=1e-12)
    assert fused.traces == 1


def of_given_lists(x: Any, places: list[int], rows: list[Any]) -> Any:
    written = x.copy()
    written[places, 1:] = 7.0
    np.add.at(written, (places, 0), 1.0)
    np.put(written, places, [3.0, 4.0])
    picked = x[places, :, None], np.take(x, places, 0), np.interp(rows[0], places, rows[0][:2])
    return written, picked, np.mean(rows, axis=0), np.array(rows), rows[0] + rows, np.max(rows)


def test_lists_that_are_given() -> None:
    """NumPy takes them as any list; how long they are and what is in them may change."""
    fused = fc.fused(of_given_lists, strict=True)
    for places, count in (([2, 0], 2), ([0, 1], 2), ([1, 1], 3), ([2, 1], 2), ([0, 2], 1)):
        x = np.arange(12.0).reshape(3, 4) + count
        rows = [np.arange(4.0) * (k + count) for k in range(count)]
        got, want = fused(x, places, rows), of_given_lists(x, places, rows)
        assert repr(got) == repr(want)
    assert "replayed" in fused.explain()


class Wrapped:
    """Something of the user's that NumPy takes for an array, and that counts how often it does."""

    def __init__(self, values: Any) -> None:
        self.values, self.asked = values, 0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.asked += 1
        return np.array(self.values, dtype)


def of_wrapped(w: Wrapped, x: Any) -> Any:
    w.values[0] += 5
    if w.values.sum() > 3:  # from here on the call cannot begin again
        w.values[1] *= 2
    return (
        np.mean(w),
        np.asarray(w) + 1,
        np.add(w, x),
        x * w,
        np.stack([w, w]),
        np.where(x > 1, w, x),
    )  # type: ignore[call-overload]


def test_objects_that_say_what_they_are_as_arrays() -> None:
    """NumPy's own code asks them for arrays of its own."""
    fused = fc.fused(of_wrapped)
    for offset in range(3):
        got, want = Wrapped(np.arange(4.0)), Wrapped(np.arange(4.0))
        x = np.arange(4.0) + offset
        assert repr(fused(got, x)) == repr(of_wrapped(want, x))
        assert np.array_equal(got.values, want.values) and got.asked == want.asked
    assert "raised" not in fused.explain()  # after which NumPy makes the call again


def test_many_parts_are_put_together_by_numpy() -> None:
    """A plan of as many parts would take seconds."""
    fused = fc.fused(lambda x: (np.array([v * 2 for v in x]), np.mean([v + 1 for v in x])))
    for offset in range(2):
        x = np.arange(300.0) + offset
        twice, mean = fused(x)
        assert twice.tolist() == (x * 2).tolist() and mean == x.mean() + 1
    with fc.fused():
        y = fnp.arange(300.0)
        assert fnp.array([v * 2 for v in y]).tolist() == (np.arange(300.0) * 2).tolist()


def test_small_lists_are_put_together_at_once() -> None:
    """Outside of blocks nothing of small work waits, and what is written is a copy."""
    x, target = fnp.arange(4.0), fnp.zeros((2, 4))
    target[:] = x, x + 1
    made = fnp.array([x[1], 2.0])
    assert not target.storage.pending and not made.storage.pending
    x += 5
    assert target.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]] and made.tolist() == [1.0, 2.0]


def test_choices_are_lists_as_such() -> None:
    """Of sequences of arrays that are no rows of one array."""
    x = np.linspace(0.0, 5.0, 30)

    def chosen(x: Any) -> Any:
        k = x.astype(int) % 3
        rows = [x, x * 2, x.astype(np.float32)]
        counts, _ = np.histogramdd([x, x * 2], bins=[3, 2])
        return np.choose(k, rows), counts, np.lexsort([x, k])

    step = fc.fused(chosen)
    for _ in range(3):
        equal(step(x), chosen(x))
    lowered = fc.lower(lambda x: np.choose(x.astype(int) % 2, [x, x + 1]), x)
    assert lowered.launches == 1
