"""Measuring: samples with their spread, a time budget, and results compared before any clock runs.

Nothing here knows a device; `Device` says what is asked of one.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .gpu_cases import Case

OURS = "fusecuda"
LEAST_SAMPLES, MOST_SAMPLES = 20, 60
COMPILED_TIMES = 8  # with an empty cache, and each time once more
ROW_SECONDS = 0.6  # of measuring, once there are LEAST_SAMPLES
GUESS = 8.0  # seconds for a row of which nothing is known yet
LOADED_CALLS = 20  # that keep the device busy while its clocks are read
MOST_HELD_NS = 100_000_000  # that the device is held for, at most
SAMPLED = 1 << 21  # how many elements of a rival's large result are compared
NOT_MEASURED = "not measured: the time budget was spent"


@dataclass
class Contender:
    """One way to run a program: start it, get its results on the host, wait for it.

    ``events`` is False where its work is not on the stream that the device's events are on.
    """

    call: Callable[[], Any]
    results: Callable[[Any], list[Any]]
    wait: Callable[[], None]
    events: bool = True
    launches: int | None = None


Maker = Callable[[Case, Sequence[Any]], Contender]


class Device(Protocol):
    """What measuring needs of a device."""

    def timed(self, call: Callable[[], Any]) -> float:
        """Seconds that the device spends on ``call``, its caches cold."""

    def wall(self, call: Callable[[], Any], wait: Callable[[], None]) -> float:
        """Seconds from the call until its results are there, the device's caches cold."""

    def wait(self) -> None:
        """All work is done; raises if the device can no longer be used."""

    def free(self) -> None:
        """Memory that nobody holds goes back to the device."""

    def clocks(self) -> dict[str, Any]:
        """The device's clocks and limits now, or a reason why they are unknown."""

    def makers(self, everyone: bool) -> tuple[dict[str, Maker], dict[str, str]]:
        """Who can run programs, ours first, and why others cannot; else ours and CuPy alone."""

    def phases(self, case: Case, size: int) -> dict[str, float]:
        """Seconds for planning, for the first call and for a second one, of a new executable."""

    def ceilings(self, size: int) -> list[tuple[str, str, float, Callable[[], Any]]]:
        """Hand-written kernels: kind, name, bytes moved, call."""


@dataclass
class Budget:
    """A time limit: what has run says how long the next of its kind will take."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    start: float = field(init=False)
    known: dict[Any, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = self.clock()

    def left(self) -> float:
        """Seconds that remain."""
        return self.seconds - (self.clock() - self.start)

    def fits(self, kind: Any, guess: float = GUESS) -> bool:
        """True if another one of ``kind`` is expected to end in time."""
        return self.known.get(kind, guess) <= self.left()

    def spent(self, kind: Any, since: float) -> None:
        """Remember what one of ``kind``, begun at ``since``, has taken."""
        self.known[kind] = max(self.clock() - since, self.known.get(kind, 0.0) / 2)


def figures(samples: Sequence[float]) -> dict[str, Any]:
    """Median, quartiles and number of samples, as plain data."""
    low, _, high = statistics.quantiles(samples, n=4) if len(samples) > 1 else (samples[0],) * 3
    median = statistics.median(samples)
    return {"median": median, "iqr": high - low, "low": min(samples), "samples": len(samples)}


def expected_of(case: Case, inputs: Sequence[Any]) -> list[Any]:
    """What NumPy computes in float64 from the same inputs."""
    wide = [np.array(a, np.float64) for a in inputs]
    with np.errstate(all="ignore"):
        result = case.make(np)(*wide)
    if case.in_place:
        return [wide[0]]
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def disagreement(expected: Sequence[Any], found: Sequence[Any], dtype: Any, whole: bool) -> str:
    """How ``found`` differs from NumPy's results by more than rounding, or ""."""
    if len(found) != len(expected):
        return f"{len(found)} results, not {len(expected)}"
    tolerance = {2: 5e-3, 4: 2e-5}.get(np.dtype(dtype).itemsize, 1e-11)
    for number, (want, got) in enumerate(zip(expected, found, strict=True)):
        if got.shape != want.shape:
            return f"result {number} has shape {got.shape}, not {want.shape}"
        a, b = _some(want, whole), _some(got, whole)
        if want.dtype.kind in "iub":
            wrong = a != b
        else:
            scale = float(np.max(np.abs(a), initial=0.0))
            wrong = ~(np.abs(b - a) <= tolerance * (np.abs(a) + scale))
        if np.any(wrong):
            at = int(np.argmax(wrong))
            return f"{int(wrong.sum())} of {a.size} elements of result {number} differ: " \
                   f"{b[at]!r}, not {a[at]!r}"  # fmt: skip
    return ""


