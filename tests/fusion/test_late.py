"""Late stores: an update that reads what it overwrites is one kernel, and does as NumPy does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.cpu_fallback.threads import set_thread_count, thread_count
from fusecuda.fusion import cost, waiting
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.positions import is_row_major, positions
from fusecuda.fusion.read_back import read_back
from fusecuda.graph.interpret import interpret
from fusecuda.graph.verify import verify
from fusecuda.tools.traffic import count_traffic
from tests.marks import one_in
from tests.strategies import same_bits

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every graph's and kernel's IR is checked, and the number of threads is as it was."""
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")
    before = thread_count()
    yield
    set_thread_count(before)


def heat(u: Any) -> None:
    u[1:-1, 1:-1] += 0.1 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )


def upwind(u: Any) -> None:
    u[1:] -= 0.25 * u[1:] * (u[1:] - u[:-1])


def downwind(u: Any) -> None:
    u[:-3] = u[3:] * 2 - u[:-3]


def backwards(u: Any) -> None:
    u[-2:0:-1, ::-1] = u[-1:1:-1, ::-1] + u[-3::-1, ::-1]


def box(u: Any) -> None:
    mean = u[1:-1, 1:-1, 1:-1] + u[2:, :-2, 1:-1] + u[:-2, 2:, 1:-1] + u[1:-1, 1:-1, 2:]
    u[1:-1, 1:-1, 1:-1] = mean * 0.25


def coupled(u: Any, v: Any) -> None:
    """Both are computed from what both were."""
    a, b = u[1:-1] + v[2:], v[1:-1] - u[:-2]
    u[1:-1], v[1:-1] = a, b


PROGRAMS = ((heat, 2), (upwind, 1), (upwind, 2), (downwind, 1), (backwards, 2), (box, 3))


def is_late(executable: Any) -> bool:
    (step,) = executable.assembly.steps
    return isinstance(step, Bound) and bool(step.lowered.ir.late)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize(("program", "rank"), PROGRAMS, ids=lambda p: getattr(p, "__name__", p))
