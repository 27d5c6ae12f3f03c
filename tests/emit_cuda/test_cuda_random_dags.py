"""Random graphs as emulated CUDA: the source that ships gives the interpreter's bits."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.graph.text import print_hlo
from tests import emulated, emulator
from tests.fusion.test_random_dags import BATCH, cases, copies
from tests.marks import few
from tests.random_graphs import Case, merge
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
ORDERS = ("forward", "reverse", "shuffled")


def disagreement(case: Case, order: str) -> str:
    """Which output differs and how, or ""."""
    arguments = copies(case.arguments)
    want = interpret(case.graph, case.arguments, CUPY)
    results, _ = emulated.run(case.graph, arguments, case.strides, order)
    for i, expected in enumerate(want):
        target = case.graph.target(i)
        got = results[i] if target is None else arguments[target]
        if not same_bits(expected, got):
            return f"output {i}:\n{got!r}\nnot\n{expected!r}"
    for number, (before, after) in enumerate(zip(case.arguments, arguments, strict=True)):
        if number not in case.graph.targets and isinstance(before, np.ndarray):
            assert same_bits(before, after), f"argument {number} was written to"
    return ""


def check(batch: list[Case], order: str) -> None:
    """Fail, with the graph at fault, if an output differs in any bit."""
    if not disagreement(merge(batch), order):
        return
    for case in batch:
        alone = disagreement(case, order)
        if alone:
            pytest.fail(f"{case.name}: {alone}\n{print_hlo(case.graph)}", pytrace=False)
    pytest.fail(f"only merged, from {batch[0].name}", pytrace=False)


@pytest.mark.parametrize("first", few(range(0, 200, BATCH), 3))
def test_emulated_kernels_give_the_interpreters_bits(first: int) -> None:
    """Operations that are exact, in each order of the blocks in turn."""
    check(cases(first, failing=False), ORDERS[first // BATCH % 3])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(30_000, 30_300, BATCH))
def test_many_more_graphs(first: int) -> None:
    """As above, on other seeds."""
    check(cases(first, failing=False), ORDERS[first // BATCH % 3])
