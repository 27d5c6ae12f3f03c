"""Recordings that repeat are followed, not made again, and come to the same results."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from tests.marks import at_length

cp = pytest.importorskip("cupy")

import fusecuda as fc  # noqa: E402 - they need CuPy
from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import steps, tape  # noqa: E402
from fusecuda.capture.cupy.region import CupyRegion, region_in_force  # noqa: E402
from fusecuda.capture.record.lines import Tally  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402
from tests.tape_check import Watch, X, check, watching  # noqa: E402, F401 - a fixture

cupy_host.install()
pytestmark = pytest.mark.usefixtures("where_they_stand")


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


@at_length
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
        dropped = m.sqrt(x * x)
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

    original = CupyRegion._run
    faults: list[Exception] = []

    def run(self: Any, executable: Any, arrays: Any) -> Any:
        if faults:
            raise faults.pop()
        return original(self, executable, arrays)

    monkeypatch.setattr(CupyRegion, "_run", run)
    for rounds in range(4):
        if rounds == 2:
            faults += [MemoryError("none left"), MemoryError("still none")]
        given = host(X)
        with fused(device="cpu"):
            got = program(cp, given)
        assert not faults
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
