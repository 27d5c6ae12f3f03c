"""Faults that were found once in recordings that repeat: each stays mended."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402 - they need CuPy
from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import internals, steps  # noqa: E402
from fusecuda.capture.cupy.region import CupyRegion, region_in_force  # noqa: E402
from fusecuda.capture.record.lines import Tally  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.tape_check import Watch, X, check, watching  # noqa: E402, F401 - a fixture

cupy_host.install()
pytestmark = pytest.mark.usefixtures("where_they_stand")


def test_a_fault_in_the_middle_of_an_operation(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an operation did before it was interrupted is no part of what is known."""
    from fusecuda.capture.record import recorder

    original, interrupt = recorder.Recorder.note, [True]

    def note(self: Any, node: Any, storage: Any) -> None:
        original(self, node, storage)
        if interrupt and node.op == "add":
            interrupt.clear()
            raise KeyboardInterrupt

    monkeypatch.setattr(recorder.Recorder, "note", note)
    for interrupted in (True, False, False, False):
        x = host(X)
        with fused(device="cpu"):
            y = x * 2
            if interrupted:
                with pytest.raises(KeyboardInterrupt):
                    x += 1
            x[1] *= 0.5
        equal(seen(y), X * 2)
        if not interrupted:
            equal(seen(x), X * np.where(np.arange(len(X)) == 1, 0.5, 1.0)[:, None])


def test_memory_in_several_guises(watch: Watch) -> None:
    """Views of another type of one buffer are told apart, whichever is met first."""

    def pool(values: Any) -> tuple[Any, Any]:
        memory = host(values.view(np.uint8))
        return memory[:32].view(np.float64), memory[32:].view(np.float64)

    for turn, third in enumerate("bbcbcb"):
        values = np.arange(8.0) + turn
        first, second = pool(values.copy())
        other = host(values[:4] * 3)
        with fused(device="cpu"):
            total = first * 2 + second
            last = total + (second if third == "b" else other)
        wanted = values[:4] * 2 + values[4:]
        equal(seen(total), wanted)
        equal(seen(last), wanted + (values[4:] if third == "b" else values[:4] * 3))


def test_another_thread_drops_results(watch: Watch) -> None:
    """A result that dies during the flush does not make an update happen twice."""
    import sys
    from collections import deque

    box: deque[Any] = deque()
    done = threading.Event()

    def drop() -> None:
        while not done.is_set():
            if box:
                box.popleft()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for i in range(300):
            x = host(X + i)
            with fused(device="cpu"):
                y = x * 2
                x += 1
                box.append(y)
                del y
            equal(seen(x), X + i + 1)
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_numbers_that_are_all_of_an_array(watch: Watch) -> None:
    """A 0-d array that was assigned a number is that number, of each type that it is cast to."""

    def program(m: Any, x: Any, s: Any, t: float) -> Any:
        s[...] = t
        return x * s, s.astype(np.float32), s > 0.1, m.stack([s, s]), m.where(x > 1, s, x)

    for t in (0.5, 0.5, 0.25, 3.0, -0.0):
        check(program, X, np.zeros((), np.float32), t)


def test_large_numbers_under_errstate(watch: Watch) -> None:
    """A number too large for its type is infinite, whatever NumPy is told at the flush."""
    for t in (0.5, 0.25, 1e300, 0.5):
        x = host(X.astype(np.float32))
        with fused(device="cpu"):
            y = x * t
            with np.errstate(all="raise"):
                float(x[1, 1])
        with np.errstate(all="ignore"):
            equal(seen(y), X.astype(np.float32) * np.float32(t))


