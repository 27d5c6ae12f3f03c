"""What differs between NumPy's versions: we do as the one that is installed."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.arrays import wrapping
from fusecuda.capture.arrays.array import Array
from fusecuda.graph.numpy_rules import parameters_of, power_looks_at, power_ufunc
from tests.marks import at_length

DTYPES = [np.dtype(c) for c in "?bBhHiIlLefdFD"]
NUMBERS = [2, 2.0, 0.5, -1, -1.0, 1, 1.0, 0, 0.0, 3, 2.5, True]
STRONG = [
    np.float32(2), np.float64(2), np.float64(0.5), np.float32(-1), np.float64(1), np.float64(0),
    np.int8(2), np.int64(2), np.int64(1), np.uint8(0), np.bool_(True), np.float64(3),
]  # fmt: skip


def kind_of(function: Callable[..., Any], *args: Any) -> Any:
    """The dtype of what ``function`` gives, or the type of its error."""
    try:
        return function(*args).dtype
    except TypeError:
        return TypeError
    except Exception as error:
        return type(error)


def in_place(base: Any, exponent: Any) -> Any:
    base **= exponent
    return base


# --- powers


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_powers_have_numpys_dtype(dtype: np.dtype[Any]) -> None:
    """``array ** number`` of every kind of number, also one that is an array, also in place."""
    for shape, number in itertools.product([(3,), ()], [*NUMBERS, *STRONG]):
        values = np.full(shape, 1, dtype)
        spellings = [number] if type(number) in (bool, int, float) else [number, np.array(number)]
        for exponent in spellings:
            lazy = Array.of_array(values)
            expected = kind_of(operator.pow, values, exponent)
            if expected is ValueError:  # by values: said when they are computed
                continue
            assert kind_of(operator.pow, lazy, exponent) == expected, number
            if shape:
                expected = kind_of(in_place, values.copy(), exponent)
                assert kind_of(in_place, lazy.copy(), exponent) == expected, number


def test_powers_of_and_by_lazy_numbers_have_numpys_dtype() -> None:
    """A number that is yet to be computed is looked at where NumPy's dtype depends on it."""
    for dtype, strong in itertools.product(DTYPES, STRONG):
        values, one = np.full(3, 1, dtype), dtype.type(1)
        later, number = Array.of_array(strong), Array.of_array(one)
        assert later.is_scalar and number.is_scalar
        expected = kind_of(operator.pow, values, strong)
        assert kind_of(operator.pow, Array.of_array(values), later) == expected, (dtype, strong)
        expected = kind_of(operator.pow, one, strong)
        assert kind_of(operator.pow, number, strong) == expected, (dtype, strong)


def test_the_ufunc_of_a_power_gives_its_dtype() -> None:
    """What NumPy tells a witness is what it does with an array."""
    for dtype, exponent in itertools.product(DTYPES, [*NUMBERS, *STRONG]):
        values = np.ones(2, dtype)
        ufunc, given = power_ufunc(dtype, exponent)
        if ufunc is not np.power:
            assert ufunc(values.astype(given)).dtype == (values**exponent).dtype
        elif not power_looks_at(dtype, np.asarray(exponent).dtype):
            expected = kind_of(operator.pow, values, exponent)
            assert kind_of(np.power, values, exponent) == expected


@at_length
def test_the_values_of_powers() -> None:
    values = np.array([1, 2, 5])
    for dtype, exponent in itertools.product(("?", "u1", "i4", "f4", "f8"), [2, 2.0, STRONG[0]]):
        x = values.astype(dtype)
        np.testing.assert_array_equal(np.asarray(Array.of_array(x) ** exponent), x**exponent)
        np.testing.assert_array_equal(fc.fused(lambda v, e: v**e)(x, exponent), x**exponent)


# --- where


@pytest.mark.parametrize("number", [300, -1, 2**40, 7])
def test_where_takes_an_integer_as_numpy_does(number: int) -> None:
    """One that the dtype cannot hold is cast, or refused, as the NumPy that is installed does."""
    condition, values = np.array([True, False, True]), np.arange(3, dtype=np.uint8)
    lazy = Array.of_array(values)
    calls: list[Callable[[], Any]] = [
        lambda: np.where(condition, number, lazy),
        lambda: fnp.where(condition, number, values),
        lambda: fc.fused(lambda c, v: np.where(c, number, v))(condition, values),
    ]
    try:
        expected = np.where(condition, number, values)
    except OverflowError:
        for call in calls:
            with pytest.raises(OverflowError):
                call()
        return
    for call in calls:
        found = np.asarray(call())
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


# --- the namespace


@pytest.fixture
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's functions do not tell their parameters, as up to NumPy 2.3 those written in C."""
    signature = inspect.signature

    def told(function: Any) -> inspect.Signature:
        if isinstance(function, wrapping.DISPATCHED):
            raise ValueError("no signature found")
        return signature(function)

    monkeypatch.setattr(inspect, "signature", told)


@pytest.mark.usefixtures("untold")
def test_functions_that_do_not_tell_their_parameters() -> None:
    """Each can be made; ``out`` is written to wherever it stands."""
    assert parameters_of(np.concatenate) is None
    made = {}
    for name in fnp.__all__:
        function = getattr(np, name, None)
        if isinstance(function, wrapping.DISPATCHED):
            made[name] = wrapping.made(function, name, "fusecuda.numpy")
    x = np.arange(3.0)
    out = np.zeros(6)
    assert made["concatenate"]([x, x], 0, out) is out
    assert out.tolist() == [0, 1, 2, 0, 1, 2]
    number = np.zeros(())
    made["dot"](x, x, number)
    assert number == 5
    assert made["where"](x > 1, x, 7).tolist() == [7, 7, 2]
    assert made["lexsort"]([x[::-1]]).tolist() == [2, 1, 0]
    assert made["busday_count"]("2026-01-01", ["2026-01-08"]).tolist() == [5]


def test_every_function_can_be_asked_for() -> None:
    for name in fnp.__all__:
        assert hasattr(fnp, name), name


def test_an_older_numpy_has_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the NumPy that is installed lacks is absent; nothing else is lost."""
    monkeypatch.delattr(np, "__array_namespace_info__", raising=False)
    monkeypatch.delattr(np, "cumulative_sum", raising=False)
    monkeypatch.setattr(np, "__array_api_version__", "2022.12")
    spec = importlib.util.find_spec("fusecuda.numpy")
    assert spec is not None
    assert spec.loader is not None
    namespace = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(namespace)
    assert namespace.__array_api_version__ == "2022.12"
    for name in ("__array_namespace_info__", "cumulative_sum"):
        assert not hasattr(namespace, name)
    assert namespace.sum([1, 2]).tolist() == 3


def test_from_dlpack_copies_where_numpy_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """``copy=True`` gives memory of its own, also where `numpy.from_dlpack` has no such word."""
    taken = np.from_dlpack

    def wordless(x: Any) -> Any:
        return taken(x)

    for function in (taken, wordless):
        monkeypatch.setattr(np, "from_dlpack", function)
        x = np.arange(3.0)
        own, same = fnp.from_dlpack(x, copy=True), fnp.from_dlpack(x)
        x[0] = 5
        assert own.tolist() == [0, 1, 2]
        assert same.tolist() == [5, 1, 2]
