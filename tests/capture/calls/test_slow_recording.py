"""Calls of which the recording takes too long: begun again plainly, or gone on with at once."""

from __future__ import annotations

import contextvars
import math
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls import trace
from fusecuda.capture.calls.entry import Entry
from fusecuda.capture.record.budget import Budget
from fusecuda.capture.record.recorder import Recorder
from fusecuda.capture.record.rest import Trial
from tests.capture_check import equal
from tests.fuzz_calls import failure, written

CLOCK = 64  # steps


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording takes too long from the first look at the clock."""
    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(trace, "_LOOK_AT_CLOCK", CLOCK)
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))


def walk(x: Any, scale: float, steps: int, rng: np.random.Generator) -> Any:
    """A walk that draws NumPy's numbers, writes to its argument, and looks at values."""
    kept, energy = [], (x * x).sum()
    for i in range(steps):
        step = x + scale * rng.standard_normal(x.shape)
        new = (step * step).sum()
        if rng.random() < np.exp(energy - new):
            x[...], energy = step, new
        if i % 10 == 0:
            kept.append(x[::2] * scale)
    return np.array(kept), float(energy), x[0], type(x)


def test_what_cannot_begin_again_goes_on_at_once(
    slow: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on NumPy does what it would have done, and little is recorded."""
    noted = []
    note = trace.Trace.note
    monkeypatch.setattr(trace.Trace, "note", lambda *args: (noted.append(1), note(*args))[1])
    fused = fc.fused(walk)
    for steps in (40, 200):
        plain, mine = np.linspace(-1, 1, 6), np.linspace(-1, 1, 6)
        want = walk(plain, 0.3, steps, np.random.default_rng(7))
        noted.clear()
        got = fused(mine, 0.3, steps, np.random.default_rng(7))
        equal(got[:3], want[:3], ulp=64)
        equal(mine, plain, ulp=64)
        assert [type(v) for v in got] == [type(v) for v in want] and got[3] is np.ndarray
        assert len(noted) < 3 * CLOCK


@pytest.mark.parametrize("steps", [1, 2, 5, 12])
@pytest.mark.filterwarnings("ignore")
def test_random_programs_that_go_on_at_once(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each number of steps, results, arguments, objects are as of plain functions."""

    def gone_on(self: trace.Trace, budget: Budget) -> None:
        self.may_restart = False
        check(self, budget)

    check = trace.Trace._check_time
    monkeypatch.setattr(trace.Trace, "_check_time", gone_on)
    monkeypatch.setattr(trace, "_LOOK_AT_CLOCK", steps)
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    monkeypatch.setattr(Budget, "FIRST", -math.inf)
    for seed in range(80 + steps, 84 + steps):
        assert not failure(*written(seed)), seed


def test_what_a_replay_has_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that goes on is recorded from its beginning, whatever that takes."""
    monkeypatch.setattr(trace, "_LOOK_AT_CLOCK", 2)
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))

    def f(x: Any, y: Any) -> Any:
        for k in range(6):
            y = y * 0.5 + k
        x += 1
        return y - x if x.sum() > 10 else y + x

    fused = fc.fused(f)
    mine, plain = np.zeros(3), np.zeros(3)
    for k in range(6):
        if k == 2:
            monkeypatch.setattr(Budget, "FIRST", -math.inf)
        equal(fused(mine, np.ones(3)), f(plain, np.ones(3)))
        equal(mine, plain)
    assert fused.traces >= 2


def test_what_kernels_take_is_not_recording(slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long call of large arrays is recorded to its end."""
    monkeypatch.setattr(Budget, "FIRST", 100.0)
    monkeypatch.setattr(trace, "_SLOWEST", 1.0)
    clock = [0.0]
    computed = Recorder._computed

    def long(*args: Any) -> Any:
        clock[0] += 1000
        return computed(*args)

    monkeypatch.setattr(Recorder, "_computed", long)
    monkeypatch.setattr(trace, "thread_time", lambda: clock[0])

    @fc.fused
    def f(x: Any) -> Any:
        for _ in range(CLOCK):
            x = x * 0.5 + 1
            if x[0] > 1e9:
                break
        return x

    f(np.arange(4.0))
    assert "replayed" in f.explain().splitlines()[0]


def test_slow_recording_is_tried_again_when_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by a number of calls alone."""
    monkeypatch.setattr(Budget, "FIRST", 1.0)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    budget, entry = Budget(), Entry()
    budget.spend(0.5)
    entry.postponed()
    assert [entry.rests(budget) for _ in range(3)] == [True, False, False]
    entry.postponed(slow=True)
    assert [entry.rests(budget) for _ in range(4)] == [True] * 4
    assert not entry.rests(Budget())


def test_paths_that_grow_at_each_call_take_no_more_than_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Calls that see new values each time are made plainly when the budget is spent."""

    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))

    def plain(x: Any) -> Any:
        return x * {place: place + 2.0 for place in range(8)}[int(x.argmax())]

    f = fc.fused(plain)
    for place in range(4):
        equal(f(np.eye(8)[place]), plain(np.eye(8)[place]))
    assert f.traces == 4
    f.budget.spend(1.0)
    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    for place in range(4, 8):
        equal(f(np.eye(8)[place]), plain(np.eye(8)[place]))
    assert f.traces == 6  # one call is made plainly, then one is recorded, then two are


def test_why_recording_does_not_pay_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is recorded anew takes long for a reason, which stays to be seen."""
    took = Trial.took

    def as_measured(trial: Trial, seconds: float, plain: bool, replayed: bool = False) -> None:
        took(trial, 1e-6 if plain else 1e-3, plain, replayed)

    monkeypatch.setattr(Trial, "took", as_measured)

    def elsewhere(x: Any) -> Any:
        return contextvars.Context().run(lambda: x * 2 + 1)

    fused = fc.fused(elsewhere)
    for start in range(12):
        equal(fused(np.arange(5.0) + start), elsewhere(np.arange(5.0) + start))
    (line,) = fused.explain().splitlines()[:1]
    assert "runs unfused: fusing does not pay" in line
    assert "recorded anew at each call: it calls contextvars.Context" in line
    assert line.count("recorded anew") == 1


def test_many_values_that_are_looked_at_are_no_condition() -> None:
    """That they are as they were is not to be expected; a few are, in a path of their own."""

    def f(x: Any) -> Any:
        return (x * 2).tolist(), x.tobytes()

    for size, replayed in ((10, True), (3000, False)):
        ours, x = fc.fused(f), np.arange(float(size))
        for _ in range(3):
            with fc.count_launches():
                assert ours(x) == f(x)
        assert ("which are others at each call" not in ours.explain()) is replayed


def test_what_goes_from_element_to_element_is_numpys() -> None:
    """Before anything has been done the call starts again; afterwards it goes on."""

    def f(x: Any, out: list[int]) -> float:
        if out:
            print(end="")
        return sum(float(v) for v in np.nditer(x * 2))

    ours, x = fc.fused(f), np.arange(6.0)
    for _ in range(3):
        assert ours(x, []) == f(x, []) == ours(x, [1])
    ours(x, [])
    assert "it takes an array's memory" in ours.explain()
