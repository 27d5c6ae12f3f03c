"""The worked third back end of the examples computes what the interpreter does, to the bit."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import engine, options
from fusecuda.back_ends import BACK_ENDS, add_back_end
from fusecuda.graph.interpret import interpret
from fusecuda.options import Options
from tests.random_graphs import random_graph
from tests.strategies import same_bits

FILE = Path(__file__).resolve().parents[2] / "examples" / "back_end" / "numpy_back_end.py"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The example as a module, its back end in the table while a test runs."""
    spec = importlib.util.spec_from_file_location("numpy_back_end", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where a dataclass looks itself up
    with patch.dict(BACK_ENDS), patch.dict(options.DEVICES):
        spec.loader.exec_module(module)
        add_back_end("numpy", module.NUMPY)
        yield module


def test_it_runs_as_a_program(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main(7, 130)
    printed = capsys.readouterr().out
    assert 'at.reduce_row("max", v0)' in printed and "agrees" in printed


@pytest.mark.parametrize("batch", range(4))
def test_random_graphs(example: Any, batch: int) -> None:
    """Whatever the planner makes of random graphs, in place, in parts and by library calls."""
    for seed in range(40 * batch, 40 * batch + 40):
        case = random_graph(seed, failing=False)
        expected = interpret(case.graph, [np.copy(a) for a in case.arguments])
        given = [np.asarray(a) for a in case.arguments]
        made = engine.build(case.graph, case.strides, Options(device="numpy"))
        found = made.run(given)
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            target = case.graph.target(i)
            now = given[target] if target is not None else a
            assert same_bits(np.asarray(now), b), f"seed {seed}, result {i}:\n{made.hlo}"


def test_functions_updates_and_numbers(example: Any) -> None:
    """Through ``fused``: written arguments, numbers that change, launches, a profile."""

    @fc.fused(device="numpy", strict=True)
    def step(u: Any, dt: float) -> Any:
        u[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u.sum()

    def plain(u: Any, dt: float) -> Any:
        u[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])

    ours, numpys = np.linspace(0, 1, 50) ** 2, np.linspace(0, 1, 50) ** 2
    for dt in (0.1, 0.2, 0.3):
        with fc.profile() as profile, fc.count_launches() as counted:
            total = step(ours, dt)
        plain(numpys, dt)
        assert np.array_equal(ours, numpys)
        assert total == pytest.approx(numpys.sum(), rel=1e-15)
    assert counted.total == len(profile.launches) > 0
    assert "numpy" in profile.table()


def test_an_error_names_the_line(example: Any) -> None:
    with pytest.raises(IndexError, match=r"out of bounds .*test_back_end\.py:\d+"):
        fc.lower(lambda x, i: x[i] + 1, np.ones(3), np.array([1, 7]), device="numpy")(
            np.ones(3), np.array([1, 7])
        )


def test_its_name_is_a_device_and_a_target(example: Any) -> None:
    made = fc.lower(lambda x: x + 1, fc.spec(3))
    assert made.emit("numpy")[0].startswith("// ")
    with pytest.raises(ValueError, match="target must be 'c' or 'cuda' or 'numpy'"):
        made.emit("metal")
    with pytest.raises(ValueError, match="device must be one of cpu, cuda, numpy"):
        fc.fused(device="metal")


def test_segments(example: Any) -> None:
    """Rows whose elements are those between two computed ends."""

    def program(x: Any, i: Any) -> Any:
        return np.add.reduceat(x * 2, i, axis=1) + 1, np.maximum.reduceat(x, i, axis=1)

    x = np.random.default_rng(0).integers(-9, 9, (5, 20)).astype(float)
    found = fc.lower(program, x, np.array([0, 7, 3, 12]), device="numpy")
    assert found.launches == 1
    for ends in ([0, 7, 3, 12], [19, 0, 0, 5]):
        for a, b in zip(found(x, np.array(ends)), program(x, np.array(ends)), strict=True):
            assert np.array_equal(a, b)
    with pytest.raises(IndexError, match="out of bounds"):
        found(x, np.array([0, 20, 1, 2]))
