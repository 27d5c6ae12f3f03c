"""Reductions that no order of elements changes take them as they lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc

RNG = np.random.default_rng(11)
X = RNG.standard_normal((60, 70))
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "columns": np.asfortranarray,
    "backwards": lambda x: x[::-1, ::-1],
    "turned": lambda x: x.T[:, ::-1],
    "rows backwards": lambda x: x[::-1],
}
FREE: dict[str, Callable[[Any], Any]] = {
    "max": np.max,
    "nanmin": np.nanmin,
    "any": lambda x: (x > 3).any(),
    "count": lambda x: np.sum(x > 0),
    "integers": lambda x: (x * 100).astype(np.int64).sum(),
    "spread": lambda x: x.max() - x.min(),
}


def steps_of(function: Callable[[Any], Any], x: Any) -> list[Any]:
    """The steps of the variants that are chosen; the values are NumPy's."""
    lowered = fc.lower(function, x, device="cpu")
    np.testing.assert_array_equal(lowered(x), function(x))
    return [step.variant.steps for step in lowered.assembly.steps]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FREE)
def test_elements_are_taken_as_they_lie(name: str, layout: str) -> None:
    for dtype in ("f8", "i4"):
        x = LAYOUTS[layout]((X * 50).astype(dtype))
        assert all(steps and steps[0] == 1 for steps in steps_of(FREE[name], x))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_of_other_reductions_is_that_of_the_array(layout: str, emitted: str) -> None:
    """Sums of floats have the bits of those of a copy, the first of the largest is the first."""
    x = LAYOUTS[layout](np.where(X > 1, 2.5, X))

    for f in (np.sum, np.argmax, np.cumsum, lambda x: (x * x).mean(axis=0)):
        got, want = fc.lower(f, x)(x), fc.lower(f, x.copy("C"))(x.copy("C"))
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "?"])
def test_bools_beside_what_they_are_found_by(dtype: str) -> None:
    """Along columns they are as wide as what is read, in few and in many rows."""
    for rows in (3, 40, 300, 700):
        x = (RNG.random((rows, 130)) < 0.97).astype(dtype)
        x[:, 5] = 0

        def f(x: Any) -> Any:
            return (
                np.all(x > 0, axis=0),
                np.any(x == 1, axis=0),
                np.max(x, axis=0),
                x.sum(0),
                x.min(0),
            )

        for got, want in zip(fc.lower(f, x)(x), f(x), strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype
