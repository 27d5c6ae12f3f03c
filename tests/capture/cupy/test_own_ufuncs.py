"""Ufuncs that are none of NumPy's, functions of `cupyx.scipy.special`, parts of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")
scipy_special = pytest.importorskip("scipy.special")

import cupyx  # noqa: E402 - as above
import cupyx.scipy.special as cupy_special  # noqa: E402

from fusecuda import NotFusedError, fused  # noqa: E402
from fusecuda.capture.cupy import handlers, own_ufuncs  # noqa: E402
from fusecuda.graph.ops import SCIPY_NAMES  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.linspace(0.05, 0.95, 24).reshape(4, 6)
UFUNCS = sorted(
    name for name in SCIPY_NAMES if isinstance(getattr(cupy_special, name, None), cp.ufunc)
)


@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_of_scipy(name: str, dtype: str) -> None:
    """They are recorded with what is around them: one launch, SciPy's values."""
    theirs, ours = getattr(scipy_special, name), getattr(cupy_special, name)
    x = X.astype(dtype)
    want = theirs(*[x] * theirs.nin) * 2
    for _ in range(2):
        with fused(device="cpu", strict=True) as region:
            found = ours(*[host(x)] * ours.nin) * 2
        assert region.launches == 1 and found.dtype == dtype
        np.testing.assert_allclose(seen(found), want, rtol=3e-6 if dtype == "f4" else 1e-12)


OTHERS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "rsqrt": (lambda x: cupyx.rsqrt(x) + 1, 1 / np.sqrt(X) + 1),
    "fix": (lambda x: cp.fix(x * 9 - 4), np.trunc(X * 9 - 4)),
    "i0": (lambda x: cp.i0(x) + 1, np.i0(X) + 1),
    "numbers": (lambda x: cupy_special.xlogy(2, x), scipy_special.xlogy(2, X)),
    "softmax": (lambda x: cupy_special.softmax(x, axis=1), scipy_special.softmax(X, axis=1)),
    "logsumexp": (lambda x: cupy_special.logsumexp(x, axis=0), scipy_special.logsumexp(X, axis=0)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    """CuPy's own ufuncs that NumPy has otherwise, and what is put together of others."""
    call, want = OTHERS[name]
    with fused(device="cpu", strict=True) as region:
        found = call(host(X))
    assert region.launches == 1
    equal(seen(found), want, ulp=8)


@pytest.mark.parametrize("dtype", ["f2", "i4", "c16"])
def test_other_types_are_left_to_cupy(dtype: str) -> None:
    """Of which its results have types that neither NumPy's nor SciPy's have."""
    for call in (cupy_special.gammaln, cp.fix, cp.i0, cupyx.rsqrt):
        with fused(device="cpu", strict=True), pytest.raises(NotFusedError, match=call.name):
            call(host(X.astype(dtype)))


def test_outputs_are_left_to_cupy() -> None:
    kernel, x = cupy_special.erf, host(X)
    assert own_ufuncs.call_of(kernel, (x,)) and not own_ufuncs.call_of(kernel, (x, x))
    with fused(device="cpu", strict=True), pytest.raises(NotFusedError, match="erf"):
        kernel(x, out=x)


def test_functions_of_cupyx_have_the_users_line() -> None:
    """Not the one of CuPy's own text that records."""
    with fused(device="cpu") as region:
        found = cupy_special.softmax(host(X), axis=1)
    assert Path(__file__).name in region.explain() and "_softmax.py" not in region.explain()
    assert found.shape == X.shape


def parts(m: Any, z: Any, x: Any) -> Any:
    z.real *= 2
    z.imag -= z.real
    w = z * 2
    w.imag = x
    w.real = w.imag[::-1]
    return w, z.imag.sum(), m.imag(z) * 2


def test_parts_of_complex_numbers() -> None:
    """Assigned to, also by operators in place, without a launch of CuPy's."""
    z, x = X + 1j * X[::-1], X * 3
    wanted_z = z.copy()
    want = parts(np, wanted_z, x)
    for _ in range(3):
        given = host(z)
        with fused(device="cpu", strict=True):
            found = parts(cp, given, host(x))
        for got, wanted in zip((*found, given), (*want, wanted_z), strict=True):
            equal(seen(got), np.asarray(wanted), ulp=4)


ALIKE: dict[str, Callable[[Any, Any], Any]] = {
    "einsum": lambda m, x: m.einsum("ij,ij->i", x, x) + m.einsum("ij,kj->ik", x, x)[0],
    "nanvar": lambda m, x: m.nanvar(x, axis=0, ddof=1),
    "nanstd": lambda m, x: m.nanstd(x, axis=1, keepdims=True),
    "nancumsum": lambda m, x: m.nancumsum(x, axis=1),
    "nancumprod": lambda m, x: m.nancumprod(x),
    "cov": lambda m, x: m.cov(x) + m.cov(x.T, rowvar=False, bias=True),
    "corrcoef": lambda m, x: m.corrcoef(x),
    "angle": lambda m, x: m.angle(x + 1j * x[::-1]),
    "argwhere": lambda m, x: m.argwhere(x[0] > 0.2),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_cupy_and_numpy_do_alike(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU it is recorded, too."""
    monkeypatch.setattr(handlers, "_follows_cupy", lambda: True)
    call, want = ALIKE[name], ALIKE[name](np, X)
    for _ in range(2):
        with fused(device="cpu", strict=True):
            found = call(cp, host(X))
        equal(seen(found), want, ulp=64)
