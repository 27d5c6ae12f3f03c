"""Threads: recording and computing go on while another thread's flush is held up."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.capture.record import flight
from fusecuda.engine import Executable
from fusecuda.errors import FlushError
from fusecuda.graph import build
from tests.capture_check import equal, lazy
from tests.threads import Gate, ended, gate_before, gates, in_time, settled, started

__all__ = ["gates"]

X = np.arange(60_000.0)


def test_recording_and_computing_go_on(gate: Gate) -> None:
    """Other arrays, and arrays that are being computed, while one thread's flush is held up."""
    a, c = lazy(X), lazy(X)
    other = started(lambda: float((a * 3 - 1).sum()), gate)

    def work() -> Any:
        b = lazy(X) + 1
        b[5:] *= 2
        small = fnp.asarray(np.arange(3.0)) + 1
        return float(b[6]), small.tolist(), np.asarray(c * 2 + b)

    want = X + 1
    want[5:] *= 2
    first, small, second = in_time(work)
    assert (first, small) == (14.0, [1, 2, 3])
    equal(second, X * 2 + want)
    gate.opened.set()
    assert ended(*other) == (X * 3 - 1).sum()


def test_what_is_being_computed_is_read_written_and_dropped(gate: Gate) -> None:
    """What hangs on it is recorded at once and computed after it, in the order of recording."""
    a = lazy(X)
    y, dropped = a * 2, a * 5
    a += 1
    y[:3] = 7
    other = started(lambda: float(y[0]), gate)

    def record() -> Any:
        z = y + a  # of promises
        y[1] = -1
        a[2:] *= 3
        w = a - y
        return z, w

    z, w = in_time(record)
    del dropped
    assert in_time(lambda: (lazy(X) * 2).sum().item()) == (X * 2).sum()  # does not wait for them
    gate.opened.set()
    assert ended(*other) == 7
    x, before = X + 1, X * 2
    before[:3] = 7
    after = before.copy()
    after[1] = -1
    later = x.copy()
    later[2:] *= 3
    equal([z, w, y, a], [before + x, later - after, after, later])


def test_an_array_is_written_with_what_is_being_computed(gate: Gate) -> None:
    """It waits for no flight of its own: others' flushes do not take it for one that is under way.

    What it was written with is copied, however often other arrays are computed until then.
    """
    a, y = lazy(X), lazy(X)
    b = a * 3
    other = started(lambda: float(b[1]), gate)

    def record() -> None:
        y[...] = b
        equal(lazy(X) * 2, X * 2)  # a flush of others that leaves it pending

    in_time(record)
    gate.opened.set()
    assert ended(*other) == 3
    equal(lazy(X) * 2, X * 2)
    b += 1
    equal([y, b, y + b], [X * 3, X * 3 + 1, X * 6 + 1])
    y -= 1
    equal([y, b], [X * 3 - 1, X * 3 + 1])


def test_a_write_waits_for_the_reads_of_a_flush(gate: Gate) -> None:
    """Memory that a flush still reads is not written to, however the write comes."""
    a, b = lazy(X), lazy(X)
    held = np.asarray(b)
    y = a * 2 + b
    other = started(lambda: np.array(y), gate)

    def write_recorded() -> None:
        a[1:] = -1
        assert float(a[1]) == -1

    def write_escaped() -> None:
        b[...] = -2

    def write_at_once() -> None:
        b.flat[3] = -3

    threads = [started(work) for work in (write_recorded, write_escaped)]
    settled(*threads)
    assert (held == X).all()
    gate.opened.set()
    equal(ended(*other), X * 2 + X)
    for thread in threads:
        ended(*thread)
    ended(*started(write_at_once))
    assert held[3] == -3 and (held[:3] == -2).all()
    equal(a, np.where(X, -1.0, 0.0))


