"""Where CuPy's own functions give other values than NumPy's: on a GPU a script follows CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import NotFusedError, fused  # noqa: E402
from fusecuda.capture.cupy import handlers, ufuncs  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
NAN = float("nan")
HALVES, SINGLES, DOUBLES = (np.arange(1, 38).astype(t) / 8 for t in ("f2", "f4", "f8"))
PARTS = np.array([complex(1, NAN), 2, complex(NAN, 3)] * 3)
LOW, HIGH = np.array([NAN, 2.0] * 18 + [1.0]), np.array([3.0, NAN, 1.0] * 12 + [2.0])


@pytest.fixture(name="on_gpu", autouse=True)
def as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers are told that a device computes; the CPU does."""
    monkeypatch.setattr(handlers, "_follows_cupy", lambda: True)


CUPYS: list[Callable[[], Any]] = [
    lambda: cp.around(host(HALVES), 1), lambda: cp.round(host(SINGLES), 2),
    lambda: host(SINGLES).round(-1), lambda: cp.nansum(host(PARTS)),
    lambda: cp.arange(7.0, 8.0, 0.01), lambda: cp.arange(0.5, 5, 1.5, dtype=int),
    lambda: cp.arange(5000, dtype="f2"), lambda: cp.arange(3, step=0.3),
    lambda: cp.angle(host(SINGLES)), lambda: cp.nancumsum(host(PARTS)),
    lambda: cp.nanvar(host(HALVES)), lambda: cp.nanstd(host(DOUBLES), ddof=2),
    lambda: cp.cov(host(DOUBLES), aweights=host(DOUBLES)),
    lambda: cp.cov(host(DOUBLES), None, True, False, 0, host(np.arange(37))),
    lambda: cp.corrcoef(host(DOUBLES.reshape(1, 1, 37))),
    lambda: cp.einsum("i,i->", host(HALVES), host(HALVES)),
    lambda: cp.einsum(host(DOUBLES), [0], [0]),
]  # fmt: skip
RECORDED: list[Callable[[Any], Any]] = [
    lambda m: m.around(m.asarray(DOUBLES), 2), lambda m: m.round(m.asarray(SINGLES)),
    lambda m: m.nansum(m.asarray(LOW)), lambda m: m.arange(37) * 1,
    lambda m: m.arange(3.0, 40, 2, "f4") * 1, lambda m: m.clip(m.asarray(HALVES), 1, 3),
]  # fmt: skip


@pytest.mark.parametrize("call", CUPYS)
def test_what_cupy_computes_itself(call: Callable[[], Any]) -> None:
    with fused(device="cpu", strict=True), pytest.raises(NotFusedError, match="no graph meaning"):
        call()


@pytest.mark.parametrize("call", RECORDED)
def test_what_is_the_same(call: Callable[[Any], Any]) -> None:
    with fused(device="cpu", strict=True):
        made = call(cp)
    np.testing.assert_array_equal(seen(made), call(np), strict=True)


@pytest.mark.parametrize("low", [LOW, NAN, np.float64(NAN), 1, None], ids=repr)
@pytest.mark.parametrize("high", [HIGH, NAN, 2.5], ids=repr)
def test_bounds_that_are_nan_are_none(low: Any, high: Any) -> None:
    """As CuPy's kernel has it."""
    x = np.where(DOUBLES == 2, NAN, DOUBLES)
    bounds = [host(b) if type(b) is np.ndarray else b for b in (low, high)]
    with fused(device="cpu", strict=True):
        made = cp.clip(host(x), *bounds), host(x).clip(*bounds)
    low = -np.inf if low is None else low
    wanted = np.where(low > high, high, np.where(x < low, low, np.where(x > high, high, x)))
    for found in made:
        np.testing.assert_array_equal(seen(found), wanted)


def test_reciprocals_of_integers() -> None:
    integers = np.arange(3)
    assert ufuncs.differs(np.reciprocal, [integers], "cuda")
    assert not ufuncs.differs(np.reciprocal, [integers], "cpu")
    assert ufuncs.loop_of(np.reciprocal, "cuda", integers.dtype) is None


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "sinh", "cosh"])
def test_functions_of_complex_numbers(name: str) -> None:
    """On a GPU they are CuPy's own, which has Thrust's."""
    ufunc, number, real = getattr(np, name), host(np.ones(3, "c8")), host(np.ones(3))
    assert ufuncs.differs(ufunc, [number], "cuda") and not ufuncs.differs(ufunc, [number], "cpu")
    assert ufuncs.loop_of(ufunc, "cuda", number.dtype) is None
    assert ufuncs.loop_of(ufunc, "cpu", number.dtype) is not None
    assert not ufuncs.differs(ufunc, [real], "cuda")


@pytest.mark.parametrize("name", ["degrees", "rad2deg", "radians", "deg2rad"])
@pytest.mark.parametrize("dtype", ["e", "b", "B", "?"])
def test_degrees_of_halves(name: str, dtype: str) -> None:
    """CuPy's factor is a half, too."""
    ufunc, x, wide = getattr(np, name), host(np.ones(3, dtype)), host(np.ones(3, "f4"))
    assert ufuncs.differs(ufunc, [x], "cuda") and not ufuncs.differs(ufunc, [x], "cpu")
    assert ufuncs.loop_of(ufunc, "cuda", x.dtype) is None
    assert not ufuncs.differs(ufunc, [wide], "cuda")
    assert ufuncs.loop_of(ufunc, "cuda", wide.dtype) is not None


@pytest.mark.parametrize("dtype", ["f4", "i4"])
@pytest.mark.parametrize("axis", [None, 0])
def test_the_sum_of_no_weights(dtype: str, axis: int | None) -> None:
    """It is an array of CuPy's like the average."""
    x = np.arange(12).reshape(3, 4).astype(dtype)
    with fused(device="cpu", strict=True):
        average, total = cp.average(host(x), axis, returned=True)
        product = average * total
    found = [seen(v) for v in (average, total)]
    for got, want in zip(found, np.average(x, axis, returned=True), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(seen(product), x.sum(axis))
