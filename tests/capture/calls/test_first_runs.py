"""First runs: what is computed while kernels are compiled, and what there is no time for."""

from __future__ import annotations

import collections
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import executable
from fusecuda.back_ends import BACK_ENDS
from fusecuda.capture.calls import recorded as recording
from fusecuda.capture.calls.undoing import Undoing
from fusecuda.capture.record import plans
from fusecuda.capture.record.budget import Budget
from fusecuda.cpu_fallback.background import Job
from fusecuda.graph.tree import tree_sum
from fusecuda.interpreted import Interpreted

X = np.linspace(-2.0, 2.0, 1000)


class Compilers:
    """Stand for those that run beside the program: they end when a test says so."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.ready = 0  # jobs, the first ones, that are over at once

    def begin(self, sources: Sequence[Any]) -> Job:
        job = Job(sources)
        self.jobs.append(job)
        if len(self.jobs) <= self.ready:
            job.end()
        return job

    def end(self) -> None:
        """All that was begun is there."""
        for job in self.jobs:
            job.end()


@pytest.fixture
def compilers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compilers]:
    """Kernels are not there, and there is time for all but for waiting."""
    found = Compilers()
    monkeypatch.setitem(BACK_ENDS, "cpu", replace(BACK_ENDS["cpu"], begin_beside=found.begin))
    monkeypatch.setattr(executable, "are_at_hand", lambda sources: False)
    monkeypatch.setattr(Budget, "FIRST", 1e9)
    monkeypatch.setattr(Budget, "wait_for", lambda self, job, seconds, otherwise: None)
    plans.forget()
    yield found
    plans.forget()


def wave(x: Any, scale: Any) -> Any:
    return np.exp(np.sin(x) * scale) + x.sum()


def test_calls_are_plain_until_the_kernels_are_there(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is recorded, but for the first."""
    recorded, call = [], recording.HostCall
    monkeypatch.setattr(recording, "HostCall", lambda *a, **k: recorded.append(1) or call(*a, **k))
    fused = fc.fused(wave)
    for _ in range(5):
        assert np.array_equal(fused(X, 0.3), wave(X, 0.3))  # NumPy's very bits
    assert len(compilers.jobs) == len(recorded) == 1 and fused.traces == 0
    assert "ran unfused: its kernels are being compiled" in fused.explain()
    assert "1 launch" in fused.explain()  # the plan is known
    compilers.end()
    want = fc.fused(wave, strict=True)(X, 0.3)
    for _ in range(3):
        assert np.array_equal(fused(X, 0.3), want)
    assert fused.traces == 1 and "replayed" in fused.explain()


