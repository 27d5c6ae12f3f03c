"""Random functions of views, branches and lists, fused, do what the plain ones do."""

from __future__ import annotations

import pytest

import fusecuda as fc
from fusecuda.capture.record.rest import Trial
from tests.marks import in_turn, one_in
from tests.programs_of_views import Function, check

_FIXED = (120, 148, 188, 10_144, 10_147, 11_333, 11_835)  # each has found a fault


@pytest.fixture(autouse=True)
def always_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is made plainly because that would be quicker."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))


@pytest.mark.parametrize("seed", _FIXED)
@one_in(10)
def test_drawn_functions(seed: int) -> None:
    """Results, arguments and what shares memory are NumPy's, in every call of a sequence."""
    check(Function(seed), fc.fused)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("block", in_turn(range(10)))
def test_many_drawn_functions(block: int) -> None:
    """Five hundred other functions."""
    for seed in range(10_000 + block * 50, 10_000 + block * 50 + 50):
        check(Function(seed), fc.fused)
