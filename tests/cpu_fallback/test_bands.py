"""Loops that go on together, band by band: the bits are those of one loop after the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.codegen.texts import read
from fusecuda.cpu_fallback import bands
from fusecuda.cpu_fallback.drafting import blueprint
from fusecuda.cpu_fallback.program import Program
from fusecuda.executable import Executable
from fusecuda.fusion import cost
from tests.marks import one_in

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays are large and worth threads, and a band is a few rows."""
    monkeypatch.setattr(bands, "LARGE", 1 << 10)
    monkeypatch.setattr(bands, "BAND", 1 << 12)
    monkeypatch.setattr(cost, "GRAIN_ELEMENTS", 256)


def programs(lowered: Any, threads: int) -> tuple[Program, Program]:
    """Programs of a lowered function: with its series, and without any."""
    executable: Executable = lowered
    planned = executable.plan()
    layout = replace(planned.memory, threads=threads)  # loops have no scratch
    draft = blueprint(planned.assembly, executable.sources, layout)
    apart = draft._replace(series=())
    return Program(draft, executable.sources), Program(apart, executable.sources)


def check(function: Callable[..., Any], *args: Array, threads: int = 2) -> list[bands.Series]:
    """Demand the same bits with series and without; gives the series."""
    together, apart = programs(fc.lower(function, *args, device="cpu"), threads)
    for _ in range(2):  # the second time in memory that the first has left
        for got, want in zip(together(args), apart(args), strict=True):
            np.testing.assert_array_equal(got, want)
    return list(together.blueprint.series)


def taps(x: Any, axis: int, weights: tuple[int, ...] = (1, 4, 6, 4, 1)) -> Any:
    """Neighbours along an axis, weighted."""
    n = x.shape[axis] - len(weights) + 1
    parts = [x[i : i + n] if axis == 0 else x[:, i : i + n] for i in range(len(weights))]
    return sum(w * part for w, part in zip(weights, parts, strict=True))


def across(x: Any) -> Any:
    """Blurred along rows, then across them."""
    return taps(np.tanh(taps(x, 1)), 0)


def along(x: Any) -> Any:
    """Across rows first: the second loop needs no other rows."""
    return taps(np.tanh(taps(x, 0)), 1)


def three(x: Any) -> Any:
    """Three loops in a row, of which the second reads far behind the first."""
    return taps(np.exp(taps(np.tanh(taps(x, 0)), 0, (1, 0, 0, 0, 2, 0, 0, 3))), 0) * 2


def branches(x: Any) -> Any:
    """Two loops that need nothing of each other, and one that reads both."""
    a, b = np.tanh(taps(x, 0)), np.exp(-np.abs(taps(x, 1)))
    return taps(a, 1)[2:] * taps(b, 0)[:-2]


def result_too(x: Any) -> Any:
    """What is read is a result: its memory is the caller's."""
    a = np.tanh(x)
    return a, taps(a, 0), taps(np.exp(taps(a, 0)), 0)


def results_alone(x: Any) -> Any:
    """All that is between is a result: nothing moves, but what is read has just been written."""
    a = np.tanh(taps(x, 0))
    return a, taps(a, 0)


def wide(x: Any) -> Any:
    """Another type between, and a row that all rows read."""
    a = np.tanh(x).astype(np.float32)
    return taps(taps(a, 0) * x[:1], 0)


def turned(x: Any) -> Any:
    """Columns are rows: in memory both loops go the same way."""
    return taps(np.exp(taps(x, 0)).T, 0)


PROGRAMS = [across, along, three, branches, result_too, results_alone, wide, turned]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(150, 61), (700, 12), (97, 128)], ids=str)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_bits(function: Callable[..., Any], shape: tuple[int, int], threads: int) -> None:
    assert check(function, RNG.standard_normal(shape), threads=threads)


def drawn(rng: np.random.Generator) -> Callable[..., Any]:
    """A random program of loops: parts of what was made before, shifted, turned, broadcast."""
    plan = [
        (
            int(rng.integers(0, 9)),
            [(*map(int, rng.integers(0, 4, 4)), float(rng.random())) for _ in range(4)],
        )
        for _ in range(int(rng.integers(2, 7)))
    ]
    kept = int(rng.integers(0, 3))

    def program(x: Any, y: Any) -> Any:
        made = [x, y]
        for kind, picks in plan:
            parts = []
            rows = min(made[-1 - pick[0] % min(2, len(made))].shape[0] for pick in picks) - 3
            columns = min(made[-1 - pick[0] % min(2, len(made))].shape[1] for pick in picks) - 3
            for which, down, right, odd, weight in picks:
                part = made[-1 - which % min(2, len(made))]
                part = part[down : down + rows, right : right + columns]
                if kind == 7 and odd == 0:
                    part = part[::-1]
                if kind == 8 and odd == 0:
                    part = part[:1]
                parts.append(part * weight)
            total = parts[0] + parts[1] - parts[2] * parts[3]
            made.append(np.tanh(total) if kind % 3 else np.abs(total.astype(np.float32)))
        return [made[-1], *made[2 : 2 + kept]]

    return program


@pytest.mark.parametrize("seed", range(40))
@one_in(16)
def test_random_loops(seed: int) -> None:
    """Whatever series there are; most programs have one."""
    rng = np.random.default_rng(seed)
    shape = [(200, 40), (64, 100), (400, 30)][seed % 3]
    args = [rng.standard_normal(shape) for _ in range(2)]
    check(drawn(rng), *args, threads=1 + seed % 3)


