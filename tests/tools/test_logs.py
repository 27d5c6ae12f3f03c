"""Logs: what ``FUSECUDA_LOG`` prints, and that nothing is printed or loaded without it."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import fusecuda as fc
from fusecuda import watch
from fusecuda.capture.record import plans
from fusecuda.codegen.compilations import say_compiling
from fusecuda.cpu_fallback import compiler
from fusecuda.cpu_fallback.compiler import find_compiler
from tests.marks import at_length

PROGRAM = """\
import sys
import numpy as np, fusecuda as fc

@fc.fused(strict=True)
def doubled(x):
    return np.tanh(x) * 2.0 + 1.0

doubled(np.ones(5))
doubled(np.ones(6))
print("logging" in sys.modules)
"""


def run(tmp_path: Path, words: str | None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "FUSECUDA_LOG"}
    environment["FUSECUDA_CACHE_DIR"] = str(tmp_path / "cache")
    if words is not None:
        environment["FUSECUDA_LOG"] = words
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True,
        env=environment, cwd=Path(__file__).resolve().parents[2],
    )  # fmt: skip


@at_length
def test_what_was_compiled_and_recorded_again_is_printed(tmp_path: Path) -> None:
    lines = run(tmp_path, "retraces,kernels").stderr.splitlines()
    compiled = [line for line in lines if line.startswith("fusecuda.compile: ")]
    assert "doubled: loop_tanh" in compiled[0] and compiled[0].endswith(" ms")
    again = [line for line in lines if "recorded again" in line]
    assert len(again) == 1 and "x.shape was (5,), is (6,)" in again[0]
    assert "program.py:" in again[0]
    assert not any("fusecuda.plan" in line for line in lines)
    assert "fusecuda.plan: doubled: " in run(tmp_path, "plans").stderr
    runs = [line for line in run(tmp_path, "runs").stderr.splitlines() if "fusecuda.run" in line]
    assert len(runs) == 2 and "loop_tanh" in runs[0]


def test_nothing_is_printed_and_logging_is_not_loaded_without_it(tmp_path: Path) -> None:
    done = run(tmp_path, None)
    assert done.stderr == ""
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FUSE", "2", "FUSECUDA_FUSE must be 0 or 1, not '2'"),
        ("VERIFY", "yes", "FUSECUDA_VERIFY must be 0 or 1, not 'yes'"),
        ("LOG", "nope,plans", "FUSECUDA_LOG names logs among retraces, plans, .* not nope$"),
        ("LOG", "tracebacks, plans,", ""),
        ("WAIT", "", ""),
    ],
)
def test_words_that_say_nothing_are_warned_of(name: str, value: str, said: str) -> None:
    """Where the package is imported."""
    command = [sys.executable, "-c", "import fusecuda"]
    environment = {**os.environ, f"FUSECUDA_{name}": value}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = done.stderr.splitlines()
    assert bool(lines) == bool(said) and re.search(said, lines[0] if lines else "")
    assert not lines or lines[0].startswith("<string>:1: UserWarning: ")


def test_the_loggers_are_the_usual_ones(caplog: pytest.LogCaptureFixture) -> None:
    plans.forget()
    with caplog.at_level(logging.INFO, logger="fusecuda"):
        fc.lower(lambda x: x * 5.0 - 2.0, fc.spec(10))
    assert any(r.name == "fusecuda.plan" and "1 launch " in r.getMessage() for r in caplog.records)


def test_a_long_compilation_is_spoken_of_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_compiling("/usr/bin/cc")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    say_compiling("/usr/bin/cc")
    assert capsys.readouterr().err == "fusecuda: compiling kernels with cc …\n"


def test_the_compiler_is_spoken_of_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cache_folder: Path
) -> None:
    found = find_compiler()
    if found is None:
        pytest.skip("there is no compiler")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for limit, said in ((60.0, ""), (0.0, "fusecuda: compiling kernels with ")):
        monkeypatch.setattr(compiler, "PROGRESS_AFTER_S", limit)
        found.compile(f"int limit_{limit:.0f};")
        told = capsys.readouterr().err
        assert told.startswith(said) and bool(told) == bool(said)


def test_while_another_thread_imports_logging(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is not whole yet is read by nobody."""
    monkeypatch.setitem(sys.modules, "logging", types.ModuleType("logging"))
    assert not watch.logs("plan")
