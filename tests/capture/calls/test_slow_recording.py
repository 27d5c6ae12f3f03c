"""Calls of which the recording takes too long: begun again plainly, or gone on with at once."""

from __future__ import annotations

import contextvars
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.calls import fragments, recorded, undoing
from fusecuda.capture.calls.entry import Entry
from fusecuda.capture.calls.undoing import Undoing
from fusecuda.capture.record import plans
from fusecuda.capture.record.budget import Budget
from fusecuda.capture.record.leaf import Leaf
from fusecuda.capture.record.recorder import Recorder
from fusecuda.capture.record.rest import Trial
from fusecuda.capture.record.storage import Storage
from fusecuda.capture.record.view import basic_index
from fusecuda.graph import build
from fusecuda.graph.node import Node
from tests.capture_check import equal
from tests.fuzz_calls import failure, written

CLOCK = 64  # steps


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording takes too long from the first look at the clock."""
    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(fragments, "_LOOK_AT_CLOCK", CLOCK)
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
    note = fragments.Fragments.note
    monkeypatch.setattr(
        fragments.Fragments, "note", lambda *args: (noted.append(1), note(*args))[1]
    )
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
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_random_programs_that_go_on_at_once_or_begin_again(
    steps: int, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each number of steps, results, arguments, objects are as of plain functions."""

    def gone_on(self: fragments.Fragments, budget: Budget) -> None:
        self.may_restart = self.may_restart and again
        check(self, budget)

    check = fragments.Fragments._check_time
    monkeypatch.setattr(fragments.Fragments, "_check_time", gone_on)
    monkeypatch.setattr(fragments, "_LOOK_AT_CLOCK", steps)
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    monkeypatch.setattr(Budget, "FIRST", -math.inf)
    for seed in range(80 + steps, 84 + steps):
        assert not failure(*written(seed)), seed


def relaxed(x: Any, y: Any, steps: int) -> Any:
    """Updates its arguments, which may be parts of one array, piece by piece."""
    for k in range(steps):
        x[1:] += y[:-1] * 0.5
        if x.sum() > 1e6:
            break
        y *= 1.0 + k
    return x.max(), y


