"""The device benchmark, with a fake device: NumPy arrays and a fake timer."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from bench import gpu, gpu_checks, gpu_report, gpu_rivals, gpu_warm, gpu_worker
from bench import gpu_measure as measure
from bench.gpu_cases import CASES, COMPILED, MIB, SWITCHED, Case, flat
from bench.gpu_worker import DEVICE_LOST, Job, all_jobs, read, work
from fusecuda.emit_cuda import nvrtc
from tests import emulated, emulator
from tests.marks import at_length, one_in

SMALL = 64 << 10
SUM = next(c for c in CASES if c.name == "full sum")
UPDATE = next(c for c in CASES if c.in_place)


def contender(case: Case, inputs: Sequence[Any], change: float = 0.0) -> measure.Contender:
    """NumPy itself, wrong by ``change``."""
    arrays = [np.array(a) for a in inputs]
    function = case.make(np)

    def results(result: Any) -> list[Any]:
        if case.in_place:
            return [arrays[0] + change]
        found = result if isinstance(result, tuple) else (result,)
        return [np.asarray(r) + change for r in found]

    return measure.Contender(lambda: function(*arrays), results, lambda: None, launches=1)


def by_host_clock(case: Case, inputs: Sequence[Any]) -> measure.Contender:
    """As JAX: no events see it."""
    return replace(contender(case, inputs), events=False)


def failing(case: Case, inputs: Sequence[Any]) -> measure.Contender:
    """A rival that cannot run anything."""
    raise RuntimeError("no such operation\nand a long explanation")


def wrong(case: Case, inputs: Sequence[Any]) -> measure.Contender:
    """A rival with wrong numbers."""
    return contender(case, inputs, 1.0)


class FakeDevice:
    """Every second timed call takes 2 ms, the others 1 ms; each wall time is 5 ms."""

    def __init__(self) -> None:
        self.times = itertools.cycle((1e-3, 2e-3))
        self.lost = False
        self.calls: list[str] = []

    def timed(self, call: Callable[[], Any]) -> float:
        call()
        return next(self.times)

    def wall(self, call: Callable[[], Any], wait: Callable[[], None]) -> float:
        call()
        wait()
        return 5e-3

    def wait(self) -> None:
        if self.lost:
            raise RuntimeError("an illegal address")

    def free(self) -> None:
        self.calls.append("free")

    def clocks(self) -> dict[str, Any]:
        return {"SM MHz": 1}

    def makers(self, everyone: bool) -> tuple[dict[str, measure.Maker], dict[str, str]]:
        found: dict[str, measure.Maker] = {"fusecuda": contender, "CuPy": contender}
        if everyone:
            found |= {"JAX": by_host_clock, "broken": failing, "wrong": wrong}
        return found, {"absent": "not installed"} if everyone else {}

    def phases(self, case: Case, size: int) -> dict[str, float]:
        return {"plan": 1e-3, "first call": 2e-2, "second call": 1e-5}

    def ceilings(self, size: int) -> list[tuple[str, str, float, Callable[[], Any]]]:
        return [(kind, f"{kind} by hand", 2.0 * size, lambda: None) for kind in ("copy", "read")]


class FakeClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the least samples."""
    monkeypatch.setattr(measure, "ROW_SECONDS", 0.0)
    monkeypatch.setattr(gpu_worker, "_fused_function", lambda: {"@fused": contender})
    modes = dict.fromkeys(gpu_rivals.switched(), contender)
    monkeypatch.setattr(gpu_worker, "_switched", lambda: modes)


def rows_of(jobs: Sequence[Job], device: Any = None, seconds: float = 1e9) -> list[dict[str, Any]]:
    """The rows that a device gives."""
    entries: list[dict[str, Any]] = []
    work(device or FakeDevice(), jobs, measure.Budget(seconds), entries.append)
    return [json.loads(json.dumps(e)) for e in entries if "begun" not in e]


# --- figures and the budget


def test_figures_are_median_and_quartiles() -> None:
    """Their source stands with them."""
    found = measure.figures([float(n) for n in range(1, 22)])
    assert (found["median"], found["iqr"], found["samples"]) == (11.0, 11.0, 21)
    assert found["low"] == 1.0
    assert measure.figures([3.0]) == {"median": 3.0, "iqr": 0.0, "low": 3.0, "samples": 1}


