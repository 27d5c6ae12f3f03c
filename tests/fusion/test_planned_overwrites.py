"""Updates of what is read, guards, reshapes; what reductions end in, written where it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.engine import build
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.text import parse_hlo
from fusecuda.options import Options
from tests.capture_check import equal
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
@one_in(10)
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


def descended(b: Any, g: Any, c: Any) -> Any:
    b -= 0.5 * g.sum(0)


def summed_into(b: Any, g: Any, c: Any) -> Any:
    b += g.T.sum(1)


def running(b: Any, g: Any, c: Any) -> Any:
    """The last mean is read by others, whose results come first or last."""
    mean = g.max(0)
    out = (g - mean) * 2, b + mean, (b * mean).sum() + 1
    b *= 0.5
    b += 0.5 * mean
    return *out, b - 1, b.sum()


def spread(b: Any, g: Any, c: Any) -> Any:
    """What is written is computed for each element of its row, by whoever has one: it is copied."""
    b += g.sum(0)
    return g * b


def exchanged(b: Any, g: Any, c: Any) -> Any:
    """Each is computed of what the other was."""
    mine, other = g.sum(0) * c, g.max(0) - b
    b[:], c[:] = mine, other


def read_by_elements(b: Any, g: Any, c: Any) -> Any:
    """Other rows are still to read what is overwritten: it is copied."""
    b[:] = (g * b[::-1]).sum(0)


def read_turned(b: Any, g: Any, c: Any) -> Any:
    b[:] = g.sum(0) + b[::-1]


def read_as_elements(b: Any, g: Any, c: Any) -> Any:
    b[:] = (g * b).sum(0)


def integrated(b: Any, g: Any, c: Any) -> Any:
    """The old rows are read by what has fewer axes than what is summed into the new ones."""
    c += 0.5 * b
    b[:] = g.sum(0)
    c += 0.5 * b
    return (c**2).sum()


ENDS = {
    descended: 1, summed_into: 1, running: 1, spread: 2, exchanged: 1,
    read_by_elements: 2, read_turned: 2, read_as_elements: 2, integrated: 2,
}  # fmt: skip


@pytest.mark.parametrize("shape", [(70, 90), (90, 3), (9, 20_000), (20_000, 2)])
@pytest.mark.parametrize("program", ENDS, ids=lambda f: f.__name__)
@one_in(8)
def test_a_reduction_ends_where_it_began(program: Any, shape: Any, emitted: str) -> None:
    """What it is combined with is read, and written, once, and never copied."""
    rng = np.random.default_rng(3)
    given = [rng.integers(-9, 9, s).astype(float) for s in (shape[1], shape, shape[1])]
    mine, theirs = [a.copy() for a in given], [a.copy() for a in given]
    executable = fc.lower(program, *mine)
    if emitted == "c" and shape == (70, 90):
        assert executable.launches == ENDS[program], executable.explain(full=True)
    equal([executable(*mine), *mine], [program(*theirs), *theirs])
