"""Types without kernels (float16, complex, dates) take part in graphs: NumPy computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.marks import one_in

pytestmark = pytest.mark.usefixtures("both_ways")

DTYPES = ["float16", "complex64", "complex128", "longdouble", "datetime64[s]", "timedelta64[s]"]
SWAPPED = [">f8", ">i4", ">c16"]


def _values(dtype: str, shape: tuple[int, ...]) -> Any:
    count = int(np.prod(shape))
    return np.arange(1, count + 1).astype("int64").astype(dtype).reshape(shape)


def _moved(x: Any) -> Any:
    y = x.copy()
    y[1:] = x[:-1]
    return y.T[::-1], np.concatenate([x, y]), x.reshape(-1)[2:5], y[[0, 1]]


def _written(x: Any) -> Any:
    x[0] = x[1]
    x[:, 1:] = x[:, :-1]
    return x[0]


@pytest.mark.parametrize("dtype", DTYPES + SWAPPED)
@pytest.mark.parametrize("program", [_moved, _written], ids=lambda p: p.__name__)
@one_in(8)
def test_movement_and_writes(program: Any, dtype: str) -> None:
    """Views, joins, gathers and updates of any dtype, twice, traced and replayed."""
    function = fc.fused(program)
    for _ in range(2):
        x, y = _values(dtype, (3, 4)), _values(dtype, (3, 4))
        want, got = program(x), function(y)
        np.testing.assert_array_equal(x, y)
        for w, g in zip(want if type(want) is tuple else (want,),
                        got if type(got) is tuple else (got,), strict=True):  # fmt: skip
            assert w.dtype == g.dtype
            np.testing.assert_array_equal(w, g)


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128", "longdouble"])
def test_arithmetic(dtype: str) -> None:
    """Arithmetic, reductions and mixtures with float64 give NumPy's values and dtypes."""

    def program(x: Any, y: Any) -> Any:
        return x * y + 2, (x - y).sum(axis=0), x.mean(), np.sqrt(x) / y, x @ y.T, abs(x)

    x, y = _values(dtype, (3, 4)), np.linspace(1, 2, 12).reshape(3, 4)
    got = fc.fused(program)(x, y)
    for w, g in zip(program(x, y), got, strict=True):
        assert w.dtype == g.dtype
        np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("dtype", SWAPPED)
def test_masks_of_swapped_bytes(dtype: str) -> None:
    """Lazy arrays keep the order of the bytes where NumPy's do, and numbers are the same."""
    for size in (6, 50_000):
        x = _values(dtype, (size,))
        a = fc.Array.of_array(x)
        a[a.real > 2] *= 2
        x[x.real > 2] *= 2
        filled, expected = fc.Array.of_array(np.zeros(size, "c16")), np.zeros(size, "c16")
        filled[a.real > 5] = a[a.real > 5]
        expected[x.real > 5] = x[x.real > 5]
        assert a.dtype == x.dtype and a.copy().dtype == x.dtype and (a + a).dtype == (x + x).dtype
        assert np.array_equal(a, x) and np.array_equal(filled, expected)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_functions_in_a_type_that_is_asked_for(dtype: str) -> None:
    """What NumPy computes runs the loop that `dtype=` names: of real operands there are others."""
    x = np.array([-8.0, 2.0, 0.5], np.float32)

    def program(x: Any, n: Any) -> Any:
        powers = np.power(x, 0.5, dtype=dtype), np.power(x, n, dtype=dtype)
        return *powers, np.sqrt(x, dtype=dtype), np.fmax(x, 1, dtype=dtype), np.tan(x, dtype=dtype)

    expected = program(x, 0.25)
    assert not np.isnan(expected[0]).any()
    for found in (program(fc.Array.of_array(x), 0.25), *(fc.fused(program)(x, 0.25),) * 2):
        for want, got in zip(expected, found, strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_operands_are_cast_as_is_asked_for() -> None:
    """`casting=` is about the operands too, where `dtype=` names a loop."""
    x = np.arange(-6, 6) / 4
    for casting in ("unsafe", "same_kind", "safe"):
        said = []
        for module, given in ((np, x), (fnp, fnp.asarray(x))):
            try:
                out = module.zeros(12, "i8")
                module.multiply(given, 3.7, out=out, dtype="i8", casting=casting)
                said.append(np.asarray(out).tolist())
            except TypeError as error:
                said.append(str(error))
        assert said[0] == said[1]
