"""Blocks on CuPy arrays that are entered again and again are replayed, and do what they say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402 - it needs CuPy
from fusecuda.capture.calls import block_sites  # noqa: E402
from fusecuda.capture.record import rest  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture.calls import test_lifted as programs  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.marks import one_in  # noqa: E402
from tests.real_code.compare import differences  # noqa: E402

cupy_host.install()
PROGRAMS = (  # those that compute in blocks alone
    programs.in_place, programs.values_that_are_looked_at, programs.inner_loops,
    programs.containers, programs.entered_from_a_generator,
    programs.variables_of_inner_functions, programs.variables_that_inner_functions_read,
    programs.globals_written, programs.left_early, programs.several_managers,
    programs.entered_twice_at_once, programs.tries_first, programs.swallows_all,
)  # fmt: skip


def on_host(value: Any) -> Any:
    """``value`` with NumPy arrays and numbers for CuPy's."""
    if isinstance(value, cupy.ndarray):
        return seen(value)[()]
    if isinstance(value, list | tuple):
        return type(value)(map(on_host, value))
    return {k: on_host(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
@one_in(8)
def test_does_what_it_says(program: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rest._attempts.clear()  # no block is passed through to CuPy, which cannot run here
    wanted = program(contextlib.nullcontext)
    monkeypatch.setattr(programs, "numbers", lambda count=12: host(np.arange(float(count)) - 3))
    for _ in range(2):
        found = on_host(program(lambda: fused(device="cpu")))
        assert not differences(found, wanted, program.__name__)


def a_loop(x: Any) -> list[Any]:
    blocks = []
    for i in range(8):
        with fused(device="cpu") as region:
            y = x * 2 + 1
            x = np.sqrt(y * y + i)
        blocks.append(region)
    return blocks


def test_is_replayed() -> None:
    block_sites.sites.clear()
    blocks = a_loop(host(np.arange(1000.0)))
    (site,) = block_sites.sites.values()
    (variant,) = site._variants.values()
    assert variant.traces <= 2
    assert [b.launches for b in blocks] == [1] * 8
    assert "replayed" in blocks[-1].explain()
