"""What the tests of capture compare with: NumPy's own results, exactly."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

import fusecuda as fc
from fusecuda.graph.dtypes import kind_of


def lazy(value: Any) -> Any:
    """``value`` with every NumPy array in it as a lazy array with memory of its own."""
    if isinstance(value, np.ndarray):
        return fc.Array.of_array(value)
    if type(value) in (list, tuple):
        return type(value)(lazy(v) for v in value)
    return value


def twin(value: Any, memo: dict[Any, Any] | None = None) -> Any:
    """A copy whose arrays have the strides, the overlaps and the flags of those in ``value``."""
    memo = {} if memo is None else memo
    if type(value) is dict:
        return {k: twin(v, memo) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(twin(v, memo) for v in value)
    if type(value) is not np.ndarray or value.dtype.hasobject:
        return copy.deepcopy(value)
    root = value
    while isinstance(root.base, np.ndarray):
        root = root.base
    if id(value) not in memo:
        if ("room", id(root)) not in memo:
            low, high = byte_bounds(root)
            memo["room", id(root)] = (
                low,
                np.frombuffer(ctypes.string_at(low, high - low), np.uint8).copy(),
            )
        low, room = memo["room", id(root)]
        offset = value.__array_interface__["data"][0] - low
        shown = np.ndarray(value.shape, value.dtype, room.data, offset, value.strides)
        shown.flags.writeable = value.flags.writeable
        memo[id(value)] = shown
    return memo[id(value)]


def equal(got: Any, want: Any, ulp: int = 0) -> None:
    """``got`` has the dtype, shape and elements of ``want``; NaN equals NaN, -0.0 only -0.0.

    Floats, and each part of complex numbers, may be ``ulp`` units in the last place away.
    """
    if isinstance(want, list | tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            equal(g, w, ulp)
        return
    a, b = np.asarray(got), np.asarray(want)
    assert a.dtype == b.dtype, f"{a.dtype} is not {b.dtype}"
    assert a.shape == b.shape, f"{a.shape} is not {b.shape}"
    if kind_of(a.dtype) != a.dtype.kind:  # NaN of these is told from NaN below
        a, b = a.astype(np.float32), b.astype(np.float32)
    if ulp and a.dtype.kind == "c":
        equal(a.real, b.real, ulp)
        equal(a.imag, b.imag, ulp)
        return
    if ulp and kind_of(a.dtype) == "f":
        finite = np.isfinite(b)
        np.testing.assert_array_equal(a[~finite], b[~finite])
        np.testing.assert_array_max_ulp(a[finite], b[finite], ulp)
        return
    np.testing.assert_array_equal(a, b)
    if kind_of(a.dtype) in "fc":
        real = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a.real)[real], np.signbit(b.real)[real])


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What ``function`` returns, or the exception that it raises."""
    try:
        return function(*args)
    except Exception as error:
        return error


def same_outcome(got: Any, want: Any, ulp: int = 0) -> None:
    """Both raised, exceptions of a kind, or both are equal."""
    if isinstance(want, Exception):
        if isinstance(got, fc.Array):
            got = outcome(np.asarray, got)  # a fault of the values shows when they are looked at
        assert isinstance(got, Exception), f"{want!r} was not raised, but {got!r} returned"
        assert isinstance(want, type(got)) or isinstance(got, type(want)), f"{got!r}: {want!r}"
        return
    if isinstance(got, Exception):
        raise got
    equal(got, want, ulp)


def sample(dtype: Any, shape: tuple[int, ...] = (4, 5), seed: int = 0) -> np.ndarray[Any, Any]:
    """Small values of ``dtype``, zeros and negative ones among them, exact in every float type."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if kind == "u" else -8
    values = rng.integers(low, 9, shape)
    if kind == "c":
        return (values + 1j * rng.integers(-4, 5, shape)).astype(dtype)
    return (values / 2 if kind == "f" else values).astype(dtype)
