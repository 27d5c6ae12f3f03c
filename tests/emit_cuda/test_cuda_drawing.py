"""Counted random numbers as CUDA C: every architecture takes it, and nothing is spilled."""

from __future__ import annotations

from typing import Any

import pytest

from fusecuda.emit_cuda import nvrtc
from fusecuda.numpy.random import counter_rng
from tests.capture.calls.test_drawing import X, all_integers, price, sweeps, trained
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.marks import few, one_in

pytestmark = pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")


@pytest.mark.parametrize("arch", few(ARCHITECTURES, 1))
@pytest.mark.parametrize(
    ("function", "inputs"),
    [(price, ()), (sweeps, (X,)), (trained, (X, X)), (all_integers, (X,))],
    ids=["price", "sweeps", "trained", "all_integers"],
)
@one_in(20)
def test_no_kernel_that_draws_spills(function: Any, inputs: Any, arch: str) -> None:
    measured = facts(sources_of(function, *inputs, counter_rng(1)), arch)
    assert measured
    assert not {name: found for name, found in measured.items() if found[1]}
