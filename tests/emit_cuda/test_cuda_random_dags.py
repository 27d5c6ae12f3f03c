"""Random graphs as emulated CUDA: the source that ships gives the interpreter's bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fusecuda.graph.interpret import CUPY, interpret
from tests import emulated, emulator
from tests.fusion.test_random_dags import BATCH, cases, check_together, copies
from tests.marks import few
from tests.random_graphs import Case
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
ORDERS = ("forward", "reverse", "shuffled")


def disagreement(case: Case, order: str) -> str:
    """Which output differs and how, or ""."""
    arguments = copies(case.arguments)
    results, _ = emulated.run(case.graph, arguments, case.strides, order)
    return difference(case, results, arguments)


def difference(case: Case, results: Sequence[Any], after: Sequence[Any]) -> str:
    """Which output differs from the interpreter's: a result, or an argument ``after`` the run."""
    for i, expected in enumerate(interpret(case.graph, case.arguments, CUPY)):
        target = case.graph.target(i)
        got = results[i] if target is None else after[target]
        if not same_bits(expected, got):
            return f"output {i}:\n{got!r}\nnot\n{expected!r}"
    for number, (before, now) in enumerate(zip(case.arguments, after, strict=True)):
        if number not in case.graph.targets and isinstance(before, np.ndarray):
            assert same_bits(before, now), f"argument {number} was written to"
    return ""


def check(batch: list[Case], order: str) -> None:
    """Fail, with the graph at fault, if an output differs in any bit."""
    check_together(batch, lambda case: disagreement(case, order))


BATCHES = ((0, 6), *((first, BATCH) for first in range(0, 200, BATCH)))


@pytest.mark.parametrize("batch", few(BATCHES, 1), ids=lambda batch: f"{batch[1]} from {batch[0]}")
def test_emulated_kernels_give_the_interpreters_bits(batch: tuple[int, int]) -> None:
    """Operations that are exact, in each order of the blocks in turn."""
    first, count = batch
    check(cases(first, failing=False)[:count], ORDERS[first // BATCH % 3])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30_000, 30_300, BATCH))
def test_many_more_graphs(first: int) -> None:
    """As above, on other seeds."""
    check(cases(first, failing=False), ORDERS[first // BATCH % 3])
