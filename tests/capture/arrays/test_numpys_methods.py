"""Methods of NumPy's arrays and scalars that kernels have nothing to do with, on lazy ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.capture_check import equal
from tests.marks import one_in


def outcome(function: Callable[..., Any], *args: Any) -> tuple[str, str]:
    """What a call gives, as text, or the error that it raises."""
    try:
        return "", str(np.asarray(function(*args)))
    except Exception as error:
        return type(error).__name__, str(error)


# --- scalars


def of_scalars(x: Any, n: Any) -> Any:
    """What NumPy's scalars have and its arrays have not."""
    known = hasattr(x, "is_integer"), hasattr(n[0], "bit_count"), hasattr(n[0], "hex")
    ratio = x[0].as_integer_ratio(), n[1].numerator, n[1].denominator
    return x[0].is_integer(), x[0].hex(), n[1].bit_count(), known, ratio, math.trunc(x[1])


@pytest.mark.parametrize("first", [1.5, 2.0])
def test_methods_of_scalars(first: float) -> None:
    """Fused at each call with new values, and in a block."""
    fused = fc.fused(of_scalars)
    for offset in (first, first, first + 1):
        x, n = np.arange(4.0) + offset, np.arange(4) + 5
        assert fused(x, n) == of_scalars(x, n)
    with fc.fused():
        assert of_scalars(fnp.asarray(x), fnp.asarray(n)) == of_scalars(x, n)


def test_trunc_of_what_cannot_be() -> None:
    """An array has none, and no more has a float32 of NumPy's."""
    for value in (np.arange(3.0), np.float32(1.5)):
        with fc.fused(), pytest.raises(TypeError, match="__trunc__"):
            math.trunc(fnp.asarray(value) if value.shape else fnp.asarray([value])[0])


# --- axes of a number

OF_NUMBERS = ("sum", "prod", "max", "any", "mean", "std", "argmin", "cumsum", "ptp",
              "count_nonzero", "squeeze", "nansum", "nanmax", "nanmin",
              "expand_dims", "average")  # fmt: skip


@pytest.mark.parametrize("axis", [0, -1, (0,), (), 1], ids=str)
@pytest.mark.parametrize("name", OF_NUMBERS)
@one_in(8)
def test_axes_of_a_number(name: str, axis: Any) -> None:
    """Some functions of NumPy's know an axis 0 of a 0-d array, others do not."""
    with fc.fused():
        got = outcome(getattr(fnp, name), fnp.asarray(3.5), axis)
    assert got == outcome(getattr(np, name), np.array(3.5), axis)


def test_reduce_of_a_number() -> None:
    """The methods of ufuncs do, by default."""
    with fc.fused():
        assert fnp.add.reduce(fnp.asarray(3.5)) == 3.5
        assert fnp.maximum.reduce(fnp.asarray(3.5), axis=-1) == 3.5


# --- views and what is written


def seen_otherwise(a: Any) -> Any:
    """A view that gets another shape, and is written to; `put`."""
    a[:] = a * 2
    flat = a.view()
    flat.shape = (-1,)
    flat[-1] = 123
    a.put([0, 1], [7, 8])
    return flat, a.view("f8")


def test_views_without_a_type_are_views() -> None:
    """They can be written to, and given another shape."""
    fused = fc.fused(seen_otherwise)
    for offset in range(3):
        got, want = np.arange(6.0).reshape(2, 3) + offset, np.arange(6.0).reshape(2, 3) + offset
        flat, same = fused(got)
        np.testing.assert_array_equal(flat, seen_otherwise(want)[0])
        np.testing.assert_array_equal(got, want)
        assert np.shares_memory(flat, got) and np.shares_memory(same, got)
    with fc.fused():
        lazy = fnp.arange(6.0).reshape(2, 3)
        seen_otherwise(lazy)
        assert lazy[1, 2] == 123 and lazy[0, 1] == 8


def test_a_view_of_another_type_is_written_to() -> None:
    """What is written by either shows in both, what is recorded in between comes before."""
    with fc.fused():
        x = fnp.arange(4.0)
        y = x * 2
        bits = x.view(np.int64)
        bits[0] = np.float64(5.0).view(np.int64)
        z = x * 2
        x[1] = 3.0
        assert bits[1] == np.float64(3.0).view(np.int64)
    assert y[0] == 0.0 and z[0] == 10.0 and x[0] == 5.0


ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "ravel": lambda x, order: x.ravel(order),
    "flatten": lambda x, order: x.flatten(order=order),
    "reshape": lambda x, order: x.reshape(-1, order=order),
    "copy": lambda x, order: np.ravel(x.copy(order), "K"),
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("order", [None, "A", "Q"])
def test_orders(name: str, order: Any) -> None:
    """None are rows; what is no order is NumPy's error."""
    if (name, order) == ("copy", "Q"):
        pytest.skip("its letter is not looked at")
    x, program = np.arange(6.0).reshape(2, 3).T, ORDERED[name]
    want, fused = outcome(program, x, order), fc.fused(lambda x: program(x, order))
    for got in (outcome(fused, x), outcome(fused, x), outcome(program, fnp.asarray(x), order)):
        assert got == want


def resized(m: Any, x: Any, shape: Any) -> Any:
    x = m.add(x, 1)
    x.resize(*shape, refcheck=False)
    doubled = x * 2
    x += 1
    return str([np.asarray(v).tolist() for v in (x, doubled)]), x.flags.owndata


