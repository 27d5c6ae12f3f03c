"""Recordings that repeat are followed, not made again, and come to the same results."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402 - they need CuPy
from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import steps, tape  # noqa: E402
from fusecuda.capture.cupy.region import CupyRegion, region_in_force  # noqa: E402
from fusecuda.capture.tally import Tally  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.arange(24.0).reshape(4, 6)


class Watch:
    """What tapes have done since the last look."""

    def __init__(self) -> None:
        self.followed = self.learned = self.flushes = self.made_nodes = 0

    def look(self) -> tuple[int, int, int, int]:
        """Operations followed and recorded, flushes from the tape, times it was left."""
        found = self.followed, self.learned, self.flushes, self.made_nodes
        self.__init__()  # type: ignore[misc]
        return found


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Counts, beginning with nothing known."""
    watch = Watch()
    steps.forget()

    def counting(name: str, count: Callable[[Any, Any], None]) -> None:
        original = getattr(tape.Tape, name)

        def call(self: Any, *args: Any) -> Any:
            result = original(self, *args)
            count(self, result)
            return result

        monkeypatch.setattr(tape.Tape, name, call)

    def add(field: str) -> Callable[[Any, Any], None]:
        return lambda self, result: setattr(watch, field, getattr(watch, field) + 1)

    counting("take", add("followed"))
    counting("learn", add("learned"))
    counting("rerun", add("flushes"))
    counting("_make_nodes", lambda self, _: self.path and add("made_nodes")(self, None))
    yield watch
    steps.forget()


def check(program: Callable[..., Any], *args: Any) -> None:
    """``program(module, …)`` gives and leaves in CuPy arrays what it does in NumPy's."""
    given = [host(a) if isinstance(a, np.ndarray) else a for a in args]
    wanted_args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    wanted = program(np, *wanted_args)
    with fused(device="cpu"):
        got = program(cp, *given)
    for g, w in zip((*got, *given), (*wanted, *wanted_args), strict=True):
        assert type(g) is cp.ndarray or not isinstance(w, np.ndarray)
        equal(seen(g) if isinstance(g, cp.ndarray) else g, w)


def body(m: Any, x: Any, k: float = 0.5) -> Any:
    """Operators, reductions, views, writes."""
    y = x * k + 1
    x[1:] += y[:-1]
    x[0] = 3.0
    z = m.where(y > 2, y, x).max(axis=0)
    x[:, 1] = z[0]
    return y, z, m.stack([z, z]).reshape(3, -1)


def test_a_known_recording_is_followed(watch: Watch) -> None:
    """From the second time on nothing is recorded, also on other values and in other memory."""
    check(body, X)
    _, learned, flushes, left = watch.look()
    assert (learned > 8, flushes, left) == (True, 0, 0)
    for i in range(3):
        check(body, X + i)
        assert watch.look() == (learned, 0, 1, 0)


def test_loops_are_cut_where_they_were(watch: Watch) -> None:
    """A long loop in one block is computed in parts that repeat, and settles on following them."""

    def loop(m: Any, x: Any) -> Any:
        for _ in range(400):
            body(m, x, 0.25)
            x *= 0.125
        return ()

    check(loop, X)
    watch.look()
    compiled = fc.compile_count()
    check(loop, X * 2)
    followed, learned, flushes, left = watch.look()
    assert fc.compile_count() == compiled
    assert followed > 9 * learned
    assert (flushes > 3, left <= 1) == (True, True)


def test_numbers_that_change(watch: Watch) -> None:
    """Floats of operators are arguments once they have changed; equal ones may part."""

    def step(m: Any, x: Any, a: float, b: float) -> Any:
        return (x * a + b * x - a,)

    for a, b in [(0.5, 0.5), (0.5, 0.5), (0.25, 0.5), (0.125, 0.5), (0.125, 8.0)]:
        check(step, X, a, b)
    watch.look()
    for a, b in [(3.0, 4.0), (-0.0, 0.0), (0.0, -0.0), (float("inf"), 2.0)]:
        with np.errstate(invalid="ignore"):
            check(step, X + 1, a, b)
    assert watch.look() == (16, 0, 4, 0)


def test_numbers_that_mean_something_else(watch: Watch) -> None:
    """Integers, numbers of functions, and the sign of a zero are told apart."""
    for shift in (1, 2, 1, True, 1.0):
        check(lambda m, x, s: (x + s, m.where(x > 3, x, s)), X, shift)
    for zero in (0.0, -0.0, 0.0):
        check(lambda m, x, z: (m.where(x > 3, x, z), x * z), X, zero)
    for axis in (0, 1, None, 0):
        check(lambda m, x, a: (x.sum(axis=a, keepdims=True),), X, axis)
    for power in (2.0, 0.5, 3.0, 2.0, -1.0):
        check(lambda m, x, p: (x**p,), X + 1, power)


