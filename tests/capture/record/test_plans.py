"""Plans are built once for graphs that are alike: other arrays and other numbers plan nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.record import plans
from tests.capture_check import equal
from tests.marks import at_length, one_in

X = np.linspace(-3.0, 3.0, 60).reshape(6, 10)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the graphs that are planned."""
    names: list[str] = []
    build = plans.build

    def counted(graph: Any, *rest: Any) -> Any:
        names.append(graph.name)
        return build(graph, *rest)

    monkeypatch.setattr(plans, "build", counted)
    plans.forget()
    yield names
    plans.forget()


def by_turns(steps: Callable[[Any, Any, float], Any], built: list[str]) -> None:
    """``steps`` with a number that changes: NumPy's results, two plans at most."""
    for k in (0.0, 1.0, -0.0, 2.5, np.inf, np.nan, 1e-310, 7.0):
        with fc.fused(), np.errstate(all="ignore"):
            got = steps(fnp, fnp.asarray(X), k)
        with np.errstate(all="ignore"):
            equal(np.asarray(got), steps(np, X, k))
    assert len(built) <= 2


def test_numbers_that_change(built: list[str]) -> None:
    """In arithmetic, comparisons and as a fill."""
    by_turns(lambda m, x, k: x * k + 1 - k / (x + 0.5), built)


def test_numbers_in_selections(built: list[str]) -> None:
    """Through casts and broadcasts."""
    by_turns(lambda m, x, k: m.where(x > k, m.maximum(x, k), x - k)[1:].max(axis=0) * k, built)


def test_numbers_as_values(built: list[str]) -> None:
    """Filled arrays and padding."""
    by_turns(lambda m, x, k: m.pad(x * 1, 1, constant_values=k) + m.full((8, 12), k), built)


def test_a_number_that_is_the_result_is_a_condition(built: list[str]) -> None:
    """Nothing computes it, so each value is a plan; it is right at each call."""
    for k in (1.0, 2.0, 3.0):
        with fc.fused():
            got = fnp.full((), k), fnp.asarray(X) * k
        equal(np.asarray(got[0]), np.asarray(k))
        equal(np.asarray(got[1]), X * k)


@pytest.mark.parametrize("name", ["power", "floor_divide", "remainder", "left_shift", "minimum"])
def test_numbers_that_choose_an_algorithm(name: str, built: list[str]) -> None:
    """The same bits whether a number is a constant of the plan or an argument."""
    operation = getattr(np, name)
    x = np.arange(1, 13) if name == "left_shift" else X
    numbers: tuple[Any, ...] = (1, 2, 3, 0) if name == "left_shift" else (2.0, 3.0, 0.5, 1.0, 2.0)
    for k in numbers:
        with fc.fused(), np.errstate(all="ignore"):
            got = operation(fnp.asarray(x), k) + 0
        with np.errstate(all="ignore"):
            equal(np.asarray(got), operation(x, k) + 0, ulp=1)


def test_a_loop_with_a_growing_time_plans_nothing(built: list[str]) -> None:
    """Thousands of steps, each with numbers of its own, settle to the plans of the first ones."""
    x = X.copy()
    with fc.fused():
        u = fnp.asarray(X)
        for i in range(3000):
            u = u + np.sin(0.1 * i) * 0.001
            if i == 2000:
                early = len(built)
    for i in range(3000):
        x = x + np.sin(0.1 * i) * 0.001
    equal(np.asarray(u), x)
    assert len(built) <= early + 1 <= 4  # the rest of the loop is shorter


@pytest.mark.usefixtures("recorded")
def test_errors_name_the_line_that_recorded_them(built: list[str]) -> None:
    """Also where another line has recorded the same graph before."""

    def first(x: Any) -> Any:
        return x ** (x - 2)

    def second(x: Any) -> Any:
        return x ** (x - 2)

    for function in (first, second):
        line = function.__code__.co_firstlineno + 1
        with pytest.raises(ValueError, match=f"negative integer powers.*test_plans.py:{line}"):
            np.asarray(function(fnp.asarray(np.arange(3))))


