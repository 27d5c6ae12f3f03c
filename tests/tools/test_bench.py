"""``python -m fusecuda bench``: what it compares, times, writes and tells. No time is asserted."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from fusecuda.capture.record.budget import Budget
from fusecuda.tools.bench import command, peers, report, rounds, shapes
from fusecuda.tools.bench.peers import OURS, PLAIN, Way
from fusecuda.tools.bench.rows import Figure, Row, Table, read
from fusecuda.tools.bench.worker import Contender, Worker, disagreement, values_of
from fusecuda.tools.cli import main, make_parser
from fusecuda.tools.programs.program import Program
from fusecuda.tools.programs.rows import PROGRAMS, named
from tests.contenders import explained, off_by, starting

ROOT = Path(__file__).resolve().parents[2]
TWO = ("sum of x + y z", "column sum")
FIGURE = Figure(1.0, 1.0, 1.0, 0.01, 9)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two programs, two contenders, one round more than must be."""
    monkeypatch.setattr(Budget, "FIRST", Budget.FIRST)  # which workers change
    monkeypatch.setattr(command, "PROGRAMS", [named(name) for name in TWO])
    monkeypatch.setattr(command, "QUICK", rounds.Effort(0.0, 0.0, 1))
    monkeypatch.setattr(command, "ceilings", lambda device: {"copy, bytes/s": 10**10,
                                                             "operations/s": 10**10})  # fmt: skip
    found = [OURS, PLAIN], {"Numba": "is not installed"}
    monkeypatch.setattr(command, "present", lambda device: found)


def arguments_of(*words: str | Path) -> argparse.Namespace:
    line = ["bench", "--quick", "--device", "cpu", "--sizes", "60,200", *map(str, words)]
    return make_parser().parse_args(line)


def run(folder: Path, start: Any) -> tuple[int, Table]:
    """The command's status, and the table that it has written."""
    status = command.run(arguments_of("--out", folder), start)
    (path,) = folder.glob("bench-*.json")
    return status, read(path)


# --- the command


def test_it_times_two_programs_and_writes_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, table = run(tmp_path, starting())
    assert status == 0
    assert [(r.program, r.size) for r in table.rows] == [(n, s) for n in TWO for s in (60, 200)]
    for row in table.rows:
        assert set(row.times) == {OURS, PLAIN}
        assert all(f.runs >= rounds.LEAST and f.median > 0 for f in row.times.values())
        assert not row.wrong and not row.missing
        assert set(row.launches) == {OURS, PLAIN}
    out = capsys.readouterr().out
    assert all(name in out for name in TWO)
    assert "Numba takes no part: it is not installed" in out
    (document,) = tmp_path.glob("*.md")
    text = document.read_text(encoding="utf-8")
    assert "60 elements" in text and "200 elements" in text and "Numba" in text
    assert str(document) in out


def test_pictures_are_drawn_where_matplotlib_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    data, text, *pictures = map(Path, command.write(two_sizes(), tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([data, text, *pictures])
    assert [p.stem.rpartition("-")[2] for p in pictures] == ["bars", "roofline", "sizes"]
    for picture in pictures:
        assert picture.name in text.read_text(encoding="utf-8")
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    shown = [p.read_text(encoding="utf-8") for p in pictures]
    assert all(name in picture for name in TWO for picture in shown[:2])
    assert "JAX" in shown[0] and "JAX" in shown[2]


def test_sizes_are_drawn_over_all_programs(tmp_path: Path) -> None:
    """As many small ones as large ones, odd, the same each time; a table and a picture of them."""
    sizes = shapes.drawn(PROGRAMS, 200)
    assert sizes == shapes.drawn(PROGRAMS, 200)
    assert set(sizes) == {p.name for p in PROGRAMS}
    found = sorted(size for some in sizes.values() for size in some)
    assert len(found) == 200 and all(size % 2 for size in found)
    assert shapes.LEAST <= found[0] < 10 * shapes.LEAST
    assert 10_000 < found[100] < 100_000 < found[-1] <= shapes.MOST
    pytest.importorskip("matplotlib")
    data, text, picture = map(
        Path, command.write(two_sizes(), tmp_path, "-shapes", shapes.PICTURES, shapes.markdown)
    )
    assert read(data) == two_sizes()
    assert picture.name in text.read_text("utf-8") and "1,000 to 10,000 | 2 |" in text.read_text()
    assert PLAIN in picture.read_text("utf-8")


def test_it_measures_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "LEAST", 20)
    monkeypatch.setattr(shapes, "MOST", 200)
    assert command.run(arguments_of("--shapes", "5", "--out", tmp_path), starting()) == 0
    (path,) = tmp_path.glob("*-shapes.json")
    rows = read(path).rows
    assert len(rows) == 5 and {row.program for row in rows} == set(TWO)
    assert all(row.is_timed for row in rows)


def two_sizes() -> Table:
    """A made-up table of two programs, of which a peer runs only one."""

    def figures(*names: str) -> dict[str, Figure]:
        return {
            name: Figure(2e-5 * k, 1e-5 * k, 4e-5 * k, 0.1, 5) for k, name in enumerate(names, 1)
        }

    rows = [
        Row(name, size, figures(*names), {}, bytes=8 * size, flops=3 * size)
        for name, names in ((TWO[0], (OURS, PLAIN, "JAX")), (TWO[1], (OURS, PLAIN)))
        for size in (1000, 100_000)
    ]
    facts = {"device": "cpu", "machine": "a machine", "date": "today", "threads": 1}
    return Table(facts | {"copy, bytes/s": 10**10, "operations/s": 10**11}, rows)


def test_it_says_so_where_matplotlib_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    run(tmp_path, starting())
    assert "no pictures: they need matplotlib" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.svg"))
    assert len(list(tmp_path.glob("*.md"))) == 1


def test_files_go_into_the_checkout_or_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.default_folder() == ROOT / "bench" / "results"
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "lib" / "fusecuda" / "tools" / "bench" / "command.py"
    monkeypatch.setattr(command, "__file__", str(installed))
    assert command.default_folder() == tmp_path
    command.run(arguments_of(), starting())  # quick: nothing is written
    assert not list(tmp_path.iterdir())
    assert "| time ÷ fused | 60 elements | 200 elements |" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "is_written"), [([], True), (["--only", "column"], False)])
