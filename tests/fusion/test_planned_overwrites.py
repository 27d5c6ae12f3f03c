"""Graphs that once were planned or lowered wrongly: updates of what is read, guards, reshapes."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda.engine import build
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.text import parse_hlo
from fusecuda.options import Options
from tests.marks import one_in

GRAPHS = {
    "an update reversed onto itself": """
        %0 = f64[6] parameter(0)
        %1 = f64[6] multiply(%0, %0)
        %2 = f64[6] update(%1, %1), map=(d0) -> (-1*d0 + 5)
        ROOT (%2)""",
    "the version before is the value": """
        %0 = f64[6] parameter(0)
        %1 = f64[6] add(%0, %0)
        %2 = f64[6] update(%0, %1), map=(d0) -> (-1*d0 + 5)
        %3 = f64[6] update(%2, %2), map=(d0) -> (-1*d0 + 5)
        ROOT (%3 -> 0)""",
    "two versions made of one": """
        %0 = f64[6] parameter(0)
        %1 = f64[6] update(%0, %0), map=(d0) -> (-1*d0 + 5)
        %2 = f64[6] update(%0, %0), map=(d0) -> (d0)
        %3 = f64[] reduce(%0), kind=prod, axes={0}
        ROOT (%1 -> 0, %2, %3)""",
    "a row value inside a pad": """
        %0 = f64[6] parameter(0)
        %1 = s64[] reduce(%0), kind=argmin, axes={0}
        %2 = s64[1] reshape(%1)
        %3 = s64[6] pad(%2, %1), widths=2_3
        %4 = s64[] index(%3), map=() -> (0)
        ROOT (%4)""",
    "a reshape of what lies in a strided argument": """
        %0 = f64[6] parameter(0)
        %1 = f64[6] rint(%0)
        %2 = f64[2,3] reshape(%1)
        %3 = f64[2,3] sqrt(%2)
        ROOT (%1 -> 0, %3)""",
}  # fmt: skip


def graph_of(name: str) -> Graph:
    """The graph called ``name``."""
    lines = (line.strip() for line in GRAPHS[name].strip().splitlines())
    return parse_hlo("HloModule region\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("fuse", ["0", "1"])
@pytest.mark.parametrize("name", GRAPHS)
@one_in(5)
def test_the_interpreter_agrees(
    name: str, fuse: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled and interpreted results are the same, whatever the argument's strides."""
    monkeypatch.setenv("FUSECUDA_FUSE", fuse)
    graph = graph_of(name)
    room = np.arange(1.0, 13.0)[::step]
    argument = room[:6]
    want = interpret(graph, [argument.copy()])
    strides = {} if step == 1 else {0: (step,)}
    got = build(graph, strides, Options()).run([argument])
    for i, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        value = argument if graph.target(i) is not None else mine
        np.testing.assert_array_equal(value, theirs)
