"""Powers with known exponents are products in two words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.graph.ops import POWERS

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