def test_most_random_loops_go_on_together() -> None:
    found = 0
    for seed in range(0, 40, 4):
        rng = np.random.default_rng(seed)
        args = [rng.standard_normal((200, 40)) for _ in range(2)]
        executable = fc.lower(drawn(rng), *args, device="cpu")
        found += any(bands.series_of(executable.assembly, executable.memory))
    assert found > 3


def waits(x: Any) -> Any:
    """The second loop reads from the end what the first writes from the beginning."""
    return taps(np.exp(taps(x, 0))[::-1], 0)


def wraps(x: Any) -> Any:
    """The first row reads the last one."""
    a = np.exp(x)
    return np.roll(a, 1, 0) * a + np.roll(a, -1, 0)


def gathers(x: Any, places: Any) -> Any:
    """Any row may be read."""
    a = np.exp(taps(x, 0))
    return taps(a[places % 60], 0)


@pytest.mark.parametrize("function", [waits, wraps, gathers], ids=lambda f: f.__name__)
def test_what_is_needed_whole_is_computed_before(function: Callable[..., Any]) -> None:
    args = [RNG.standard_normal((150, 61)), np.arange(60) * 7][: 1 + (function is gathers)]
    assert all(0 not in one.steps for one in check(function, *args))


def updates(x: Any) -> Any:
    """What an earlier loop reads is overwritten by a later one."""
    t = np.exp(x)
    u = taps(t, 0)
    t[2:-2] = np.tanh(u)
    return taps(t, 0), u


def reuses(x: Any) -> Any:
    """Four loops: what the third writes lies where the first has written, one after the other."""
    for _ in range(4):
        x = taps(np.tanh(taps(x, 0)), 0) / 16
    return x


@pytest.mark.parametrize("function", [updates, reuses], ids=lambda f: f.__name__)
def test_memory_that_is_used_again(function: Callable[..., Any]) -> None:
    check(function, RNG.standard_normal((300, 40)))


def test_explain_tells_what_goes_on_together() -> None:
    x = RNG.standard_normal((150, 61))
    told = fc.lower(across, x, device="cpu").explain(full=True)
    assert "0 to 1 go on together, band by band" in told
    assert "go on together" not in fc.lower(wraps, x, device="cpu").explain(full=True)


def test_small_arrays_are_in_the_caches_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "LARGE", 1 << 20)
    assert not check(across, RNG.standard_normal((150, 61)))


def test_a_launch_shared_with_others_is_cut() -> None:
    """Loops of a series leave the launches that they would share."""
    one = bands.Series((2, 3), (2,), 0, 64, ((3,),))
    assert list(bands.together([(0,), (1, 2), (3, 4), (5,)], [one])) == [
        *((0,), (1,), (2, 3), (4,), (5,)),
    ]


def loop(step: int, reads: int, writes: int, down: int = 8, led: int | None = None) -> bands.Loop:
    """A loop of a hundred rows, of a double each."""
    read = bands.Access(0, reads, False, 0, 8, down)
    write = bands.Access(1, writes, True, 0, 8, 8)
    return bands.Loop(step, 100, 1, 2, (read, write), frozenset(() if led is None else (led,)))


def test_what_may_not_go_on_with_others() -> None:
    """What overwrites what they read or have written, or reads from the end, or anywhere."""
    before = [loop(0, 0, 1), loop(1, 1, 2)]
    assert bands.may_follow(before, loop(2, 2, 3)) and bands.may_follow(before, loop(2, 4, 3))
    for refused in (
        *(loop(2, 2, 0), loop(2, 2, 1), loop(2, 4, 2), loop(2, 3, 3)),
        *(loop(2, 2, 3, down=-8), loop(2, 2, 3, down=0), loop(2, 4, 3, led=1)),
    ):
        assert not bands.may_follow(before, refused)


def test_the_driver_has_the_same_numbers() -> None:
    """What scores say, and how many loops and pointers a series has at most."""
    text = read("cpu_fallback", "abi.h")
    assert (bands.RUN, bands.SET, bands.MOVE, bands.END) == (0, 1, 2, 3)
    assert "enum { FC_RUN, FC_SET, FC_MOVE, FC_END };" in text
    assert f"FC_MOST_LOOPS = {bands.MOST}, FC_MOST_FORMS = {bands.MOST_FORMS}" in text


def test_pointers_that_lead_anywhere_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver has room for so many pointers, whatever is read by them."""

    def f(x: Any, places: Any) -> Any:
        a = np.exp(taps(x[places % 60], 0))
        return taps(a, 0)

    args = [RNG.standard_normal((150, 61)), np.arange(140) * 7]
    (series,) = check(f, *args)
    executable: Executable = fc.lower(f, *args, device="cpu")
    steps = [executable.assembly.steps[n] for n in series.steps]
    pointers = sum(len(step.buffers) for step in steps)
    monkeypatch.setattr(bands, "MOST_FORMS", pointers)
    assert [one.steps for one in check(f, *args)] == [series.steps]
    monkeypatch.setattr(bands, "MOST_FORMS", pointers - 1)
    assert all(one.steps != series.steps for one in check(f, *args))
