"""What `bench` makes of figures: two runs compared; and how numexpr's expressions are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fusecuda.tools.bench import compare, report
from fusecuda.tools.bench.expressions import LONGEST, Expression, Namespace, written
from fusecuda.tools.bench.peers import OURS, PLAIN
from fusecuda.tools.bench.rows import Figure, Row, Table, read
from fusecuda.tools.cli import main
from fusecuda.tools.programs.rows import PROGRAMS, named
from fusecuda.tools.usage import UsageError

SECONDS = re.compile(r"\d\s*(s|ms|µs|ns)\b|second|/s\b")


def table_of(*ratios: float, speed: float = 1.0, spread: float = 0.01, **facts: str) -> Table:
    """A row for each ratio of unfused to fused, on a machine of that speed."""

    def figure(seconds: float) -> Figure:
        return Figure(seconds / speed, seconds / speed, seconds / speed, spread, 9)

    rows = [
        Row(p.name, 1000, {OURS: figure(1.5), PLAIN: figure(1.5 * r)}, {PLAIN: 5, OURS: 1})
        for p, r in zip(PROGRAMS, ratios, strict=False)
    ]
    return Table(facts, rows)


def test_compare_speaks_of_ratios_only() -> None:
    """Another machine, ten times as fast, with the same ratios, is no better."""
    before, after = table_of(3.0, 4.0, machine="old"), table_of(3.0, 4.0, speed=10, machine="new")
    before.facts["copy, bytes/s"], after.facts["copy, bytes/s"] = 10**9, 10**10
    lines = compare.compared(before, after)
    text = "\n".join(lines)
    assert not SECONDS.search(text)
    assert "better" not in lines[0] and "worse" not in lines[0]
    assert "unfused ÷ fused, geometric mean of 2: 3.46, then 3.46; B ÷ A 1.00" in text
    assert "0 better, 0 worse of 2" in text
    assert "machine: old, then new" in text


def test_compare_tells_gains_losses_and_noise() -> None:
    lines = compare.compared(table_of(2.0, 2.0, 2.0), table_of(4.0, 1.0, 2.05))[0].splitlines()
    assert [line.split()[-1] for line in lines[-3:]] == ["better", "worse", "1.02"]
    noisy = compare.compared(table_of(2.0, spread=0.4), table_of(3.0, spread=0.4))
    assert "0 better, 0 worse of 1" in "\n".join(noisy)


def test_compare_takes_files_and_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, ratio in (("a", 2.0), ("b", 3.0)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "bench-cpu.json"
        path.write_text(table_of(ratio).text(), encoding="utf-8")
        assert read(path) == table_of(ratio)
    assert main(["bench", "compare", str(tmp_path / "a"), str(tmp_path / "b/bench-cpu.json")]) == 0
    assert "B ÷ A 1.50" in capsys.readouterr().out
    (tmp_path / "a/bench-other.json").write_text("{}", encoding="utf-8")
    assert main(["bench", "compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "2 tables" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no table"):
        read(tmp_path / "a/bench-other.json")
    with pytest.raises(UsageError, match="in common"):
        compare.compared(table_of(), table_of(2.0))


# --- what a table tells


def raced(**seconds: float) -> Row:
    """A row of contenders with these times."""
    return Row("p", 1000, {n: Figure(s, s, s, 0.01, 9) for n, s in seconds.items()})


def test_where_another_is_faster_is_told() -> None:
    """The fastest of all others, the worst row first, and nothing within the noise."""
    rows = [raced(fused=1.0, unfused=3.0, JAX=0.9), raced(fused=1.0, unfused=0.5, JAX=2.0),
            raced(fused=1.0, unfused=4.0, JAX=0.99)]  # fmt: skip
    table = Table({"machine": "m", "threads": 1}, rows)
    found = report.behind(table)
    assert [line[3] for line in found] == ["unfused 500 ms", "JAX 900 ms"]
    assert found[0][4] == "0.50 ±1%"
    assert "| p | 1,000 | 1.00 s | unfused 500 ms | 0.50 ±1% |" in report.markdown(table, [])


def test_the_short_table_has_means_of_all_and_of_the_fastest() -> None:
    rows = [raced(fused=1.0, unfused=4.0), raced(fused=1.0, unfused=1.0, JAX=0.25)]
    assert report.short(Table({}, rows)) == [
        "| time ÷ fused | 1,000 elements |",
        "|---|---:|",
        "| unfused NumPy | 2.00 (of 2, faster in 0) |",
        "| JAX | 0.25 (of 1, faster in 1) |",
        "| the fastest of them | 1.00 (of 2, faster in 1) |",
    ]


# --- expressions


def test_expressions_compute_what_the_program_does() -> None:
    """Python computes the text itself: constants, the order of operands, signs and brackets."""
    space = Namespace({"sqrt", "exp", "log", "abs", "where", "sum"})
    functions = {name: getattr(np, name) for name in ("sqrt", "exp", "log", "abs", "where", "sum")}
    for name in ("chain of 12", "Black-Scholes", "seawater density", "sum of x + y z", "Greeks"):
        program = named(name)
        arguments = program.arguments(50)
        names, texts, single = written(program.make(space), len(arguments))
        values = functions | dict(zip(names, arguments, strict=True))
        found = [eval(text, {"__builtins__": {"abs": np.abs}}, values) for text in texts]
        expected = program.make(np)(*arguments)
        assert single == (not isinstance(expected, tuple))
        for a, b in zip(found, (expected,) if single else expected, strict=True):
            np.testing.assert_array_equal(a, b)
    x = Expression("x")
    assert (2 - -x % 3).text == "(2 - ((-x) % 3))" and (x == 1).text == "(x == 1)"
    assert abs(x).text == "abs(x)" and (~(x < 1) & (x < 1)).text == "((~(x < 1)) & (x < 1))"


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x[1:], lambda x: x.T, bool, list, lambda x: x + np.ones(2),
        lambda x: Namespace({"sum"}).cumsum(x), lambda x: x.__setitem__(0, 1),
        lambda x: Expression("x" * (LONGEST + 1)),
    ],
)  # fmt: skip
def test_expressions_refuse_what_numexpr_has_not(use: Callable[[Expression], Any]) -> None:
    with pytest.raises(NotImplementedError):
        use(Expression("x"))
