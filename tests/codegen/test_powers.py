"""Powers with known exponents are products in two words."""

from __future__ import annotations

import math
import platform
import shutil
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.graph.ops import POWERS
from tests.marks import at_length

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_of_known_exponents(dtype: str, emitted: str) -> None:
    """They are products, of special values what NumPy makes of them, and right to the last bit."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, np.finfo(dtype).smallest_subnormal]
    x = np.array([*special, *RNG.normal(size=400) * 10.0 ** RNG.integers(-3, 4, 400)], dtype)

    def powers(x: Any) -> Any:
        return [x**k for k in POWERS]

    with np.errstate(all="ignore"):
        got, want = fc.lower(powers, x)(x), powers(x)
        exact = powers(x.astype(np.longdouble))
    for mine, theirs, right in zip(got, want, exact, strict=True):
        odd = ~np.isfinite(theirs) | (theirs == 0)
        np.testing.assert_array_equal(mine[odd], theirs[odd])
        np.testing.assert_array_equal(np.signbit(mine[odd]), np.signbit(theirs[odd]))
        near = np.abs(mine[~odd] - right[~odd]) / np.spacing(np.abs(theirs[~odd]))
        assert near.max() <= (0.53 if emitted == "c" else 0.6)


def test_powers_are_recorded_by_their_exponents() -> None:
    """Python's numbers in the operator; what is given as an array has the general function."""
    x = RNG.random(50) + 0.5
    text = fc.lower(lambda x: x**3 + x**-2.0, x).explain(full=True)
    assert "power_3" in text and "power_minus_2" in text
    assert "power_3" not in fc.lower(lambda x: np.power(x, 3.0) + x**2.7, x).explain(full=True)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8"])
def test_powers_of_integers(dtype: str) -> None:
    """Small ones are products, which wrap around as NumPy's do; larger ones count on."""
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7]
    x = np.array([*ends, *RNG.integers(info.min, info.max, 200, dtype)], dtype)
    for exponent in range(20):
        exe = fc.lower(lambda x, k=exponent: x**k, x)
        assert ("power" in exe.hlo) == (exponent not in range(2, 17))
        got, want = exe(x), [wrapped(int(v) ** exponent, info) for v in x]
        assert got.dtype == x.dtype and got.tolist() == want


def wrapped(value: int, info: np.iinfo[Any]) -> int:
    """What of ``value`` fits into the type."""
    return (value - int(info.min)) % (int(info.max) - int(info.min) + 1) + int(info.min)


def multiplied(z: complex, exponent: int) -> complex:
    """``z ** exponent`` as NumPy multiplies, in Python's complex numbers."""
    if z == 0:
        return 0j if exponent > 0 else complex(math.nan, math.nan)
    made, power, count = 1 + 0j, z, abs(exponent)
    if count == 3:
        made, count = z * (z * z), 0
    while count:
        made = made * power if count & 1 else made
        count >>= 1
        power = power * power if count else power
    return 1 / made if exponent < 0 else made


@pytest.mark.parametrize("exponent", [3, 4, 7, 20, 99, -2, -3, -11, 5.0])
def test_whole_powers_of_complex_numbers(exponent: float) -> None:
    """They are products, in one kernel; zeros have a zero, or nothing, for a power."""
    parts = [0.0, -0.0, 1.0, -1.0, np.inf, np.nan, 2.5]
    special = [complex(a, b) for a in parts for b in parts]
    z = np.array([*special, *(RNG.normal(size=300) + 1j * RNG.normal(size=300))])
    exe = fc.lower(lambda z: z**exponent, z)
    assert [k.kind for k in exe.kernels] == ["loop"]
    with np.errstate(all="ignore"):
        want = np.array([multiplied(v, int(exponent)) for v in z.tolist()])
        narrow = fc.lower(lambda z: z**exponent, z.astype("c8"))(z.astype("c8"))
    for mine, theirs in ((exe(z).real, want.real), (exe(z).imag, want.imag)):
        if exponent > 0:
            np.testing.assert_array_equal(mine, theirs)
            number = ~np.isnan(theirs)
            np.testing.assert_array_equal(np.signbit(mine[number]), np.signbit(theirs[number]))
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-300)
    assert narrow.dtype == np.complex64
    fine = np.abs(want[len(special) :]) < 1e30
    got = narrow[len(special) :][fine]
    np.testing.assert_allclose(got, want[len(special) :][fine], rtol=2e-5, atol=1e-30)


@at_length
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others have it always")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_bits_without_fused_multiply_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small powers, powers of one and remainders by huge numbers are what they are with it."""
    small = 2.0 ** RNG.uniform(-330, -60, 600) * RNG.choice([-1, 1], 600)
    x = np.concatenate([small, 1 / small, 2.0 ** RNG.uniform(-900, 900, 300)])
    y = np.tile([1.0, -1, 3], 500)
    z = np.repeat([1e308, 4e300, 2.0**81, np.inf, 0.3], 300)

    def computed(x: Any, y: Any, z: Any) -> Any:
        return *(x**k for k in POWERS), y**z + y**3, np.fmod(y, z), np.remainder(y, z), y // z

    def again(x: Any, y: Any, z: Any) -> Any:  # another plan, which is compiled anew
        return *computed(x, y, z), x + 1

    with np.errstate(all="ignore"):
        want = fc.lower(computed, x, y, z)(x, y, z)
        monkeypatch.setenv("FUSECUDA_CC", "cc -mno-fma -mno-avx2 -mno-avx512f")
        got = fc.lower(again, x, y, z)(x, y, z)[:-1]
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(np.signbit(mine), np.signbit(theirs))