def test_two_blocks_compute_at_once(gate: Gate) -> None:
    """A block of one thread is left while that of another is held up."""
    a = lazy(X)

    def block(k: int) -> Any:
        with fused(strict=True) as region:  # never passed through, however long a gate holds it up
            y = a * k
        return float(y.sum()), region.launches

    other = started(lambda: block(3), gate)
    assert in_time(lambda: block(5)) == ((X * 5).sum(), 1)
    gate.opened.set()
    assert ended(*other) == ((X * 3).sum(), 1)


def test_fused_functions_run_at_once(gate: Gate) -> None:
    """Calls that are recorded, and calls that are replayed, while another thread's is held up."""
    slow, fast = fused(lambda x: (x * 3).sum()), fused(lambda x: x * 2 + 1)
    other = started(lambda: float(slow(X)), gate)

    def calls() -> Any:
        return [fast(X + k) for k in range(3)], float((lazy(X) + 1).sum())

    results, total = in_time(calls)
    equal(results, [(X + k) * 2 + 1 for k in range(3)])
    assert total == (X + 1).sum()
    gate.opened.set()
    assert ended(*other) == (X * 3).sum()


def test_a_block_reads_what_another_thread_writes() -> None:
    """What a block has read of an array is computed before another thread overwrites it."""
    a = lazy(X)
    with fused():
        y = a * 2
        in_time(lambda: [a.__setitem__(slice(1, None), -1.0), float(a.sum())])
        z = a + 0
    equal([y, z], [X * 2, np.where(X, -1.0, 0.0)])


def test_a_version_is_computed_once() -> None:
    """What a thread has read before another one computed it in place is not computed again."""
    a = lazy(X)
    a[1:] += 1
    node = a.read_node()
    in_time(a.tolist)
    again = fc.Array.of_node(build.elementwise("add", [node, node], node.dtype))
    want = X.copy()
    want[1:] += 1
    equal([again, a], [want + want, want])


def test_a_version_that_is_being_computed_is_waited_for(gate: Gate) -> None:
    """What was read before a flush took it is its result, which is not there yet; all else is."""
    a = lazy(X)
    version = a * 2
    node = version.read_node()
    other = started(version.tolist, gate)
    doubled = fc.Array.of_node(build.elementwise("add", [node, node], node.dtype))
    apart = lazy(X) + 1
    assert in_time(lambda: float(apart[1])) == 2
    waiting = started(doubled.tolist)
    settled(waiting)
    gate.opened.set()
    assert ended(*other) == (X * 2).tolist()
    assert ended(*waiting) == (X * 4).tolist()


def test_a_fault_reaches_what_was_recorded_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs on an array that turns out to be at fault raises its error; all else is there."""
    gate = gate_before("run", monkeypatch)
    a = lazy(X) * 1
    bad = a[lazy(np.array([0, X.size]))]
    other = started(bad.tolist, gate)
    hangs, good = bad + 1, a + 1
    hangs[0] = 3
    gate.opened.set()
    with pytest.raises(IndexError, match="out of bounds"):
        ended(*other)
    for _ in range(2):
        for array in (hangs, bad):
            with pytest.raises(IndexError, match="out of bounds"):
                float(array[0])
        equal(good, X + 1)


def test_an_interrupted_flush_lets_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a flush that is interrupted gets an error; new arrays are computed."""
    gate, original = Gate(), Executable.run

    def slow(self: Any, arguments: Any) -> Any:
        if threading.current_thread() is gate.held:
            gate.hold()
            raise KeyboardInterrupt
        return original(self, arguments)

    monkeypatch.setattr(Executable, "run", slow)
    y = lazy(X) * 2
    other = started(y.sum().item, gate)
    hangs = y + 1
    waiting = started(y.tolist)
    settled(waiting)
    gate.opened.set()
    with pytest.raises(KeyboardInterrupt):
        ended(*other)
    for work in (lambda: ended(*waiting), lambda: np.asarray(hangs), lambda: np.asarray(y)):
        with pytest.raises(FlushError, match="interrupted"):
            work()
    assert not flight._flights and float((lazy(X) + 1)[3]) == 4


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs signals")
def test_an_interrupt_while_waiting_for_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is interrupted while it waits may ask again."""
    gate, original = Gate(), Executable.run

    def slow(self: Any, arguments: Any) -> Any:
        gate.hold()
        return original(self, arguments)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Executable, "run", slow)
    y = lazy(X) * 2
    other = started(y.sum().item, gate)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            y.tolist()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gate.opened.set()
    assert ended(*other) == (X * 2).sum() and not flight._waiting
    equal(y, X * 2)


def test_callbacks_in_the_middle_of_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may record, compute what is apart, and drop; what is being computed raises an error."""
    original, seen = Executable.run, []

    class Thing:
        pass

    def callback(_: Any) -> None:
        seen.append((lazy(X) + 5)[1].item())
        hangs.append(y + 1)
        for array in (y, hangs[0]):
            try:
                seen.append(float(array[3]))
            except FlushError as error:
                seen.append(str(error))

    def run(self: Any, arguments: Any) -> Any:
        things.clear()
        return original(self, arguments)

    hangs: list[Any] = []
    things = [Thing()]
    reference = weakref.ref(things[0], callback)
    monkeypatch.setattr(Executable, "run", run)
    y = lazy(X) * 2
    equal(y, X * 2)
    gc.collect()
    assert reference() is None
    assert seen[0] == 6 and all("further up" in text for text in seen[1:]) and len(seen) == 3
    equal(hangs[0], X * 2 + 1)