def test_a_whole_run_writes_the_table_of_the_readme(
    words: list[str], is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for name in ("fusecuda/tools/bench", "bench/results"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", "utf-8")
    monkeypatch.setattr(command, "__file__", str(tmp_path / "fusecuda/tools/bench/command.py"))
    monkeypatch.setattr(command, "SIZES", {"cpu": (60, 200)})
    monkeypatch.setattr(command, "FULL", command.QUICK)
    line = ["bench", "--device", "cpu", *words]
    assert command.run(make_parser().parse_args(line), starting()) == 0
    text, files = readme.read_text("utf-8"), list((tmp_path / "bench/results").iterdir())
    assert ("old" in text) != is_written and bool(files) == is_written
    assert text.startswith(f"before\n{report.BEGIN}\n")
    assert text.endswith(f"{report.END}\nafter\n")
    if is_written:
        (name,) = (path.name for path in files if path.suffix == ".md")
        assert f"(bench/results/{name})" in text and "| unfused NumPy | " in text
    capsys.readouterr()


def test_the_readme_has_a_place_for_the_table() -> None:
    document = (ROOT / "README.md").read_text("utf-8")
    assert "| JAX | " in report.inserted(document, two_sizes(), "name")
    assert report.inserted("no marks", two_sizes(), "name") == "no marks"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only", "no such program"], "no program"),
        (["--sizes", "10,x"], "whole numbers"),
        (["--shapes", "-5"], "whole number"),
        (["compare", "a.json", "b.json"], "No such file"),
    ],
)
def test_mistakes_are_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--device", "cpu", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_with_processes_of_its_own(tmp_path: Path) -> None:
    """All that is installed takes part, from another folder."""
    words = ["bench", "--only", "column sum", "--sizes", "64", "--quick", "--device", "cpu"]
    program = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
               "from fusecuda.tools.cli import main; sys.exit(main(sys.argv[1:]))"]  # fmt: skip
    done = subprocess.run(
        [*program, *words, "--out", "found"], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "found").glob("*.json")
    (row,) = read(path).rows
    assert {OURS, PLAIN} <= set(row.times)


# --- wrong results


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_wrong_fused_result_is_reported_and_not_timed(
    after: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Be it that of the first call, or of a later one, which replays it."""
    status, table = run(tmp_path, starting(fused=off_by(1e-3, after)))
    assert status == 1
    assert all(not row.times and "differ" in row.wrong[OURS] for row in table.rows)
    out = capsys.readouterr().out
    assert "wrong, not timed: column sum at 60 elements by fused" in out
    assert "÷" in out and "takes" not in out.partition("Numba")[0]  # no figure stands there


def test_a_wrong_peer_is_reported_and_not_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "present", lambda device: ([OURS, PLAIN, "Numba", "JAX"], {}))

    def unable(program: Program, device: str, threads: int) -> Way:
        raise NotImplementedError("it has no\n \x1b[1m<function f at 0x7f00>\x1b[0m")

    status, table = run(tmp_path, starting(Numba=off_by(1e-3), JAX=unable))
    assert status == 0
    for row in table.rows:
        assert set(row.times) == {OURS, PLAIN}
        assert "differ" in row.wrong["Numba"]
        assert row.missing == {"JAX": "NotImplementedError: it has no <function f>"}
    out = capsys.readouterr().out
    assert "JAX does not run sum of x + y z; column sum: " in out


@pytest.mark.parametrize(("device", "is_wrong"), [("cpu", True), ("cuda", False)])
def test_ours_has_numpys_bits_on_the_cpu(device: str, is_wrong: bool) -> None:
    """Where they are promised; on a GPU rounding may be CuPy's."""
    for name in ("FIR filter", "heat equation"):
        assert named(name).rtol == 0.0
        peer = replace(peers.named(OURS), way=explained(off_by(1e-12)))
        assert ("wrong" in Worker(peer, device, 1).prepare(name, 64)) == is_wrong


def test_rounding_of_peers_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "present", lambda device: ([OURS, PLAIN, "Numba"], {}))
    _, table = run(tmp_path, starting(Numba=off_by(1e-12)))
    assert all("Numba" in row.times for row in table.rows)
    assert table.peers == [PLAIN, "Numba"]
    assert "Numba ÷ fused" in report.markdown(table, [])


