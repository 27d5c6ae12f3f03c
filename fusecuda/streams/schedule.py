"""Scheduling: steps on lanes, the most urgent first, another lane only where it is worth it.

A list scheduler over the dependences of an assembly: of the steps that are ready, the one with the
longest way to the end comes next, on the lane on which it starts soonest. It leaves the lane of
what it needs only if its branch and what it would wait for there are both long, and not while the
device is full. In the end fewer lanes are taken if a simulation tells that more do not pay.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import takewhile

from ..fusion.dependences import Needs
from .costs import Cost, Speeds
from .simulate import simulate
from .timeline import Timeline, one_lane, with_events


def schedule(needs: Needs, steps: Sequence[Cost], speeds: Speeds, lanes: int) -> Timeline:
    """The quickest timeline found for ``steps``, on at most ``lanes`` lanes.

    Another lane has to save as much as the shortest branch that may have one.
    """
    best = one_lane(len(steps))
    if len(steps) < 2:
        return best
    least = simulate(best, steps, speeds).end
    for count in range(2, lanes + 1):
        timeline = with_events(_List(needs, steps, speeds, count).placed(), needs)
        end = simulate(timeline, steps, speeds).end
        if timeline.lanes > best.lanes and end <= least - speeds.fork:
            best, least = timeline, end
    return best


class _List:
    """A list schedule: (step, lane) in the order in which the host issues them."""

    def __init__(self, needs: Needs, steps: Sequence[Cost], speeds: Speeds, lanes: int) -> None:
        self.steps = steps
        self.speeds = speeds
        self.needs = direct(needs)
        self.users: list[list[int]] = [[] for _ in steps]
        for step, needed in enumerate(self.needs):
            for earlier in needed:
                self.users[earlier].append(step)
        self.urgency, self.branch = self._ways()
        self.on: list[list[int]] = [[] for _ in range(lanes)]
        self.lane: dict[int, int] = {}
        self.place: dict[int, int] = {}
        self.end: dict[int, float] = {}
        self.start: dict[int, float] = {}

    def _ways(self) -> tuple[list[float], list[float]]:
        """For each step the time from its start to the very end, and to where its branch joins."""
        urgency = [0.0] * len(self.steps)
        branch = [0.0] * len(self.steps)
        for step in range(len(self.steps) - 1, -1, -1):
            users = self.users[step]
            own = self.steps[step].time
            urgency[step] = own + max((urgency[u] for u in users), default=0.0)
            alone = [branch[u] for u in users if len(self.needs[u]) == 1]
            branch[step] = own + max(alone, default=0.0)
        return urgency, branch

    def placed(self) -> list[tuple[int, int]]:
        """All steps with their lanes."""
        waiting = [len(needed) for needed in self.needs]
        ready = [(-self.urgency[s], s) for s, count in enumerate(waiting) if not count]
        heapq.heapify(ready)
        order: list[tuple[int, int]] = []
        while ready:
            _, step = heapq.heappop(ready)
            issued = (len(order) + 1) * self.speeds.launch
            lane, start = self._choose(step, issued)
            self.on[lane].append(step)
            self.lane[step], self.place[step] = lane, len(order)
            self.start[step], self.end[step] = start, start + self.steps[step].time
            order.append((step, lane))
            for user in self.users[step]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, (-self.urgency[user], user))
        return order

    def _choose(self, step: int, issued: float) -> tuple[int, float]:
        """The lane of ``step``, and when it starts there."""
        starts = [self._start(step, lane, issued) for lane in range(len(self.on))]
        home = self._home(step, starts)
        blockers = self._since(step, home)
        fork = self.speeds.fork
        if not blockers or self.branch[step] < fork:
            return home, starts[home]
        if max(self.branch[b] for b in blockers) < fork:
            return home, starts[home]

        def price(lane: int) -> tuple[float, bool, bool, int]:
            return starts[lane], lane != home, self._goes_on(lane), lane

        lane = min(range(len(self.on)), key=price)
        return lane, starts[lane]

    def _home(self, step: int, starts: list[float]) -> int:
        """The lane that ``step`` has unless it gets another: of what it needs, else the first."""
        lanes = {self.lane[s] for s in self.needs[step]}
        return min(lanes, key=lambda lane: (len(self._since(step, lane)) > 0, starts[lane], lane),
                   default=0)  # fmt: skip

    def _since(self, step: int, lane: int) -> list[int]:
        """What is on ``lane`` behind all that ``step`` needs."""
        needed = max((self.place[s] for s in self.needs[step]), default=-1)
        return list(takewhile(lambda s: self.place[s] > needed, reversed(self.on[lane])))

    def _goes_on(self, lane: int) -> bool:
        """True if something still to come continues what is last on ``lane``."""
        last = self.on[lane][-1:]
        return any(user not in self.lane for step in last for user in self.users[step])

    def _start(self, step: int, lane: int, issued: float) -> float:
        """When ``step``, ``issued`` by then, has what it needs on ``lane`` and room."""
        start = issued
        if self.on[lane]:
            start = max(start, self.end[self.on[lane][-1]])
        for needed in self.needs[step]:
            away = self.speeds.handover if self.lane[needed] != lane else 0.0
            start = max(start, self.end[needed] + away)
        return self._free(step, start)

    def _free(self, step: int, start: float) -> float:
        """The first time from ``start`` on at which ``step`` fits beside what runs already."""
        own = self.steps[step]
        others = [s for lane in self.on for s in _later(lane, self.end, start)]
        for at in sorted({start, *(self.end[s] for s in others)}):
            end = at + own.time
            beside = [s for s in others if self.start[s] < end and self.end[s] > at]
            moments = [at, *(self.start[s] for s in beside if self.start[s] > at)]
            if all(own.share + self._used(beside, moment) <= 1.0 for moment in moments):
                return at
        return start

    def _used(self, steps: list[int], moment: float) -> float:
        """What ``steps`` fill of the device at ``moment``."""
        return sum(self.steps[s].share for s in steps if self.start[s] <= moment < self.end[s])


def _later(lane: list[int], end: dict[int, float], start: float) -> list[int]:
    """The steps of ``lane``, which run one after the other, that end after ``start``."""
    return list(takewhile(lambda step: end[step] > start, reversed(lane)))


def direct(needs: Needs) -> list[list[int]]:
    """``needs`` without those that follow from others."""
    behind: list[int] = []  # for each step, as bits, all that it needs, directly or not
    found: list[list[int]] = []
    for needed in needs:
        seen, own = 0, []
        for earlier in sorted(needed, reverse=True):
            if not seen >> earlier & 1:
                own.append(earlier)
                seen |= behind[earlier] | 1 << earlier
        behind.append(seen)
        found.append(own)
    return found
