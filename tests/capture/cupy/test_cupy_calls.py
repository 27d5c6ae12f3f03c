"""Replays of fused functions on CuPy arrays: layouts, overlap, numbers, containers, globals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import internals  # noqa: E402
from tests import cupy_host, cupy_programs  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, over, seen  # noqa: E402
from tests.marks import few, one_in  # noqa: E402

cupy_host.install()
X = np.arange(1.0, 25.0).reshape(4, 6)
Y = np.cos(X)


def plain(value: Any) -> Any:
    """``value`` with NumPy arrays for CuPy's."""
    if isinstance(value, cp.ndarray):
        return seen(value)
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return {k: plain(v) for k, v in value.items()} if type(value) is dict else value


def calls(function: Any, *all_args: tuple[Any, ...], traces: int = 1) -> Any:
    """Each call gives what NumPy gives, changes what NumPy changes; ``traces`` are recorded."""
    f = fused(lambda *args: function(cp, *args), device="cpu")
    for args in all_args:
        ours = cupy_programs.same_places([a for a in args if isinstance(a, np.ndarray)])
        given = [ours.pop(0) if isinstance(a, np.ndarray) else a for a in args]
        kept = list(given)
        got, want = f(*given), function(np, *args)
        assert type(got) is type(want) or isinstance(got, cp.ndarray)
        equal(plain(got), want if type(want) in (tuple, list, dict) else np.asarray(want), 4)
        equal(plain(kept), list(args), 4)
    assert f.traces == traces, f.explain()
    return f


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda a: a.copy(),
    "turned": lambda a: np.array(a, order="F"),
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a.copy()[::-1, ::-1],
    "inner": lambda a: np.pad(a, 2)[2:-2, 2:-2],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
}


@pytest.mark.parametrize("first", LAYOUTS)
@pytest.mark.parametrize("second", ["plain", "turned", "strided"])
@one_in(10)
def test_layouts(first: str, second: str) -> None:
    """Recorded once for arrays that lie in any way; reads and writes."""

    def step(m: Any, x: Any, y: Any) -> Any:
        y += x[:, ::-1]
        y[1:] *= 0.5
        return m.exp(-x) + y, y.max(axis=0)

    every = [(LAYOUTS[first](X * k), LAYOUTS[second](Y / k)) for k in (1, 2, 3)]
    calls(step, *every)


def test_another_layout_is_recorded_anew() -> None:
    """The guard asks for shape and strides."""
    makers = ("plain", "turned", "plain", "strided", "turned")
    calls(lambda m, x: x.sum(axis=1) * 2, *[(LAYOUTS[n](X),) for n in makers], traces=3)


def shifted(k: int, base: Any) -> tuple[Any, Any]:
    return base[:-k], base[k:]


@pytest.mark.parametrize("write", [True, False])
def test_arguments_that_overlap(write: bool) -> None:
    """The same overlap is replayed, another one recorded; never one for the other."""

    def step(m: Any, a: Any, b: Any) -> Any:
        if write:
            a += b
        return a * 2 + b

    every = [shifted(k, np.arange(12.0) * s) for k, s in ((1, 1), (1, 2), (2, 1), (2, 3), (1, 5))]
    apart = (np.arange(11.0), np.arange(11.0) + 1)
    calls(step, *every, apart, apart, traces=3)


def test_one_array_twice() -> None:
    """Is told from two equal ones."""

    def step(m: Any, a: Any, b: Any) -> Any:
        a += 1
        return a * b

    x = X.copy()
    calls(step, (X.copy(), X.copy()), (x, x), (X.copy(), X.copy()), traces=2)


@pytest.mark.parametrize("kind", [int, float, np.float32, np.int64])
def test_numbers(kind: Any) -> None:
    """A number that changes is an argument; so is arithmetic with it."""

    def step(m: Any, x: Any, k: Any) -> Any:
        y = x * k + k * x - (k + 1) * 0.5
        y[0] = k
        return m.maximum(y, k), k * 3

    calls(step, *[(X.copy(), kind(k)) for k in (2, 3, 0, 1, 2, 100)])


def test_numbers_that_choose() -> None:
    """Looked at by Python, or by what CuPy runs itself, they are conditions."""

    def step(m: Any, x: Any, k: Any) -> Any:
        return x[:, :k] * 2 if k > 1 else x + k

    calls(step, *[(X.copy(), k) for k in (2, 1, 2, 3, 1)], traces=3)
    calls(lambda m, x, k: x.sum(axis=k), *[(X.copy(), k) for k in (0, 1, 0)], traces=2)
    calls(lambda m, x, k: m.roll(x, k) * k, *[(X.copy(), k) for k in (0, 1, 0)], traces=2)
    calls(lambda m, x, k: m.median(x) * k, *[(X.copy(), k) for k in (2, 1, 2)])
    calls(lambda m, x, k: m.percentile(x, k) * k, *[(X.copy(), k) for k in (20, 10, 20)])


def test_numbers_in_functions() -> None:
    """As operands of functions and methods, and as fills."""

    def step(m: Any, x: Any, k: Any) -> Any:
        y = m.where(x > k, x, k).clip(None, k + 5)
        y += k
        return m.add(y, k) + m.full((4, 6), 1.0) * k, m.minimum(k, x), m.power(x, 2) - k

    calls(step, *[(X.copy(), k) for k in (2.0, 3.5, -1.0)])