def test_the_budget_learns_what_a_row_takes() -> None:
    """What does not fit is not begun."""
    clock = FakeClock()
    budget = measure.Budget(100.0, clock)
    assert budget.fits("a")
    clock.now = 60.0
    budget.spent("a", 0.0)
    assert budget.left() == 40.0
    assert not budget.fits("a") and budget.fits("b") and not budget.fits("c", 41.0)


def test_rows_that_do_not_fit_are_not_measured() -> None:
    """They are named all the same."""
    rows = rows_of([Job("table", SUM, SMALL)], seconds=1.0)
    assert rows[0]["unmeasured"] == measure.NOT_MEASURED
    text = gpu_report.markdown({"facts": {}, "checks": {}, "rows": rows})
    assert "not measured" in text and rows[0]["key"] in text


# --- results against NumPy


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.name}, {c.dtype}")
def test_programs_agree_with_numpy_in_float64(case: Case) -> None:
    """Each case's own tolerance holds for NumPy in the case's type."""
    inputs = case.inputs(SMALL * 8, np.dtype(case.dtype))
    ready, missing = measure.contenders_of(case, inputs, {"NumPy": contender})
    assert list(ready) == ["NumPy"] and not missing


def test_wrong_results_are_found() -> None:
    """Values, shapes, counts, types of numbers, NaN; also in large results of rivals."""
    one = [np.arange(10.0)]
    assert measure.disagreement(one, [np.arange(10.0)], "f8", True) == ""
    assert "shape" in measure.disagreement(one, [np.zeros(9)], "f8", True)
    assert "results" in measure.disagreement(one, [], "f8", True)
    assert "1 of 10" in measure.disagreement(one, [np.where(one[0] == 4, 9, one[0])], "f8", True)
    assert measure.disagreement(one, [np.full(10, np.nan)], "f8", True)
    assert measure.disagreement([np.arange(3)], [np.array([0, 1, 1])], "f4", True)
    large = np.zeros(measure.SAMPLED * 3)
    bad = large.copy()
    bad[-1] = 1.0
    assert measure.disagreement([large], [bad], "f8", False)


def test_a_row_has_figures_and_reasons() -> None:
    """Rivals that fail or are wrong are left out with the reason; the others are measured."""
    (row,) = rows_of([Job("rivals", SUM, SMALL)])
    assert set(row["events"]) == {"fusecuda", "CuPy"}
    assert set(row["wall"]) == {"fusecuda", "CuPy", "JAX"}
    assert row["missing"]["broken"] == "RuntimeError: no such operation"
    assert row["missing"]["wrong"].startswith("wrong results")
    assert row["missing"]["absent"] == "not installed"
    assert row["events"]["fusecuda"]["samples"] >= 20
    assert row["launches"] == 1


def test_contenders_take_turns() -> None:
    """Every round has each of them once, so that noise strikes all alike."""
    (row,) = rows_of([Job("table", SUM, SMALL)])
    assert row["events"]["fusecuda"]["median"] == 1e-3
    assert row["events"]["CuPy"]["median"] == 2e-3


def test_a_failing_row_does_not_lose_the_run() -> None:
    """It is reported with its error, and the next one is measured."""
    bad = replace(SUM, name="bad", inputs=lambda size, dtype: flat(2, size, dtype))
    rows = rows_of([Job("table", bad, SMALL), Job("table", UPDATE, SMALL)])
    assert rows[0]["error"].startswith("TypeError")
    assert "events" in rows[1]
    text = gpu_report.markdown({"facts": {}, "checks": {}, "rows": rows})
    assert "TypeError" in text and "failed" in text


def test_a_lost_device_ends_the_process() -> None:
    """The faulty row is written first; a new process goes on behind it."""
    device = FakeDevice()
    device.lost = True
    entries: list[dict[str, Any]] = []
    jobs = [Job("table", SUM, SMALL), Job("table", UPDATE, SMALL)]
    assert work(device, jobs, measure.Budget(1e9), entries.append) == DEVICE_LOST
    assert "illegal" in entries[-1]["error"] and len(entries) == 2
    rows: list[dict[str, Any]] = []
    done = {jobs[0].key}
    assert work(FakeDevice(), jobs, measure.Budget(1e9), rows.append, done) == 0
    assert [r["key"] for r in rows if "key" in r] == [jobs[1].key]