@one_in(8)
def test_one_launch(program: Any, rank: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many threads have a part, and wherever the ring ends."""
    set_thread_count(count)
    monkeypatch.setattr(cost, "GRAIN_ELEMENTS", 256)
    monkeypatch.setattr(waiting, "SLACK", 600)
    for shape in ((5000,), (70, 90), (17, 19, 23)):
        if len(shape) != rank:
            continue
        for order in ("C", "F"):
            x = np.asarray(np.random.default_rng(rank).normal(size=shape), order=order)
            want, got = x.copy(order="K"), x.copy(order="K")
            program(want)
            executable = fc.lower(program, x.copy(order="K"))
            executable(got)
            assert same_bits(got, want)
            assert executable.launches == 1 and is_late(executable)


@pytest.mark.parametrize("count", [1, 3])
def test_two_arrays(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elements of several arrays, of unlike types, wait in rings of their own."""
    set_thread_count(count)
    monkeypatch.setattr(cost, "GRAIN_ELEMENTS", 64)
    u, v = np.arange(3001.0), np.arange(3001, dtype=np.float32) * 3
    want = u.copy(), v.copy()
    coupled(*want)
    executable = fc.lower(coupled, u.copy(), v.copy())
    executable(u, v)
    assert same_bits(u, want[0]) and same_bits(v, want[1])
    assert executable.launches == 1 and is_late(executable)


def test_an_array_that_is_only_read_where_it_is_written_does_not_wait() -> None:
    """What is written in another array is no matter of its."""

    def halves(u: Any, v: Any) -> None:
        u[:500] = u[500:] * 2
        v[1:501] = u[500:] + 1

    executable = fc.lower(halves, fc.spec(1000), fc.spec(1000))
    assert executable.launches == 1 and not is_late(executable)
    ours, plain = np.random.default_rng(0).normal(size=(2, 2, 1000))
    plain[...] = ours
    executable(*ours)
    halves(*plain)
    assert np.array_equal(ours, plain)


def test_each_element_is_written_once() -> None:
    """And read once for each place that it is read at: no copy of it lies in memory."""
    u = np.ones((64, 80))
    traffic = count_traffic(fc.lower(heat, u), [u])
    assert (traffic.stores[0].reshape(u.shape)[1:-1, 1:-1] == 1).all()
    assert traffic.stores[0].sum() == 62 * 78 and traffic.loads[0].sum() == 5 * 62 * 78
    assert len(traffic.loads) == 1


def far(u: Any) -> None:
    u[:-40] = u[40:] + 1


def turned(u: Any) -> None:
    u[1:, 1:] += u[1:, 1:].T


def gathered(u: Any) -> None:
    u[1:] += u[np.array([3, 2, 1, 0] * 10)[: len(u) - 1]]


def summed(u: Any) -> Any:
    change = u[2:] - u[:-2]
    u[1:-1] += change
    return abs(change).max()


def read_after(u: Any) -> Any:
    u[1:-1] = u[2:] + u[:-2]
    return u[2:] * 2


def given_before(u: Any) -> Any:
    old = u * 1
    u[1:-1] = u[2:] + u[:-2]
    return old


@pytest.mark.parametrize("program", [far, turned, gathered, summed, read_after, given_before])
def test_what_cannot_wait(program: Any) -> None:
    """Far reads, ones in another order, and what comes before or after, are as they were."""
    shape = (40, 40) if program is turned else (41,)
    u = np.random.default_rng(7).normal(size=shape)
    want, got = u.copy(), u.copy()
    expected, results = program(want), fc.fused(program)(got)
    assert same_bits(got, want)
    if expected is not None:
        assert same_bits(np.asarray(results), np.asarray(expected))


def drawn_update(draw: random.Random, seed: int) -> tuple[Any, Any]:
    """A program of updates by any steps and shifts, and what makes its arrays, of any layout."""
    shape = draw.choice([(100,), (3000,), (300, 40), (33, 20), (9, 20, 7)])
    dtype = np.dtype(draw.choice(["f8", "f4", "i4", "c16", "u1", "f2"]))
    values = np.random.default_rng(seed).integers(0, 50, size=shape).astype(dtype)
    layout = draw.choice(["C", "F", "backwards", "apart"])
    steps = [draw.choice([1, 1, 1, 2, -1]) for _ in shape]

    def laid_out() -> Array:
        if layout in "CF":
            return np.array(values, order=layout)  # type: ignore[arg-type]
        wide = np.zeros([2 * n for n in shape], dtype)
        view = wide[(slice(None, None, 2),) * len(shape)]
        view = view[::-1] if layout == "backwards" else view
        view[...] = values
        return view

    def window(shift: list[int]) -> tuple[slice, ...]:
        found = []
        for n, step, by in zip(shape, steps, shift, strict=True):
            places = range(n)[2:-2][::step]
            first, end = places[0] + by, places[-1] + by + (1 if step > 0 else -1)
            found.append(slice(first, end if end >= 0 else None, step))
        return tuple(found)

    own = window([0] * len(shape))
    shifts = [window([draw.choice([-2, -1, 0, 1, 2]) for _ in shape]) for _ in range(3)]

    def program(u: Any, v: Any) -> Any:
        value = u[shifts[0]] + u[shifts[1]] + v[shifts[2]]
        if seed % 2:
            u[own] = value
        else:
            u[own] += value
        if seed % 3:
            return None
        v[own] = value * 2
        return value - 1

    return program, laid_out


@pytest.mark.parametrize("seed", range(60))
@one_in(12)
def test_random_updates(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any steps, shifts, types and layouts, on any number of threads."""
    draw = random.Random(seed)
    set_thread_count(draw.choice([1, 2, 3]))
    monkeypatch.setattr(cost, "GRAIN_ELEMENTS", draw.choice([16, 64, 500]))
    monkeypatch.setattr(waiting, "SLACK", draw.choice([513, 600, 2048]))
    program, laid_out = drawn_update(draw, seed)
    want, got = (laid_out(), laid_out()), (laid_out(), laid_out())
    expected = program(*want)
    executable = fc.lower(program, laid_out(), laid_out())
    result = executable(*got)
    assert same_bits(got[0], want[0]) and same_bits(got[1], want[1])
    assert expected is None or same_bits(result, expected)


def steps(u: Any) -> Any:
    """Each step reads what the one before has written."""
    for _ in range(3):
        heat(u)
    return u[1:-1, 1:-1] * 2


def error(u: Any) -> Any:
    """The value is used beside the array that it is written to."""
    old = u * 1
    value = u[1:-1] + u[2:] * 0.5
    u[1:-1] = value
    return value - old[1:-1], (value * 3)[::2]


def twice(u: Any, v: Any) -> None:
    """It is written to two arrays, and one of them goes on."""
    value = u[1:-1] + u[2:]
    u[1:-1] = value
    v[1:-1] = value * 2
    v[2:] -= u[:-2] * value[0]


@pytest.mark.parametrize(("program", "launches"), [(steps, 3), (error, 0), (twice, 0)])
def test_what_is_written_is_read_back(program: Any, launches: int) -> None:
    """And not stored once more."""
    arrays = [np.random.default_rng(3).normal(size=(50, 60)) for _ in range(2)]
    arrays = arrays[: program.__code__.co_argcount]
    want, got = [a.copy() for a in arrays], [a.copy() for a in arrays]
    executable = fc.lower(program, *arrays)
    expected, result = program(*want), executable(*got)
    assert all(map(same_bits, got, want))
    if expected is not None:
        expected, result = [r if isinstance(r, tuple) else (r,) for r in (expected, result)]
        assert all(map(same_bits, result, expected))
    assert not launches or executable.launches == launches
    if program is steps:
        plan = executable.assembly.plan
        assert all(root.writes or root in plan.graph.outputs for root in plan.stored)


def test_a_reduction_behind_an_update() -> None:
    """It shares no kernel with stores that wait: rows are no order of addresses."""
    x = np.random.default_rng(4).normal(size=(50, 60))
    with fc.fused():
        a = fnp.asarray(x)
        value = a[1:-1] + a[2:]
        a[1:-1] = value
        largest = value.max(axis=0)
    want = x[1:-1] + x[2:]
    assert same_bits(np.asarray(a)[1:-1], want) and same_bits(np.asarray(a)[0], x[0])
    assert same_bits(np.asarray(largest), want.max(axis=0))


def test_versions_of_another_shape() -> None:
    """Where an array is regrouped between its updates, no place is taken for another."""

    def program(u: Any, v: Any) -> Any:
        u[1, 1] = v[1, 1]
        seen = u[:, 1:] * 2
        flat = u.ravel()
        flat[::3] = 2
        u[:, 1:] += u[:, :-1]
        flat[1::3] = flat[:-1:3] * 3
        u[0], u[1] = v[0], u[2] + seen.sum()
        flat[2:] -= flat[:-2]
        return seen, flat[::2] + 1

    arrays = [np.random.default_rng(k).integers(0, 9, size=(6, 7)) for k in range(2)]
    want, got = [a.copy() for a in arrays], [a.copy() for a in arrays]
    expected, results = program(*want), fc.fused(program)(*got)
    assert all(map(same_bits, results, expected)) and all(map(same_bits, got, want))


def drawn_steps(seed: int) -> Any:
    """A program of updates of two arrays, each of values made before and of what lies around."""
    draw = random.Random(seed)
    drawn = [
        (
            k % 2 == draw.randint(0, 1),
            draw.randint(0, k),
            draw.choices(range(5), k=3),
            draw.random(),
        )
        for k in range(draw.randint(2, 5))
    ]
    kept = draw.sample(range(2 * len(drawn) + 1), 2)

    def program(u: Any, v: Any) -> Any:
        values = [u[2:-2] + 1]
        for is_first, number, places, chance in drawn:
            array, other = (u, v) if is_first else (v, u)
            near = [slice(k, len(u) - 4 + k) for k in places]
            value = array[near[0]] + values[number] * array[near[1]] - other[near[2]]
            values += [value, value * 2]
            if chance < 0.5:
                array[2:-2] = value
            else:
                array[2:-2] += value
        return values[kept[0]], values[kept[1]]

    return program


@pytest.mark.parametrize("first", range(0, 30, 10))
@one_in(10)
def test_reading_back_changes_no_value(first: int) -> None:
    """Of any steps, planned and on the interpreter; nobody reads back what comes after it."""
    changed = 0
    for seed in range(first, first + 10):
        program = drawn_steps(seed)
        arrays = [np.random.default_rng(seed).integers(0, 9, size=40) for _ in range(2)]
        want, got = [a.copy() for a in arrays], [a.copy() for a in arrays]
        expected, executable = program(*want), fc.lower(program, *arrays)
        back = read_back(executable.graph)
        changed += back is not executable.graph
        verify(back)
        assert all(map(same_bits, interpret(back, arrays), interpret(executable.graph, arrays)))
        assert all(map(same_bits, executable(*got), expected)), seed
        assert all(map(same_bits, got, want)), seed
    assert changed > 2


def test_positions() -> None:
    """How far apart elements are follows from their addresses, where these rise."""
    draw = random.Random(5)
    for _ in range(300):
        extents = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
        strides, reach = [0] * len(extents), 0
        for axis in reversed(range(len(extents))):
            strides[axis] = reach + draw.randint(1, 3)
            reach += strides[axis] * (extents[axis] - 1)
        assert is_row_major(extents, strides)
        places = list(np.ndindex(*extents))
        at = [sum(i * s for i, s in zip(p, strides, strict=True)) for p in places]
        distance = draw.randint(-reach - 1, reach + 1)
        apart = {j - i for i, a in enumerate(at) for j, b in enumerate(at) if b - a == distance}
        assert positions(extents, strides, distance) in (apart or {0})
        assert apart <= {positions(extents, strides, distance)} or len(apart) != 1
    assert not is_row_major([4, 3], [2, 1]) and not is_row_major([2], [-1])
    assert is_row_major([1, 4], [0, 8])
