"""Timelines: whatever steps take, what they need is done and what they share is free."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda.errors import GraphError
from fusecuda.fusion.dependences import ANTI, COMMIT, OVER, TRUE, Touch, dependences
from fusecuda.streams.costs import Cost, Speeds
from fusecuda.streams.schedule import schedule
from fusecuda.streams.simulate import simulate
from fusecuda.streams.timeline import RECORD, WAIT, Command, Timeline, one_lane, with_events
from fusecuda.streams.verify import verify_timeline
from tests.timelines import QUICK, Steps, happens, planned, random_steps


def check(seed: int, tries: int = 3) -> int:
    """The lanes of one random plan, whose timelines have been tried with ``tries`` timings each.

    One timeline is the scheduler's; in the other one each step has any lane.
    """
    steps = random_steps(seed)
    rng = np.random.default_rng([seed, 1])
    count = len(steps.touches)
    drawn = with_events([(s, int(rng.integers(4))) for s in range(count)], steps.needs)
    listed = schedule(steps.needs, steps.costs, QUICK, 4)
    for timeline in (drawn, listed, one_lane(count)):
        lives, offsets, by_buffer = planned(steps, timeline)
        verify_timeline(timeline, steps.needs, lives, offsets)
        for _ in range(tries):
            durations = list(np.where(rng.random(count) < 0.5, 0.1, 10.0) * rng.random(count))
            wrong = happens(steps, timeline, by_buffer, [float(d) for d in durations])
            assert not wrong, f"seed {seed}: {wrong}\n{timeline}"
    return listed.lanes


def test_random_plans_under_any_timing() -> None:
    """On many lanes each step sees what it would see on one; and plans that can fork do."""
    assert {check(seed) for seed in range(150)} == {1, 2, 3, 4}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_random_plans(part: int) -> None:
    for seed in range(1000 * part, 1000 * (part + 1)):
        check(seed, tries=1)


# --- dependences


def test_needs_of_readers_and_writers() -> None:
    """A reader needs the last writer, a writer the readers since; commits need all others."""
    touch = [({0}, {1}), ({1}, {2}), ({1}, {3}), ({2}, {1}), ({1}, {0})]
    needs = dependences([Touch(frozenset(r), frozenset(w)) for r, w in touch], commits=1)
    assert needs[1] == {0: TRUE}
    assert needs[2] == {0: TRUE}
    assert needs[3] == {1: TRUE, 0: OVER, 2: ANTI}
    assert needs[4] == {3: TRUE, 0: ANTI, 1: COMMIT, 2: COMMIT}
    apart = [Touch(frozenset(), frozenset((n,))) for n in range(3)]
    assert dependences(apart, commits=1) == [{}, {}, {0: COMMIT, 1: COMMIT}]


# --- events


def diamond() -> tuple[Steps, Timeline]:
    """0 before 1 and 2, both before 3; 2 on a lane of its own."""
    touch = [({0}, {1}), ({1}, {2}), ({1}, {3}), ({2, 3}, {4})]
    touches = [Touch(frozenset(r), frozenset(w)) for r, w in touch]
    steps = Steps(touches, [None, 64, 64, 64, None], 0, [])
    return steps, with_events([(0, 0), (1, 0), (2, 1), (3, 0)], steps.needs)


def test_only_the_events_that_are_needed() -> None:
    """A fork is one event and a join another; none for the beginning or the end besides."""
    _, timeline = diamond()
    assert timeline.events == 2
    assert sum(c.kind == WAIT for c in timeline.commands) == 2


def test_what_follows_from_an_event_needs_no_other() -> None:
    """2 waits for 1, which has waited for 0; so 2, which needs both, waits once."""
    needs = [{}, {0: TRUE}, {0: TRUE, 1: TRUE}]
    timeline = with_events([(0, 0), (1, 1), (2, 2)], needs)
    waits = [c for c in timeline.commands if c.kind == WAIT and c.lane == 2]
    assert len(waits) == 1
    assert timeline.before() == [0, 1, 3]


def test_a_lane_that_needs_nothing_waits_for_the_beginning_and_is_waited_for() -> None:
    timeline = with_events([(0, 0), (1, 1)], [{}, {}])
    assert timeline.commands == (
        Command(RECORD, 0, 1), Command(WAIT, 1, 1), Command("run", 0, 0), Command("run", 1, 1),
        Command(RECORD, 1, 0), Command(WAIT, 0, 0),
    )  # fmt: skip


# --- scheduling and simulation

HALF, FULL = 0.4, 1.0


def test_the_longest_way_comes_first() -> None:
    """Of two steps that become ready at once the head of the longer branch comes first."""
    needs = [{}, {0: TRUE}, {0: TRUE}, {2: TRUE}]
    timeline = schedule(needs, [Cost(10.0, HALF)] * 4, QUICK, 2)
    assert [c.number for c in timeline.steps].index(2) == 1
    assert timeline.lanes == 2


def test_a_full_device_is_shared() -> None:
    """Two steps that fill the device take as long at once as one after the other."""
    timeline = with_events([(0, 0), (1, 1)], [{}, {}])
    assert simulate(timeline, [Cost(10.0, HALF)] * 2).end == 10
    assert simulate(timeline, [Cost(10.0, FULL)] * 2).end == pytest.approx(20)
    assert simulate(timeline, [Cost(10.0, FULL), Cost(5.0, FULL)]).times == [(0, 15), (0, 10)]


def test_the_host_takes_its_time() -> None:
    """Steps shorter than a launch gain nothing from another lane."""
    speeds = Speeds(launch=2.0, event=0.5, handover=1.0, fork=1.0)
    steps = [Cost(1.0, HALF)] * 8
    needs = [{} if i < 2 else {i - 2: TRUE} for i in range(8)]
    assert simulate(one_lane(8), steps, speeds).end == 17
    assert schedule(needs, steps, speeds, 4).lanes == 1


def test_a_handover_takes_its_time() -> None:
    speeds = Speeds(launch=0.0, event=0.0, handover=3.0)
    timeline = with_events([(0, 0), (1, 1), (2, 0)], [{}, {0: TRUE}, {1: TRUE}])
    times = simulate(timeline, [Cost(1.0, HALF)] * 3, speeds).times
    assert times == [(0, 1), (4, 5), (8, 9)]


@pytest.mark.parametrize(
    ("cost", "lanes"), [(Cost(10.0, HALF), 2), (Cost(10.0, FULL), 1), (Cost(0.4, HALF), 1)]
)
def test_a_fork_needs_long_branches_and_room(cost: Cost, lanes: int) -> None:
    """Both branches of a diamond: long, and half the device; or else one lane."""
    needs = [{}, {0: TRUE}, {0: TRUE}, {1: TRUE, 2: TRUE}]
    assert schedule(needs, [Cost(1.0, FULL), cost, cost, Cost(1.0, FULL)], QUICK, 4).lanes == lanes


# --- the verifier notices


@pytest.mark.parametrize("left_out", range(4))
def test_every_event_of_a_diamond_is_needed(left_out: int) -> None:
    """Without any one of its records and waits the verifier refuses the timeline."""
    steps, timeline = diamond()
    lives, offsets, _ = planned(steps, timeline)
    verify_timeline(timeline, steps.needs, lives, offsets)
    marks = [c for c in timeline.commands if c.kind != "run"]
    fewer = Timeline(tuple(c for c in timeline.commands if c != marks[left_out]))
    with pytest.raises(GraphError):
        verify_timeline(fewer, steps.needs, lives, offsets)


def test_an_event_waited_for_before_it_is_recorded_is_no_event() -> None:
    steps, timeline = diamond()
    lives, offsets, _ = planned(steps, timeline)
    commands = list(timeline.commands)
    at = next(i for i, c in enumerate(commands) if c.kind == RECORD)
    wait = next(i for i, c in enumerate(commands) if c.kind == WAIT)
    commands[at], commands[wait] = commands[wait], commands[at]
    with pytest.raises(GraphError):
        verify_timeline(Timeline(tuple(commands)), steps.needs, lives, offsets)


def test_memory_of_what_may_run_at_once_is_apart() -> None:
    """The two branches of a diamond have memory of their own, as one lane's need not."""
    steps, timeline = diamond()
    lives, _, _ = planned(steps, timeline)
    with pytest.raises(GraphError, match="share memory"):
        verify_timeline(timeline, steps.needs, lives, [0, 64, 64])
    chain = Steps(
        [Touch(frozenset((i,)), frozenset((i + 1,))) for i in range(4)], [None, 64, 64, 64, None],
        0, [],
    )  # fmt: skip
    lives, offsets, _ = planned(chain, one_lane(4))
    assert offsets == [0, 64, 0]


def test_a_step_that_is_forgotten_or_doubled() -> None:
    steps, timeline = diamond()
    for commands in (timeline.commands[:-1], (*timeline.commands, timeline.commands[-1])):
        with pytest.raises(GraphError, match="once"):
            verify_timeline(Timeline(commands), steps.needs, [], [])