def test_kernel_caches_are_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run of each pair finds what the first has stored."""
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", "/mine")
    seen: list[str] = []
    device = FakeDevice()
    phases = device.phases

    def watched(case: Case, size: int) -> dict[str, float]:
        seen.append(os.environ["FUSECUDA_CACHE_DIR"])
        return phases(case, size)

    monkeypatch.setattr(device, "phases", watched)
    row = measure.measure_compile(device, COMPILED[0], SMALL)
    assert os.environ["FUSECUDA_CACHE_DIR"] == "/mine"
    assert seen[0::2] == seen[1::2] and len(set(seen)) == measure.COMPILED_TIMES
    assert row["phases"]["cold"]["first call"]["samples"] == measure.COMPILED_TIMES


# --- the report


def full_report() -> dict[str, Any]:
    """A report of few small rows."""
    jobs = [Job("ceilings", None, MIB), Job("compile", COMPILED[1], SMALL)]
    jobs += [Job(s, c, MIB) for s in ("table", "rivals") for c in (SUM, UPDATE)]
    jobs += [Job("host", SUM, SMALL), Job("switches", SWITCHED[0], SMALL)]
    return {"facts": {"device": "A Fake/1", "date": "2000-01-01"},
            "checks": {"tests": {"outcome": "passed", "output": ["== 3 passed =="]}},
            "rows": rows_of(jobs)}  # fmt: skip


def test_report(tmp_path: Path) -> None:
    """JSON and Markdown are named by device and date and hold every figure with its source."""
    report = full_report()
    paths = gpu.write(report, tmp_path)
    assert [p.name for p in paths] == [f"gpu-a-fake-1-2000-01-01{s}" for s in (".json", ".md")]
    assert json.loads(paths[0].read_text()) == report
    text = paths[1].read_text()
    assert "- tests: passed (3 passed)" in text
    assert "1000.0 µs (0.0, " in text
    assert "JAX, call and wait: 1.00 times" in text
    ceiling = 2.0 * MIB / 1.5e-3
    row = next(r for r in report["rows"] if r["section"] == "table")
    found = gpu_report.share(row, gpu_report.ceilings_of(report["rows"]))
    assert found == pytest.approx(MIB / 1e-3 / ceiling)
    assert "| 75 % |" in text
    assert "| graphs on, 4 streams |" in text and "| graphs off, 1 stream |" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_a_report_of_nothing(tmp_path: Path) -> None:
    """Where no row was measured the sections say so."""
    report = gpu.report_of(tmp_path / "nothing", {}, ["it broke"], all_jobs())
    assert all(r["unmeasured"] for r in report["rows"])
    assert "it broke" in report["rows"][0]["unmeasured"]
    text = gpu_report.markdown(report)
    assert "it broke" in text and text.count("not measured") > len(report["rows"])


# --- processes


def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    """Its row gets the reason, the others are measured by the next process."""
    first, second = all_jobs()[:2]
    path = tmp_path / "rows"

    def start(file: Path, seconds: float) -> str:
        _, rows, _ = read(file)
        if not rows:
            file.write_text(json.dumps({"begun": first.key}) + '\n{"cut')
            return "the process ended with status -11: "
        with file.open("a") as out:
            out.write(json.dumps({**second.facts(), "events": {}}) + "\n")
        return ""

    assert gpu.measure(path, measure.Budget(100.0), start) == [
        "the process ended with status -11: "
    ]
    _, rows, unfinished = read(path)
    assert [r["key"] for r in rows] == [first.key, second.key]
    assert "-11" in rows[0]["error"] and not unfinished


def test_a_process_that_cannot_begin_is_not_tried_again(tmp_path: Path) -> None:
    """Neither is one for which no time is left."""
    path = tmp_path / "rows"
    ends = gpu.measure(path, measure.Budget(100.0), lambda file, seconds: "no CuPy")
    assert ends == ["no CuPy"]
    assert gpu.measure(path, measure.Budget(1.0), lambda file, seconds: "no CuPy") == []


def watched(code: str, seconds: float, path: Path) -> str:
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    return gpu.watch(process, path, measure.Budget(seconds))


@at_length
def test_processes_are_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end, a failure's last words, the end of the time, a hang."""
    path = tmp_path / "rows"
    assert watched("", 60, path) == ""
    assert watched("raise SystemExit('no device\\n \\n')", 60, path).endswith("1: no device")
    assert "time was over" in watched("import time; time.sleep(60)", 0.5, path)
    monkeypatch.setattr(gpu, "ROW_LIMIT", 0.2)
    assert "hung" in watched("import time; time.sleep(60)", 60, path)


