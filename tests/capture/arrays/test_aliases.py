"""What shares memory with what: a write to a result reaches the array where NumPy's does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import lazy, outcome, same_outcome
from tests.marks import one_in

pytestmark = pytest.mark.usefixtures("both_ways")

Function = Callable[..., Any]
ONE = np.array(1)


def nothing_to_clean(x: Any) -> Any:
    return np.nan_to_num(x, copy=False)


FUNCTIONS: dict[str, Function] = {
    "the conjugates of reals": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "np.conj": np.conj,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "np.imag": np.imag,
    "a row by an array": lambda x: x[ONE],
    "a row by an array that is computed": lambda x: x[np.asarray(x[0].argmin())],
    "a row by a number": lambda x: x[x[0].argmin()],
    "part of a row": lambda x: x[ONE, 1:],
    "a column": lambda x: x[..., ONE],
    "tiles": lambda x: np.tile(x, 1),
    "a diagonal": np.diag,
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
    "tiles in two directions": lambda x: np.tile(x, (1, 1)),
    "nan_to_num": nothing_to_clean,
}
ARRAYS = {
    "reals": np.arange(6.0).reshape(2, 3),
    "integers": np.arange(6).reshape(2, 3),
    "halves": np.arange(6, dtype=np.float16).reshape(2, 3),
    "bools": np.array([[True, False], [False, True]]),
    "complex numbers": np.arange(6).reshape(2, 3) * (1 + 1j),
}


def changed_after(function: Function) -> Function:
    """What is left after a write to the function's result, and what that has raised."""

    def run(x: Any) -> Any:
        made = function(x)
        error = outcome(made.__setitem__, ..., made + 1)
        return x, made, "" if error is None else f"{type(error).__name__}: {error}"

    return run


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
@one_in(48)
def test_a_write_reaches_what_numpys_does(name: str, array: str) -> None:
    """On lazy arrays and in fused functions."""
    run = changed_after(FUNCTIONS[name])
    *want, error = run(ARRAYS[array].copy())
    fused = fc.fused(run, strict=True)
    for found in (
        run(lazy(ARRAYS[array])),
        fused(ARRAYS[array].copy()),
        fused(ARRAYS[array].copy()),
    ):
        same_outcome(list(found[:2]), want)
        assert found[2] == error


def test_errors_of_what_may_not_be_written() -> None:
    """The text is NumPy's, and the array stays as it may be written to."""
    a, b = np.arange(6), lazy(np.arange(6))
    for x in (a, b):
        said = outcome(np.copyto, x, 2.5, "same_kind", x > 1)
        assert str(said).startswith("Cannot cast"), said
    for name in ("sort", "partition"):
        given = [np.arange(3.0), lazy(np.arange(3.0))]
        for x in given:
            x.setflags(write=False)
        want, got = (outcome(getattr(x, name), *[0] * (name == "partition")) for x in given)
        assert str(got) == str(want)


@pytest.mark.parametrize("dtype", ["c16", "c8", "clongdouble"])
def test_parts_of_memory_that_others_keep(dtype: str) -> None:
    """They are read and written as parts, wherever the whole is looked at from."""

    def f(z: Any, local: Any) -> Any:  # into which no recording looks
        last = np.fft.ifft(z).imag
        local.z, local.last, local.rest = z, last, z[1:].real
        z.imag += 1
        z[1:].real = z[:-1].imag
        return z.imag * 2, z[::-1].real.sum(), last.sum(), np.maximum.accumulate(z.real)

    ours = fc.fused(f)
    for i in range(3):
        z, w = ((np.arange(4) * i + 1j * np.arange(5, 9)).astype(dtype) for _ in range(2))
        for got, want in zip(ours(z, threading.local()), f(w, threading.local()), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
        np.testing.assert_array_equal(z, w)