def test_shapes_types_and_layouts_are_told_apart(watch: Watch) -> None:
    """The same operations on other arrays are another recording."""
    for x in (X, X.astype(np.float32), X[:2], X.astype(int), X.reshape(2, 12), X):
        check(lambda m, x: (x[1:] * 2 + x[:1], x.sum(axis=0)), x)
    assert watch.look()[0] == 3  # the last one

    def shifted(m: Any, x: Any, y: Any) -> Any:
        x[:3] += y
        return (x * 2,)

    for _ in range(2):
        for low in range(2):
            kept, wanted = host(X), X.copy()
            with fused(device="cpu"):
                got = shifted(cp, kept, kept[low : low + 3])
            want = shifted(np, wanted, wanted[low : low + 3].copy())
            equal(seen(got[0]), want[0])
            equal(seen(kept), wanted)


def test_what_is_dropped_may_differ(watch: Watch) -> None:
    """The same operations, of which other results are held, are computed as needed."""
    for _ in range(2):
        for kept in ((0, 1), (0,), (1,), ()):
            given = host(X)
            with fused(device="cpu") as region:
                made = [given * 2, given + 1]
                made = [m if i in kept else None for i, m in enumerate(made)]
            assert region.launches == bool(kept)
            for i in kept:
                equal(seen(made[i]), (X * 2, X + 1)[i])


def test_another_way_is_taken_in_the_middle(watch: Watch) -> None:
    """Where a recording leaves what is known, its values are those of what was done."""

    def program(m: Any, x: Any, way: int) -> Any:
        y = x * 2.5
        x[1:] -= y[:-1]
        dropped = m.exp(x)
        z = x[::2] + y[1::2]
        if way == 1:
            z = z.sum(axis=0)
        if way == 2:
            x[:] = y[::-1]
        if way == 3:
            return float(z.sum()), x + y, dropped
        if way == 4:
            z, x = m.asarray([1.0, 2.0]), y - x  # a list: no key can tell
        return z * 2 + x[0, 0], x + y, y

    for way in (0, 1, 0, 2, 1, 3, 0, 4, 3, 4, 2):
        check(program, X + way, way)


def test_unrecorded_operations_in_between(watch: Watch) -> None:
    """What CuPy does itself completes what was followed, each time."""

    def program(m: Any, x: Any) -> Any:
        y = x * 2
        n = int(m.count_nonzero(y > 8)) if m is np else int(cp.count_nonzero(y > 8))
        order = m.argsort(y[:, 0])
        x[0] = n
        return y + n, x[order], order

    for i in range(3):
        check(program, X + i)