def test_what_ends_a_process_is_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what is said of the frames that a traceback leaves out."""
    stand_in = tmp_path / "bench"
    stand_in.mkdir()
    text = "import fusecuda as fc\nfc.fused(lambda: fc.spec((1,), 'no type'))()\n"
    (stand_in / "__init__.py").touch()
    (stand_in / "gpu_worker.py").write_text(text)
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(fc.__file__).parents[1]))
    why = gpu.start_worker(tmp_path / "rows", 60, "")
    assert "TypeError: data type 'no type' not understood" in why


@at_length
def test_outcomes_of_programs() -> None:
    """Passed, failed with its output, stopped, not there."""
    passed = gpu_checks.run([sys.executable, "-c", "print('a'); print('fine')"], 60)
    assert (passed["outcome"], passed["output"]) == ("passed", ["fine"])
    failed = gpu_checks.run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], 60)
    assert failed["outcome"] == "failed with status 3" and failed["output"] == ["why"]
    slow = gpu_checks.run([sys.executable, "-c", "import time; time.sleep(60)"], 5)
    assert slow["outcome"].startswith("stopped after 5 s")
    assert gpu_checks.run(["/nonexistent"], 60)["outcome"].startswith("not run")
    assert "budget" in gpu_checks.run(["/nonexistent"], 1)["outcome"]


def test_no_device_is_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the measuring process finds none, no file is written and the status says so."""
    monkeypatch.setattr(gpu, "start_worker", lambda path, seconds, *chosen: "no device")
    monkeypatch.setattr(gpu, "write", lambda report: pytest.fail("written"))
    assert gpu.main(["--no-checks", "--only", "argmax"]) == 1


def test_a_missing_sanitizer_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no failure."""
    monkeypatch.setenv("PATH", "")
    assert "not on PATH" in gpu_checks.sanitizer("memcheck", 60)["outcome"]


@at_length
def test_a_sanitizer_that_does_not_end_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So has the whole run."""
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpu_checks.sanitizer("memcheck", 5)["outcome"] == "failed: stopped after 5 s"


def test_tests_of_a_device_are_found() -> None:
    """In whatever folder they are."""
    assert "tests/emit_cuda/test_gpu.py" in [Path(p).as_posix() for p in gpu_checks.marked_files()]


def test_a_sample_counts_if_all_was_enqueued_before_it_began() -> None:
    """Else the device is held for longer, up to a limit."""
    held: list[int] = []

    def sample(nanoseconds: int) -> tuple[bool, float]:
        held.append(nanoseconds)
        return nanoseconds >= 3000, 2.0

    assert measure.while_held(sample, 200) == 2.0 and held == [200, 800, 3200]
    with pytest.raises(RuntimeError, match="host"):
        measure.while_held(lambda ns: (False, 1.0), 200, most=1000)


def test_clocks_are_read_under_load() -> None:
    """While calls are under way, of which the last is waited for behind it."""
    done: list[str] = []
    one = measure.Contender(lambda: done.append("call"), list, lambda: done.append("wait"))
    device = FakeDevice()
    device.clocks = lambda: {"seen": len(done)}  # type: ignore[method-assign]
    assert measure.clocks_under_load(device, {"one": one}) == {"seen": measure.LOADED_CALLS}
    assert done[-1] == "wait" and "wait" not in done[:-1]
    assert measure.clocks_under_load(device, {})["seen"] == len(done)


def test_graphs_are_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each contender's program is made under its own switch, which is put back."""
    monkeypatch.setenv("FUSECUDA_GRAPHS", "1")
    seen: list[tuple[int, str]] = []

    def ours(case: Case, inputs: Sequence[Any], streams: int) -> measure.Contender:
        call = lambda: seen.append((streams, os.environ["FUSECUDA_GRAPHS"]))  # noqa: E731
        return measure.Contender(call, list, lambda: None)

    monkeypatch.setattr(gpu_rivals, "by_fusecuda", ours)
    for make in gpu_rivals.switched().values():
        make(SWITCHED[0], ())
    assert seen == [(1, "0"), (4, "0"), (1, "1"), (4, "1")]
    assert os.environ["FUSECUDA_GRAPHS"] == "1"
    monkeypatch.delenv("FUSECUDA_GRAPHS")
    with gpu_rivals.environment("FUSECUDA_GRAPHS", "0"):
        pass
    assert "FUSECUDA_GRAPHS" not in os.environ