@pytest.mark.parametrize("parts", [(slice(0, 6), slice(6, 12)), (slice(0, 6), slice(3, 9))])
@pytest.mark.parametrize("last", [False, True])
def test_what_has_been_written_is_undone(
    parts: tuple[slice, slice], last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that is begun again finds its arguments as they were, overlapping ones, too."""
    given_up: list[bool] = []

    def late(self: fragments.Fragments, budget: Budget) -> None:
        given_up.append(bool(self.reports))
        if bool(self.reports) is not last:
            return
        monkeypatch.setattr(Budget, "FIRST", -math.inf)
        check(self, budget)

    check = fragments.Fragments._check_time
    monkeypatch.setattr(fragments.Fragments, "_check_time", late)
    monkeypatch.setattr(fragments, "_LOOK_AT_CLOCK", 1)
    fused = fc.fused(relaxed)
    plain, mine = np.linspace(0, 1, 12), np.linspace(0, 1, 12)
    want = relaxed(*[plain[p] for p in parts], 5)
    got = fused(*[mine[p] for p in parts], 5)
    equal(got, want, ulp=64)
    equal(mine, plain, ulp=64)
    assert "so does recording" in fused.explain() and last in given_up


def test_what_another_thread_has_written_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is begun again undoes its own row of an array that threads share."""

    def steps(shared: Any, row: int) -> Any:
        for k in range(5):
            shared[row] += k
            if shared[row].sum() > 1e6:
                break
        return shared[row] * 2

    def late(self: fragments.Fragments, budget: Budget) -> None:
        if self.reports:
            shared[1] = 9  # as another thread does
            monkeypatch.setattr(Budget, "FIRST", -math.inf)
            check(self, budget)

    check = fragments.Fragments._check_time
    monkeypatch.setattr(fragments.Fragments, "_check_time", late)
    monkeypatch.setattr(fragments, "_LOOK_AT_CLOCK", 1)
    fused, shared = fc.fused(steps), np.zeros((3, 4))
    assert fused(shared, 2).tolist() == [20] * 4
    assert shared.tolist() == [[0] * 4, [9] * 4, [10] * 4]
    assert "so does recording" in fused.explain()


def waiting(array: Any, node: Callable[[Node], Node] = lambda leaf: leaf) -> Any:
    """A storage over ``array`` that waits for what is made of it."""
    storage: Any = Storage.of_array(None, array)
    storage.version = node(Leaf(array, array.shape, array.dtype))
    return storage


def test_large_memory_is_not_kept_and_what_takes_long_is_not_done_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of what is kept, elements that were not written may be another thread's."""

    def doubled(leaf: Node) -> Node:
        return build.elementwise("add", [leaf, leaf], leaf.dtype)

    def last_ones(leaf: Node) -> Node:
        found = basic_index(leaf.shape, (slice(4, None),))
        assert found is not None
        return build.update(leaf, build.index(leaf, *found), found[0])

    small, large, first = np.zeros(8), np.zeros(1 << 18), np.arange(8.0)
    known = Undoing()
    assert known.keeps([waiting(small, doubled), waiting(first, last_ones)])
    assert known.keeps([]) and not known.keeps([waiting(large, doubled)])
    assert not known.keeps([waiting(small.view(np.recarray), doubled)])
    small[:], first[:] = 1, 7
    assert known.keeps([waiting(first, last_ones), waiting(first[2:], doubled)])
    known.undo()
    assert (small == 0).all() and first.tolist() == [7, 7, 7, 7, 4, 5, 6, 7]
    known = Undoing()
    for _ in range(100_000 // small.nbytes):  # what is written again is kept once
        assert known.keeps([waiting(first, last_ones), waiting(small, doubled)])
        first[:], small[:] = 1, 5
    assert known.keeps([waiting(first, doubled)])
    known.undo()
    assert (small == 0).all() and first.tolist() == [1, 1, 1, 1, 4, 5, 6, 7]
    small[:] = 3
    known.undo()  # nothing is kept any more
    assert (small == 3).all()
    monkeypatch.setattr(undoing, "thread_time", lambda: 1e9)
    assert not known.keeps([waiting(small, doubled)])


def test_what_cannot_begin_again_keeps_no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(Undoing, "keeps", lambda self, buffers: bool(kept.append(buffers)) or True)

    def f(x: Any, rng: Any) -> Any:
        if rng is not None:
            rng.random()
        x += 1
        return x * 2 if x.sum() > 1 else x

    fused, rng = fc.fused(f), np.random.default_rng(0)
    for given in (rng, None):
        fused(np.zeros(3), given)
        assert bool(kept) is (given is None)


def test_what_a_replay_has_done_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that goes on is recorded from its beginning, whatever that takes."""
    monkeypatch.setattr(fragments, "_LOOK_AT_CLOCK", 2)
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


def breaks_off(x: Any, y: Any) -> Any:
    for _ in range(5):
        x = x * 0.9 + y
        if float(x[0]) > 3:
            break
    return x


def raises_late(x: Any, y: Any) -> Any:
    z = x + 1
    if z[0] > 100:
        raise KeyError("too large")
    y += z
    if z[1] > 50:
        raise ValueError("large")
    return y * 2


@pytest.mark.parametrize(("plain", "large"), [(breaks_off, 10.0), (raises_late, 60.0)])
def test_a_path_that_goes_on_without_time_to_plan(
    plain: Any, large: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a replay has done is not done again, though no plan is known any more."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))

    def given(start: float) -> tuple[Any, Any]:
        return np.full(1000, start), np.ones(1000)

    fused = fc.fused(plain)
    for _ in range(3):
        equal(fused(*given(1.0)), plain(*given(1.0)))
    assert fused.traces == 1
    plans.forget()
    monkeypatch.setattr(Budget, "FIRST", -math.inf)
    results, arguments = [], [given(large), given(large)]
    for call, args in zip((fused, plain), arguments, strict=True):
        try:
            results.append(call(*args))
        except ValueError as error:
            results.append(str(error))
    equal([results[0], *arguments[0]], [results[1], *arguments[1]])


def test_what_kernels_take_is_not_recording(slow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long call of large arrays is recorded to its end."""
    monkeypatch.setattr(Budget, "FIRST", 100.0)
    monkeypatch.setattr(fragments, "_SLOWEST", 1.0)
    clock = [0.0]
    computed = Recorder._computed

    def long(*args: Any) -> Any:
        clock[0] += 1000
        return computed(*args)

    monkeypatch.setattr(Recorder, "_computed", long)
    monkeypatch.setattr(fragments, "thread_time", lambda: clock[0])

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


def test_one_recording_takes_no_more_than_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a part of what there was to begin with, in which most are done."""
    monkeypatch.setattr(Budget, "FIRST", 1.2)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    budget = Budget()
    assert budget.for_one == pytest.approx(1.2)
    budget.spend(0.7)
    assert budget.for_one == pytest.approx(0.5)
    budget.spend(0.7)
    assert budget.for_one == pytest.approx(0.2)
    budget.spend(-10.0)
    assert budget.for_one == pytest.approx(1.2)


def test_calls_for_which_there_is_no_time_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they are given is not gone through."""
    monkeypatch.setattr(recorded, "walk", None)
    fused = fc.fused(lambda x: x["a"] * 2)
    monkeypatch.setattr(Budget, "FIRST", -math.inf)
    for value in range(3):
        assert fused({"a": value}) == value * 2
    assert fused.traces == 0


def test_calls_without_time_are_plain_until_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is looked up meanwhile; who counts launches has them at once."""

    def double(x: Any) -> Any:
        return x * 2

    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(Budget, "LOOK_S", 1e9)
    asked: list[None] = []
    monkeypatch.setattr(Budget, "allows", lambda *args: asked.append(None))
    for counts in (False, True):
        fused = fc.fused(double)
        budget = fused.budget = Budget()
        budget.spend(1e6)
        asked.clear()
        for k in range(5):
            assert fused(np.float64(k)) == 2 * k
        assert len(asked) == 1 and fused.traces == 0
        monkeypatch.undo() if counts else None
        if counts:
            with fc.count_launches():
                fused(np.arange(4.0))
            assert fused.traces == 1


def test_times_without_kernels_count_where_they_do_not_come() -> None:
    """Else a function that is interpreted at each call would never be called as it is."""
    fused = fc.fused(lambda x: x)
    call: Any = types.SimpleNamespace(why="", replay=None, reports=list)
    for k in range(8):
        fused._recorded((), call, 0.5, counts=False)
        assert fused._entries[()].trial.wants_plain is (k >= 5)


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
