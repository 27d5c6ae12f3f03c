"""Programs of many fields, fused and plain side by side: values, effects, errors, identity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.marks import one_in
from tests.programs_of_users import HEAD, PROGRAMS
from tests.side_by_side import run

ROUNDS = 3  # recorded, replayed, and timed both ways


@pytest.mark.parametrize("name", PROGRAMS)
@one_in(32)
def test_a_program(name: str) -> None:
    """Each step does what it does plainly, again and again."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, steps.strip().splitlines() * ROUNDS)


def test_sets_hold_pythons_numbers() -> None:
    """What a call adds to a set that it is given, or reads by name, is a number of Python's."""
    named: set[object] = set()

    def visit(x: np.ndarray[Any, Any], seen: set[object]) -> np.ndarray[Any, Any]:
        seen.add(float(x[0]))
        seen.add((float(x[1]), "at"))
        named.add(int(x[2]))
        return x * 2 + 1

    fused = fc.fused(visit, strict=True)
    mine: set[object] = set()
    theirs: set[object] = set()
    for start in range(5):
        x = np.arange(3.0) + start
        assert fused(x, mine).tolist() == visit(x, theirs).tolist()
    assert mine == theirs
    assert {type(v) for v in mine} == {float, tuple}
    assert {type(v[0]) for v in mine if isinstance(v, tuple)} == {float}
    assert {type(v) for v in named} == {int}