def test_missing_rivals_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be imported is left out with the reason."""
    for name in ("jax", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    found, missing = gpu_rivals.makers(everyone=True)
    assert list(found) == ["fusecuda", "CuPy", "cupy.fuse"]
    assert set(missing) == {"JAX", "torch.compile"}
    assert gpu_rivals.makers(everyone=False)[1] == {}


# --- what ships to the device, as far as it can be seen without one


def test_jobs_have_names_of_their_own() -> None:
    """Every case is there at three sizes, ceilings come first."""
    keys = [job.key for job in all_jobs()]
    assert len(set(keys)) == len(keys)
    assert sum(job.section == "table" for job in all_jobs()) == 3 * len(CASES)
    assert all(job.section == "ceilings" for job in all_jobs()[:3])
    assert {j.case.name for j in all_jobs(only="argmax") if j.case} == {"argmax, rows of 1024"}


def test_the_largest_sizes_come_last() -> None:
    """Behind rivals, the host's time and switches."""
    jobs = [job for job in all_jobs() if job.section != "ceilings"]
    largest = max(job.size for job in jobs)
    first = next(n for n, job in enumerate(jobs) if job.size == largest)
    assert {job.size for job in jobs[first:]} == {largest}
    assert {"host", "rivals", "switches"} <= {job.section for job in jobs[:first]}


@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
def test_what_is_switched_is_a_graph_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits by several launches, as a graph and one by one."""
    (case,) = SWITCHED
    inputs = case.inputs(4 << 10, np.dtype(case.dtype))
    executable = fc.lower(case.make(np), *inputs, device="cuda")
    assert executable.launches >= 3 and "CUDA graph: " in executable.explain()
    want = case.make(np)(*[a.astype(float) for a in inputs])
    for value, count in (("1", 1), ("0", 0)):
        monkeypatch.setenv("FUSECUDA_GRAPHS", value)
        assembly, sources = emulated.assembled(executable.graph)
        device = emulated.EmulatedDevice()
        ready = emulated.program(assembly, sources, emulated.plan_memory(assembly, 1), device)
        for _ in range(2):
            found = ready(inputs)
        assert measure.disagreement(list(want), found, case.dtype, True) == ""
        assert len(device.graphs) == count
    assert "no CUDA graph: FUSECUDA_GRAPHS=0" in executable.explain()


@pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.name}, {c.dtype}")
@one_in(18)
def test_emulated_kernels_agree_with_numpy(case: Case) -> None:
    """What the device will run, by the emulator, one kernel for each program."""
    size = max(case.least, 256 << 10 if "65536" in case.name else 4 << 13)
    inputs = case.inputs(size, np.dtype(case.dtype))
    executable = fc.lower(case.make(np), *inputs, device="cuda")
    assert executable.launches == 1
    arrays = [np.array(a) for a in inputs]
    results, _ = emulated.run(executable.graph, arrays, executable.strides)
    found = [arrays[0]] if case.in_place else results
    assert measure.disagreement(measure.expected_of(case, inputs), found, case.dtype, True) == ""


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
def test_ceiling_kernels_compile() -> None:
    """The hand-written kernels are accepted for the device's architecture."""
    pytest.importorskip("cupy")
    from bench.gpu_device import _SOURCE

    assert nvrtc.compile_text(_SOURCE, nvrtc.options("sm_90"))[0]


def test_rivals_that_compile_for_ever_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them within the time of one, whatever they print."""
    asleep = tmp_path / "asleep"
    asleep.write_text("#!/bin/sh\nexec sleep 60\n")
    asleep.chmod(0o755)
    started: list[subprocess.Popen[bytes]] = []

    class Started(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(sys, "executable", str(asleep))
    monkeypatch.setattr(subprocess, "Popen", Started)
    gpu_warm.warm(SMALL, "", tmp_path, tmp_path, 0.2)
    assert [process.returncode for process in started] == [-9] * gpu_warm.PROCESSES


def test_only_the_chosen_programs_are_compiled() -> None:
    """A text that is in no name chooses none."""
    assert gpu_warm.main(["0", "1", str(SMALL), "no such program"]) == 0


def test_sections_are_chosen() -> None:
    """A worker's jobs are those of its sections."""
    assert {job.section for job in all_jobs()} == set(gpu.SECTIONS.split(","))