@pytest.mark.parametrize("shape", [(3, 2), ((3, 2),), (2,), (4, 4), (0,), (), ("a",)], ids=str)
def test_resized(shape: Any) -> None:
    """Shorter, or longer by zeros."""
    x = np.arange(6.0).reshape(2, 3)
    want, traced = outcome(resized, np, x, shape), fc.fused(lambda x: resized(np, x, shape))
    for _ in range(2):
        assert outcome(traced, x) == want
    assert outcome(resized, fnp, fnp.asarray(x), shape) == want
    with fc.fused():
        assert outcome(resized, fnp, fnp.asarray(x), shape) == want


def test_what_is_not_resized() -> None:
    """A view; and views of what is have the memory that there was."""
    x = fnp.arange(6.0)
    shown = x[1:3]
    with pytest.raises(ValueError, match="does not own its data"):
        shown.resize(1)
    x.resize(2)
    assert (x.tolist(), shown.tolist()) == ([0.0, 1.0], [1.0, 2.0])


@pytest.mark.parametrize("name", ["median", "nanmedian", "nanquantile"])
def test_input_that_may_be_overwritten(name: str) -> None:
    """It is not."""
    x, rest = np.array([3.0, 1.0, 2.0]), (0.5,) if "quantile" in name else ()
    array = fnp.asarray(x)
    found = getattr(fnp, name)(array, *rest, overwrite_input=True)
    assert (float(found), array.tolist()) == (2.0, x.tolist())


def test_a_power_of_a_range() -> None:
    equal(fnp.float_power(range(3), fnp.arange(3.0)), np.float_power(range(3), np.arange(3.0)))


@pytest.mark.parametrize(
    "value", [[1], np.ones(1), np.ones((1, 1)), [], 3, np.array(3.0)], ids=repr
)
def test_filled(value: Any) -> None:
    """With a number; a sequence is NumPy's error."""

    def program(x: Any) -> Any:
        x.fill(value)
        return x

    want = outcome(program, np.zeros(3))
    assert outcome(program, fnp.zeros(3)) == want
    assert outcome(fc.fused(program), np.zeros(3)) == want


def test_what_may_not_be_written_to() -> None:
    """`setflags`, and what the flags say."""
    with fc.fused():
        x = fnp.arange(4.0)
        assert x.flags.writeable
        x.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        assert not x.flags.writeable
        x.setflags(write=True)
        x[0] = 1
        assert x[0] == 1
        y = x * 2
        for frozen in (False, 0, np.False_):
            y.flags.writeable = frozen
            with pytest.raises(ValueError, match="read-only"):
                y[0] = 1
            with pytest.raises(ValueError, match="read-only"):
                y += 1
            with pytest.raises(ValueError, match="read-only"):
                y[1:][0] = 1
            y.flags["W"] = True
            assert y.flags["WRITEABLE"] is True
            y[0] += 1
        assert y[0] == 5.0


def test_flags_tell_of_layouts() -> None:
    """As NumPy's, without computing what is pending."""

    def made(space: Any) -> Any:
        x = space.arange(6.0).reshape(2, 3) * 1.5
        every = (x, x.T, x[:, ::2], x[0], x.T.copy(), np.broadcast_to(x[0], (2, 3)), x[:0])
        names = (
            "c_contiguous",
            "f_contiguous",
            "contiguous",
            "forc",
            "fnc",
            "aligned",
            "writeable",
        )
        return [
            [*[getattr(a.flags, n) for n in names], a.flags["C"], a.flags["F_CONTIGUOUS"]]
            for a in every
        ], [repr(x.flags), x.flags.owndata, x.T.flags.owndata]

    want = made(np)
    with fc.fused() as block:
        found = made(fnp)
        assert block.launches == 0
    assert found[0] == want[0]
    assert found[1][1:] == want[1][1:]
    assert found[1][0].replace(" ", "") == want[1][0].replace(" ", "")


def test_flags_in_fused_functions() -> None:
    """Layouts are conditions; what may be written to is not given back otherwise."""

    def f(x: Any) -> Any:
        if not x.flags["C_CONTIGUOUS"]:
            x = np.ascontiguousarray(x) + 1
        made = x * 2
        made.flags.writeable = False
        try:
            made[0] = 1
        except ValueError as error:
            return made, str(error)
        return made, ""

    fused = fc.fused(f, strict=True)
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2).T) * 2:
        found, want = fused(x), f(x)
        assert found[1] == want[1]
        assert np.array_equal(found[0], want[0])
        assert not found[0].flags.writeable

    def freeze(x: Any) -> None:
        x.flags.writeable = False

    x = np.arange(3.0)
    fc.fused(freeze)(x)
    assert not x.flags.writeable


def test_flags_tell_owners_from_views_and_are_compared() -> None:
    """A view that shows all of an array owns nothing."""

    def program(a: Any) -> Any:
        y = a * 2
        view = y[:]
        if not view.flags.owndata:
            view = view.copy()
        view += 1
        return y, view, y.flags == y.flags, y.flags != y.flags, y.flags.num, view.T.flags.num

    function = fc.fused(program)
    for _ in range(3):
        equal(function(np.arange(3.0)), program(np.arange(3.0)))


def test_an_object_is_asked_once_for_its_array() -> None:
    class Counted:
        asked = 0

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            self.asked += 1
            return np.arange(3.0)

    counted = Counted()
    assert fnp.asarray(counted).tolist() == [0, 1, 2]
    assert counted.asked == 1
