"""``check=``: a share of the calls is computed unfused too, and the first difference is told."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.cases import checked
from fusecuda.cases.case import Case, read
from fusecuda.cases.checked import Checked
from fusecuda.cases.compare import compare, first_difference
from fusecuda.graph import build
from fusecuda.graph.node import Graph
from fusecuda.options import Options
from fusecuda.tools.cli import main
from tests.marks import one_in
from tests.tools.test_faults import plant_text


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a difference leaves its dump."""
    plans.forget()
    monkeypatch.setattr(checked, "dump_folder", lambda: str(tmp_path / "dumps"))
    yield tmp_path / "dumps"
    plans.forget()  # those with faults


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each call that is computed unfused, too."""
    real, found = checked.interpret, []

    def interpret(*args: Any) -> Any:
        found.append(1)
        return real(*args)

    monkeypatch.setattr(checked, "interpret", interpret)
    return found


def step(x: Any) -> Any:
    x[1:] += 0.5 * x[:-1]
    return np.sqrt(x * x + 1.25)


LINE = step.__code__.co_firstlineno


def test_a_fault_is_told_with_its_place_and_a_dump(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plant_text(monkeypatch, lambda text: re.sub(r"= (fc_sqrt_f64\()", r"= 0.5 * \1", text))
    x = np.random.default_rng(0).normal(size=(9, 7))
    before = x.copy()
    with pytest.warns(RuntimeWarning, match="fused and unfused results differ") as told:
        fc.fused(check=1.0)(step)(x)
    (warning,) = told
    text = str(warning.message)
    assert warning.filename == __file__
    assert f"sqrt f64[9,7] ({__file__}:{LINE + 2})" in text
    assert "differs in 63 of 63 elements" in text and "first at [0, 0]: " in text
    right = np.sqrt(before[0, 0] ** 2 + 1.25)
    assert f"{0.5 * right}, not {right}" in text
    (path,) = folder.glob("*.hlo")
    assert text.endswith(f"python -m fusecuda replay --check {path}")
    case = read(path)
    assert case.inputs is not None  # as they were before the call overwrote them
    np.testing.assert_array_equal(case.inputs[0], before)
    assert main(["replay", "--check", str(path)]) == 1
    assert "MISMATCH: result" in capsys.readouterr().out


def test_a_difference_is_told_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_text(monkeypatch, lambda text: re.sub(r"= (fc_sqrt_f64\()", r"= 0.75 * \1", text))
    function = fc.fused(check=1.0)(step)
    x = np.ones((9, 7))
    with pytest.warns(RuntimeWarning, match="differ"):
        function(x)
    runs = counted(monkeypatch)
    function(x)
    assert runs == []


def draws(x: Any) -> Any:
    noise = np.random.default_rng().normal(size=x.shape)
    old = np.random.rand()  # noqa: NPY002 - it has a state of its own
    return np.cumsum(np.exp(x) * noise, axis=0), x @ x.T - x @ x.T.copy(), old


def residual(x: Any) -> Any:
    """Nothing but rounding errors of a library is left: which ones decides what is returned."""
    small = x @ np.linalg.solve(x, x) - x
    return small > 0, np.argmax(np.abs(small)), np.sort(small.ravel()), small / np.abs(small).max()


def loops(x: Any) -> Any:
    y = x[::-1].copy()
    while y.sum() > 1e-3:
        y *= 0.25
        x[::2] = y[::2] + x[1::2].sum(axis=0)
    return x.T, y


def nans(x: Any) -> Any:
    y = np.where(x > 0.5, np.nan, -0.0 * x)
    return y, np.log(y), (y + 1j * np.inf) * (1 - 2j), np.float16(2) * x.astype(np.float16)


def shares(x: Any) -> Any:
    a, b = x[:-1], x[1:]
    a += b
    b -= a[::-1]
    return x[0], x.astype(np.float32) @ x.astype(np.float32).T, np.take(x, [3, -1, 2], axis=0)


@pytest.mark.parametrize("program", [step, draws, residual, loops, nans, shares])
@one_in(6)
def test_right_programs_are_left_in_peace(
    program: Callable[[Any], Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = counted(monkeypatch)
    function = fc.fused(check=1.0)(program)
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "invalid value|divide by zero", RuntimeWarning)
        for layout in (lambda a: a, np.asfortranarray, lambda a: a[::-1]):
            for _ in range(3):
                function(layout(rng.random((24, 24))))
    assert len(runs) >= 9
    assert not folder.exists()


@pytest.mark.parametrize(
    ("share", "chosen"), [(1.0, range(12)), (0.25, (0, 4, 8)), (0.01, (0,)), (0.5, range(0, 12, 2))]
)
def test_the_first_run_and_that_share_are_chosen(
    share: float, chosen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = build.parameter(0, (3,), np.dtype("f8"))
    graph = Graph((x,), (build.elementwise("add", [x, x], x.dtype),))
    runs = counted(monkeypatch)
    program = Checked(
        lambda arguments, lap: [arguments[0] * 2], Case(graph, {}, Options(check=share))
    )
    seen = []
    for n in range(12):
        program([np.ones(3)])
        if runs:
            seen.append(n)
            runs.clear()
    assert seen == list(chosen)


def test_checked_calls_are_fused_whatever_that_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time for comparing would show fusing not to pay, and nothing would be compared."""
    runs = counted(monkeypatch)
    function = fc.fused(check=1.0)(lambda x: x * 2.0 + 1.0)
    for _ in range(30):
        function(np.ones(5))
    assert len(runs) == 30
    assert "replayed" in function.explain()


def test_nothing_is_done_when_it_is_off() -> None:
    exe = fc.lower(step, np.ones((9, 7)))
    assert exe.around == []


def test_the_variable_and_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSECUDA_CHECK", "0.25")
    assert Options().check == 0.25
    assert fc.fused(step).options.check == 0.25
    assert fc.fused(step, check=0.5).options.check == 0.5
    monkeypatch.setenv("FUSECUDA_CHECK", "often")
    with pytest.raises(ValueError, match="FUSECUDA_CHECK must be a number, not 'often'"):
        fc.fused(step)
    monkeypatch.delenv("FUSECUDA_CHECK")
    assert Options().check == 0.0
    for share in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="check must be a share from 0 to 1"):
            fc.fused(step, check=share)


def test_complex_numbers_are_compared_by_parts() -> None:
    a = np.array([[1 + 2j, complex("nan"), complex(0.0, -0.0)]])
    assert compare(a, a.copy()).first is None
    b = a.copy()
    b[0, 2] = complex(0.0, 0.0)
    assert compare(a, b).first == (0, 2)
    b = a.copy()
    b[0, 0] = 1 + 2.0000000000000004j
    found = compare(a, b)
    assert (found.first, found.ulps, found.differing) == ((0, 0), 1, 1)


def test_devices_that_round_otherwise_are_judged_by_closeness() -> None:
    """Nor is looked at what rounding may decide."""
    x = build.parameter(0, (2,), np.dtype("f8"))
    i = build.parameter(1, (2,), np.dtype("i8"))
    zero = build.constant(0.0, x.dtype)
    graph = Graph((x, i), (x, build.elementwise("less", [x, zero], np.dtype("?")), i))
    want = [np.array([1.0, 2.0]), np.array([True, False]), np.array([1, 2])]
    have = [want[0] * (1 + 1e-15), ~want[1], want[2]]
    assert first_difference(graph, have, want, exact=False) is None
    assert "result 0" in (first_difference(graph, have, want) or "")
    have[2] = have[2] + 1
    assert "result 2" in (first_difference(graph, have, want, exact=False) or "")
