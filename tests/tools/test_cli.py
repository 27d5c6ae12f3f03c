"""The command line: what its commands print, and what becomes of a user's mistakes."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cases.case import Case
from fusecuda.cases.compare import close, compare
from fusecuda.graph.text import parse_hlo
from fusecuda.tools import dumps, replay, tables, timing
from fusecuda.tools.cli import main
from fusecuda.tools.work import work_of

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """\
import numpy as np

def norm(x, scale):
    return np.sqrt(np.sum(x * x, axis=1)) * scale

def looks(x):
    return x + 1 if np.sum(x) > 0 else x

def steps(u, v):
    for _ in range(200):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        v = v + 0.5 * u * np.exp(-v)
    return u, v

def fails(x):
    raise KeyError("no luck")

number = 3
"""

GATHER = """\
HloModule taking
  %0 = f64[5,3] parameter(0)
  %1 = s64[7] parameter(1)
  %2 = f32[] parameter(2), scalar
  %3 = f64[] convert(%2)
  %4 = f64[7,3] gather(%0, %1)
  %5 = f64[7,3] index(%3), map=(d0, d1) -> ()
  %6 = f64[7,3] multiply(%4, %5)
  %7 = f64[5,3] add(%0, %0)
ROOT (%6, %7 -> 0)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "functions_to_explain.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def gather(tmp_path: Path) -> Path:
    path = tmp_path / "gather.hlo"
    path.write_text(GATHER)
    return path


