"""What costs much and is broadcast over rows is computed once, not anew in each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc

RNG = np.random.default_rng(6)
X, ROW, COLUMN = RNG.random((300, 400)), RNG.random(400), RNG.random(300)

PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    "dear": (lambda x, r, c: x * np.exp(r), 2),
    "window": (lambda x, r, c: x * (0.5 - 0.5 * np.cos(r * 6)), 2),
    "reduced": (lambda x, r, c: (x * np.exp(r)).sum(axis=1), 2),
    "light": (lambda x, r, c: x * (r * 2 + 1), 1),
    "same along a run": (lambda x, r, c: x * np.exp(c)[:, None], 1),
    "same along a row": (lambda x, r, c: (x * np.exp(c)[:, None]).sum(axis=1), 1),
    "few rows": (lambda x, r, c: x[:7] * np.exp(r), 1),
    "small": (lambda x, r, c: x[:9, :20] * np.exp(r[:20]), 1),
    "one number": (lambda x, r, c: x * np.exp(r[:1]), 1),
    "of the kernel's own rows": (lambda x, r, c: x * np.exp(x.mean(axis=0)), 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_launches(name: str) -> None:
    function, launches = PROGRAMS[name]
    program = fc.lower(function, X, ROW, COLUMN)
    assert program.launches == launches, program.explain(full=True)
    np.testing.assert_allclose(program(X, ROW, COLUMN), function(X, ROW, COLUMN), rtol=1e-13)


def test_the_reason_is_told() -> None:
    said = fc.lower(PROGRAMS["dear"][0], X, ROW, COLUMN).explain(full=True)
    assert "each of 300 rows would compute it anew" in said
