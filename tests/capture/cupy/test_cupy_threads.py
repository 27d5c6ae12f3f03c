"""Threads with blocks of their own on CuPy arrays, while another thread's flush is held up."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import patches, steps  # noqa: E402
from fusecuda.capture.cupy.storages import table  # noqa: E402
from fusecuda.capture.record.recorder import recorder_in_force  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.threads import (  # noqa: E402
    Gate,
    at_once,
    delays,
    ended,
    gate_before,
    gates,
    in_time,
    settled,
    started,
)

cupy_host.install()
pytestmark = pytest.mark.usefixtures("where_they_stand")
__all__ = ["gates"]
X = np.arange(24.0).reshape(4, 6)


@pytest.fixture(autouse=True)
def left_clean() -> Iterator[None]:
    """After each test CuPy is unpatched and no storage is known."""
    steps.forget()
    yield
    assert patches.active() == 0
    assert len(table) == 0


def tripled(x: Any, turns: int = 3) -> Any:
    """A block that is known to the tape after the first turn."""
    for _ in range(turns):
        with fused(device="cpu"):
            y = x * 3
            y += 1
    return y


def test_blocks_compute_while_another_is_held_up(gate: Gate) -> None:
    """A block is recorded, followed and left; what CuPy computes itself, too."""
    a, b = host(X), host(X)
    other = started(lambda: tripled(a), gate)

    def work() -> Any:
        y = tripled(b)
        with fused(device="cpu"):
            z = y * 2
            total = float(z.sum())
            b[1] = 7
        return z, total

    z, total = in_time(work)
    equal(seen(z), (X * 3 + 1) * 2)
    assert total == ((X * 3 + 1) * 2).sum() and (seen(b)[1] == 7).all()
    gate.opened.set()
    equal(seen(ended(*other)), X * 3 + 1)


def test_fused_functions_on_cupy_arrays(gate: Gate) -> None:
    """A call is recorded and replayed while another thread's is held up."""
    slow = fused(lambda x: (x * 3).sum(axis=0), device="cpu")
    fast = fused(lambda x: x * 2 + 1, device="cpu")
    other = started(lambda: slow(host(X)), gate)
    for got in in_time(lambda: [fast(host(X)) for _ in range(3)]):
        equal(seen(got), X * 2 + 1)
    gate.opened.set()
    equal(seen(ended(*other)), (X * 3).sum(axis=0))


def test_a_block_that_follows_the_tape_is_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is recorded: others go on, and what it writes comes after what they have read."""
    a, b = host(X), host(X)
    tripled(a)
    gate = gate_before("run", monkeypatch)

    def step() -> None:
        with fused(device="cpu"):
            a[...] = a * 3

    for _ in range(2):
        step()
    other = started(step, gate)
    equal(seen(in_time(lambda: tripled(b))), X * 3 + 1)
    reading = started(lambda: tripled(a))
    gate.opened.set()
    ended(*other)
    equal(seen(ended(*reading)), X * 27 * 3 + 1)
    equal(seen(a), X * 27)


def test_memory_that_another_block_reads_or_writes(gate: Gate) -> None:
    """A write comes after the reads of a flush under way, a read after its writes."""
    a, b = host(X), host(X)

    def block() -> Any:
        with fused(device="cpu"):
            y = a + 1
            b[...] = a * 2
        return y

    def write() -> None:
        with fused(device="cpu"):
            a[...] = -1

    def read() -> Any:
        with fused(device="cpu"):
            return b + 0

    other = started(block, gate)
    threads = [started(write), started(read)]
    settled(*threads)
    equal(seen(a), X)
    gate.opened.set()
    equal(seen(ended(*other)), X + 1)
    ended(*threads[0])
    equal(seen(ended(*threads[1])), X * 2)
    equal([seen(a), seen(b)], [np.full(X.shape, -1.0), X * 2])


def test_recording_goes_on_in_a_block_that_another_thread_flushes() -> None:
    """Whatever another thread needs of a block: what is recorded later is right, as if alone."""
    for turn in range(6):
        x, box, found = host(X), [], []

        def look(box: Any = box, found: Any = found) -> None:
            while not box or box[-1] is not None:
                for y in box[:]:
                    if y is not None:
                        with fused(device="cpu"):
                            z = y + 0
                        found.append(seen(z).copy())

        def record(x: Any = x, box: Any = box, turn: int = turn) -> Any:
            with fused(device="cpu"):
                y = x * 2
                box.append(y)
                for k in range(40):
                    w = y + k
                    x += 1
                    w *= x
                    if turn % 2 and k % 8 == 0:
                        float(w[0, 0])
            box.append(None)
            return w

        watching: list[Any] = []

        def both(record: Any = record, watching: Any = watching) -> None:
            watching.append(record())

        at_once([both, look])
        equal(seen(watching[0]), (X * 2 + 39) * (X + 40))
        equal(seen(x), X + 40)
        assert all((z == X * 2).all() for z in found)


def test_an_interrupted_block_lets_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its arrays raise an error; arrays of others are computed, also with the memory it read."""
    gate = gate_before("run", monkeypatch)
    original = gate.hold

    def hold() -> None:
        original()
        if gate.opened.is_set() and gate.held is not None:
            gate.held = None
            raise KeyboardInterrupt

    monkeypatch.setattr(gate, "hold", hold)
    a = host(X)
    other = started(lambda: tripled(a), gate)
    gate.opened.set()
    with pytest.raises(KeyboardInterrupt):
        ended(*other)
    equal(seen(tripled(a)), X * 3 + 1)