def module(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python -m fusecuda`` in a process of its own."""
    command = [sys.executable, "-m", "fusecuda", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


# --- the program


def test_module_runs() -> None:
    result = module("--version")
    assert (result.returncode, result.stdout.strip()) == (0, f"fusecuda {fc.__version__}")
    result = module("replay", "no-such-file.hlo")
    assert result.returncode == 2
    assert result.stderr == "fusecuda replay: No such file or directory: no-such-file.hlo\n"


def test_a_script_that_is_run_waits_for_no_planner(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import sys\nprint(*sys.modules)\n")
    result = module("run", "--device", "cpu", str(tmp_path / "script.py"))
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.split())
    assert "fusecuda.tools.run" in loaded
    assert not {"fusecuda.engine", "fusecuda.tools.bisect", "fusecuda.fusion.planner"} & loaded


def test_a_script_that_asks_for_no_arrays_waits_for_none(tmp_path: Path) -> None:
    """Neither NumPy nor lazy arrays are loaded for it; a report needs them."""
    (tmp_path / "script.py").write_text(
        "import sys\ndef f():\n    return sys.modules\nprint(*f())\n"
    )
    for option, is_loaded in ((), False), (("--report",), True):
        result = module("run", "--device", "cpu", *option, str(tmp_path / "script.py"))
        assert result.returncode == 0, result.stderr
        heavy = {"numpy", "fusecuda.numpy", "fusecuda.capture", "fusecuda.graph", "importlib.abc"}
        assert bool(heavy & set(result.stdout.split())) == is_loaded


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    for command in ("demo", "explain", "replay", "bisect", "reduce", "cache", "info"):
        assert command in out
    assert main(["explain", "--help"]) == 0


def test_info_prints_every_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in fc.info())
    assert np.__version__ in out


def test_cache_counts_and_clears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUSECUDA_CACHE_DIR", str(tmp_path / "kernels"))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith("0 entries, 0 B of at most")
    odd = fc.lower(lambda x: np.cbrt(np.hypot(x, np.arctan(x) % 5) - x) ** 7 // 3, np.ones(3))
    odd(np.ones(3))  # no kernel that this process has compiled before
    assert main(["cache", "stats"]) == 0
    held = capsys.readouterr().out.split(",")[0]
    assert int(held.split()[0]) >= 1  # what the compiler can do is kept there as well
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.startswith(f"{held} removed from")
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.startswith("0 entries")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "invalid choice"),
        (["explain"], "TARGET"),
        (["explain", "nothing.py:f"], "No such file"),
        (["explain", "no_such_module_here:f"], "cannot import no_such_module_here"),
        (["explain", "numpy:no_such_function"], "numpy has no 'no_such_function'"),
        (["explain", "numpy:pi"], "is a float, not a function"),
        (["explain", "numpy"], "neither FILE.hlo, FILE.py:NAME nor MODULE:NAME"),
        (["explain", "numpy:sin", "--arg", "q7[3]"], "there is no dtype 'q7'"),
        (["explain", "numpy:sin", "--arg", "f8"], "neither TYPE[EXTENTS] nor a Python literal"),
        (["explain", "{script}:fails", "--arg", "f8[3]"], "raised KeyError: 'no luck'"),
        (["explain", "{script}:norm"], "missing 2 required positional arguments"),
        (["explain", "{script}:number"], "is a int, not a function"),
        (["explain", "{gather}", "--arg", "f8[3]"], "--arg goes with a function"),
        (["explain", "{script}.hlo"], "No such file"),
        (["replay", "{script}"], "HLO text, line 1"),
        (["replay", "{gather}", "--repeat", "0"], "must be 1 or more"),
        (["demo", "--size", "nothing"], "must be from 1 to 32"),
        (["cache", "burn"], "invalid choice"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str],
    message: str,
    script: Path,
    gather: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    filled = [a.format(script=script, gather=gather) for a in arguments]
    assert main(filled) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    if not error.startswith("usage:"):
        assert error.startswith(f"fusecuda {arguments[0]}: ")
        assert error.count("\n") == 1


# --- explain


def test_explain_a_function(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", f"{script}:norm", "--arg", "f4[100,30]", "--arg", "2.5"]
    assert main(command) == 0
    out = capsys.readouterr().out
    hlo, _, plan = out.partition("\n\n")
    assert parse_hlo(hlo).outputs[0].shape == (100,)
    assert plan.startswith("norm: ")
    assert "(reduction)" in plan
    assert "void " not in out
    assert main([*command, "--source"]) == 0
    assert "void " in capsys.readouterr().out


def test_explain_what_is_no_single_plan(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is called: repeated plans are told once, in one screen."""
    assert main(["explain", f"{script}:looks", "--arg", "f8[3]"]) == 0
    assert capsys.readouterr().out.startswith("looks: replayed")
    assert main(["explain", f"{script}:steps", "--arg", "f8[30,40]", "--arg", "f8[30,40]"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("steps: replayed") and "a plan run" in out
    assert len(out.splitlines()) < 50


def test_explain_a_module_and_a_graph(gather: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", "fusecuda.tools.demo_shading:shade", "--arg", "f64[40,50]"]
    assert main([*command, *["--arg=30.0"] * 5]) == 0
    assert "f64[38,48] arctan2" in capsys.readouterr().out
    assert main(["explain", str(gather), "--source"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("taking: ")
    assert "void " in out


# --- dumps and replay


def dumped(folder: Path, monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> Path:
    """The one HLO file that running ``function`` fused leaves in ``folder``."""
    monkeypatch.setenv("FUSECUDA_DUMP", str(folder))
    fc.fused(function)(*arguments)
    monkeypatch.delenv("FUSECUDA_DUMP")
    (path,) = folder.glob("*.hlo")
    return path


def test_dumps_are_replayed_and_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(x: Any, k: float) -> Any:
        return np.exp(x - np.max(x, axis=1, keepdims=True)) * k, x * 0.75 - k

    path = dumped(tmp_path / "dumps", monkeypatch, program, np.ones((13, 37)), 0.625)
    assert {p.suffix for p in path.parent.iterdir()} == {".hlo", ".npz", ".c", ".txt", ".html"}
    assert "void " in path.with_suffix(".c").read_text()
    assert main(["explain", str(path), "--full"]) == 0
    assert capsys.readouterr().out == path.with_suffix(".txt").read_text()
    assert main(["replay", str(path), "--check", "--repeat", "2"]) == 0
    out = capsys.readouterr().out
    assert "result 0: f64[13,37]" in out
    assert "result 0: bit-equal" in out
    assert "result 1: bit-equal" in out
    assert "check passed" in out


def test_script_that_dumps_is_replayed_by_the_program(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(
        "import numpy as np\nfrom fusecuda import fused\nfused(lambda x: x * 2 + 1)(np.ones(9))\n"
    )
    environment = {**os.environ, "FUSECUDA_DUMP": str(tmp_path / "dumps"), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, str(tmp_path / "run.py")], env=environment, check=True)
    (path,) = (tmp_path / "dumps").glob("*.hlo")
    result = module("replay", str(path), "--check")
    assert result.returncode == 0, result.stderr
    assert "bit-equal" in result.stdout


def test_replay_is_the_same_each_time(gather: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Indices are within range, scalars are passed by value, and arguments may be overwritten."""
    lines = []
    for seed in ("1", "1", "2"):
        assert main(["replay", str(gather), "--check", "--repeat", "1", "--seed", seed]) == 0
        lines.append(capsys.readouterr().out.splitlines()[:2])
    assert lines[0] == lines[1] != lines[2]


def test_random_inputs_fit() -> None:
    graph = parse_hlo(GATHER)
    array, index, scalar = dumps.random_inputs(graph, 0)
    assert (array.shape, array.dtype) == ((5, 3), np.float64)
    assert index.dtype == np.int64
    assert 0 <= index.min() <= index.max() < 5
    assert type(scalar) is np.float32


def test_indices_that_do_not_fit_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "far.hlo"
    path.write_text(
        "HloModule far\n  %0 = f64[2] parameter(0)\n  %1 = s64[9] parameter(1)\n"
        "  %2 = s64[] constant(0x0000000000000064)\n  %3 = s64[9] index(%2), map=(d0) -> ()\n"
        "  %4 = s64[9] add(%1, %3)\n  %5 = f64[9] gather(%0, %4)\nROOT (%5)\n"
    )
    assert main(["replay", str(path)]) == 2
    assert "the inputs do not fit this graph: IndexError" in capsys.readouterr().err


def test_check_shows_the_first_mismatch(capsys: pytest.CaptureFixture[str]) -> None:
    graph = parse_hlo(GATHER)
    inputs = dumps.random_inputs(graph, 0)
    case = Case(graph, inputs=inputs)
    results = replay.results_of(dumps.build_case(case), case)
    assert replay.check(graph, inputs, results) == 0
    results[1] = results[1].copy()
    results[1][2, 1] = np.nextafter(results[1][2, 1], np.inf)
    capsys.readouterr()
    assert replay.check(graph, inputs, results) == 1
    out = capsys.readouterr().out
    assert "MISMATCH: result 1" in out
    assert "first at [2, 1]" in out
    assert "(1 ULP)" in out


# --- helpers of the tools


def test_compare_counts_units_in_the_last_place() -> None:
    x = np.array([1.0, -1.0, 0.0, np.nan, np.inf])
    assert compare(x, x.copy()).first is None
    assert compare(np.array([0.0]), np.array([-0.0])).ulps == 0
    assert compare(np.array([0.0]), np.array([-0.0])).differing == 1
    tiny = np.finfo(np.float64).smallest_subnormal
    assert compare(np.array([tiny]), np.array([-tiny])).ulps == 2
    y = x.copy()
    y[1] = np.nextafter(-1.0, 0)
    difference = compare(x, y)
    assert (difference.differing, difference.ulps, difference.first) == (1, 1, (1,))
    assert compare(np.arange(3), np.array([0, 1, 5])).largest == 3.0
    big = np.linspace(1, 2, 200_001)
    other = np.nextafter(np.nextafter(big, 3), 3)
    assert compare(big, other).ulps == 2
    with pytest.raises(ValueError, match="is not"):
        compare(x, x[:2])


def test_close_is_relative_to_the_largest() -> None:
    x = np.array([1e6, 0.0, np.nan])
    assert close(x + np.array([1e-6, 1e-6, 0]), x)
    assert not close(x + np.array([1, 0, 0]), x)
    assert not close(np.array([1]), np.array([2]))


def test_work_counts_what_numpy_does() -> None:
    def program(x: Any) -> Any:
        y = x * 2 + 1
        y -= x
        return np.sum(np.where(y > 0, y, 0), axis=0)

    x = np.ones((100, 1000))
    work = work_of(program, (x,))
    assert work.operations == 6
    assert work.bytes == 11 * x.nbytes + 2 * x.size + 8000
    assert x.nbytes <= work.peak_bytes <= 4 * x.nbytes


def test_tables_do_without_rich(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [("one", "1.00 ms"), ("twenty", "20 µs")]
    tables.show_table("title", ("what", "time"), rows)
    assert "twenty" in capsys.readouterr().out
    real = builtins.__import__

    def without_rich(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    tables.show_table("title", ("what", "time"), rows)
    expected = "title\nwhat       time\n---------------\none     1.00 ms\ntwenty    20 µs\n"
    assert capsys.readouterr().out == expected


def test_quantities_have_three_digits() -> None:
    assert [tables.seconds(v) for v in (1.5, 0.0123, 9.999e-3, 5e-5, 2e-8)] == [
        "1.50 s", "12.3 ms", "10.0 ms", "50.0 µs", "20 ns",
    ]  # fmt: skip
    assert [tables.size(v) for v in (12, 1500, 2.5e6, 194e6)] == [
        "12 B", "1.50 kB", "2.50 MB", "194 MB",
    ]  # fmt: skip


def test_timing_runs_rivals_in_turn() -> None:
    calls: list[str] = []
    found = timing.side_by_side(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, budget=0.0, least=3
    )
    assert calls == ["a", "a", "b", "b", *"ababab"]
    assert all(len(t.runs) == 3 and t.low <= t.median <= t.high for t in found.values())
