"""Compilers beside the program: in turn, none left behind, errors told, forks without them."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fusecuda.cpu_fallback import background, invoke
from fusecuda.cpu_fallback.background import Job
from fusecuda.cpu_fallback.loader import KernelSource
from fusecuda.cpu_fallback.runs import Patience
from fusecuda.errors import CompilerError


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> background._Workers:
    """Threads of the test's own, one on any machine."""
    monkeypatch.setattr(background, "processors", lambda: 2)
    monkeypatch.setattr(background, "load_driver", lambda: None)
    monkeypatch.setattr(invoke, "_running", invoke._Running())
    return background._Workers()


def job_of(*names: str, text: str = "x") -> Job:
    return Job([KernelSource(name, text) for name in names])


def test_who_waits_for_a_job_has_it_next(
    workers: background._Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside one that takes long, on the processor that waiting leaves idle; others come later."""
    begun, gate, done = threading.Event(), threading.Event(), list[str]()

    def compiled(sources: Sequence[KernelSource], most: int) -> None:
        if sources[0].symbol == "long":
            begun.set()
            gate.wait(10.0)
        done.extend(s.symbol for s in sources)

    monkeypatch.setattr(background, "compile_kernels", compiled)
    monkeypatch.setattr(background, "_workers", workers)
    long, other, wanted = (job_of(name) for name in ("long", "other", "wanted"))
    workers.add(long)
    begun.wait(10.0)
    workers.add(other)
    workers.add(wanted)
    wanted.wait(10.0)
    assert done == ["wanted"] and wanted.is_over and not long.is_over
    again = job_of("again")
    workers.add(again)
    again.wait(10.0)
    assert done == ["wanted", "again"]  # the helping thread has taken no other
    gate.set()
    workers.finish()
    assert sorted(done) == sorted(["wanted", "again", "long", "other"])


def test_jobs_that_wait_are_done_together(
    workers: background._Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel once, and no more than a batch at a time; a failure ends no thread."""
    gate, batches = threading.Event(), list[list[str]]()

    def compiled(sources: Sequence[KernelSource], most: int) -> None:
        batches.append(sorted(s.symbol for s in sources))
        gate.wait(10.0)
        if "bad" in batches[-1]:
            raise CompilerError("bad")

    monkeypatch.setattr(background, "compile_kernels", compiled)
    jobs = [job_of("bad")]
    workers.add(jobs[0])
    while not batches:
        time.sleep(0.001)
    jobs += [job_of("a", "b"), job_of("b"), job_of("c", text="y" * background._BATCH)]
    for job in jobs[1:]:
        workers.add(job)
    assert not any(job.is_over for job in jobs) and len(workers._threads) == 1
    gate.set()
    for job in jobs:
        job.wait(10.0)
    assert all(job.is_over for job in jobs)
    assert batches == [["bad"], ["a", "b"], ["c"]]
    workers.close()
    assert not workers._threads[0].is_alive()
    late = job_of("late")
    workers.add(late)
    assert late.is_over  # its asker compiles


def test_nobody_waits_for_what_no_thread_does(
    workers: background._Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    job = job_of("a")
    workers.add(job)
    assert job.is_over


def test_stopped_compilers_start_no_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A thread that ends with the process gets an error, the main thread what it asks for."""
    monkeypatch.setattr(invoke, "_running", invoke._Running())
    found: list[Any] = []
    patience = Patience(30.0)

    def slow() -> None:
        for command in (["sleep", "30"], ["true"]):
            try:
                found.append(invoke._run(command, tmp_path, patience))
            except CompilerError as error:
                found.append(str(error))

    thread = threading.Thread(target=slow, daemon=True)
    thread.start()
    while not invoke._running.processes:
        time.sleep(0.001)
    invoke.stop()
    thread.join(10.0)
    assert "was stopped" in found[0] and "is not started any more" in found[1]
    assert invoke._run(["true"], tmp_path, patience) == (0, "")
    assert not [p for p in invoke._running.processes if p.args == ["sleep", "30"]]


PROGRAM = """
import os, sys, time, warnings
import numpy as np
import fusecuda as fc
from fusecuda.capture.record.budget import Budget
Budget.wait_for = lambda *given: None  # there is no time
warnings.simplefilter("always")

@fc.fused
def f(x):
    return np.exp(x) + 1

x = np.linspace(0, 1, 1000)
want = np.exp(x) + 1
assert np.array_equal(f(x), want)  # NumPy's
"""

AT_THE_END = """
def wait():
    while not os.path.exists("pid"):
        time.sleep(0.01)
wait()
os.rename("pid", "pid1")
if os.fork() == 0:
    assert np.array_equal(f(x), want)  # recorded anew, for the parent's job is not its own
    assert np.array_equal(f(x), want)
    wait()
    sys.exit(7)
code = os.waitstatus_to_exitcode(os.wait()[1])
assert code == 7, code
print("done")
"""

UNTIL_IT_FAILS = """
end = time.monotonic() + 20
Budget.FIRST = 100.0
with warnings.catch_warnings(record=True) as caught:
    while not caught and time.monotonic() < end:
        np.testing.assert_allclose(f(x), want, rtol=1e-14)
        time.sleep(0.01)
assert "do not compile" in str(caught[0].message), caught
assert "broken" in str(caught[0].message), caught
print("done")
"""


def _run(folder: Path, program: str, body: str) -> None:
    """The program, with a compiler that has a version and is the shell's ``body`` else."""
    path = folder / "cc"
    path.write_text(f'#!/bin/sh\ncase "$*" in *--version*) echo fake 1.0; exit 0;; esac\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    scratch = folder / "scratch"
    scratch.mkdir()
    environment = {
        **os.environ,
        "FUSECUDA_WAIT": "0",
        "FUSECUDA_CC": str(path),
        "FUSECUDA_CACHE_DIR": str(folder / "cache"),
        "TMPDIR": str(scratch),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert not list(scratch.iterdir())
    assert not list(folder.glob("cache/storing*"))


def test_processes_end_and_leave_no_compiler_behind(tmp_path: Path) -> None:
    """Nor does a forked child, which has its own; what they had begun to write is gone."""
    _run(
        tmp_path,
        AT_THE_END,
        f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid\nsleep 60",
    )
    for name in ("pid1", "pid"):
        pid = int((tmp_path / name).read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_errors_of_compilers_are_told(tmp_path: Path) -> None:
    """When the kernels would be there, once, and the interpreter computes."""
    _run(tmp_path, UNTIL_IT_FAILS, "echo broken >&2; exit 1")
