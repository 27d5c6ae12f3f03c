"""Many small programs on halves and complex numbers: dtypes, shapes and values are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from tests.marks import one_in

pytestmark = [
    pytest.mark.usefixtures("recorded"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(6, 8))
Z = X + 1j * _RNG.normal(size=(6, 8))
GIVEN = {
    "z": Z,
    "w": _RNG.normal(size=(6, 8)) + 0j,
    "z64": Z.astype(np.complex64),
    "x": X,
    "h": X.astype(np.float16),
    "f": X.astype(np.float32),
    "n": np.arange(48).reshape(6, 8),
}


def changed(a: Any, *writes: tuple[Any, Any]) -> Any:
    for key, value in writes:
        a[key] = value
    return a * 1


def parts_set(a: Any) -> Any:
    a.imag = a.real
    a.real = 0
    return a * 1


def in_place(a: Any) -> Any:
    a += 1j
    a *= 2
    return a


# What each is given, by name, and what it does.
PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "where": ("z", lambda a: np.where(a.real > 0, a, 0)),
    "powers": (
        "z",
        lambda a: (a**2, a**3, a**0.5, a**-1, abs(a) ** 2, 2j**a, np.float_power(a, 2)),
    ),
    "imaginary numbers": ("x f", lambda a, b: (np.exp(1j * a), 1j * b + 1, b * np.complex128(1j))),
    "numbers with halves": ("h", lambda a: (1j * a, a * 1.5, a + np.float32(1), a // 2, a % 0.5)),
    "types with halves": (
        "h n z64 x",
        lambda a, n, z, x: (a * n, n / (a + 10), a - True, a + z, a * x),
    ),
    "types with complex": ("z z64 f n", lambda a, b, f, n: (a + b, a * f, b * f, a - True, n / a)),
    "in place": ("z", in_place),
    "comparisons": ("z w", lambda a, b: (a == b, a != b, np.isclose(a, b), np.isreal(a))),
    "order": (
        "z",
        lambda a: (np.sort(a, axis=1), a.max(), a.max(axis=0), np.argmax(a), a.round(2)),
    ),
    "products": (
        "z w",
        lambda a, b: (a @ b.T, np.outer(a[0], b[0]), np.vdot(a, b), np.dot(a[0], b[0])),
    ),
    "norms": ("z", lambda a: (np.linalg.norm(a), np.linalg.norm(a, axis=1), np.trace(a))),
    "accumulated": (
        "z",
        lambda a: (np.cumsum(a, axis=0), np.cumprod(a, axis=1), a.prod(), np.diff(a)),
    ),
    "statistics": ("z", lambda a: (a.mean(), a.var(), a.std(axis=1), np.nan_to_num(a))),
    "angles": ("z", lambda a: (np.angle(a), np.angle(a, deg=True), np.abs(a), a.T.conj())),
    "casts": (
        "z",
        lambda a: (a.astype("c8"), a.real.astype("f2"), a.imag.astype(int), a.astype(int)),
    ),
    "halves reduced": (
        "h",
        lambda a: (a.sum(), a.mean(axis=1), a.max(), a.argmin(axis=0), a.var()),
    ),
    "halves sorted": ("h", lambda a: (np.median(a), np.sort(a, axis=0), a.any(), a @ a.T)),
    "halves written": ("h", lambda a: changed(a, (np.s_[:, 0], 1e6), (a < 0, 3))),
    "complex written": ("z", lambda a: changed(a, (np.s_[:, 0], 1 + 2j), (a.real < 0, 3j))),
    "parts written": ("z", parts_set),
    "functions": (
        "z",
        lambda a: (np.log(a), np.log10(a), np.log1p(a), np.sqrt(a), np.tan(a), np.tanh(a)),
    ),
    "joined": (
        "z z64",
        lambda a, b: (np.concatenate([a, b]), np.pad(a, 1), np.roll(a, 1), a[[1, 2]]),
    ),
    "transforms": ("z", lambda a: np.fft.ifft(np.fft.fft(a.real) * np.exp(1j * a.real)).real),
    "numbers out": ("z", lambda a: (a[0, 0] * 2, a.sum() * 1j, complex(a[0, 0]) * a)),
    "made inside": (
        "z",
        lambda a: (np.zeros_like(a) + a, np.full(a.shape, 1j) * a, np.arange(4) * 1j),
    ),
    "newton": ("z", lambda a: a - (a**3 - 1) / (3 * a**2)),
    "0-d halves": ("h", lambda a: (a[0, 0] + 1, np.float16(3) * a, a * np.float64(2), a.sum() + 1)),
}


def results(value: Any) -> list[Any]:
    return [np.asarray(v) for v in (value if type(value) is tuple else (value,))]


@pytest.mark.parametrize("way", ["fused", "lazy"])
@pytest.mark.parametrize("name", PROGRAMS)
@one_in(16)
def test_program(name: str, way: str) -> None:
    """Recorded, replayed, and on lazy arrays."""
    given, function = PROGRAMS[name]
    arrays = [GIVEN[g] for g in given.split()]
    want = results(function(*[a.copy() for a in arrays]))
    fused = fc.fused(function)
    for _ in range(3 if way == "fused" else 1):
        own = [a.copy() if way == "fused" else fnp.asarray(a) for a in arrays]
        got = results(fused(*own) if way == "fused" else function(*own))
        for g, w in zip(got, want, strict=True):
            assert (g.dtype, g.shape) == (w.dtype, w.shape)
            near = {2: 2e-3, 4: 1e-5}.get(w.dtype.itemsize, 1e-5 if w.dtype == "c8" else 1e-10)
            np.testing.assert_allclose(g, w, rtol=near, atol=1e-6)
