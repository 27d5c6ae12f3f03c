"""A device that does nothing until it is told to, then in any order that its streams allow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tests.emulated import EmulatedDevice

Work = Callable[[], None]


class LazyDevice(EmulatedDevice):
    """An `EmulatedDevice` whose streams only hold what the host has started, until `finish`."""

    def __init__(self) -> None:
        super().__init__()
        self.current = 0  # the lane; the user's stream is 0
        self.queues: dict[int, deque[tuple[str, int, Work]]] = {0: deque()}
        self.recorded = 0
        self.reached: set[int] = set()  # records that their lane has come to
        self.made = 0  # sets of lanes
        self.captured: set[int] = set()  # the streams of users' graphs
        self.held: list[Any] = []

    def stream(self) -> int:
        """The lane in use."""
        return self.current

    def is_capturing(self, stream: int) -> bool:
        """True for the streams that a test captures."""
        return stream in self.captured

    def hold(self, stream: int, *values: Any) -> None:
        """Keep what a test may look at."""
        assert stream in self.captured
        self.held += values

    def on(self, stream: int) -> None:
        """The user's stream is ``stream`` from now on."""
        self.current = stream
        self.queues.setdefault(stream, deque())

    def start(self, work: Work, stream: int | None = None) -> None:
        """Put ``work`` on a stream, by default on the lane in use."""
        lane = self.current if stream is None else stream
        self.queues[lane].append(("run", 0, work))

    def lanes(self, count: int, events: int) -> LazyLanes:
        """Lanes of this device."""
        self.made += 1
        for lane in range(count):
            self.queues.setdefault(lane, deque())
        return LazyLanes(self, events)

    def finish(self, preference: Sequence[int]) -> None:
        """Do all that was started: of the lanes that can go on the first one of ``preference``."""
        while any(self.queues.values()):
            lane = next(n for n in preference if self._ready(n))
            kind, number, work = self.queues[lane].popleft()
            if kind == "record":
                self.reached.add(number)
            work()

    def _ready(self, lane: int) -> bool:
        queue = self.queues.get(lane)
        return bool(queue) and (queue[0][0] != "wait" or queue[0][1] in self.reached)


class LazyLanes:
    """Records and waits as commands in the queues; a wait is for the last record before it."""

    def __init__(self, device: LazyDevice, events: int) -> None:
        self.device = device
        self.last: list[int | None] = [None] * events

    def begin(self) -> None:
        """A call begins on lane 0."""
        assert self.device.current == 0

    def use(self, lane: int) -> int:
        """Start on ``lane`` from now on."""
        self.device.current = lane
        return lane

    def record(self, event: int) -> None:
        """A record of its own, however often ``event`` is used."""
        self.device.recorded += 1
        self.last[event] = self.device.recorded
        self._put("record", self.device.recorded)

    def wait(self, event: int) -> None:
        """Nothing if ``event`` has not been recorded, as on a device."""
        number = self.last[event]
        if number is not None:
            self._put("wait", number)

    def join(self) -> None:
        """Lane 0 waits for all that was started."""
        for lane in self.device.queues:
            self.use(lane)
            self.device.recorded += 1
            self._put("record", self.device.recorded)
            self.use(0)
            self._put("wait", self.device.recorded)

    def end(self) -> None:
        """Lane 0 is in use again."""
        self.use(0)

    def _put(self, kind: str, number: int) -> None:
        self.device.queues[self.device.current].append((kind, number, lambda: None))
