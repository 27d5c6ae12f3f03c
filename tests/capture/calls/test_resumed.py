"""Recordings that go on where a replay has come to a value not seen before."""

from __future__ import annotations

import contextlib
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls.fragments import Fragments
from tests.capture_check import equal, twin
from tests.side_by_side import Spaces


def _check(function: Any, *calls: tuple[Any, ...]) -> Any:
    """Each call gives and leaves what the plain function does."""
    fused = fc.fused(function, strict=True)
    for args in calls:
        wanted_args, given = twin(args), twin(args)
        wanted = function(*wanted_args)
        equal(fused(*given), wanted)
        equal(given, wanted_args)
    return fused


def _of(first: float, second: float) -> tuple[Any, Any]:
    return np.full(4, first), np.array([-1.0, second, second, second])


def test_how_many_a_mask_picks_is_known_when_the_picks_are_gone() -> None:
    """The picks have been dropped when the other branch is recorded; their number has not."""

    def count(a: Any, b: Any) -> Any:
        n = len(b[b > 0])
        return (n, a * 2) if a.max() > 3 else (n, a)

    fused = _check(count, _of(0, 1), _of(5, 1), _of(0, -1), _of(5, -1), _of(7, 1), _of(7, -1))
    assert fused.traces == 4


def test_a_shape_that_leads_a_loop_is_known_when_the_picks_are_gone() -> None:
    """A loop as long as there are picks is as long when it is recorded again."""

    def loop(a: Any, b: Any) -> Any:
        for i in range(b[b > 0].shape[0]):
            a = a + i
        if a.max() > 5:
            a = np.sqrt(a)
        return a

    _check(loop, _of(0, 1), _of(5, 1), _of(0, -1), _of(9, -1), _of(9, 1))


@pytest.mark.parametrize("others", [False, True])
def test_a_list_that_was_made_longer_is_taken_apart_again(others: bool) -> None:
    """Once it is known that a list is only made longer, paths begun before go on as they began."""

    def append(a: Any, seen: list[Any]) -> Any:
        seen.append(a + 1)
        b = a * 2
        while b.max() > 10:
            b = b / 4
            a += 1
        return b

    arrays = [np.ones(3), np.zeros(2)] if others else []
    _check(append, *[(np.arange(4.0) + k, list(arrays)) for k in (0, 0, 5, 1, 30, 5, 30)])


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "fails",
    [
        lambda a, b: a + b,
        np.add,
        lambda a, b: a.__iadd__(b),
        lambda a, b: np.concatenate([a, b]),
    ],
)
def test_errors_that_are_handled_keep_no_arrays(fails: Any) -> None:
    """What is alive is computed: that must not depend on when the garbage collector runs."""
    a, b = fc.Array.of_array(np.ones(3)), fc.Array.of_array(np.ones((2, 4)))
    kept = weakref.ref(b)
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            fails(a, b)
        del b
        assert kept() is None
    finally:
        gc.enable()


HELD_IN_CYCLES = """
def helper(x, i):
    made = {held}
    def again(n): return {asked} if n == 0 else again(n - 1)
    return again(2)
@fused
def f(x, i, l):
    last = helper(x, i)
    {effect}
    a, b = x + 1, x + 2
    if a[1] > 5: l.append(1)
    c = a * 2 if float(b[1]) > 7 else b * 3
    return a, b, c, last
"""


@pytest.mark.parametrize("held", ["x * 3", "x[i]", "np.zeros(3)"])
@pytest.mark.parametrize("asked", ["made[n]", "n"])
@pytest.mark.parametrize("effect", ["pass", "print(end='')", "l.append(float(x.sum()))"])
@pytest.mark.parametrize("collected", [(True, False), (False, True)])
def test_cycles_may_be_collected_at_any_time(
    held: str,
    asked: str,
    effect: str,
    collected: tuple[bool, bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was pending when a replay's beginning was recorded need not be when it goes on."""
    program = HELD_IN_CYCLES.format(held=held, asked=asked, effect=effect)
    flush, collects = Fragments.flush, [False]

    def flushed(self: Fragments, *needed: Any) -> None:
        if collects[0]:
            gc.collect()
        flush(self, *needed)

    monkeypatch.setattr(Fragments, "flush", flushed)
    spaces = Spaces(program)
    gc.disable()
    try:
        for start, collects[0] in zip((0, 6, 3, 9), 2 * collected, strict=True):
            spaces.step(f"r = f(np.arange(4.0) + {start}, np.array([1, 2]), [])")
        collects[0] = False
        for start in (0, 6, 3, 9):
            spaces.step(f"r = f(np.arange(4.0) + {start}, np.array([1, 2]), [])")
    finally:
        gc.enable()
