"""Reads of what edges leave alone, where others need the edges: no version is kept for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.read_later import read_later
from fusecuda.graph.passes import apply_rules
from tests.capture_check import equal

X, Y = np.random.default_rng(5).normal(size=(2, 24, 40))


def wave(u: Any, before: Any) -> Any:
    """The last field is read whole, its neighbours only inside of the walls."""
    for _ in range(3):
        curve = np.zeros_like(u)
        curve[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        after = 2 * u - before + 0.2 * (curve - 4 * u)
        after[0], after[-1], after[:, 0], after[:, -1] = 0, 1, 2, 3
        before, u = u, after
    return u, before


def of_the_inside_alone(u: Any, before: Any) -> Any:
    """What needs no edge is computed with what it is read of."""
    after = u * before
    after[0], after[-1] = 1, 2
    return after, after[1:-1] * 2


def written_back(u: Any, before: Any) -> Any:
    """What is written into the later version may still share a kernel with writes before."""
    after = u * before
    after[0], after[1] = before[0] * 2, after[2] + before[1]
    after[3:5] = after[6:8] * before[3:5]
    return after


def written_on(u: Any, before: Any) -> Any:
    after = u * before
    after[0], after[1] = before[0] * 2, after[2] + before[1]
    return after * after + 1


def result_between(u: Any, before: Any) -> Any:
    """A view that is a result shows what was there."""
    after = u - before
    inside = after[2:4]
    after[0] = 7
    return inside + 0, after + 1


def read_before(u: Any, before: Any) -> Any:
    """What is written later is not yet there, though the sum needs it."""
    after = u * before
    edge = after[:2] * 3
    after[0], after[-1] = 7, 8
    return (after * after)[:2] + edge


LAUNCHES = {
    written_on: 3,
    read_before: 3,
    wave: 7,
    of_the_inside_alone: 2,
    written_back: 2,
    result_between: 3,
}


@pytest.mark.parametrize("function", LAUNCHES, ids=lambda f: f.__name__)
def test_values_and_launches(function: Any, emitted: str) -> None:
    """On a device each pair of edges is a launch of its own."""
    program = fc.lower(function, X, Y)
    equal(program(X, Y), function(X, Y))
    if emitted == "c":
        assert program.launches == LAUNCHES[function], program.explain(full=True)
    assert "index" not in " ".join(k.name for k in program.kernels if function is wave)


def test_which_reads_are_moved() -> None:
    """None where nothing is gained: what needs no edge is not to wait for them."""
    for function in LAUNCHES:
        graph = apply_rules(fc.lower(function, X, Y).recorded)
        assert (read_later(graph) is graph) == (function is not wave), function
