"""Times of the named programs under `fused`, saved and compared: ``make bench``.

pytest-benchmark keeps each run under ``.benchmarks/`` and shows it beside the last one. Results are
compared with NumPy's first. The default tests do not come here.
"""

from __future__ import annotations

from typing import Any

import pytest

from fusecuda.cpu_fallback.program import thread_count
from fusecuda.tools.bench.peers import OURS, named
from fusecuda.tools.bench.worker import Worker
from fusecuda.tools.programs.program import SIZES, Program
from fusecuda.tools.programs.rows import PROGRAMS


@pytest.mark.parametrize("size", SIZES[:2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_fused(program: Program, size: int, benchmark: Any) -> None:
    """A warm call; what it overwrites is put back before each."""
    worker = Worker(named(OURS), "cpu", thread_count())
    answer = worker.prepare(program.name, size)
    assert "wrong" not in answer, answer["wrong"]
    contender = worker.contender
    assert contender is not None
    benchmark.extra_info.update({k: v for k, v in answer.items() if k in ("launches", "remark")})
    if program.written:
        benchmark.pedantic(contender.way.call, contender.given, setup=contender.restore, rounds=50)
    else:
        benchmark(contender.way.call, *contender.given)
