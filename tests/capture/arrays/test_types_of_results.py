"""Results have the types that NumPy gives: scalars of no axes, the dtypes of its loops."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal, lazy, outcome, same_outcome


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_whole_parts(dtype: str) -> None:
    """Of integers they are floats."""
    x = np.array([0, 1, 3, 100]).astype(dtype)
    got, want = fc.fused(np_modf)(x), np_modf(x)
    equal(list(got), list(want))
    assert [g.dtype for g in got] == [w.dtype for w in want]


def np_modf(x: Any) -> Any:
    parts = np.modf(x)
    return *parts, parts[1] / 2


OF_NONE: dict[str, Callable[[Any], Any]] = {
    "nan_to_num": np.nan_to_num,
    "choose": lambda x: np.choose((x > 0).astype(int), [x, x]),
    "round": lambda x: np.round((x > 0).astype(int), 1),
    "method": lambda x: (x > 0).astype(int).round(),
    "sum": lambda x: np.nan_to_num(x * 2) + 1,
}


@pytest.mark.parametrize("name", OF_NONE)
def test_scalars_of_no_axes(name: str) -> None:
    program = OF_NONE[name]
    fused = fc.fused(program)
    for x in (np.array(2.5), np.array(-np.inf), np.array(3.0, "f4")):
        got, want = fused(x), program(x)
        assert type(got) is type(want), (type(got), type(want))
        equal(got, want)


def test_complex_bounds_with_nan() -> None:
    """NumPy's clip treats a number of which one part is none as it does."""
    x, low = np.array([2.5 - 3.5j, 4 - 4j]), np.array([complex(-0.25, np.nan), 3])
    equal(fc.fused(lambda x, low: np.clip(x, low, x))(x, low), np.clip(x, low, x))


class Channel(enum.IntEnum):
    LAST = 200


class Ratio(float):
    pass


OF_HEIRS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, k: x + k,
    "difference": lambda x, k: k - x,
    "function": np.maximum,
    "comparison": lambda x, k: x < k,
    "library function": np.heaviside,
    "sum of all": lambda x, k: x.sum() + k,
    "written": lambda x, k: np.add(x, k, out=np.zeros(3)),
    "in place": lambda x, k: (x * 1).__iadd__(k),
}


@pytest.mark.parametrize("name", OF_HEIRS)
@pytest.mark.parametrize("number", [Channel.LAST, Ratio(0.1)], ids=["int", "float"])
def test_numbers_of_kinds_of_the_users_own(name: str, number: Any) -> None:
    """They are not weak, as Python's own are."""
    program = OF_HEIRS[name]
    for dtype in ("u1", "f4", "f2"):
        x = np.array([1, 200, 5]).astype(dtype)
        want = outcome(program, x, number)
        for got in (
            outcome(fc.fused(program), x, number),
            outcome(fc.fused(lambda x: program(x, number)), x),
            outcome(program, lazy(x), number),
        ):
            same_outcome(got, want)


@pytest.mark.parametrize("dtype", ["?", "u1", "i8"])
def test_integers_are_divided(dtype: str) -> None:
    """By a number that all share, too: of bools beside what is noted gcc makes no vectors."""
    x = np.arange(3000).astype(dtype)
    program = fc.lower(lambda x: x / 3, x)
    assert "fc_divide_by" not in program.kernels[0].source
    assert "fc_divide_by" in fc.lower(lambda x: x / 3, x * 1.0).kernels[0].source
    equal(program(x), x / 3)


BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "accumulate": lambda x: np.logaddexp.accumulate(x, axis=0),
    "nancumsum": lambda x: np.nancumsum(x, axis=0)[1:] * 2,
    "integers": lambda x: np.round((x * 100).astype(int), -1),
    "isreal": np.isreal,
    "fmin": lambda x: np.fmin.reduce(x, axis=0),
    "i0": np.i0,
    "two axes": lambda x: x.max(axis=(0, 1), keepdims=True) + x.min(axis=(0, 2)).sum(),
    "written through": lambda x: _written(np.nancumsum(x, axis=0)),
}


def _written(v: Any) -> Any:
    v.reshape(-1)[2:5] = 7  # of a view, or of a copy
    return v


@pytest.mark.parametrize("name", BY_NUMPY)
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_the_order_of_memory(name: str, axes: tuple[int, ...]) -> None:
    """What NumPy computes lies as it has laid it, and so does what is reduced over several axes."""
    program = BY_NUMPY[name]
    fused = fc.fused(program)
    for seed in range(3):
        x = np.random.default_rng(seed).integers(1, 9, (3, 4, 5)) / 4
        x = np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
        got, want = fused(x), program(x)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        longer = [n > 1 for n in want.shape]
        strides = [[s for s, is_long in zip(a.strides, longer, strict=True) if is_long]
                   for a in (got, want)]  # fmt: skip
        assert strides[0] == strides[1]


OF_TYPES: dict[str, Callable[[Any], Any]] = {
    "iscomplexobj": np.iscomplexobj,
    "isrealobj": np.isrealobj,
    "common_type": lambda x: np.common_type(x, x[:1]),
}


@pytest.mark.parametrize("name", OF_TYPES)
@pytest.mark.parametrize("dtype", ["i4", "f4", "c8"])
def test_what_is_asked_of_types_computes_nothing(name: str, dtype: str) -> None:
    ask, x = OF_TYPES[name], np.ones(1 << 18, dtype)  # of which little is computed at once
    pending = lazy(x) * x
    with fc.count_launches() as launches:
        found = ask(pending)
    assert found is ask(x) and launches.total == 0


@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.logical_xor])
def test_logic_of_ints_beyond_those_of_c(ufunc: np.ufunc) -> None:
    """NumPy takes an int for a truth by way of C's; one that is too large raises."""
    x = np.arange(4.0)
    function = fc.fused(lambda x, n: (ufunc(x, n), ufunc(n + 1, x)), strict=True)
    for number in (3, 0, -1, 2**63 - 2, 2**63 - 1, 2**70, -(2**63), -(2**63) - 1, 5, True):
        want = outcome(lambda n: (ufunc(x, n), ufunc(n + 1, x)), number)
        for got in (outcome(function, x, number), outcome(function, x, number)):
            assert repr(got) == repr(want)
        got = outcome(lambda n: ufunc(lazy(x), n), number)
        same_outcome(got, outcome(ufunc, x, number))