def test_what_disagrees() -> None:
    x = np.array([1.0, 2.0, np.nan])
    whole = np.array([1, 2])
    assert not disagreement([x, whole], [x.copy(), whole.copy()], 0.0, strict=True)
    assert "at [1]" in disagreement([x], [np.array([1.0, 2.5, np.nan])], 0.0, strict=True)
    assert "2 arrays, not 1" in disagreement([x], [x, x], 0.0, strict=True)
    assert "float64[3]" in disagreement([x], [x[:2]], 0.0, strict=False)
    assert disagreement([whole], [whole.astype(np.int32)], 0.0, strict=True)
    assert not disagreement([whole], [whole.astype(np.int32)], 0.0, strict=False)
    assert disagreement([whole], [whole + 1], 1.0, strict=False)  # whole numbers are exact
    two = np.array([1.0, 1000.0])
    assert not disagreement([two], [two + 0.9], 1e-3, strict=True)
    assert disagreement([two], [two + 1.1], 1e-3, strict=True)
    assert disagreement([two], [two * np.nan], 1e-3, strict=True)
    assert "array 0" in disagreement([np.float64(2.0)], [np.asarray(3.0)], 1e-9, strict=False)


# --- contenders


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.written], ids=lambda p: p.name)
def test_what_calls_overwrite_is_put_back(program: Program) -> None:
    """So that a thousand calls do not leave other numbers, or only zeros, than the first had."""
    arguments = program.arguments(1000)
    way = Way(program.make(np))
    contender = Contender(way, arguments, program.written)
    before = values_of(way, None, arguments)
    contender.call()
    assert disagreement(before, values_of(way, None, contender.given), 0.0, strict=True)
    contender.settle()
    assert not disagreement(before, values_of(way, None, contender.given), 0.0, strict=True)
    contender.sample(3)
    contender.move()
    assert not disagreement(before, values_of(way, None, contender.given), 0.0, strict=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_program_can_be_imported_by_the_name_of_its_module(program: Program) -> None:
    """`torch.compile` looks globals up in the module of that name, and keeps to the first one."""
    made = [program.make(np), program.make(np)]
    modules = [importlib.import_module(f.__module__) for f in made]
    assert [vars(m) for m in modules] == [f.__globals__ for f in made]
    assert modules[0] is not modules[1]
    assert not made[0].__module__.startswith("fusecuda.")


def test_all_programs_that_write_to_arguments_say_so() -> None:
    for program in PROGRAMS:
        arguments = program.arguments(1000)
        way = Way(program.make(np))
        contender = Contender(way, arguments, ())
        contender.call()
        for number, (before, after) in enumerate(zip(arguments, contender.given, strict=True)):
            pair = values_of(way, None, [before]), values_of(way, None, [after])
            changed = bool(disagreement(*pair, 0.0, strict=True))
            assert changed == (number in program.written), (program.name, number)


def test_a_call_that_is_passed_through_says_so() -> None:
    """What is timed then is NumPy's own, which a table must not hide."""

    class Passed:
        def __call__(self, x: Any) -> Any:
            return np.sum(x, axis=0)

        def explain(self) -> str:
            return "column_sum: runs unfused: fusing does not pay, as measured"

    peer = replace(peers.named(OURS), way=lambda program, device, threads: Way(Passed()))
    answer = Worker(peer, "cpu", 1).prepare("column sum", 64)
    assert "does not pay" in answer["remark"] and "bytes" not in answer
    row = Row("column sum", 64, dict.fromkeys((OURS, PLAIN), FIGURE), remark=answer["remark"])
    assert any("called as it is" in line for line in report.summary(Table({}, [row])))


def test_who_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *_: None if name != "numpy" else "there"
    )
    names, absent = peers.present("cpu")
    assert names == [OURS, PLAIN]
    assert absent == {
        "numexpr": "is not installed", "Numba": "is not installed", "JAX": "is not installed",
        "torch.compile": "is not installed", "cupy.fuse": "runs on cuda only",
        "CuPy": "runs on cuda only",
    }  # fmt: skip
    names, absent = peers.present("cuda")
    assert names == [OURS, PLAIN, "NumPy"] and absent["Numba"] == "runs on cpu only"
