"""Profiles: launches with their times, tables, traces, and what a call costs without a run."""

from __future__ import annotations

import builtins
import json
import mmap
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.options import Options
from fusecuda.tools import measure, profile, trace

HERE = Path(__file__).name


def layer(x: np.ndarray, w: np.ndarray) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ w, x.argmax(axis=0)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> fc.tools.profile.Profile:
    """A profile of a first call, which is recorded, and of two replays."""
    monkeypatch.setattr(profile, "copy_bandwidth", lambda device: 1e9)
    x = np.linspace(0, 1, 64 * 64).reshape(64, 64)
    fused = fc.fused(strict=True)(layer)
    plans.forget()
    with fc.profile() as p:
        for _ in range(3):
            fused(x, x)
    return p


def test_each_launch_is_measured_and_known_by_its_line(taken: Any) -> None:
    names = [launch.step.name for launch in taken.launches]
    assert len(names) == 9 and names.count("matmul") == 3
    assert all(launch.begin <= launch.end for launch in taken.launches)
    starts = [launch.begin for launch in taken.launches]
    assert starts == sorted(starts) and taken.began <= starts[0]
    rows = {row.step.name: row for row in taken.rows()}
    assert rows["matmul"].step.flops == 2 * 64**3
    first = layer.__code__.co_firstlineno
    softmax = next(row.step for row in taken.rows() if "exp" in row.step.name)
    assert {int(line.rpartition(":")[2]) - first for line in softmax.lines} == {1, 2}
    assert softmax.bytes == 2 * 64 * 64 * 8 and softmax.flops > 3 * 64 * 64


