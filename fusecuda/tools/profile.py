"""Profile: measured time per kernel, as a table and as a trace of what happened when."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, count, pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, Self, Unpack

from ..api import lower
from ..fusion.explain import recorded_lines, summarize
from ..graph.node import Node
from ..options import Choices
from ..watch import Lap, Watcher
from ..words import counted
from . import tables, trace
from .measure import ProcessorCounters, Sensors, copy_bandwidth, ranges


@dataclass(frozen=True, slots=True)
class Step:
    """What a launch or library call of an executable is, whenever it runs."""

    name: str
    kind: str
    bytes: int
    flops: int
    lines: tuple[str, ...]  # that recorded its operations, FILE:NUMBER


@dataclass(frozen=True, slots=True)
class Measured:
    """One launch: begin and end in seconds of `time.perf_counter`."""

    step: Step
    device: str
    thread: int  # of the host, by its number in `Profile.threads`; 0 for a device's stream
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of our own work: "record", "plan", "compile", or "run" of an executable."""

    kind: str
    title: str
    thread: int
    begin: float
    end: float


@dataclass(slots=True)
class Row:
    """All launches of one kernel: what it is, their ``count``, and ``seconds`` for all."""

    step: Step
    count: int = 0
    seconds: float = 0.0


class _Clock:
    """The times of one run's launches, by the clock of the host or by events on the device."""

    def __init__(self, executable: Any) -> None:
        self.executable = executable
        self.device = executable.options.device
        self.on_host = executable.options.on_host
        self.begin = perf_counter()
        self.marks: list[Any] = []
        self.mark: Callable[[], Any] = perf_counter if self.on_host else _event

    def __call__(self) -> None:
        self.marks.append(self.mark())

    def times(self) -> list[float]:
        """Seconds of `time.perf_counter`, for a device reckoned from the first launch."""
        if self.on_host or not self.marks:
            return self.marks
        self.marks[-1].synchronize()
        elapsed = sys.modules["cupy"].cuda.get_elapsed_time  # a float of milliseconds: none is long
        steps = (elapsed(a, b) / 1e3 for a, b in pairwise(self.marks))
        return list(accumulate(steps, initial=self.begin))


def _event() -> Any:
    event = sys.modules["cupy"].cuda.Event()
    event.record()
    return event


