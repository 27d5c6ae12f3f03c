"""The launch table: each program against plain NumPy on both back ends, and its launches."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import inspect
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from bench.launch_table import __main__ as command
from bench.launch_table import report
from bench.launch_table.count import COUNTED, Row, Run, call, on_gpu, row_of, warm
from fusecuda.back_ends import BACK_ENDS
from fusecuda.cpu_fallback.program import thread_count
from fusecuda.emit_cuda.backend import has_device
from fusecuda.tools.programs.program import SIZES, Program
from fusecuda.tools.programs.rows import FIELDS, PROGRAMS
from tests.emulated import EmulatedDevice
from tests.marks import one_in

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
WRITTEN = json.loads((ROOT / "bench/results/launch-table.json").read_text(encoding="utf-8"))
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
QUICK = {"softmax", "layer norm backward", "batch norm", "Adam, ten arrays", "LSTM cell",
         "shallow water", "FDTD", "Mandelbrot", "three metrics", "FIR filter",
         "cumulative integral", "Greeks", "histogram equalisation", "hillshade"}  # fmt: skip
most_are_slow = pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.slow)
     for p in PROGRAMS],
)  # fmt: skip


@functools.cache
def counted(program: Program) -> tuple[Run, Run, Row]:
    """The program fused and plain at the size of the table, and what was counted."""
    arguments = program.arguments(COUNTED)
    plain = program.make(np)
    call(plain, arguments)
    runs = warm(program, arguments), call(plain, arguments)
    return *runs, row_of(program, *runs, arguments, gpu=0)


def agree(program: Program, got: Run, want: Run) -> None:
    """NumPy's bits, or within the program's tolerance of its largest element."""
    for a, b in zip(got.values, want.values, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind not in "fc" or not program.rtol:
            np.testing.assert_array_equal(a, b)
        else:
            assert np.isfinite(b).all()
            np.testing.assert_allclose(a, b, rtol=0, atol=program.rtol * np.abs(b).max())


@each_program
@one_in(16)
def test_agrees_with_numpy(program: Program) -> None:
    """On the C back end, results and what is written to arguments."""
    fused, plain, _ = counted(program)
    assert fused.counter.total
    agree(program, fused, plain)


@each_program
@one_in(6)
def test_launches_are_those_of_the_readme(program: Program) -> None:
    """What NumPy itself launches depends on its version, so it is compared with the same only."""
    unfused, fused, _, minimum = report.launches_in(README)[program.name]
    row = counted(program)[2]
    ours = not any(name.startswith("numpy.") for name in row.by_name)
    if ours or WRITTEN["facts"]["NumPy"] == np.__version__:
        assert (row.fused, row.minimum) == (fused, minimum), row.by_name
    if WRITTEN["facts"]["NumPy"] == np.__version__:
        assert row.unfused == unfused


@pytest.mark.skipif(has_device(), reason="the table is made for an H100")
@most_are_slow
@one_in(8)
def test_launches_on_cuda_are_those_of_the_readme(program: Program) -> None:
    """By its plans; nothing has to be there to run them."""
    launches = on_gpu(program, program.arguments(COUNTED))
    assert launches == report.launches_in(README)[program.name][2]


@each_program
@one_in(6)
def test_what_is_above_the_minimum_says_why(program: Program) -> None:
    """And what is not has nothing to say."""
    row = counted(program)[2]
    more = row.ratio is not None and row.ratio >= 1.01
    assert bool(program.above) == (more or row.fused > row.minimum), row.by_name
    assert program.why
    if row.ratio is not None:  # the least is no more than what is moved, and can be reached
        assert row.ratio > 0.99


@most_are_slow
@one_in(8)
def test_on_lazy_arrays(program: Program) -> None:
    """The same program over `fusecuda.numpy`, in a block."""
    arguments = program.arguments(COUNTED)

    def lazily(*given: Any) -> Any:
        lazy = [_lazy(a) for a in given]
        with fc.fused():
            results = program.make(fnp)(*lazy)
        for a, b in zip(given, lazy, strict=True):
            _write_back(a, b)
        return results

    agree(program, call(lazily, arguments), counted(program)[1])


def _lazy(value: Any) -> Any:
    if isinstance(value, list):
        return [_lazy(v) for v in value]
    return fnp.asarray(value) if isinstance(value, np.ndarray) else value


def _write_back(array: Any, lazy: Any) -> None:
    """Give ``array`` the values that ``lazy`` has now."""
    if isinstance(array, list):
        for a, b in zip(array, lazy, strict=True):
            _write_back(a, b)
    elif isinstance(array, np.ndarray):
        array[...] = np.asarray(lazy)


@most_are_slow
@one_in(16)
def test_agrees_with_numpy_on_emulated_cuda(
    program: Program, emulated_cuda: EmulatedDevice
) -> None:
    """The CUDA kernels of the same program compute the same; running sums in an order of theirs."""
    arguments = program.arguments(SIZES[0])
    if "cumsum" in program.function.__code__.co_names:
        program = dataclasses.replace(program, rtol=max(program.rtol, 1e-12))
    agree(program, warm(program, arguments), call(program.make(np), arguments))
    assert emulated_cuda.reports


# --- the table itself


def test_enough_programs_of_all_fields() -> None:
    """At least forty, each with a name of its own and three sizes."""
    assert len({p.name for p in PROGRAMS}) == len(PROGRAMS) >= 40
    assert {p.name for p in PROGRAMS} >= QUICK
    assert all(len(field.PROGRAMS) >= 5 for field in FIELDS.values())
    assert set(report.launches_in(README)) == {p.name for p in PROGRAMS}
    assert [row["program"] for row in WRITTEN["rows"]] == [p.name for p in PROGRAMS]


@each_program
@pytest.mark.skipif(importlib.util.find_spec("cupy") is None, reason="needs CuPy")
def test_cupy_has_what_the_program_calls(program: Program) -> None:
    """Each name that a program takes from its array module is one of CuPy's."""
    import cupy

    tree = ast.parse(textwrap.dedent(inspect.getsource(program.function)))
    names = {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    for name in sorted(n for n in names if re.fullmatch(r"xp(\.\w+)+", n)):
        functools.reduce(getattr, name.split(".")[1:], cupy)


def test_the_command_counts_and_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The table of all programs goes to files and into the document, of some to the screen only."""
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "README", tmp_path / "README.md")
    two = [p for p in PROGRAMS if p.name in ("RMS norm", "Sobel")]
    monkeypatch.setattr(command, "PROGRAMS", two)
    (tmp_path / "README.md").write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    assert command.main(["--only", "sobel"]) == 0
    assert "Sobel" in capsys.readouterr().out
    assert "old" in (tmp_path / "README.md").read_text()
    assert command.main([]) == 0
    text = (tmp_path / "README.md").read_text()
    wanted = {p.name: report.launches_in(README)[p.name][1:] for p in two}
    assert {n: f[1:] for n, f in report.launches_in(text).items()} == wanted
    assert BACK_ENDS["cpu"].threads is thread_count  # as it was
    assert text.startswith("before") and text.endswith("after\n") and "old" not in text
    rows = json.loads((tmp_path / "results/launch-table.json").read_text())["rows"]
    assert [row["fused"] for row in rows] == [1, 1]
    assert "why" in (tmp_path / "results/launch-table.md").read_text()


def test_a_document_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="launch table"):
        report.inserted("nothing here", [])


def test_a_wrong_result_is_noticed() -> None:
    """The comparison can fail: on bits where they are promised, else beyond the tolerance."""
    for name in ("Sobel", "RMS norm"):
        program = next(p for p in PROGRAMS if p.name == name)
        fused, plain, _ = counted(program)
        off = fused.values[0] * (1 + 4 * max(program.rtol, 2.3e-16))
        with pytest.raises(AssertionError):
            agree(program, Run(off, plain.arguments, plain.counter), plain)