def own(seed: int, rounds: int, shared: Any, base: np.ndarray[Any, Any]) -> None:
    """Random blocks on arrays of one's own, and on ones that are read by all, and NumPy's twin."""
    draw = random.Random(seed)
    arrays, twins = [host(X + seed)], [X + seed]
    known = 0
    for _ in range(rounds):
        leave_by_fault = draw.randrange(10) == 0
        try:
            with fused(device="cpu"):
                for _ in range(draw.randrange(1, 6)):
                    i, j = draw.randrange(len(arrays)), draw.randrange(len(arrays))
                    k = float(draw.randrange(1, 9))
                    what = draw.randrange(8)
                    if what == 0:
                        arrays.append(arrays[i] + arrays[j] * k)
                        twins.append(twins[i] + twins[j] * k)
                    elif what == 1:
                        arrays[i][1:] = arrays[j][:-1] * 0.5
                        twins[i][1:] = twins[j][:-1] * 0.5
                    elif what == 2:
                        arrays[i] -= shared
                        twins[i] -= base
                    elif what == 3:
                        arrays.append(cp.maximum(shared, k) + arrays[i])
                        twins.append(np.maximum(base, k) + twins[i])
                    elif what == 4:
                        equal(float(arrays[i][2, 3]), float(twins[i][2, 3]))
                    elif what == 5:
                        arrays[i][k % 4 == 1] = k
                        twins[i][k % 4 == 1] = k
                    elif len(arrays) > 1:
                        del arrays[i], twins[i]
                if leave_by_fault:
                    raise KeyError
        except KeyError:
            known += 1
        equal([seen(a) for a in arrays], twins)
        del arrays[4:], twins[4:]
        arrays, twins = [host(t % 1024) for t in twins], [t % 1024 for t in twins]


@pytest.mark.parametrize(
    "rounds", [25, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_threads_against_numpy(rounds: int) -> None:
    """Threads with blocks of their own that share what they read: each sees what NumPy would."""
    shared = host(X * 2)
    at_once([functools.partial(own, k, rounds, shared, X * 2) for k in range(4)])
    equal(seen(shared), X * 2)


@pytest.mark.parametrize(
    "times", [0, 2, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
def test_threads_write_to_one_array(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of several threads that write to parts of one array, and whole, lose nothing."""
    shared, rounds = host(np.zeros((4, 6))), 25

    def work(row: int) -> None:
        for k in range(rounds):
            with fused(device="cpu"):
                shared[row] += 1
                mine = shared[row] * 2
            assert (seen(mine) == 2 * k + 2).all()

    for seed in range(times):
        seen(shared)[...] = 0
        steps.forget()
        with monkeypatch.context() as patch:
            delays(patch, seed)
            at_once([functools.partial(work, row) for row in range(4)])
        equal(seen(shared), np.full((4, 6), float(rounds)))
    seen(shared)[...] = 0
    at_once([functools.partial(work, row) for row in range(4)])
    equal(seen(shared), np.full((4, 6), float(rounds)))


def test_what_is_recorded_before_a_flush_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush by another thread does not forget what has been recorded since it took off."""
    x = host(X)
    armed: list[bool] = []

    def waits(recorder: Any) -> None:
        if armed and armed.pop():
            x[:2] += 1.0  # known to the tape

    monkeypatch.setattr("fusecuda.capture.record.recorder.wait_for", waits)
    for _ in range(3):
        with fused(device="cpu"):
            x[:2] += 1.0
            armed.append(True)
            recorder_in_force.get().flush()
            after = x[:2] * 2.0
        equal(seen(after), seen(x)[:2] * 2)
    equal(seen(x)[:2], X[:2] + 6)


class Reader:
    """A recorder beside, during whose flush the memory of ``storage`` is forgotten."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.flushes = 0

    def flush(self) -> None:
        self.flushes += 1
        table.drop(lambda entry: entry is not self.storage)


@pytest.mark.parametrize("update", ["+=", "fill", "[:2] ="])
def test_what_is_forgotten_while_an_update_is_recorded(update: str) -> None:
    """Where others have computed meanwhile, the update is recorded again on what there is now."""
    x = host(X)
    address = x.data.ptr
    with fused(device="cpu"):
        before = x * 2.0
        storage = table.at(address)
        assert storage is not None
        reader = Reader(storage)
        storage.readers = {*storage.readers, reader}
        if update == "+=":
            x += 1.0
        elif update == "fill":
            x[...] = 3.0
        else:
            x[:2] = x[2:]
        after = x * 2.0
    want = {"+=": X + 1, "fill": np.full_like(X, 3.0), "[:2] =": np.concatenate([X[2:], X[2:]])}
    assert reader.flushes == 1
    equal([seen(before), seen(x), seen(after)], [X * 2, want[update], want[update] * 2])
