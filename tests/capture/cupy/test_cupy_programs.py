"""Random CuPy programs: views, writes, masks, reads in between and drops, against NumPy."""

from __future__ import annotations

import pytest

cupy = pytest.importorskip("cupy")

from tests import cupy_host, cupy_programs  # noqa: E402 - they need CuPy
from tests.marks import few, in_turn  # noqa: E402

cupy_host.install()


@pytest.mark.parametrize("block", few(range(20), 1))
def test_programs(block: int) -> None:
    """Every variable and argument ends with NumPy's own values."""
    for seed in range(block * 4, block * 4 + 4):
        cupy_programs.run_seed(seed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", in_turn(range(5)))
def test_many_programs(block: int) -> None:
    """Five hundred other programs, more than a thousand runs of them."""
    for seed in range(50_000 + block * 100, 50_000 + block * 100 + 100):
        cupy_programs.run_seed(seed)