class Profile(Watcher):
    """What ran while its block ran: `table`, `rows`, `launches`, `spans`, `save_trace`."""

    def __init__(self) -> None:
        self.launches: list[Measured] = []
        self.spans: list[Span] = []
        self.threads: dict[int, str] = {}
        self.counters: dict[str, int] = {}  # the processor's, where the system allows
        self.memory: list[tuple[float, int]] = []  # by how many bytes what runs hold changed, when
        self.began = self.ended = 0.0
        self._steps: dict[int, tuple[Any, list[Step]]] = {}
        self._clocks: list[_Clock] = []
        self._numbers: dict[threading.Thread, int] = {}
        self._next = count(1)
        self._lock = threading.RLock()
        self._sensors: Sensors | None = None
        self._processor: ProcessorCounters | None = None
        self._ranges: tuple[Callable[[str], Any], Callable[[], Any]] | None = None

    # --- what happens

    def __enter__(self) -> Self:
        self._sensors = Sensors() if "cupy" in sys.modules else None
        self._processor = ProcessorCounters()
        self._ranges = ranges()
        self.began = perf_counter()
        self.begin()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        self.ended = perf_counter()
        assert self._processor is not None
        self.counters = self._processor.stop()
        if self._sensors is not None:
            self._sensors.stop()
        for clock in self._clocks:
            self._enter_launches(clock, 0)
        self._clocks = []

    def runs(self, executable: Any) -> Lap:
        if self._ranges is not None:
            lines = [line for step in self._steps_of(executable) for line in step.lines]
            self._ranges[0](f"{executable.recorded.name} {', '.join(dict.fromkeys(lines))}")
        return _Clock(executable)

    def ran(self, executable: Any, lap: Lap | None) -> None:
        assert isinstance(lap, _Clock)
        self.failed(executable, lap)
        end, thread = perf_counter(), self._thread()
        with self._lock:
            self.spans.append(Span("run", executable.recorded.name, thread, lap.begin, end))
            peak = executable.memory.peak_bytes
            self.memory += [(lap.begin, peak), (end, -peak)]
            if lap.on_host:
                self._enter_launches(lap, thread)
            else:  # the device still works: its clock is read at the end
                self._clocks.append(lap)

    def failed(self, executable: Any, lap: Lap | None) -> None:
        """The range of the run ends, however it does."""
        if self._ranges is not None:
            self._ranges[1]()

    def spent(self, kind: str, title: str, begin: float, end: float) -> None:
        thread = self._thread()
        with self._lock:
            self.spans.append(Span(kind, title, thread, begin, end))

    def _thread(self) -> int:
        """A small number for this thread, which the system may give to no other."""
        thread = threading.current_thread()
        number = self._numbers.get(thread)
        if number is None:
            number = self._numbers[thread] = next(self._next)
            self.threads[number] = thread.name
        return number

    def _enter_launches(self, clock: _Clock, thread: int) -> None:
        times = clock.times()
        steps = self._steps_of(clock.executable)
        for step, begin, end in zip(steps, times, times[1:], strict=False):
            self.launches.append(Measured(step, clock.device, thread, begin, end))

    def _steps_of(self, executable: Any) -> list[Step]:
        known = self._steps.get(id(executable))
        if known is None:
            known = self._steps[id(executable)] = executable, steps_of(executable)
        return known[1]

    # --- what it comes to

    def rows(self) -> list[Row]:
        """The launches, those of one kernel together, the longest time first."""
        found: dict[tuple[Any, ...], Row] = {}
        for launch in self.launches:
            step = launch.step
            row = found.setdefault((step.name, step.bytes, step.lines), Row(step))
            row.count += 1
            row.seconds += launch.end - launch.begin
        return sorted(found.values(), key=lambda row: -row.seconds)

    @property
    def seconds(self) -> float:
        """The time of all launches together."""
        return sum(launch.end - launch.begin for launch in self.launches)

    def table(self, limit: int = 30) -> str:
        """The kernels as a table, by `rich` where it is installed; the first ``limit`` of them.

        Bytes are those that a launch has to move at least, flops the operations of the op table;
        bandwidth is set against that of the device's own copy of a large array, measured when this
        is first called. Lines are those that recorded the operations.
        """
        if not self.launches:
            return "nothing was launched by compiled plans\n"
        device = self.launches[0].device
        most, whole, rows = copy_bandwidth(device), self.seconds, self.rows()
        lines = []
        for row in rows[:limit]:
            moved = row.step.bytes * row.count / max(row.seconds, 1e-12)
            lines.append([
                row.step.name, f"{row.count:,}", tables.seconds(row.seconds),
                f"{row.seconds / whole:.0%}", tables.size(row.step.bytes),
                f"{tables.size(moved)}/s", f"{moved / most:.0%}", f"{row.step.flops:,}",
                tables.places(row.step.lines),
            ])  # fmt: skip
        title = (
            f"{counted(len(self.launches), 'launch')} of {counted(len(rows), 'kernel')} "
            f"in {tables.seconds(whole)} of {tables.seconds(self.ended - self.began)}; "
            f"copy on {device}: {tables.size(most)}/s"
        )
        text = tables.table_text(title, _COLUMNS, lines)
        return text + "".join(f"{line}\n" for line in self._notes(len(rows) - limit))

    def _notes(self, left: int) -> list[str]:
        notes = [f"… and {counted(left, 'kernel')} more"] if left > 0 else []
        for kind, title in (
            ("record", "recording"),
            ("plan", "planning"),
            ("compile", "compiling"),
        ):
            spans = [s for s in self.spans if s.kind == kind]
            if spans:
                seconds = sum(s.end - s.begin for s in spans)
                notes.append(
                    f"{title} took {tables.seconds(seconds)} ({counted(len(spans), 'time')})"
                )
        if self.counters:
            notes.append(", ".join(f"{count:,} {name}" for name, count in self.counters.items()))
        if self._sensors is not None and self._sensors.samples:
            notes.append(self._sensors.told())
        return notes

    def save_trace(self, path: str | Path) -> None:
        """Write a trace for chrome://tracing and Perfetto to the file ``path``, as JSON.

        It has tracks of the host's threads and of the device, in microseconds, and the memory that
        runs held, in bytes. Raises OSError where the file cannot be written.
        """
        sensors = self._sensors.samples if self._sensors is not None else []
        trace.save(Path(path), self, sensors)


_COLUMNS = ("kernel", "count", "time", "share", "bytes", "bandwidth", "of copy", "flops", "lines")


def steps_of(executable: Any) -> list[Step]:
    """The launches and library calls of one run of ``executable``, in order."""
    assembly, found = executable.assembly, []
    for step, lines in zip(assembly.steps, recorded_lines(assembly), strict=True):
        if isinstance(step, Node) or step.launched:
            s = summarize(step, assembly)
            moved = s.bytes_read + s.bytes_written
            found.append(Step(s.name, s.kind, moved, s.flops, tuple(lines)))
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call of a function takes, by its plan: nothing has run."""

    flops: int  # operations of the op table
    bytes: int  # that its launches read and write at least
    launches: int  # kernels and library calls
    peak_bytes: int  # that it holds at once, its results among them, arguments not


def cost(function: Callable[..., Any], *args: Any, **options: Unpack[Choices]) -> Cost:
    """The `Cost` of ``function`` for ``args``, arrays or `spec` stand-ins, without a run.

    Its fields are ``flops`` (operations of the op table), ``bytes`` (that launches read and write
    at least), ``launches``, and ``peak_bytes`` (that a call holds at once beside its arguments).
    ``options`` are those of `lower`. Raises NotFusedError for a function that is no single graph.
    """
    executable = lower(function, *args, **options)
    steps = steps_of(executable)
    moved, flops = sum(s.bytes for s in steps), sum(s.flops for s in steps)
    return Cost(flops, moved, executable.launches, executable.memory.peak_bytes)


def profile() -> Profile:
    """A context manager that measures each launch of compiled plans while its block runs.

    It then has ``table()``, a text, ``rows()``, the same as objects, ``seconds``, the time of all
    launches, and ``save_trace(path)``.

    On the CPU the clock is read around each launch of the driver, on a GPU events are recorded on
    the current stream. While a profile is taken, launches of one call are started one by one.
    """
    return Profile()
