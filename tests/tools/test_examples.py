"""The examples run, on small sizes, and what they compute is NumPy's."""

from __future__ import annotations

import importlib
import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bench.__main__ as bench
from bench import report
from bench.programs import PROGRAMS, Program
from bench.rivals import by_fusecuda, by_numpy

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SIZES = {
    "softmax": {"rows": 7, "columns": 130},
    "black_scholes": {"options": 1003},
    "seawater_density": {"points": 1003},
    "heat_equation": {"size": 33, "steps": 7},
    "nbody": {"bodies": 61, "steps": 3},
}
Load = Callable[[str], types.ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Imports an example by name, as if the interpreter had been started with it."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load_one(name: str) -> types.ModuleType:
        module = importlib.import_module(name)
        assert Path(module.__file__ or "").parent == EXAMPLES
        return module

    yield load_one
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == EXAMPLES:
            del sys.modules[name]


def quick(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the examples measure for no longer than they must."""
    times = module.times
    monkeypatch.setattr(module, "times", lambda *calls: times(*calls, budget=0.0))


def test_every_example_is_run() -> None:
    found = {path.stem for path in EXAMPLES.glob("*.py")}
    assert found - {"common"} == set(SIZES)


@pytest.mark.parametrize("name", sorted(SIZES))
def test_main_agrees_with_numpy(
    name: str, load: Load, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``main`` itself raises AssertionError where the results are not NumPy's."""
    quick(load("common"), monkeypatch)
    load(name).main(**SIZES[name])
    out = capsys.readouterr().out
    assert "NumPy" in out
    assert "launch" in out


def test_exact_formulas_give_numpys_bits(load: Load) -> None:
    rng = np.random.default_rng(1)
    water = load("seawater_density")
    s, t, p = rng.uniform(0, 42, 501), rng.uniform(-2, 40, 501), rng.uniform(0, 1000, 501)
    assert np.array_equal(water.fused_density(s, t, p), water.density(s, t, p))
    heat = load("heat_equation")
    expected, found = heat.plate(21), heat.plate(21)
    for _ in range(5):
        heat.step(expected, 0.2)
        heat.fused_step(found, 0.2)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_benchmark_programs_agree_with_numpy(program: Program) -> None:
    rivals = {"fusecuda": by_fusecuda, "NumPy": by_numpy, "wrong": wrong}
    row = bench.measure(program, 1000, rivals, budget=0.0)
    assert set(row.times) == {"fusecuda", "NumPy"}
    assert row.launches == 1
    assert "wrong" in row.missing
    assert program.name in report.markdown({}, [row], ["NumPy", "wrong"])
    json.dumps(report.as_json({}, [row]))


def wrong(program: Program, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """A rival whose results are not NumPy's."""
    return lambda: 0.0


def test_check_notices_a_wrong_result(load: Load) -> None:
    common = load("common")
    x = np.linspace(1, 2, 10)
    common.check("same", x, x.copy(), exact=True)
    with pytest.raises(AssertionError):
        common.check("bits", x, np.nextafter(x, 3), exact=True)
    common.check("close", x, np.nextafter(x, 3), exact=False)
    with pytest.raises(AssertionError):
        common.check("far", (x, x), (x, x * (1 + 1e-12)), exact=False)
