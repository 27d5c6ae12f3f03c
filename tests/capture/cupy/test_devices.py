"""What is created without operands is on the current device, whichever others have been used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fusecuda import fused
from tests.capture_check import equal

cp = pytest.importorskip("cupy")
from fusecuda.capture.cupy import memory as spaces  # noqa: E402 - it needs CuPy
from tests import cupy_host  # noqa: E402 - it needs CuPy
from tests.cupy_host import host, seen  # noqa: E402 - it needs CuPy


class Watched(cupy_host.HostSpace):
    """Host memory of several devices; it tells on which ones kernels have run."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def run(self, executable: Any, arrays: Any, device: int) -> Any:
        self.asked.append(device)
        return super().run(executable, arrays, device)


@pytest.fixture
def space(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    cupy_host.install()
    made = Watched()
    monkeypatch.setitem(spaces.SPACES, "cpu", made)
    yield made


def test_what_a_block_creates_first(space: Watched) -> None:
    """Before any array has been taken; the second time by what the first has learned."""
    for current in (0, 1, 1, 0):
        space.device, space.asked = current, []
        with fused(device="cpu"):
            z = cp.zeros((4, 3)) + 1
            assert z.device.id == current
            z *= 2
        equal(seen(z), np.full((4, 3), 2.0))
        assert space.asked == [current]


def test_what_is_created_on_another_device(space: Watched) -> None:
    """What was recorded before is computed before, where it belongs."""
    x = host(np.ones(3))
    for _ in range(3):
        space.asked = []
        with fused(device="cpu"):
            y = x * 2
            space.device = 1
            z = cp.zeros(3) + 1
            space.device = 0
            assert z.device.id == 1
        equal(seen(y), np.full(3, 2.0))
        equal(seen(z), np.ones(3))
        assert space.asked == [0, 1]
