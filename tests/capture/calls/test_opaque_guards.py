"""What stands between opaque code and a recording, each guard by itself."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import weakref
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.arrays import opaque
from fusecuda.capture.calls.endings import Unfollowed
from fusecuda.capture.calls.scan import reads_of
from fusecuda.capture.calls.trace import Trace


def test_a_recording_that_is_given_up_uses_nothing_opaque() -> None:
    """Whatever a ``finally`` calls on the way out is called once, by the plain call."""
    trace = object.__new__(Trace)
    trace.failure = "it takes too long"
    with pytest.raises(Unfollowed, match="it takes too long"):
        trace.used()


def test_a_with_statement_may_swallow_errors() -> None:
    """But for ``errstate``, which swallows none."""

    def suppressed(x: Any) -> Any:
        with contextlib.suppress(IndexError):
            return x[9]

    def of_errstate(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return x / 0

    assert reads_of(suppressed).catches and not reads_of(of_errstate).catches


def test_what_opaque_code_makes_read_only_is_so() -> None:
    class Known:
        writeable, shape = True, (3,)
        shape = (3,)

        def let_go(self) -> None:
            """Nothing is pending on it."""

    known, memory = Known(), np.zeros(3)
    memory.flags.writeable = False
    handed: dict[int, Any] = {1: (weakref.ref(known), memory, True)}
    opaque._changes_seen(handed)
    assert not known.writeable and not handed[1][2]


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5 on
def test_what_opaque_code_knows_has_the_shape_that_is_assigned() -> None:
    """It may keep the array, and is given the same one again; it may assign a shape, too."""
    kept: list[Any] = []
    keep = contextvars.Context().run

    def halves(x: Any) -> Any:
        y = x * 2
        keep(kept.append, y)
        y.shape = (2, -1)
        return y + 1, keep(np.shape, y)

    def turned(x: Any) -> Any:
        y = x * 2
        keep(setattr, y, "shape", (3, 2))
        return y + np.array([1, 2])

    x = np.arange(6.0)
    got, seen = fc.fused(halves)(x)
    assert got.tolist() == [[1, 3, 5], [7, 9, 11]] and seen == (2, 3) == kept[0].shape
    assert fc.fused(turned)(x).tolist() == turned(x).tolist()


def test_what_comes_back_through_opaque_code_is_the_functions_own() -> None:
    """What a function of the program's that others call gives are lazy arrays."""
    given: list[str] = []

    def elsewhere(x: Any) -> Any:
        y = contextvars.Context().run(lambda: x * 2)
        given.append(object.__repr__(y))
        return np.where(y > 4, y, 0)

    x, fused = np.array([3.0, 1, 2, 0, 5, 6, 0, 1, 2, 9, 8, 7]), fc.fused(elsewhere)
    for start in range(3):
        np.testing.assert_array_equal(fused(x + start), elsewhere(x + start))
    assert len(given) == 6 and not any(["StandIn" in text for text in given])


def test_iterators_that_a_function_makes_are_its_own() -> None:
    """`tee`, `cycle` and `count` keep what they are given no longer than others do."""

    def rises(x: Any) -> Any:
        first, second = itertools.tee(x[i : i + 4] * 2 for i in range(0, 12, 4))
        next(second)
        gaps = zip(first, second, itertools.cycle([1.0, -1.0]), itertools.count(2), strict=False)
        return [np.where(b - a > 0, sign, by) for a, b, sign, by in gaps]

    x, fused = np.array([3.0, 1, 2, 0, 5, 6, 0, 1, 2, 9, 8, 7]), fc.fused(rises, strict=True)
    for start in range(3):
        np.testing.assert_array_equal(fused(x + start), rises(x + start))
    assert fused.traces == 1

    def numbered(x: Any, numbers: Any) -> Any:
        return x * next(numbers)

    given, mine = itertools.count(2), fc.fused(numbered)
    for number in range(2, 5):
        np.testing.assert_array_equal(mine(x, given), x * number)


class _Table:
    """Of a library: what NumPy's functions make of it, it says itself."""

    __module__ = "a_library"

    def __init__(self, column: Any) -> None:
        self.column, self.kept = column, iter(())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.column, dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **named: Any) -> Any:
        arrays = [part.column if isinstance(part, _Table) else part for part in given]
        return _Table(getattr(ufunc, method)(*arrays, **named))

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        return "by the table"


def _as_opaque(function: Any, table: Any, *args: Any) -> Any:
    """What ``function`` gives for what stands for ``table``, as in a recording."""
    return opaque.original(function(opaque.stand_in(table, lambda: None), *args))


def test_numpy_asks_what_stands_for_an_object_what_it_is() -> None:
    """Its memory is an array of NumPy's, and its own methods answer NumPy's functions."""
    table = _Table(np.array([1.0, 4.0]))
    assert _as_opaque(np.asarray, table).tolist() == [1, 4]
    root = _as_opaque(np.sqrt, table)
    assert type(root) is _Table and root.column.tolist() == [1, 2]
    assert _as_opaque(np.median, table) == "by the table"
    masked = np.ma.masked_array([1.0, 4.0], [True, False])
    for odd in (masked, np.array([[1.0, 4.0]]).view(np.matrix)):
        got, want = fc.fused(np.sqrt)(odd), np.sqrt(odd)
        assert (
            type(got) is type(want)
            and np.ma.filled(got, 0).tolist() == np.ma.filled(want, 0).tolist()
        )


def test_who_refuses_numpys_functions_is_asked_for_the_operator() -> None:
    """``__array_ufunc__`` is None then, also of what stands for it."""

    class Refusing:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "its own sum"

    made = opaque.stand_in(Refusing(), lambda: None)
    assert np.ones(2) + made == "its own sum"
    with pytest.raises(TypeError):
        np.add(np.ones(2), made)