def test_integer_overflow_of_a_number() -> None:
    """Raised as CuPy does, at each call that has it."""
    f = fused(lambda x, k: x + k, device="cpu")
    x = host(np.arange(4, dtype=np.int8))
    equal(seen(f(x, 3)), np.arange(4, dtype=np.int8) + np.int8(3))
    for _ in range(2):
        with pytest.raises(OverflowError):
            f(x, 300)
    equal(seen(f(x, 5)), np.arange(4, dtype=np.int8) + np.int8(5))


def test_containers() -> None:
    """Lists, tuples and dicts of arrays and numbers, given and returned."""
    f = fused(
        lambda state, params: ({"u": state["u"] * params[0]}, [state["v"] + params[1], params]),
        device="cpu",
    )
    for k in (2.0, 3.0):
        params = [k, 1.5]
        got = f({"u": host(X), "v": host(Y)}, params)
        assert got[1][1] is params
        equal(plain(got)[0]["u"], X * k)
        equal(plain(got)[1][0], Y + 1.5)
    assert f.traces == 1


def test_a_list_that_is_changed() -> None:
    """The caller's own list holds what the function put there."""

    def step(found: list[Any], x: Any) -> Any:
        found.append(x * 2)
        return x + 1

    f = fused(step, device="cpu")
    for count in (1, 2):
        found: list[Any] = []
        for _ in range(count):
            f(found, host(X))
        assert len(found) == count
        equal(seen(found[-1]), X * 2)


def test_results() -> None:
    """Arguments themselves, views of what is new, one array twice, nothing at all."""

    def step(m: Any, x: Any, y: Any) -> Any:
        x += 1
        new = x * y
        return x, new, new[1:, ::2], new.T, None, 3, (new,)

    calls(step, (X.copy(), Y.copy()), (X * 2, Y * 3))
    f = fused(lambda x, y: (x, x * y), device="cpu")
    for _ in range(3):
        x, y = host(X), host(Y)
        assert f(x, y)[0] is x
    g = fused(lambda x: ((y := x * 2), y[1:]), device="cpu")
    for _ in range(3):
        whole, part = g(host(X))
        seen(part)[...] = 7
        assert (seen(whole)[1:] == 7).all()


def test_views_of_arguments() -> None:
    """Are recorded anew: they show the caller's memory."""
    f = fused(lambda x: x[1:], device="cpu")
    for _ in range(2):
        x = host(X)
        view = f(x)
        seen(view)[...] = 0
        assert not seen(x)[1:].any()


def test_arrays_read_by_name() -> None:
    """An array read by name is taken as it is now, and written to; another one is a condition."""
    table, state = over(np.arange(6.0)), over(np.zeros(6))

    def step(x: Any) -> Any:
        state[...] += x[0]
        return x * table

    f = fused(step, device="cpu")
    total = np.zeros(6)
    for k in (1.0, 2.0, 3.0):
        seen(table)[0] = k
        equal(seen(f(host(X * k))), X * k * seen(table))
        total += X[0] * k
        equal(seen(state), total)
    assert f.traces == 1
    table = over(np.ones(6))
    equal(seen(f(host(X))), X)
    assert f.traces == 2
    f(over(seen(state)[None]))  # an argument in the memory that it writes by name
    equal(seen(state), 2 * (total + X[0]))


def test_inside_a_block_it_joins() -> None:
    """A call there is recorded with the rest."""
    f = fused(lambda x: x * 2 + 1, device="cpu")
    f(host(X))
    with fused(device="cpu") as region:
        y = f(host(X)) * 3
    assert region.launches == 1
    equal(seen(y), (X * 2 + 1) * 3)


def test_pending_arguments_are_completed() -> None:
    """Arrays pending in another block are computed for the call, those it writes seen there."""
    f = fused(lambda x: x * 2, device="cpu")
    f(host(X))
    shared = host(X)
    with fused(device="cpu"):
        shared += 1
        equal(plain_of(f(shared)), (X + 1) * 2)


def plain_of(array: Any) -> Any:
    return array.get() if type(array) is not cp.ndarray else seen(array)


def test_an_argument_on_another_device_is_another_trace() -> None:
    """The guard asks for the device on which it was recorded."""
    f = fused(lambda x: x * 2, device="cpu")
    for device in (0, 1, 0, 1):
        values = X.copy()
        pointer = internals.over_address(
            values.__array_interface__["data"][0], values.nbytes, values, device
        )
        x = internals.array_over(pointer, X.shape, X.dtype)
        equal(seen(f(x)), X * 2)
    assert f.traces == 2


@pytest.mark.parametrize("block", few(range(6), 1))
def test_random_functions(block: int) -> None:
    """Random programs called again and again, on arrays that lie in several ways."""
    traces = [cupy_programs.run_call_seed(s) for s in range(block * 5, block * 5 + 5)]
    assert block or min(traces) < 5  # some are replayed


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", range(8))
def test_many_random_functions(block: int) -> None:
    """Hundreds more."""
    for seed in range(90_000 + block * 60, 90_000 + block * 60 + 60):
        cupy_programs.run_call_seed(seed)


def test_why_a_call_was_recorded_again() -> None:
    """As of NumPy's arrays: the condition of the newest trace that failed, and the line."""

    def scaled(x: Any, k: float = 2.0) -> Any:
        return x * k + 1.0

    function = fused(scaled, device="cpu")
    function(host(np.ones(6)))
    assert "no trace was there" in function.why()
    function(host(np.ones(9)))
    assert "x.shape was (6,), is (9,)" in function.why(), function.why()
    assert "test_cupy_calls.py:" in function.why()
    assert function.why(host(np.zeros(9))) == "scaled would be replayed"
