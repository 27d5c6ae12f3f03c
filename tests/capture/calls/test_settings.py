"""Settings of libraries, which a call supposes to be as they were."""

from __future__ import annotations

import abc
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from scipy.special import gamma

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.capture_check import equal

THIRDS = np.ones(2) / 3


class Named:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        return str(self.value)


TEXTS: list[tuple[str, Callable[[], Any]]] = [
    ("str", lambda: str(np.arange(3.0) / 3)),
    ("format", lambda: f"{np.arange(3.0) / 3}"),
    ("percent", lambda: "%s" % (np.arange(3.0) / 3)),
    ("method", lambda: (np.arange(3.0) / 3).__repr__() + "."),
    ("array2string", lambda: np.array2string(np.arange(3.0) / 3)),
    ("options", lambda: np.get_printoptions()["precision"]),
    ("object", lambda: f"{Named(np.arange(3.0) / 3)}"),
]


@pytest.mark.parametrize("text", [text for _, text in TEXTS], ids=[name for name, _ in TEXTS])
def test_texts_of_constants_follow_the_print_options(text: Callable[[], Any]) -> None:
    def f(x: Any) -> Any:
        return x * 2, text()

    fused = fc.fused(f, strict=True)
    for precision in (8, 3, 3, 8, 5, 8):
        with np.printoptions(precision=precision):
            got, want = fused(THIRDS), f(THIRDS)
        equal(got[0], want[0])
        assert got[1] == want[1]
    assert fused.explain().startswith("f: replayed")


def test_functions_that_make_no_texts_are_replayed_under_all_print_options() -> None:
    fused = fc.fused(lambda x: x * 2, strict=True)
    fused(THIRDS)
    with np.printoptions(precision=3):
        fused(THIRDS)
    assert "replayed" in fused.explain()


def test_print_options_that_a_function_sets_itself() -> None:
    def f(x: Any) -> Any:
        with np.printoptions(precision=3):
            inside = str(np.arange(3.0) / 3)
        return x * 2, inside, str(np.arange(3.0) / 3)

    fused = fc.fused(f)
    for precision in (8, 8, 4):
        with np.printoptions(precision=precision):
            assert fused(THIRDS)[1:] == f(THIRDS)[1:]


def gamma_by_module(x: Any) -> Any:
    return scipy.special.gamma(x) * 2


def gamma_by_name(x: Any) -> Any:
    return gamma(x) * 2


def told(function: Callable[[Any], Any], x: Any) -> tuple[Any, list[str]]:
    """What ``function`` gives or raises, and of what it warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(x).round(9).tolist()
        except scipy.special.SpecialFunctionError as error:
            result = str(error)
    return result, [str(w.message) for w in caught]


@pytest.mark.parametrize("f", [gamma_by_module, gamma_by_name], ids=["module", "name"])
def test_special_functions_raise_and_warn_as_scipy_is_told(f: Callable[[Any], Any]) -> None:
    fused, x = fc.fused(f), np.array([-1.0, 0.5])
    for kind in ("ignore", "ignore", "raise", "raise", "warn", "warn", "ignore", "raise"):
        with scipy.special.errstate(singular=kind):
            assert repr(told(fused, x)) == repr(told(f, x))
    assert fused(np.ones(2)).tolist() == [2.0, 2.0]
    with scipy.special.errstate(all="raise"), pytest.raises(scipy.special.SpecialFunctionError):
        scipy.special.gamma(fnp.asarray(x) + 0)


def test_states_of_special_functions_inside() -> None:
    def f(x: Any) -> Any:
        with scipy.special.errstate(singular="raise"):
            return scipy.special.psi(x)

    fused = fc.fused(f)
    for x in (np.ones(3), np.zeros(3), np.ones(3), np.zeros(3)):
        assert repr(told(fused, x)) == repr(told(f, x))


def test_classes_that_are_registered() -> None:
    """They count from then on as what they are registered for."""

    class Base(abc.ABC):  # noqa: B024 - it is only registered for
        """No method."""

    class Other:
        """No heir."""

    step = fc.fused(lambda value, x: x * 2 if isinstance(value, Base) else x * 3)
    assert [step(Other(), np.ones(1))[0] for _ in range(3)] == [3] * 3
    Base.register(Other)
    assert [step(Other(), np.ones(1))[0] for _ in range(3)] == [2] * 3


def test_functions_that_are_registered() -> None:
    @functools.singledispatch
    def factor(value: Any) -> float:
        return 1.0

    step = fc.fused(lambda value, x: x * factor(value))
    assert [step(0.5, np.ones(1))[0] for _ in range(3)] == [1] * 3
    factor.register(float)(lambda value: 7.0)
    assert [step(0.5, np.ones(1))[0] for _ in range(3)] == [7] * 3