def test_two_threads_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback that needs what waits for its own thread's flush raises an error."""
    gate, original = Gate(), Executable.run
    seen: list[Any] = []

    def slow(self: Any, arguments: Any) -> Any:
        if threading.current_thread() is gate.held and not seen:
            seen.append("")
            gate.hold()
            try:
                z.tolist()
            except FlushError as error:
                seen.append(str(error))
        return original(self, arguments)

    monkeypatch.setattr(Executable, "run", slow)
    y = lazy(X) * 2
    other = started(y.tolist, gate)
    z = y + 1
    waiting = started(z.tolist)
    settled(waiting)
    gate.opened.set()
    assert ended(*other) == (X * 2).tolist() and ended(*waiting) == (X * 2 + 1).tolist()
    assert "further up" in seen[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child has no thread that would go on with them."""
    gate = gate_before("run", monkeypatch)
    y = lazy(X) * 2
    other = started(y.tolist, gate)

    def opening() -> None:
        while not flight._forking:
            pass
        gate.opened.set()

    opener = started(opening)
    child = os.fork()
    if child == 0:
        os._exit(0 if float(y[3]) == 6 and float((y + 1)[3]) == 7 else 1)
    _, status = os.waitpid(child, 0)
    ended(*opener)
    assert status == 0 and ended(*other) == (X * 2).tolist()
    assert float((y + 1)[3]) == 7


@pytest.mark.parametrize("write", ["item", "operator", "out", "power", "at"])
def test_a_write_at_once_takes_the_lock(write: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other thread records between the look whether memory is read and the write to it."""
    a = lazy(np.arange(8.0))
    b = a[...]
    found: list[Any] = []
    kept: list[Any] = []

    def reads() -> None:
        kept.append(lazy(X)[:8] + a)

    storage = a.storage
    unread = type(storage).unread

    def looked(self: Any) -> bool:
        result = bool(unread.__get__(self))
        if self is storage and not found:
            found.append(started(reads))
            found[0][0].join(0.5)  # it cannot have read before the write is done
        return result

    monkeypatch.setattr(type(storage), "unread", property(looked))
    if write == "item":
        b[2:] = -1
    elif write == "operator":
        b += 1
    elif write == "power":
        b **= 2
    elif write == "at":
        np.add.at(b, slice(2, None), 5.0)
    else:
        np.multiply(b, 3, out=b)
    want = np.arange(8.0)
    if write == "item":
        want[2:] = -1
    elif write == "at":
        want[2:] += 5
    else:
        want = {"operator": want + 1, "power": want**2, "out": want * 3}[write]
    ended(*found[0])
    equal([a, kept[0]], [want, X[:8] + want])
