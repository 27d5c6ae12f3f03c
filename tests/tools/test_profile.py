"""Profiles: launches with their times, tables, traces, and what a call costs without a run."""

from __future__ import annotations

import builtins
import json
import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.options import Options
from fusecuda.tools import measure, profile

HERE = Path(__file__).name


def layer(x: np.ndarray, w: np.ndarray) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ w, x.sum(axis=0)


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


def test_sensors_and_counters_are_absent_without_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    sensors = measure.Sensors()
    sensors.stop()
    assert sensors.samples == []
    counters = measure.ProcessorCounters().stop()
    assert all(count >= 0 for count in counters.values())
    monkeypatch.setattr(sys, "platform", "elsewhere")
    assert measure.ProcessorCounters().stop() == {}


def test_sensors_sample_the_device_of_the_same_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = bytes(range(16))
    runtime = types.SimpleNamespace(
        getDevice=lambda: 0, getDeviceProperties=lambda n: {"uuid": raw}
    )
    cuda = types.SimpleNamespace(runtime=runtime)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    asked: list[str] = []
    nvml = types.SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=asked.append,
        NVML_CLOCK_SM=1,
        nvmlDeviceGetClockInfo=lambda h, c: 900,
        nvmlDeviceGetMaxClockInfo=lambda h, c: 1800,
        nvmlDeviceGetMemoryInfo=lambda h: types.SimpleNamespace(used=5),
        nvmlDeviceGetCurrentClocksThrottleReasons=lambda h: 4,
        nvmlDeviceGetPowerUsage=lambda h: 250_000,
        nvmlDeviceGetTotalEnergyConsumption=lambda h: 7_000,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(measure.Sensors, "INTERVAL", 0.001)
    sensors = measure.Sensors()
    while not sensors.samples:
        sensors.join(0.001)
    sensors.stop()
    assert asked == ["GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"]
    assert sensors.samples[0][1] == {
        "memory": 5.0, "clock": 0.5, "throttled": 4.0, "power": 250.0, "energy": 7.0,
    }  # fmt: skip
