"""Timelines: which lane runs which step, and which events lanes record and wait for.

A lane is a stream: what it is told to do it does in that order. Lane 0 is the user's own. The host
issues the commands in their order; a wait for an event that has not been recorded by then is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..fusion.dependences import Needs
from ..fusion.together import Company

RUN, RECORD, WAIT = "run", "record", "wait"


class Command(NamedTuple):
    """What the host tells ``lane``: to run a step, to record an event, or to wait for one."""

    kind: str
    lane: int
    number: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The commands of one call in the order in which the host issues them.

    Everything runs after what lane 0 was told before, and before what it is told afterwards.
    """

    commands: tuple[Command, ...]
    companies: tuple[Company, ...] = ()  # steps side by side on a lane that one launch runs at once

    def together(self) -> list[Company]:
        """All steps by number, those in one company that one launch runs."""
        first = {step: company[0] for company in self.companies for step in company}
        found: dict[int, list[int]] = {}
        for step in sorted(command.number for command in self.steps):
            found.setdefault(first.get(step, step), []).append(step)
        return [tuple(company) for company in found.values()]

    @property
    def lanes(self) -> int:
        """The number of lanes that it uses."""
        return 1 + max((c.lane for c in self.commands), default=0)

    @property
    def events(self) -> int:
        """The number of events that are recorded."""
        return sum(c.kind == RECORD for c in self.commands)

    @property
    def steps(self) -> list[Command]:
        """The commands that run steps, in their order."""
        return [c for c in self.commands if c.kind == RUN]

    def before(self) -> list[int]:
        """For each step the set, as bits, of the steps that are done whenever it starts."""
        done = [0] * self.lanes  # when a lane comes to its next command
        recorded: dict[int, int] = {}
        found: dict[int, int] = {}
        first = {step: company[0] for company in self.companies for step in company}
        for kind, lane, number in self.commands:
            if kind == RECORD:
                recorded[number] = done[lane]
            elif kind == WAIT:
                done[lane] |= recorded.get(number, 0)
            else:
                found[number] = found.get(first.get(number, number), done[lane])
                done[lane] |= 1 << number
        return [found[step] for step in range(len(found))]


def one_lane(steps: int, companies: Iterable[Company] = ()) -> Timeline:
    """``steps`` steps one after the other, those of ``companies`` at once."""
    commands = tuple(Command(RUN, 0, step) for step in range(steps))
    return Timeline(commands, tuple(c for c in companies if len(c) > 1))


def with_events(placed: Sequence[tuple[int, int]], needs: Needs) -> Timeline:
    """The timeline of steps ``placed`` as (step, lane) in an order that keeps their ``needs``.

    An event is recorded, and waited for, only where a need does not follow from lanes and from the
    other events.
    """
    return _Events(placed, needs).timeline()


class _Events:
    """The events of steps on lanes, found by what each lane knows to be done."""

    def __init__(self, placed: Sequence[tuple[int, int]], needs: Needs) -> None:
        self.placed = placed
        self.needs = needs
        self.lane = dict(placed)
        self.place = {step: i for i, (step, _) in enumerate(placed)}
        self.done = [0] * (1 + max(self.lane.values(), default=0))  # as each lane knows it
        self.after: dict[int, int] = {}  # step -> what is done once it is
        self.event: dict[int, int] = {}  # step -> the event that is recorded after it

    def timeline(self) -> Timeline:
        waits = [self._waits(step, lane) for step, lane in self.placed]
        last = {lane: step for step, lane in self.placed}
        ends = self._wait(0, [step for lane, step in last.items() if lane])
        begins = self._begins(waits)
        first = len(self.event)
        commands = [Command(RECORD, 0, first)] if begins else []
        commands += [Command(WAIT, lane, first) for lane in begins]
        for (step, lane), waited in zip(self.placed, waits, strict=True):
            commands += [Command(WAIT, lane, event) for event in waited]
            commands.append(Command(RUN, lane, step))
            if step in self.event:
                commands.append(Command(RECORD, lane, self.event[step]))
        commands += [Command(WAIT, 0, event) for event in ends]
        return Timeline(tuple(commands))

    def _waits(self, step: int, lane: int) -> list[int]:
        """The events that ``lane`` waits for before ``step``, which it then runs."""
        events = self._wait(lane, list(self.needs[step]))
        self.done[lane] |= 1 << step
        self.after[step] = self.done[lane]
        return events

    def _wait(self, lane: int, wanted: list[int]) -> list[int]:
        """The events that ``lane`` waits for so that it knows the ``wanted`` steps to be done.

        Latest first: what a later step has waited for needs no event of its own.
        """
        events = []
        for step in sorted(wanted, key=self.place.__getitem__, reverse=True):
            if not self.done[lane] >> step & 1:
                events.append(self.event.setdefault(step, len(self.event)))
                self.done[lane] |= self.after[step]
        return events

    def _begins(self, waits: list[list[int]]) -> list[int]:
        """The lanes whose first step waits for nothing: they wait for what came before the call."""
        found: dict[int, bool] = {}
        for (_, lane), waited in zip(self.placed, waits, strict=True):
            found.setdefault(lane, not waited)
        return [lane for lane, begins in found.items() if lane and begins]