def test_a_fault_while_following(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails is done again in parts; inputs are intact, and it works the next time."""

    def program(m: Any, x: Any) -> Any:
        return x * 2, x.sum(axis=1)

    check(program, X)
    original = CupyRegion._run
    faults = [MemoryError("none left"), MemoryError("still none")]

    def run(self: Any, executable: Any, arrays: Any) -> Any:
        if faults:
            raise faults.pop()
        return original(self, executable, arrays)

    monkeypatch.setattr(CupyRegion, "_run", run)
    given = host(X)
    with fused(device="cpu"):
        got = program(cp, given)
    equal([seen(g) for g in got], list(program(np, X)))
    check(program, X)


def test_errors_of_the_user_while_following(watch: Watch) -> None:
    """An operand that does not fit raises at once, and what was recorded before is computed."""
    for shape in ((4, 6), (4, 5), (4, 6), (4, 5)):
        x, y = host(X), host(np.ones(shape))
        with fused(device="cpu"):
            z = x * 2
            if shape == (4, 5):
                with pytest.raises(ValueError, match="broadcast"):
                    z + y
            else:
                z = z + y
            w = z - 1
        equal(seen(w), X * 2 + (shape == (4, 6)) - 1)


def test_views_of_results_and_lists(watch: Watch) -> None:
    """Results that are views of operands share their memory; lists keep their types."""

    def program(m: Any, x: Any) -> Any:
        y = x + 1
        flat = y.reshape(-1)
        flat[::5] = 7.0
        parts = m.split(y, 2, axis=1)
        parts[1] *= 2
        turned = y.T.reshape(6, 4)
        turned[0] = 1.0
        return y, flat, *parts, turned, y.ravel()

    for i in range(3):
        check(program, X - i)
    assert watch.look()[3] == 0


def test_out_and_scalars(watch: Watch) -> None:
    """`out=`, NumPy's scalars and booleans."""

    def program(m: Any, x: Any, out: Any) -> Any:
        m.multiply(x, np.float64(2.5), out=out)
        m.add(out, x, out)
        m.square(x, out=x)
        y = m.sum(x, axis=0, out=out[0])
        return out * np.float32(0.5), x > 1, x * True, y

    for i in range(3):
        check(program, X + i, np.zeros_like(X))
    assert watch.look()[2:] == (2, 0)


def test_windows_that_move(watch: Watch) -> None:
    """A row of its own for each step is one plan still."""
    history = host(np.zeros((60, 6)))
    compiled = fc.compile_count()
    with fused(device="cpu"):
        x = host(X[0])
        for i in range(60):
            x = x * 0.5 + 1
            history[i] = x
            if i % 10 == 9:
                float(x[0])
    wanted, v = np.zeros((60, 6)), X[0]
    for i in range(60):
        v = v * 0.5 + 1
        wanted[i] = v
    equal(seen(history), wanted)
    assert fc.compile_count() - compiled <= 2


def test_other_contexts(watch: Watch) -> None:
    """Other threads, inside blocks of their own or not, see what was followed."""
    check(lambda m, x: (x * 2 + 1,), X)
    x, found = host(X), []
    with fused(device="cpu"):
        y = x * 2 + 1

        def inside() -> None:
            with fused(device="cpu"):
                found.append(y - 1)
                y[0] = 5.0

        def outside() -> None:
            y.data  # noqa: B018
            found.append(seen(y).copy())

        for target in (outside, inside):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        z = y + 1
    equal(found[0], X * 2 + 1)
    equal(seen(found[1]), X * 2)
    wanted = X * 2 + 1
    wanted[0] = 5.0
    equal(seen(z), wanted + 1)


def test_nothing_is_kept_alive(watch: Watch) -> None:
    """What is known of a recording holds none of its arrays."""

    class Held(np.ndarray[Any, Any]):
        pass

    alive = []
    for _ in range(3):
        memory = X.copy().view(Held)
        alive.append(weakref.ref(memory))
        x = host(memory)
        del memory
        with fused(device="cpu"):
            y = x * 2
            y[0] = x[1]
        del x, y
    gc.collect()
    assert not any(reference() is not None for reference in alive)


def test_what_is_known_is_bounded(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that never repeat do not fill the memory."""
    monkeypatch.setattr(steps, "_STEPS_LIMIT", 40)
    for i in range(60):
        check(lambda m, x, n: (x + n, x * n, m.roll(x, n)), X, i)
    assert steps._steps <= 40 + 8


def test_regions_that_tell_each_line_are_recorded(watch: Watch) -> None:
    """A report needs every operation."""
    check(lambda m, x: (x * 2,), X)
    watch.look()
    with fused(device="cpu"):
        region = region_in_force()
        assert region is not None
        region.tally = Tally()
        y = host(X) * 2
        assert region.tape.mode == tape.OFF
    equal(seen(y), X * 2)
    assert watch.look()[0] == 0


def test_boundaries_that_change(watch: Watch) -> None:
    """Numbers that are assigned, and NumPy's own numbers, are arguments too."""

    def step(m: Any, x: Any, t: float) -> Any:
        x[0] = t
        x[1:, 0] = np.float64(t) * 2
        return x * np.float64(t), np.float64(t) - x, x + t

    for t in (0.5, 0.25):
        check(step, X, t)
    watch.look()
    for t in (0.125, -0.0, 0.75, float("nan")):
        check(step, X, t)
    assert watch.look() == (20, 0, 4, 0)


def test_a_fault_in_the_middle_of_an_operation(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an operation did before it was interrupted is no part of what is known."""
    from fusecuda.capture import recorder

    original, interrupt = recorder.Recorder.note, [True]

    def note(self: Any, node: Any, storage: Any) -> None:
        original(self, node, storage)
        if interrupt and node.op == "add":
            interrupt.clear()
            raise KeyboardInterrupt

    monkeypatch.setattr(recorder.Recorder, "note", note)
    x = host(X)
    with fused(device="cpu"):
        y = x * 2
        with pytest.raises(KeyboardInterrupt):
            x += 1
        x[1] *= 0.5
    equal(seen(y), X * 2)

    def program(m: Any, x: Any) -> Any:
        y = x * 2
        x[1] *= 0.5
        return (y,)

    for _ in range(3):
        check(program, X)


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
    monkeypatch.setattr("fusecuda.capture.cupy.learning.BEGINNINGS", 4)
    for n in range(1, 9):
        check(lambda m, x: (x + 1,), np.ones(n))
    watch.look()
    check(lambda m, x: (x + 1,), np.ones(8))
    assert watch.look()[0] == 1