def test_an_interrupt_after_memory_was_overwritten(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is run again, or computed from what nobody knows: touching it tells so."""
    for _ in range(3):
        x, original = host(X), CupyRegion._run

        def run(self: Any, *args: Any, original: Any = original) -> Any:
            original(self, *args)
            raise KeyboardInterrupt

        with pytest.raises(fc.FlushError, match="interrupted"), fused(device="cpu"):
            y = x * 2
            x += 1
            monkeypatch.setattr(CupyRegion, "_run", run)
            with pytest.raises(KeyboardInterrupt):
                float(x[0, 0])
            monkeypatch.undo()
            with pytest.raises(fc.FlushError, match="interrupted"):
                y + 1
        equal(seen(x), X + 1)
        with fused(device="cpu"):
            z = x - 1
        equal(seen(z), X)


@pytest.mark.parametrize("told", [False, True])
def test_numbers_assigned_after_arrays_were_made(watch: Watch, told: bool) -> None:
    """An assignment whose operand takes a flush first is not lost."""
    for turn in range(3):
        x = host(X + turn)
        with fused(device="cpu"):
            region = region_in_force()
            assert region is not None
            region.tally = Tally() if told else None
            z = cp.zeros(4)
            x[1:3] = 0.5
        wanted = X + turn
        wanted[1:3] = 0.5
        equal(seen(x), wanted)
        equal(seen(z), np.zeros(4))


def test_overlapping_arrays_of_several_types(watch: Watch) -> None:
    """Operands that are found to share memory are told by shape and type all the same."""
    for dtype in ("f8", "f8", "i8", "f8", "i8", "f4"):
        values = np.arange(12).astype(dtype)
        memory = host(values)
        views = memory[4:], memory[:8]
        p, q = (cp.ndarray(v.shape, v.dtype, memptr=v.data) for v in views)  # without a base
        with fused(device="cpu"):
            total = p + q
            twice = total * 2
        equal(seen(total), values[4:] + values[:8])
        equal(seen(twice), (values[4:] + values[:8]) * 2)


def test_what_others_have_read_is_told_after_a_flush_of_ours(watch: Watch) -> None:
    """A write comes after the reads of other regions, also if ours was flushed in between."""
    for turn in range(3):
        x, other = host(X + turn), host(np.ones(4))
        read, done, found = threading.Event(), threading.Event(), []

        def reading(x: Any = x, read: Any = read, done: Any = done, found: Any = found) -> None:
            with fused(device="cpu"):
                y = x * 3
                read.set()
                done.wait()
            found.append(seen(y).copy())

        with fused(device="cpu"):
            z = x + 1
            thread = threading.Thread(target=reading)
            thread.start()
            read.wait()
            float(other.sum())
            x[...] = -5.0
            float(other.sum())
        done.set()
        thread.join()
        equal(found[0], (X + turn) * 3)
        equal(seen(z), X + turn + 1)
        assert (seen(x) == -5).all()


def test_known_ends_and_beginnings_are_bounded(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that are dropped in ever new ways, and ever new beginnings, do not pile up."""
    for kept in range(64):
        x = host(X)
        with fused(device="cpu"):
            made = [x + i for i in range(6)]
            made = [m for i, m in enumerate(made) if kept >> i & 1]
    states, ends = list(steps._roots.values()), 0
    while states:
        state = states.pop()
        ends += len(state.ends)
        states += [s.next for s in state.steps.values()]
    assert 0 < ends <= steps.BRANCHES * 7
    monkeypatch.setattr("fusecuda.capture.cupy.step_maker.BEGINNINGS", 4)
    for n in range(1, 9):
        check(lambda m, x: (x + 1,), np.ones(n))
    watch.look()
    check(lambda m, x: (x + 1,), np.ones(8))
    assert watch.look()[0] == 1


def test_no_memory_for_the_array_of_a_known_operation(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows is told by the numbers that it would have had."""

    def step(m: Any, x: Any, fails: bool = False) -> Any:
        a = x + 1
        if fails:
            with monkeypatch.context() as patch, pytest.raises(MemoryError):
                patch.setattr(internals, "MemoryPointer", _without_memory)
                x * 2
        else:
            x * 2
        b = a - x
        return a * b, b

    for fails in (False, False, True, False):
        x = host(X)
        with fused(device="cpu"):
            product, difference = step(cp, x, fails)
        equal(seen(product), X + 1)
        equal(seen(difference), np.ones(X.shape))


def _without_memory(*args: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize("faults", [1, 2])
def test_a_plan_for_all_that_fails(
    watch: Watch, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is then planned for one storage alone is not taken for all that a flush computes."""
    original = CupyRegion._executable

    def fails(self: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
        if len(outputs) > 1 and turn < faults:
            raise ValueError("no plan")
        return original(self, outputs, *args, **kwargs)

    monkeypatch.setattr(CupyRegion, "_executable", fails)

    def program(m: Any, x: Any, y: Any) -> Any:
        x += 1
        y[...] = x.sum(axis=1) * 2
        return x.sum(), y - 1

    for turn in range(4):
        check(program, X + turn, X[:, 0])
    assert watch.flushes
