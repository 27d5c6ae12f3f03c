"""Programs of users around blocks: NumPy's values, and what became of each block."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402 - it needs CuPy
from fusecuda.capture.calls import block_sites  # noqa: E402
from fusecuda.capture.cupy import patches  # noqa: E402
from fusecuda.capture.cupy.storages import table  # noqa: E402
from fusecuda.capture.record import rest  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture.cupy.test_cupy_lifted import on_host  # noqa: E402
from tests.cupy_host import host  # noqa: E402
from tests.marks import one_in  # noqa: E402
from tests.programs_of_cupy_users import PROGRAMS  # noqa: E402
from tests.real_code.compare import differences  # noqa: E402

cupy_host.install()
TURNS = 3  # on other values each
OUTCOMES = {  # what `explain` says of the last block
    "jacobi": "replayed while its conditions hold",
    "wave": "replayed while its conditions hold",
    "regression": "replayed while its conditions hold",
    "factors": "replayed while its conditions hold",
    "own_parts": "recorded anew at each call: it returns a view",
    "left_over": "recorded where it stands: it deletes",
    "generators": "recorded where it stands: it yields",
}


def copied(values: Any) -> Any:
    return np.array(values)


def compared(program: Callable[..., Any]) -> list[Any]:
    """The blocks of runs of ``program``, which gives what NumPy does each time."""
    rest._attempts.clear()  # no block is passed through to CuPy, which cannot run here
    blocks: list[Any] = []

    def block() -> Any:
        blocks.append(fused(device="cpu"))
        return blocks[-1]

    for turn in range(TURNS):
        wanted = program(np, copied, np.random.default_rng(turn), contextlib.nullcontext)
        found = on_host(program(cupy, host, np.random.default_rng(turn), block))
        assert not differences(found, wanted, program.__name__)
        assert (patches.active(), len(table)) == (0, 0)
    return blocks


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
@one_in(4)
def test_replayed_where_they_can_be(program: Callable[..., Any]) -> None:
    block_sites.sites.clear()
    assert OUTCOMES[program.__name__] in compared(program)[-1].explain()


@pytest.mark.usefixtures("where_they_stand")
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_recorded_where_they_stand(program: Callable[..., Any]) -> None:
    assert all(block.launches for block in compared(program))
