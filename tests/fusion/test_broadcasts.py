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


POINTS = RNG.normal(size=(40, 3))


def attracted(p: Any) -> Any:
    d = p[None] - p[:, None]
    r2 = (d * d).sum(-1) + 0.01
    return (d * (1 / (r2 * np.sqrt(r2)))[..., None]).sum(1)


def attracted_and_far(p: Any) -> Any:
    d = p[None] - p[:, None]
    r2 = (d * d).sum(-1) + 0.01
    return (d * (1 / (r2 * np.sqrt(r2)))[..., None]).sum(1), r2


@pytest.mark.parametrize("program", [attracted, attracted_and_far])
def test_what_ends_a_reduction_is_stored_in_its_place(program: Callable[..., Any]) -> None:
    """Each of three components would compute it anew; there is no launch more."""
    executable = fc.lower(program, POINTS)
    assert executable.launches == 2
    first, second = executable.kernels
    assert "sqrt" in first.name and "sqrt" not in second.name
    for got, want in zip(executable(POINTS), program(POINTS), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_launches(name: str) -> None:
    function, launches = PROGRAMS[name]
    program = fc.lower(function, X, ROW, COLUMN)
    assert program.launches == launches, program.explain(full=True)
    np.testing.assert_allclose(program(X, ROW, COLUMN), function(X, ROW, COLUMN), rtol=1e-13)


def test_the_reason_is_told() -> None:
    said = fc.lower(PROGRAMS["dear"][0], X, ROW, COLUMN).explain(full=True)
    assert "each of 300 rows would compute it anew" in said
