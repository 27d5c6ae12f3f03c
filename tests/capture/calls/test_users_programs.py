"""Programs of many fields, fused and plain side by side: values, effects, errors, identity."""

from __future__ import annotations

import pytest

from tests.programs_of_users import HEAD, PROGRAMS
from tests.side_by_side import run

ROUNDS = 3  # recorded, replayed, and timed both ways


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name: str) -> None:
    """Each step does what it does plainly, again and again."""
    program, steps = PROGRAMS[name]
    run(HEAD + program, steps.strip().splitlines() * ROUNDS)
