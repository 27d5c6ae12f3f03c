"""Elements divided by a value of their row: bits of a division, for all that floats can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.graph.interpret import CUPY, interpret
from tests import emulated, emulator
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(21)
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    3.0,
    2.0**-60,
    2.0**60,
    1e-37,
    3e38,
    1e-42,
]


def by_their_greatest(x: Any) -> Any:
    """Each row divided by its greatest element."""
    return x / x.max(axis=1, keepdims=True)


def by_their_least(x: Any) -> Any:
    """Each row divided by what may be negative."""
    return x / x.min(axis=1, keepdims=True)


def checked(x: np.ndarray, function: Any = None) -> str:
    """Run it, compare bits with the interpreter's, and give the source."""
    executable = fc.lower(function or by_their_greatest, x, device="cuda")
    want = interpret(executable.graph, [x], CUPY)
    got, _ = emulated.run(executable.graph, [x], executable.strides)
    assert same_bits(want[0], got[0])
    return "\n".join(k.source for k in executable.kernels)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("columns", [300, 1024])
def test_quotients_of_everyday_numbers(dtype: str, columns: int) -> None:
    """Correctly rounded, whatever the last bits."""
    x = RNG.uniform(0.5, 2.0, (300, columns)).astype(dtype)
    assert "fc_quotient" in checked(x)


def test_quotients_of_zeros() -> None:
    """Both zeros keep or change their signs, by divisors of both signs."""
    x = RNG.uniform(0.5, 2.0, (40, 300)).astype("f4")
    x[:, ::3], x[:, 1::9] = 0.0, -0.0
    checked(x)
    checked(np.negative(x), by_their_least)
    x[:, ::2] *= -1
    checked(x)
    checked(x, by_their_least)


@pytest.mark.parametrize("columns", [300, 600])
def test_quotients_of_any_floats(columns: int) -> None:
    """Every exponent, on both sides; zeros, infinities and NaN among them; odd divisors."""
    bits = RNG.integers(0, 2**32, (60, columns), dtype=np.uint32)
    x = bits.view(np.float32)
    near = RNG.uniform(1, 2, (60, columns)).astype("f4") * np.float32(2.0) ** RNG.integers(
        -62, 62, (60, columns)
    ).astype("f4")
    for values in (x, near.astype("f4"), -np.abs(near).astype("f4")):
        mixed = values.copy()
        mixed[::3, :: max(1, columns // len(SPECIAL))][:, : len(SPECIAL)] = np.float32(SPECIAL[:1])
        for i, special in enumerate(SPECIAL):
            mixed[1::4, 5 * i] = special
        checked(values)
        with np.errstate(all="ignore"):
            checked(mixed)
