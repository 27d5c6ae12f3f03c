"""SciPy's special functions on lazy arrays and under `fused`, with SciPy and without it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.arrays import ufuncs
from fusecuda.cpu_fallback import interpreted
from fusecuda.graph.ops import OPS, SCIPY_NAMES
from tests.marks import one_in

special = pytest.importorskip("scipy.special")
X, Y = np.linspace(0.05, 0.95, 6000), np.linspace(0.1, 2.9, 6000)


def operands(name: str, dtype: type = np.float64) -> tuple[np.ndarray, ...]:
    return tuple(v.astype(dtype) for v in (X, Y)[: OPS[name].arity])


def every(x: Any, y: Any) -> Any:
    """All functions at once."""
    rows = ((name, OPS[name].arity) for name in sorted(SCIPY_NAMES))
    return [getattr(special, n)(*((x,) if arity == 1 else (x, y))) for n, arity in rows]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@one_in(4)
def test_scipys_ufuncs_are_kernels(dtype: type) -> None:
    """In fused code, with the bits of the vector math."""
    x, y = X.astype(dtype), Y.astype(dtype)
    fused = fc.fused(every)
    for name, got in zip(sorted(SCIPY_NAMES), fused(x, y), strict=True):
        assert got.dtype == dtype
        assert np.array_equal(got, interpreted.call(name, *operands(name, dtype))), name
    assert "library" not in fused.explain()


@pytest.mark.parametrize("name", ["gammaln", "ndtri", "kl_div"])
def test_one_launch_with_what_is_around_them(name: str) -> None:
    ufunc, args = getattr(special, name), operands(name)
    with fc.count_launches() as counter:
        fc.fused(lambda *a: -ufunc(*a))(*args)
    assert counter.total == 1
    np.testing.assert_allclose(ufunc(*map(fnp.asarray, args)), ufunc(*args), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["expm1", "log1p", "exp2", "cbrt"])
def test_functions_that_numpy_has_too(name: str) -> None:
    """SciPy's are ufuncs of their own; the row is NumPy's."""
    ufunc = getattr(special, name)
    assert ufunc is not getattr(np, name)
    with fc.count_launches() as counter:
        got = fc.fused(lambda x: ufunc(x) + 1)(X)
    assert counter.total == 1
    assert np.array_equal(got, interpreted.call(name, X) + 1)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float16])
@pytest.mark.parametrize("name", ["erf", "erfinv", "xlogy"])
def test_other_types_are_cast_as_scipy_casts_them(name: str, dtype: type) -> None:
    ufunc = getattr(special, name)
    args = tuple((v > 0.5).astype(dtype) for v in operands(name))
    want = ufunc(*args)
    got = np.asarray(ufunc(*(fnp.asarray(a) for a in args)))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_ufunc_is_known_by_what_it_is_not_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function called erf is none of ours."""
    monkeypatch.setattr(special, "erf", special.erfc)
    assert ufuncs.op_name(special.erfc) == "erfc"
    assert ufuncs.op_name(np.exp) == "exp"
    monkeypatch.undo()
    erf = special.erf
    monkeypatch.setattr(special, "erf", special.j0)
    assert ufuncs.op_name(erf) is None


# --- without SciPy


def test_namespace() -> None:
    """Recorded, and computed when it is looked at."""
    made = {name: getattr(fnp.special, name)(*operands(name)) for name in sorted(SCIPY_NAMES)}
    assert set(fnp.special.__all__) == SCIPY_NAMES | {"digamma"}
    assert np.array_equal(np.asarray(fnp.special.digamma(X)), np.asarray(made["psi"]))
    for name, got in made.items():
        assert isinstance(got, fc.Array)
        assert np.array_equal(np.asarray(got), interpreted.call(name, *operands(name))), name


def test_types_of_the_namespace() -> None:
    single = fnp.asarray(X.astype(np.float32))
    assert fnp.special.erf(single).dtype == np.float32
    assert fnp.special.xlogy(single, 2).dtype == np.float32
    assert fnp.special.xlogy(2.5, single).dtype == np.float32
    assert fnp.special.xlogy(single, X).dtype == np.float64
    assert fnp.special.erf([1, 2]).dtype == np.float64
    out = fnp.zeros(X.shape)
    assert fnp.special.erf(X, out=out) is out
    assert float(out[7]) == pytest.approx(float(special.erf(X[7])))
    assert fnp.special.erfc(X, out) is out  # by position, as of a ufunc
    assert float(out[7]) == pytest.approx(float(special.erfc(X[7])))
    with pytest.raises(TypeError, match="takes 1 argument, 3 were given"):
        fnp.special.erf(X, out, out)
    with pytest.raises(TypeError, match="not defined for complex128"):
        fnp.special.erf(1j)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        fnp.special.xlogy(single)
    assert not hasattr(fnp.special, "bessel")


def test_scipy_is_not_imported() -> None:
    text = (
        "import sys, numpy as np, fusecuda as fc, fusecuda.numpy as fnp\n"
        "x = np.linspace(0.1, 0.9, 50000)\n"
        "assert fc.fused(lambda x: fnp.special.erf(x) * 2)(x).shape == x.shape\n"
        "assert 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


# --- what a fused function may ask


def asked(x: Any) -> Any:
    if hasattr(fnp, "no_such_function"):
        return fnp.no_such_function(x)
    return getattr(fnp, "also_none", np.exp)(x) + 1


def test_missing_attributes_are_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = fc.fused(asked)
    for _ in range(2):
        assert np.array_equal(fused(X), interpreted.call("exp", X) + 1)
    assert "replayed" in fused.explain().partition("\n")[0]
    monkeypatch.setattr(fnp, "also_none", np.negative, raising=False)
    assert np.array_equal(fused(X), 1 - X)
    monkeypatch.setattr(fnp, "no_such_function", np.square, raising=False)
    assert np.array_equal(fused(X), X * X)


def test_names_that_are_computed_are_no_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of these nothing is known when the code is read: the function is recorded anew."""
    name = "also_none"
    fused = fc.fused(lambda x, name: getattr(fnp, name, np.exp)(x) + 1)
    for _ in range(2):
        assert np.array_equal(fused(X, name), interpreted.call("exp", X) + 1)
    monkeypatch.setattr(fnp, name, np.negative, raising=False)
    assert np.array_equal(fused(X, name), 1 - X)


def imported_inside(x: Any) -> Any:
    from scipy.special import ndtr

    return ndtr(x) * 2


def test_an_import_inside_is_no_reason_to_record_anew() -> None:
    fused = fc.fused(imported_inside)
    for _ in range(2):
        assert np.array_equal(fused(X), interpreted.call("ndtr", X) * 2)
    assert "replayed" in fused.explain().partition("\n")[0]
