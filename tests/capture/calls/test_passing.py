"""Blocks that are best left as they are: entered and left with next to nothing done for them."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.calls import block_sites
from fusecuda.capture.calls.passing import Passing
from fusecuda.capture.record import rest
from fusecuda.capture.record.recorder import default_recorder
from fusecuda.capture.record.rest import Trial
from fusecuda.cpu_fallback.pool import SMALLEST, has_own_memory
from fusecuda.streams.launches import LaunchCounter

X = np.arange(12.0)
TURNS = 50


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has been measured of each block that NumPy at once is faster.

    Each entry takes as long as the others: a few slow ones in a row would end the grant.
    """

    def trial_at(place: rest.Site) -> Trial:
        if place not in trials:
            trials[place] = Trial()
            trials[place].plain, trials[place].turns = True, itertools.repeat(True, TURNS)
        return trials[place]

    trials: dict[rest.Site, Trial] = {}
    clock = itertools.count()
    monkeypatch.setattr("fusecuda.capture.calls.fused.perf_counter", lambda: 1e-6 * next(clock))
    monkeypatch.setattr("fusecuda.capture.calls.fused.provider", lambda: None)
    monkeypatch.setattr(rest, "trial_at", trial_at)
    block_sites.sites.clear()


def entered(count: int, **options: Any) -> list[bool]:
    """For each entry of a block that no function does the work of, if it is passed through so."""
    seen = []
    for i in range(count):
        with fc.fused(**options) as region:
            y = fnp.asarray(X) + i
            seen.append(region._passing is not None)
        assert np.array_equal(np.asarray(y), X + i)
        assert region._passing is None and not region._nested
    return seen


def test_the_entries_that_are_granted_are_passed_through(decided: None) -> None:
    """Then it is looked at again."""
    assert entered(TURNS + 5) == [False] * 2 + [True] * TURNS + [False] * 3


def test_a_block_is_told_that_it_was_passed_through(decided: None) -> None:
    block = fc.fused()
    for i in range(6):
        with block as region:
            assert region is block
            block.launches  # noqa: B018 - which is why its body is no function
            y = fnp.asarray(X) + i
        assert "passed through: as measured" in block.explain() and block.launches == 0
    assert np.array_equal(np.asarray(y), X + 5)


@pytest.mark.parametrize("options", [{"strict": True}, {"check": 1.0}])
def test_blocks_with_other_options_are_recorded(decided: None, options: Any) -> None:
    for chosen in ({}, options) * 3:
        with fc.fused(**chosen) as region:
            y = fnp.asarray(X) * 2 + 1
            passed = region._passing
        assert passed is None or not chosen
        assert np.array_equal(np.asarray(y), X * 2 + 1)
        assert region.launches == len(chosen)


def test_blocks_are_recorded_where_it_matters(
    decided: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where launches are counted, in another block, and where the environment asks for a check."""

    def block() -> tuple[bool, int]:
        with fc.fused() as region:
            y = fnp.asarray(X) * 2 + 1
            passed = region._passing is not None
        assert np.array_equal(np.asarray(y), X * 2 + 1)
        return passed, region.launches

    assert [block() for _ in range(4)][2:] == [(True, 0)] * 2
    with LaunchCounter() as counter:
        assert block() == (False, 1)
    assert counter.total == 1
    with fc.fused(strict=True):
        assert not block()[0]
    monkeypatch.setenv("FUSECUDA_CHECK", "1")
    assert block() == (False, 1)
    monkeypatch.delenv("FUSECUDA_CHECK")
    assert block() == (True, 0)


def test_what_waits_is_computed_where_a_block_begins_and_ends(
    decided: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default_recorder, "at_once_below", 0)  # all is recorded by it
    waiting = []
    for i in range(6):
        before = fnp.asarray(X) - i
        with fc.fused() as region:
            waiting.append((before.storage.waits, region._passing is not None))
            y = fnp.asarray(X) + i
            assert y.storage.waits
        assert not y.storage.waits and region.launches == 1
        assert np.array_equal(np.asarray(y), X + i) and np.array_equal(np.asarray(before), X - i)
    assert waiting == [(False, False)] * 2 + [(False, True)] * 4


def test_errors_pass(decided: None) -> None:
    for _ in range(6):
        with pytest.raises(ZeroDivisionError), fc.fused() as region:
            passed = region._passing is not None
            1 // 0  # noqa: B018
    assert passed and region._passing is None
    assert entered(4)[2:] == [True] * 2


def test_a_block_may_be_entered_in_itself(decided: None) -> None:
    block = fc.fused()
    for i in range(6):
        with block as region, block as inner:
            assert inner is region
            y = fnp.asarray(X) + i
        assert block._passing is None and not block._nested
        assert np.array_equal(np.asarray(y), X + i)


def test_exit_stacks_share_no_grant(decided: None) -> None:
    """All of them enter their blocks in one place of the standard library."""
    for _ in range(6):
        with ExitStack() as stack:
            region = stack.enter_context(fc.fused())
            assert region._passing is None
            y = fnp.asarray(X) + 1
        assert np.array_equal(np.asarray(y), X + 1)


def test_other_work_is_measured_anew() -> None:
    """Entries that take many times as long as the first ones, several in a row, end the grant."""
    trial = Trial()
    trial.plain = True
    passing = Passing()
    passing.grant(100, fc.fused()._options, (), trial)
    assert not any(passing.took(seconds) for seconds in [1e-6] * 8)
    assert passing.low < 1e-6 < passing.high < 1e-3
    assert not any(passing.took(1e-3) for _ in range(3))
    assert passing.took(1e-3)
    assert passing.left == 0 and trial.plain is None


@pytest.mark.parametrize("measured", [True, False])
def test_a_block_is_asked_again_once_it_does_other_work(
    decided: None, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    clock = itertools.count()
    monkeypatch.setattr("fusecuda.capture.calls.fused.perf_counter", lambda: pace[0] * next(clock))
    pace = [1e-6]
    for i in range(30):
        pace[0] = 1.0 if i > 20 and measured else 1e-6
        with fc.fused() as region:
            y = fnp.asarray(X) + i
            passed = region._passing is not None
        assert np.array_equal(np.asarray(y), X + i)
    assert passed is not measured


def results(values: Any) -> list[Any]:
    """What a block makes, in the end as a function; without ``assert``, which changes the code."""
    x, kept = fnp.asarray(values), []
    for _ in range(5):
        with fc.fused():
            y = x * 2 + 1
            z = (x * 3)[1:]
        kept.append((y, z))
        z[0] = -1.0
    return kept


def test_results_of_lifted_blocks_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones lie in the pool's memory, where the kernels have written them."""
    monkeypatch.setattr(Trial, "wants_plain", property(lambda trial: False))
    block_sites.sites.clear()
    values = np.arange(SMALLEST / 8 + 1)
    kept = results(values)
    for y, z in kept:
        assert np.array_equal(np.asarray(y), values * 2 + 1)
        assert np.array_equal(np.asarray(z)[1:], values[2:] * 3) and np.asarray(z)[0] == -1
    memory = np.asarray(y)
    while type(memory.base) is np.ndarray:
        memory = memory.base
    assert memory.base is not None and has_own_memory(memory)
    assert not has_own_memory(memory[1:]) and has_own_memory(values)
