"""Where rows are largest, in packs and across lanes; integers that are compared with bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.graph.interpret import CUPY, interpret
from tests import emulated, emulator
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(8)
LENGTHS = (1, 3, 4, 6, 130, 515, 1027)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_the_first_of_the_best_is_found(dtype: str) -> None:
    """Among ties, NaNs and infinities, in lanes, tails and rows of several chunks."""
    for length in LENGTHS:
        x = RNG.integers(0, 5, (24, length)).astype(dtype)
        if x.dtype.kind == "f":
            x[::3][RNG.random(x[::3].shape) < 0.3] = np.nan
            x[1::3][RNG.random(x[1::3].shape) < 0.3] = -np.inf
            x[1] = -np.inf
            x[2] = np.inf
        executable = fc.lower(lambda a: (a.argmax(axis=1), a.argmin(axis=1)), x, device="cuda")
        want = interpret(executable.graph, [x], CUPY)
        got, _ = emulated.run(executable.graph, [x], executable.strides)
        assert all(same_bits(a, b) for a, b in zip(want, got, strict=True))


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_clipped_integers_are_compared_by_their_bits(dtype: str) -> None:
    """As NVRTC before 13.4 has to be told."""

    def bounds(x: Any) -> Any:
        inside = np.clip(x, 0, 100)
        return inside == 100, inside != 100, np.maximum(np.maximum(x, x[::-1]), 0) == x

    x = RNG.integers(-120, 120, 1000).astype(dtype)
    executable = fc.lower(bounds, x, device="cuda")
    got, _ = emulated.run(executable.graph, [x], executable.strides)
    for want, found in zip(bounds(x), got, strict=True):
        np.testing.assert_array_equal(found, want)
    text = "".join(kernel.source for kernel in executable.kernels)
    assert text.count("fc_same(") == 3 and "==" not in text.partition("{")[2]