def test_explanations_name_the_lines_of_their_own_function() -> None:
    """Also where another function of that name has recorded the same graph before."""

    def made(first: bool) -> Any:
        if first:

            @fc.fused(device="cpu")
            def step(x: Any) -> Any:
                return (np.exp(x) * 2 + 1).sum()

            return step

        @fc.fused(device="cpu")
        def step(x: Any) -> Any:
            return (np.exp(x) * 2 + 1).sum()

        return step

    for step in (made(True), made(False)):
        step(X)
        line = step.__wrapped__.__code__.co_firstlineno + 2
        assert re.findall(r"test_plans.py:(\d+)", step.explain()) == [str(line)]


LOOPS: dict[str, Callable[[Any, Any, Any], Any]] = {}


def loop(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    LOOPS[function.__name__] = function
    return function


@loop
def history(u: Any, kept: Any, i: int) -> Any:
    u += 0.5
    kept[i] = u[0] * 2
    return u


@loop
def reversed_history(u: Any, kept: Any, i: int) -> Any:
    kept[-1 - i, ::-1] = u[1] - i
    return u


@loop
def moving_rows(u: Any, kept: Any, i: int) -> Any:
    return u + kept[i : i + 3].sum(axis=0)


@loop
def backward_rows(u: Any, kept: Any, i: int) -> Any:
    return u + kept[i + 4 : i : -2][0] - kept[i]


@loop
def moving_column(u: Any, kept: Any, i: int) -> Any:
    return u + kept[:6, i % 10][:, None]


@loop
def moving_element(u: Any, kept: Any, i: int) -> Any:
    kept[i, i % 10] += 1
    return u * kept[i, i % 10]


@loop
def own_neighbours(u: Any, kept: Any, i: int) -> Any:
    kept[i + 1 : i + 4] += kept[i : i + 3]
    return u


@loop
def part_and_whole(u: Any, kept: Any, i: int) -> Any:
    kept[i] = u[2]
    return u + kept.max(axis=0)


@loop
def nothing_of_it(u: Any, kept: Any, i: int) -> Any:
    kept[i:i] = 7
    return u + kept[i:i].size


@pytest.mark.parametrize("name", sorted(LOOPS))
@pytest.mark.parametrize("length", [1, 5])
@one_in(8)
def test_windows_that_move(name: str, length: int, built: list[str]) -> None:
    """A part of an array that moves from step to step: NumPy's results, a few plans for all."""
    step = LOOPS[name]
    u, kept = X.copy(), np.linspace(0, 9, 700).reshape(70, 10).copy()
    ours, history = fnp.asarray(X), fnp.asarray(kept)
    plans_by_step = []
    for start in range(0, 60, length):
        with fc.fused(strict=True):
            for i in range(start, start + length):
                ours = step(ours, history, i)
        for i in range(start, start + length):
            u = step(u, kept, i)
        plans_by_step.append(len(built))
    equal(np.asarray(ours), u, ulp=2)
    equal(np.asarray(history), kept, ulp=2)
    if name not in ("part_and_whole", "moving_column", "moving_element"):
        assert plans_by_step[-1] == plans_by_step[3], plans_by_step


@at_length
def test_windows_move_within_one_block(built: list[str]) -> None:
    """Also where a long loop is cut at its period."""
    x, kept = X.copy(), np.zeros((2000, 10))
    ours, history = fnp.asarray(X), fnp.asarray(kept)
    early = 0
    with fc.fused():
        for i in range(2000):
            ours = ours * 0.999 + 0.001 * i
            history[i] = ours[0]
            if i == 1000:
                early = len(built)
    for i in range(2000):
        x = x * 0.999 + 0.001 * i
        kept[i] = x[0]
    equal(np.asarray(ours), x)
    equal(np.asarray(history), kept)
    assert len(built) <= early + 1
