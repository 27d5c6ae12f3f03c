"""Simulation: when each step of a timeline runs, for durations as they may be."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from .costs import Cost, Speeds
from .timeline import RECORD, RUN, WAIT, Command, Timeline

NO_HOST = Speeds(launch=0.0, event=0.0, handover=0.0)  # who issues and hands over in no time


@dataclass(frozen=True, slots=True)
class Simulated:
    """When each step starts and ends, and when lane 0 has come to the end; `inf` for never."""

    times: list[tuple[float, float]]
    end: float


def simulate(
    timeline: Timeline, steps: Sequence[Cost], speeds: Speeds = NO_HOST, held: bool = False
) -> Simulated:
    """What happens if ``steps`` take what they cost and slow each other down on a full device.

    While lane 0 is ``held``, what it was told before the call is not done.
    """
    return _Simulation(timeline, steps, speeds, held).run()


class _Simulation:
    """Lanes, each with its queue of commands and at most one step that runs."""

    def __init__(
        self, timeline: Timeline, steps: Sequence[Cost], speeds: Speeds, held: bool
    ) -> None:
        self.steps = steps
        self.handover = speeds.handover
        self.queues: list[deque[tuple[float, Command]]] = [deque() for _ in range(timeline.lanes)]
        self.now = 0.0
        self.fired: dict[int, tuple[float, int]] = {}  # event -> when, and by which lane
        self.left: dict[int, float] = {}  # lane -> what is left of the step that it runs
        self.running: dict[int, int] = {}
        self.times = [(math.inf, math.inf)] * len(steps)
        self.ended = math.inf if held else 0.0
        self.held = held
        self._issue(timeline, speeds)

    def _issue(self, timeline: Timeline, speeds: Speeds) -> None:
        """Fill the queues with the times at which the host has issued each command."""
        host, recorded = 0.0, set()
        for command in timeline.commands:
            if command.kind == RUN:
                host += speeds.launch if self.steps[command.number].time else 0.0
            else:
                host += speeds.event
            if command.kind == RECORD:
                recorded.add(command.number)
            if command.kind != WAIT or command.number in recorded:
                self.queues[command.lane].append((host, command))

    def run(self) -> Simulated:
        while True:
            while any([self._advance(lane) for lane in range(len(self.queues))]):
                pass
            pending = [self._ready(lane) for lane in range(len(self.queues))]
            rate = self._rate()
            ends = {lane: self.now + left / rate for lane, left in self.left.items()}
            then = min([*pending, *ends.values()], default=math.inf)
            if then == math.inf:
                break
            passed = (then - self.now) * rate
            self.now = then
            for lane, end in ends.items():
                self.left[lane] = max(0.0, self.left[lane] - passed)
                if end <= then:
                    self._finish(lane)
        finished = not self.queues[0] and 0 not in self.left
        return Simulated(self.times, self.ended if finished else math.inf)

    def _rate(self) -> float:
        """How fast what runs does so, against running alone."""
        shares = sum(self.steps[step].share for step in self.running.values())
        return 1.0 / max(1.0, shares)

    def _ready(self, lane: int) -> float:
        """When ``lane`` can do its next command, as far as that is known."""
        if lane in self.left or not self.queues[lane] or (self.held and lane == 0):
            return math.inf
        issued, command = self.queues[lane][0]
        if command.kind == WAIT:
            when, by = self.fired.get(command.number, (math.inf, lane))
            issued = max(issued, when + (self.handover if by != lane else 0.0))
        return issued

    def _advance(self, lane: int) -> bool:
        """Do the next command of ``lane``, if it is time; True if it was."""
        if self._ready(lane) > self.now:
            return False
        _, command = self.queues[lane].popleft()
        if command.kind == RECORD:
            self.fired[command.number] = self.now, lane
        elif command.kind == RUN:
            self.running[lane] = command.number
            self.left[lane] = self.steps[command.number].time
            self.times[command.number] = self.now, math.inf
            if not self.left[lane]:
                self._finish(lane)
        if lane == 0:
            self.ended = self.now
        return True

    def _finish(self, lane: int) -> None:
        step = self.running.pop(lane)
        del self.left[lane]
        self.times[step] = self.times[step][0], self.now
        if lane == 0:
            self.ended = self.now