def test_what_cannot_begin_again_is_interpreted_to_the_bit(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second kernel of a call that has written to much of its argument is not there yet."""
    monkeypatch.setattr(Undoing, "keeps", lambda *args: False)

    def f(x: Any) -> Any:
        x += 1.0
        if x[0] > 0.0:
            return (x * x).sum() / 3.0
        return x - 1.0

    compilers.ready = 1
    fused, before = fc.fused(f), Interpreted.meanwhile
    x, y = X + 3.0, X + 4.0
    for _ in range(2):
        y = x + 1.0
        assert float(fused(x)) == float(tree_sum(y * y) / 3.0)
        assert np.array_equal(x, y)  # written to once
    assert Interpreted.meanwhile == before + 2 and len(compilers.jobs) == 2
    (entry,) = fused._entries.values()
    assert not entry.trial._fused  # their times tell nothing of kernels
    compilers.end()
    assert float(fused(x)) == float(tree_sum((y + 1.0) * (y + 1.0)) / 3.0)
    assert Interpreted.meanwhile == before + 2 and entry.trial._fused


class Timed:
    """Counts the blocks that it has been around, where no twin stands for it."""

    ends = 0
    kept: ClassVar[list[str]] = []

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        Timed.ends += 1
        self.kept.append("end")


def test_what_a_call_does_while_it_is_left_is_done_once(compilers: Compilers) -> None:
    """The end of a ``with`` and a ``finally`` run, too, where a recording is given up."""
    counted = collections.Counter[str]()

    def f(x: Any) -> Any:
        try:
            with Timed():
                return np.exp(x * 1.25) if x.sum() > 0.0 else -x
        finally:
            counted["calls"] += 1

    fused = fc.fused(f)
    Timed.ends = 0
    Timed.kept.clear()
    for calls in range(1, 4):
        fused(X + 1.0)
        assert (Timed.ends, Timed.kept, counted["calls"]) == (calls, ["end"] * calls, calls)
    assert len(compilers.jobs) == 1


def test_blocks_are_computed_without_their_kernels(compilers: Compilers) -> None:
    found = []
    for launches in (0, 1):
        region = fc.fused()
        with region:
            x = fnp.asarray(X)
            y = ((x * 2.0 + 1.0) * x).sum()
        found.append(float(y))
        assert region.launches == launches
        assert "multiply" in region.explain()
        compilers.end()
    assert found[0] == found[1] == float(tree_sum((X * 2.0 + 1.0) * X))


def test_who_counts_or_lowers_has_the_kernels(compilers: Compilers) -> None:
    fused = fc.fused(wave)
    fused(X, 0.3)
    with fc.count_launches() as count:
        fused(X, 0.3)
    assert sum(n for name, n in count.by_name.items() if "sin" in name) == 1
    exe = fc.lower(wave, X[:7], 0.3)
    exe(X[:7], 0.3)
    assert exe.launches == 1 and len(compilers.jobs) == 1
    strict = fc.fused(lambda x: x * 7 - 1, strict=True)
    assert np.array_equal(strict(X), X * 7 - 1) and len(compilers.jobs) == 1


def test_a_forked_child_waits_for_no_job_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job([])
    assert not job.is_over and not job.is_void
    monkeypatch.setattr("os.getpid", lambda: 0)
    assert job.is_over and job.is_void
    job.wait(60.0)


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_what_the_interpreter_has_no_time_for_is_numpys(seconds: float) -> None:
    """Sums in NumPy's order, and its functions; else the kernels' bits."""
    x = np.random.default_rng(0).random((40, 3000)).astype(np.float32)
    exe = fc.lower(lambda x: x.sum(axis=1), x)

    class Patience(Budget):
        FIRST, SHARE = seconds, 0.0

    patience = Patience()
    (found,) = Interpreted(exe.graph, patience).run([x])
    assert found is not None
    assert np.array_equal(found, x.sum(axis=1)) is (seconds == 0.0)
    assert np.array_equal(found, exe(x)) is (seconds > 0.0)
    assert (patience.left < seconds) is (seconds > 0.0)


@pytest.mark.parametrize("op", [np.sum, np.prod])
def test_empty_and_zero_dimensional_sums_by_numpy(op: Any) -> None:
    class NoTime(Budget):
        FIRST, SHARE = 0.0, 0.0

    for x in (np.ones((0, 3)), np.ones((3, 0), np.int32), np.full(4, -0.0), np.ones((2, 3))[::-1]):
        exe = fc.lower(lambda x: op(x, axis=0), x)
        (found,) = Interpreted(exe.graph, NoTime()).run([x])
        assert found is not None
        want = op(x, axis=0)
        assert np.array_equal(found, want) and found.dtype == want.dtype
        assert np.array_equal(np.signbit(found), np.signbit(want))


def test_budgets_are_spent_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "FIRST", 0.02)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    budget, job = Budget(), Job([])
    budget.wait_for(job, 1.0)  # which it would not live to see
    assert budget.left == pytest.approx(0.02)
    budget.wait_for(job, 0.01)  # and is not done in time
    assert budget.left <= 0.0 and not job.is_over
    assert not budget.affords(0.001) and budget.left > -1.0
    other, done = Budget(), Job([])
    threading.Timer(0.001, done.end).start()
    other.wait_for(done, 0.01)
    assert done.is_over and 0.0 < other.left < 0.02
    for otherwise, is_over in (0.02, False), (5.0, True):  # NumPy is done earlier, or later
        large = Job([])
        threading.Timer(0.005, large.end).start()
        left = budget.left
        budget.wait_for(large, 0.05, otherwise)
        assert large.is_over == is_over and budget.left == left  # which is no time that is spent
    assert Budget().patience is not None
    monkeypatch.setattr(Budget, "FIRST", float("inf"))
    assert Budget().patience is None  # runs compile what they need


def test_without_time_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    fused = fc.fused(wave)
    fused.budget = Budget()
    fused.budget.spend(1e-9)
    assert np.array_equal(fused(X, 0.3), wave(X, 0.3))
    assert fused.traces == 0 and "takes too long" in fused.explain()
    with fc.count_launches():  # who asks gets it
        fused(X, 0.3)
    assert fused.traces == 1 and fused.budget.left < -1e-4  # what that took is spent


def test_large_graphs_are_planned_where_there_is_time(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As much as planning them is known to take."""
    monkeypatch.setattr(Budget, "FIRST", 0.01)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    with fc.fused():
        y = fnp.asarray(X)
        for k in range(200):
            y = y * 0.5 + float(k)
        sought = [y.storage.node], [None], fc.Options()
        _, found = plans.executable_for(*sought, budget=Budget())
        assert isinstance(found, Interpreted)
        _, found = plans.executable_for(*sought)
        assert isinstance(found, executable.Executable)


def test_what_takes_long_is_planned_without_time(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy would take longer than the plan and the compiler, which are waited for."""
    monkeypatch.setattr(Budget, "FIRST", 0.0)
    monkeypatch.setattr(Budget, "SHARE", 0.0)
    waits: list[tuple[float, float]] = []
    monkeypatch.setattr(Budget, "wait_for", lambda self, job, *given: waits.append(given))
    budget = Budget()
    budget.spend(0.1)
    for count, kind in (1000, Interpreted), (2_000_000, executable.Executable):
        with fc.fused():
            y = fnp.asarray(np.ones(count))
            for k in range(100):
                y = y * 0.5 + k
            _, found = plans.executable_for([y.storage.node], [None], fc.Options(), budget=budget)
            assert isinstance(found, kind)
            if isinstance(found, executable.Executable):
                found.patience = budget
                assert not found.has_kernels()
            del y
    ((seconds, otherwise),) = waits
    assert 0.1 < seconds < otherwise


def test_a_block_that_is_named_has_its_kernels(compilers: Compilers) -> None:
    """Its launches can be asked for; of one that is not, nobody sees them."""
    with fc.fused() as region:
        named = fnp.exp(fnp.asarray(X)) * 2 + 1
    assert region.launches == 1 and not compilers.jobs
    with fc.fused():
        other = fnp.cos(fnp.asarray(X)) * 3 + fnp.sin(fnp.asarray(X))
    assert compilers.jobs
    np.testing.assert_allclose(named, np.exp(X) * 2 + 1)
    np.testing.assert_allclose(other, np.cos(X) * 3 + np.sin(X))


def test_later_calls_wait_for_what_is_left(
    compilers: Compilers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time that kernels have been compiled for need not be waited any more."""
    waits: list[float] = []

    def wait_for(budget: Budget, job: Job, seconds: float, otherwise: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            job.end()

    monkeypatch.setattr(Budget, "wait_for", wait_for)
    fused = fc.fused(wave)
    assert np.array_equal(fused(X, 0.3), wave(X, 0.3)) and fused.traces == 0
    want = fc.fused(wave, strict=True)(X, 0.3)
    assert np.array_equal(fused(X, 0.3), want) and fused.traces == 1
    assert len(waits) == 2 and 0 <= waits[1] < waits[0]