def _some(array: Any, whole: bool) -> Any:
    """All elements in one line, or the ends and every k-th with k odd."""
    line = array.reshape(-1)
    if whole or line.size <= SAMPLED:
        return line
    step = (line.size // SAMPLED) | 1
    return np.concatenate((line[:4096], line[::step], line[-4096:]))


def contenders_of(
    case: Case, inputs: Sequence[Any], makers: Mapping[str, Maker]
) -> tuple[dict[str, Contender], dict[str, str]]:
    """Those whose results are NumPy's, and why the others take no part."""
    expected = expected_of(case, inputs)
    ready: dict[str, Contender] = {}
    missing: dict[str, str] = {}
    for name, make in makers.items():
        try:
            contender = make(case, inputs)
            found = contender.results(contender.call())
            wrong = disagreement(expected, found, case.dtype, whole=name == OURS)
        except Exception as error:  # whatever it fails with, the others go on
            missing[name] = reason(error)
            continue
        if wrong:
            missing[name] = f"wrong results: {wrong}"
        else:
            ready[name] = contender
    return ready, missing


def reason(error: BaseException) -> str:
    """One line that says what went wrong."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:300].rstrip(": ")


def sample(
    device: Device, ready: Mapping[str, Contender], seconds: float = ROW_SECONDS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures by the device's events and by the host's clock, contenders taking turns."""
    for contender in ready.values():
        for _ in range(3):
            contender.call()
        contender.wait()
    events: dict[str, list[float]] = {n: [] for n, c in ready.items() if c.events}
    wall: dict[str, list[float]] = {name: [] for name in ready}
    start, rounds = time.perf_counter(), 0
    while rounds < LEAST_SAMPLES or (
        rounds < MOST_SAMPLES and time.perf_counter() - start < seconds
    ):
        for name, contender in ready.items():
            if contender.events:
                events[name].append(device.timed(contender.call))
            wall[name].append(device.wall(contender.call, contender.wait))
        rounds += 1
    return (
        {name: figures(runs) for name, runs in events.items()},
        {name: figures(runs) for name, runs in wall.items()},
    )


def clocks_under_load(device: Device, ready: Mapping[str, Contender]) -> dict[str, Any]:
    """The device's clocks while the first contender's calls are under way."""
    first = next(iter(ready.values()), None)
    for _ in range(LOADED_CALLS if first else 0):
        first.call()
    found = device.clocks()
    if first:
        first.wait()
    return found


def while_held(
    sample: Callable[[int], tuple[bool, float]], nanoseconds: int, most: int = MOST_HELD_NS
) -> float:
    """The seconds of a sample that was all enqueued before the device began.

    ``sample`` holds the device for so long, and tells if that was still so when it had enqueued
    all, and what the device then took. Where it was not, the device is held for longer.
    """
    while True:
        is_pending, seconds = sample(nanoseconds)
        if is_pending:
            return seconds
        if nanoseconds >= most:
            raise RuntimeError(f"the host took more than {most / 1e6:.0f} ms to start one call")
        nanoseconds = min(4 * nanoseconds, most)


def measure_ceilings(device: Device, size: int) -> dict[str, Any]:
    """Figures of each hand-written kernel, and what it moves."""
    found = {}
    for kind, name, moved, call in device.ceilings(size):
        call()
        device.wait()
        samples = [device.timed(call) for _ in range(MOST_SAMPLES)]
        found[name] = {"kind": kind, "moved": moved, **figures(samples)}
    device.free()
    return {"kernels": found, "clocks": device.clocks()}


def measure_compile(device: Device, case: Case, size: int) -> dict[str, Any]:
    """Figures of the phases with an empty kernel cache, and with a filled one."""
    before = os.environ.get("FUSECUDA_CACHE_DIR")
    found: dict[str, list[dict[str, float]]] = {"cold": [], "from disk": []}
    try:
        for _ in range(COMPILED_TIMES):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["FUSECUDA_CACHE_DIR"] = folder
                for phases in found.values():
                    phases.append(device.phases(case, size))
    finally:
        os.environ.pop("FUSECUDA_CACHE_DIR", None)
        if before is not None:
            os.environ["FUSECUDA_CACHE_DIR"] = before
    phases = {
        state: {name: figures([run[name] for run in runs]) for name in runs[0]}
        for state, runs in found.items()
    }
    return {"phases": phases, "clocks": device.clocks()}


HOST_CALLS, HOST_ROUNDS = 50, 30  # calls without waiting: fewer than the driver's queue takes


def measure_host(
    device: Device, case: Case, size: int, makers: Mapping[str, Maker]
) -> dict[str, Any]:
    """Seconds of the host for one warm call on small arrays, nothing waited for."""
    inputs = case.inputs(size, np.dtype(case.dtype))
    ready, missing = contenders_of(case, inputs, makers)
    runs: dict[str, list[float]] = {name: [] for name in ready}
    for contender in ready.values():
        _host_time(contender)
    for _ in range(HOST_ROUNDS):
        for name, contender in ready.items():
            runs[name].append(_host_time(contender))
    host = {name: figures(samples) for name, samples in runs.items()}
    return {"host": host, "missing": missing, "clocks": device.clocks()}


def _host_time(contender: Contender) -> float:
    start = time.perf_counter()
    for _ in range(HOST_CALLS):
        contender.call()
    taken = time.perf_counter() - start
    contender.wait()
    return taken / HOST_CALLS


def measure_case(
    device: Device, case: Case, size: int, makers: Mapping[str, Maker]
) -> dict[str, Any]:
    """The row of one case at one size as plain data."""
    inputs = case.inputs(size, np.dtype(case.dtype))
    ready, missing = contenders_of(case, inputs, makers)
    device.wait()
    events, wall = sample(device, ready) if ready else ({}, {})
    launches = next((c.launches for c in ready.values() if c.launches is not None), None)
    row = {"moved": case.bytes_moved(size), "ceiling": case.ceiling, "events": events,
           "wall": wall, "missing": missing, "clocks": clocks_under_load(device, ready),
           "launches": launches}  # fmt: skip
    del ready, inputs
    device.free()
    return row
