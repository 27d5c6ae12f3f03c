"""Many threads that record, write, read, drop and flush at once, against NumPy."""

from __future__ import annotations

import copy
import functools
import random
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.capture.arrays import memory
from tests.capture_check import equal, lazy
from tests.marks import one_in
from tests.threads import at_once, ended, gate_before, in_time, started

X = np.arange(60_000.0)


def own(seed: int, rounds: int, shared: Any, row: int) -> None:
    """Random work on arrays of one's own, on one's row of a shared one, and NumPy's twin of it."""
    draw = random.Random(seed)
    size = draw.choice((6, 40_000))
    arrays, twins = [lazy(X[:size] + seed)], [X[:size] + seed]
    mine, twin = shared[row], np.zeros(shared.shape[1])
    for _ in range(rounds):
        i, j = draw.randrange(len(arrays)), draw.randrange(len(arrays))
        k, n = float(draw.randrange(1, 9)), draw.randrange(size - 2)
        what = draw.randrange(10)
        if what == 0:
            arrays.append(arrays[i] + arrays[j] * k)
            twins.append(twins[i] + twins[j] * k)
        elif what == 1:
            arrays[i][n:] = arrays[j][: size - n] * 0.5
            twins[i][n:] = twins[j][: size - n] * 0.5
        elif what == 2:
            arrays[i] -= arrays[j]
            twins[i] -= twins[j]
        elif what == 3:
            arrays[i][n] += k
            twins[i][n] += k
        elif what == 4:
            assert float(arrays[i][n]) == twins[i][n]
        elif what == 5:
            equal(arrays[i] * 2, twins[i] * 2)
        elif what == 6 and len(arrays) > 1:
            del arrays[i], twins[i]
        elif what == 7:
            with fused():
                arrays[i] *= -1
                arrays.append(mine[:6] + k)
            twins[i] *= -1
            twins.append(twin[:6] + k)
            equal(arrays.pop(), twins.pop())
        elif what == 8:
            mine[n % 6 :] += k
            twin[n % 6 :] += k
        else:
            shared[row, n % 6] = mine[1] + k
            twin[n % 6] = twin[1] + k
            assert float(shared[row, n % 6]) == twin[n % 6]
        if len(arrays) > 5:
            del arrays[0], twins[0]
        for array in (*arrays, *twins):
            array[...] = array % 1024
    equal(arrays, twins)
    equal(shared[row], twin)


@pytest.mark.parametrize(
    "rounds", [60, pytest.param(600, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_threads_against_numpy(rounds: int) -> None:
    """Threads that record, write, read, drop and flush at once: each sees what NumPy would."""
    for size in (8, 40_000):
        shared = lazy(np.zeros((4, size)))
        at_once([functools.partial(own, row, rounds, shared, row) for row in range(4)])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float16])
@pytest.mark.parametrize("size", [16, 50_000])
@one_in(6)
def test_no_write_is_lost(dtype: Any, size: int) -> None:
    """Threads write parts of one array, by slices, indices, masks and `at`, or at once."""
    shared = lazy(np.zeros((4, size), dtype))
    rows = np.arange(4)

    def work(row: int) -> None:
        mask = lazy(np.repeat(rows == row, size).reshape(4, size))
        for k in range(1, 31):
            shared[row, 1:] += 1
            if k % 5 == row:
                shared[row, [0, 0]] = [k, k]
                np.add.at(shared, (np.array([row, row]), np.array([1, 1])), 1)
            elif k % 10 == 9:
                shared[mask] = shared[row, 2]

    at_once([functools.partial(work, row) for row in range(4)])
    want = np.zeros((4, size), dtype)
    for row in range(4):
        for k in range(1, 31):
            want[row, 1:] += 1
            if k % 5 == row:
                want[row, 0] = k
                want[row, 1] += 2
            elif k % 10 == 9:
                want[row] = want[row, 2]
    equal(shared, want)


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x.copy(),
    "array": fnp.array,
    "astype": lambda x: x.astype(float),
    "flatten": lambda x: x.flatten(),
    "deepcopy": copy.deepcopy,
    "written": lambda x: (z := fnp.zeros(x.shape), z.__setitem__(..., x))[0],
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_what_is_being_computed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for that, and is then an array of its own."""
    x = fnp.asarray(np.arange(400_000.0)) * 2  # more than what is left to NumPy
    gate = gate_before("run", monkeypatch)
    other = started(lambda: float(x[1]), gate)
    made = in_time(lambda: COPIES[name](x))
    gate.opened.set()
    assert ended(*other) == 2
    x += 1
    assert (float(made[1]), float(made.sum())) == (2, np.arange(400_000.0).sum() * 2)


def test_an_array_that_waits_is_written_with_what_is_being_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What its own flight, which began before, has computed is not its value."""
    x = fnp.asarray(np.arange(400_000.0)) + 2
    first = gate_before("run", monkeypatch)
    one = started(lambda: float(x[5]), first)
    z = fnp.asarray(np.arange(400_000.0)) * 5
    second = gate_before("run", monkeypatch)
    other = started(lambda: float(z[5]), second)
    x[...] = z
    first.opened.set()
    one[0].join(0.2)  # it may wait for the other one
    second.opened.set()
    assert ended(*one) in (7, 25)
    assert ended(*other) == float(x[5]) == 25


def test_a_block_reads_what_is_being_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """By operations on elements, and by others."""
    x = fnp.asarray(np.arange(400_000.0)) * 2
    gate = gate_before("run", monkeypatch)
    other = started(lambda: float(x[5]), gate)
    threading.Timer(0.1, gate.opened.set).start()
    with fused():
        y = np.cumsum(x) + x.sum()
    assert ended(*other) == 10
    assert float(y[5]) == 30 + np.arange(400_000.0).sum() * 2


def test_a_view_is_of_the_memory_that_its_array_has_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread's flush may put other memory in its place while the view is made."""
    x = fnp.asarray(np.zeros(100_000))
    x += 0
    assert float(x[0]) == 0
    new = memory._new

    def slow(kind: type) -> Any:
        monkeypatch.setattr(memory, "_new", new)
        x.__iadd__(1)
        assert float(x[0]) == 1
        return new(kind)

    monkeypatch.setattr(memory, "_new", slow)
    view = x[10:20]
    assert float(view[0]) == 1
    x.__iadd__(1)
    view[1] = 7
    assert [float(v) for v in (view[0], x[10], x[11])] == [2, 2, 7]


def test_views_may_be_taken_away_while_one_is_added() -> None:
    storage = fnp.asarray(np.zeros(4)).storage
    array = fnp.asarray(np.zeros(4))

    class Taken(list[Any]):
        def __len__(self) -> int:
            storage.viewers = None
            return super().__len__()

    for count in (1, 64):
        storage.viewers = Taken(weakref.ref(array) for _ in range(count))
        storage.watch(array)
