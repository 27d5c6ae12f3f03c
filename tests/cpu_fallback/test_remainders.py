"""Remainders of floats are exact, whatever is computed beside them, and as fast as a division."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in
from tests.strategies import same_bits

FUNCTIONS = (np.fmod, np.remainder, np.floor_divide)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 5e-324, 1e-45, 3e38, 1e308, np.inf, -np.inf, np.nan]


def _pairs(kind: type, rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """Operands of all magnitudes, multiples, quotients about 2 ** 53 and special values."""
    bits: Any = np.uint64 if kind is np.float64 else np.uint32
    top = np.iinfo(bits).max
    anything = [rng.integers(0, top, 3000, dtype=bits, endpoint=True).view(kind) for _ in "xy"]
    x = (rng.normal(size=3000) * 10.0 ** rng.integers(-3, 6, 3000)).astype(kind)
    y = (rng.normal(size=3000) * 10.0 ** rng.integers(-3, 3, 3000)).astype(kind)
    multiples = (rng.integers(-1000, 1000, 3000) * y).astype(kind)
    beside = np.nextafter(multiples, kind(0))
    digits = np.finfo(kind).nmant
    far = (y * 2.0 ** rng.integers(digits - 3, digits + 6, 3000)).astype(kind)
    tiny = rng.integers(1, 4000, 3000).astype(bits).view(kind)
    special = np.array(SPECIAL).astype(kind)
    return [
        (anything[0], anything[1]), (x, y), (multiples, y), (beside, y), (far + x, y),
        (tiny, np.roll(tiny, 1)), (x, tiny), (tiny, x), (x, np.full_like(x, np.inf)),
        (np.repeat(special, special.size), np.tile(special, special.size)),
    ]  # fmt: skip


def _computed(function: Any, x: Any, y: Any) -> Any:
    def program(x: Any, y: Any) -> Any:
        return function(x, y)

    return fc.lower(program, x, y)(x, y)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:overflow")
@one_in(6)
def test_bits(kind: type, function: Any) -> None:
    """As NumPy's, which subtracts bit by bit; each alone as in its pack."""
    for x, y in _pairs(kind, np.random.default_rng(7)):
        got = _computed(function, x, y)
        with np.errstate(all="ignore"):
            assert same_bits(got, function(x, y))
        some, other = x[5::97].copy(), y[5::97].copy()
        assert same_bits(_computed(function, some, other), got[5::97])


def test_exact() -> None:
    """As fractions of whole numbers, where the quotient is large, and where it is rounded up."""
    rng = np.random.default_rng(8)
    y = rng.uniform(1e-3, 1e3, 400)
    x = np.nextafter(np.round(rng.uniform(1, 2.0 ** rng.integers(1, 52, 400))) * y, 0)
    got = _computed(np.fmod, x, y)
    want = [float(Fraction(a) % Fraction(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert got.tolist() == want