def test_results_are_the_same_while_a_profile_is_taken() -> None:
    """Kernels run one by one then, those that overwrite an argument last."""

    def change(u: np.ndarray) -> Any:
        u[1:-1] += 0.5 * (u[2:] - u[:-2])
        return np.cumsum(u), u.sum()

    u, v = np.arange(50.0), np.arange(50.0)
    fused = fc.fused(strict=True)(change)
    plainly = fused(u)
    with fc.profile() as p:
        measured = fused(v)
    assert p.launches and p.threads
    for a, b in zip((*plainly, u), (*measured, v), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_table_has_times_bandwidth_and_lines(taken: Any) -> None:
    text = taken.table()
    for word in ("kernel", "share", "of copy", "matmul", HERE, "9 launches of 3 kernels",
                 "1.00 GB/s", "recording took", "planning took"):  # fmt: skip
        assert word in text, (word, text)
    shares = sum(row.seconds for row in taken.rows())
    assert shares == pytest.approx(taken.seconds)
    assert "… and 2 kernels more" in taken.table(limit=1)


def test_without_rich_the_table_is_plain_text(taken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in [n for n in sys.modules if n.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    text = taken.table()
    assert "matmul" in text and "┃" not in text


def test_a_profile_of_nothing_says_so() -> None:
    with fc.profile() as p:
        pass
    assert p.table() == "nothing was launched by compiled plans\n"


def test_the_trace_nests_and_its_totals_are_the_profiles(taken: Any, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    taken.save_trace(path)
    document = json.loads(path.read_text())
    events = document["traceEvents"]
    assert {e["ph"] for e in events} == {"M", "X", "C"}
    complete = [e for e in events if e["ph"] == "X"]
    assert all(isinstance(e["ts"], float) and e["dur"] >= 0 for e in complete)
    kernels = [e for e in complete if e["cat"] == "kernel"]
    assert sum(e["dur"] for e in kernels) == pytest.approx(1e6 * taken.seconds, abs=0.02)
    kinds = {kind: [e for e in complete if e["cat"] == kind]
             for kind in ("record", "plan", "compile", "run")}  # fmt: skip
    assert [len(kinds[k]) for k in ("record", "run")] == [1, 3]
    (record,) = kinds["record"]
    for inner in (*kinds["plan"], *kinds["compile"], kinds["run"][0]):
        assert within(inner, record)
    for kernel in kernels:  # the host's tracks and the device's are apart, the times agree
        assert any(within(kernel, run) for run in kinds["run"])
        assert kernel["pid"] != record["pid"]
    for a in complete:
        for b in complete:
            if (a["pid"], a["tid"]) == (b["pid"], b["tid"]) and a["ts"] < b["ts"]:
                assert within(b, a) or b["ts"] >= a["ts"] + a["dur"] - 0.002, (a, b)
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert {"host", "device: cpu"} <= names
    assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)


def within(inner: Any, outer: Any) -> bool:
    slack = 0.002  # microseconds: figures are rounded
    return bool(
        inner["ts"] >= outer["ts"] - slack
        and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + slack
    )


def test_threads_have_tracks_of_their_own() -> None:
    x = np.ones((50, 50))
    fused = fc.fused(strict=True)(layer)
    fused(x, x)
    with fc.profile() as p:
        thread = threading.Thread(target=fused, args=(x, x), name="the other one")
        thread.start()
        fused(x, x)
        thread.join()
    assert len({launch.thread for launch in p.launches}) == 2
    assert "the other one" in p.threads.values()


def test_threads_that_end_leave_their_tracks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system gives the number of a thread that has ended to the next one."""
    monkeypatch.setattr(threading, "get_native_id", lambda: 5)
    x = np.ones((50, 50))
    fused = fc.fused(strict=True)(layer)
    fused(x, x)
    with fc.profile() as p:
        for i in range(2):
            thread = threading.Thread(target=fused, args=(x, x), name=f"worker {i}")
            thread.start()
            thread.join()
    names = [p.threads[launch.thread] for launch in p.launches]
    assert sorted(set(names)) == ["worker 0", "worker 1"]


def test_memory_of_runs_at_once_adds_up() -> None:
    exe = fc.lower(layer, np.ones((8, 8)), np.ones((8, 8)))
    p = profile.Profile()
    one, other = p.runs(exe), p.runs(exe)
    p.ran(exe, one)
    p.ran(exe, other)
    curve = [e["args"]["bytes"] for e in trace.events(p) if e["ph"] == "C"]
    peak = exe.memory.peak_bytes
    assert curve == [peak, 2 * peak, peak, 0] and peak > 0


def test_cost_of_what_no_memory_has_room_for() -> None:
    """What a spec describes is addresses alone."""
    extents = (2**21, 2**21)
    cost = fc.cost(lambda x: np.sqrt(x) * 2, fc.spec(extents))
    assert (cost.launches, cost.bytes) == (1, 2 * 8 * 2**42)


def test_cost_runs_nothing() -> None:
    """The plan's figures: each array once, a matrix product's flops, the results' memory."""
    with fc.count_launches() as count:
        found = fc.cost(layer, fc.spec((100, 100)), fc.spec((100, 100)))
    assert count.total == 0
    exe = fc.lower(layer, fc.spec((100, 100)), fc.spec((100, 100)))
    assert found.launches == exe.launches == 2
    assert found.flops >= 2 * 100**3 and found.peak_bytes == exe.memory.peak_bytes
    assert found.bytes == sum(k.bytes_read + k.bytes_written for k in exe.kernels)
    assert fc.cost(lambda x: x + 1.0, fc.spec(1000)) == fc.tools.profile.Cost(1000, 16000, 1, 8000)


def test_a_devices_events_are_read_when_the_block_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Times on a device come from its events, reckoned from the first."""
    made: list[int] = []

    class Event:
        def __init__(self) -> None:
            made.append(len(made))
            self.number = made[-1]

        def record(self) -> None: ...
        def synchronize(self) -> None: ...

    device = types.SimpleNamespace(
        Event=Event, get_elapsed_time=lambda a, b: 2.0 * (b.number - a.number), nvtx=None
    )
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=device))
    exe = fc.lower(layer, np.ones((8, 8)), np.ones((8, 8)))
    exe.options = Options(device="cuda")
    p = profile.Profile()
    lap = p.runs(exe)
    for _ in range(4):
        lap()
    p.ran(exe, lap)
    assert p.launches == []
    for clock in p._clocks:
        p._enter_launches(clock, 0)
    assert [round(m.end - m.begin, 9) for m in p.launches] == [0.002] * 3


def test_short_launches_late_in_a_long_run_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device's clock gives floats of milliseconds, which know no microsecond after minutes."""
    cuda = types.SimpleNamespace(get_elapsed_time=lambda a, b: float(np.float32(b.at - a.at)))
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    exe = fc.lower(layer, np.ones((8, 8)), np.ones((8, 8)))
    exe.options = Options(device="cuda")
    clock = profile._Clock(exe)
    clock.begin = 0.0
    for at in (0.0, 600_000.0, 600_000.002):
        clock.marks.append(types.SimpleNamespace(at=at, synchronize=lambda: None))
    begin, middle, end = clock.times()
    assert (begin, middle) == (0.0, 600.0) and end - middle == pytest.approx(2e-6, rel=1e-3)


def test_sensors_and_counters_are_absent_without_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    sensors = measure.Sensors()
    sensors.stop()
    assert sensors.samples == []
    counters = measure.ProcessorCounters().stop()
    assert all(count >= 0 for count in counters.values())
    monkeypatch.setattr(sys, "platform", "elsewhere")
    assert measure.ProcessorCounters().stop() == {}


def test_the_processors_counters_see_threads_begun_before() -> None:
    pages = 4096
    begin, done = threading.Event(), threading.Event()

    def touch() -> None:
        begin.wait(10)
        with mmap.mmap(-1, pages * mmap.PAGESIZE) as memory:
            if hasattr(mmap, "MADV_NOHUGEPAGE"):
                memory.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(pages):
                memory[page * mmap.PAGESIZE] = 1
        time.sleep(0.01)
        done.set()

    thread = threading.Thread(target=touch)
    thread.start()
    counters = measure.ProcessorCounters()
    begin.set()
    done.wait(10)
    counts = counters.stop()
    thread.join()
    if "page faults" not in counts:
        pytest.skip("the system counts nothing for us")
    assert counts["page faults"] >= pages
    assert counts.get("context switches", 1) > 0  # where they may be counted


class Nvml(types.SimpleNamespace):
    """What of `pynvml` is used, for a device that tells no power."""

    NVML_CLOCK_SM = 1

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.used = iter(range(5_000_000_000, 10_000_000_000, 1_000_000))
        self.joules = iter(range(7_000, 70_000, 1_000))

    def nvmlInit(self) -> None: ...
    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        self.asked.append(uuid)
        return "handle"

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        return 900

    def nvmlDeviceGetMaxClockInfo(self, handle: str, kind: int) -> int:
        return 1800

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return types.SimpleNamespace(used=next(self.used))

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        return 0x4 | 0x40 | 0x1

    def nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        raise RuntimeError("Not Supported")

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        return next(self.joules)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    raw = bytes(range(16))
    runtime = types.SimpleNamespace(
        getDevice=lambda: 0, getDeviceProperties=lambda n: {"uuid": raw}
    )
    cuda = types.SimpleNamespace(runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    library = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setattr(measure.Sensors, "INTERVAL", 0.001)
    return library


def test_sensors_sample_the_device_of_the_same_uuid(nvml: Nvml) -> None:
    """What it does not tell is left out, the rest is there."""
    sensors = measure.Sensors()
    sensors.stop()
    assert nvml.asked == ["GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"]
    times = [at for at, _ in sensors.samples]
    assert len(times) >= 2 and times == sorted(times)  # at the begin and at the end
    assert sensors.samples[0][1] == {
        "memory": 5e9, "clock": 0.5, "throttled": 69.0, "energy": 7.0,
    }  # fmt: skip
    nvml.nvmlDeviceGetCurrentClocksEventReasons = lambda handle: 0x8  # as it is called today
    sensors._sample()
    assert sensors.samples[-1][1]["throttled"] == 8.0


def test_samples_are_told_in_a_line(nvml: Nvml) -> None:
    sensors = measure.Sensors()
    sensors.stop()
    first = {"memory": 4e9, "clock": 0.25, "throttled": 1.0, "energy": 7.0}
    sensors.samples = [(0.0, first), (1.0, first | {"memory": 5e9, "clock": 0.75}),
                       (2.0, {"throttled": float(0x4 | 0x40), "energy": 9.5})]  # fmt: skip
    assert sensors.told() == (
        "5.00 GB of the device's memory in use, clock at 50% of its maximum, "
        "throttled: power cap, heat, 2.5 J"
    )
    sensors.samples = [(0.0, {"power": 200.0}), (1.0, {"power": 300.0, "throttled": 0.0})]
    assert sensors.told() == "250 W"


@pytest.mark.parametrize("own", [True, False], ids=["nvtx", "cupy"])
def test_ranges_are_named_by_lines_and_end(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By NVIDIA's module or CuPy's own, also of a run that raises an error."""
    told: list[str] = []
    push, pop = told.append, lambda: told.append("end")
    if own:
        module = types.SimpleNamespace(push_range=push, pop_range=pop)
        monkeypatch.setitem(sys.modules, "nvtx", module)
    else:
        cupys = types.SimpleNamespace(RangePush=push, RangePop=pop)
        cuda = types.SimpleNamespace(nvtx=cupys)
        monkeypatch.setitem(sys.modules, "nvtx", None)
        monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))

    def picked(x: np.ndarray, i: np.ndarray) -> Any:
        return x[i] * 2.0

    exe = fc.lower(picked, np.ones(5), np.zeros(3, int))
    with fc.profile():
        exe(np.ones(5), np.zeros(3, int))
        with pytest.raises(IndexError):
            exe(np.ones(5), np.full(3, 9))
    line = picked.__code__.co_firstlineno + 1
    assert told == [f"picked {__file__}:{line}", "end"] * 2
