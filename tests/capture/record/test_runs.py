"""Runs: what a block records as before is looked up by what tells it, and is what it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.capture.record import recorder
from fusecuda.capture.record.flight import recording
from fusecuda.capture.record.rest import ATTEMPTS, Trial
from fusecuda.capture.record.storage import Storage
from tests.capture_check import equal, lazy

pytestmark = pytest.mark.usefixtures("on_lazy_arrays")
X = np.arange(-30.0, 30.0).reshape(6, 10)  # sums and halves are exact


@pytest.fixture
def sought(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many outputs each graph has for which a plan is looked for by the whole graph."""
    found: list[int] = []
    whole = recorder.executable_for

    def counted(outputs: Any, *rest: Any, **named: Any) -> Any:
        found.append(len(outputs))
        return whole(outputs, *rest, **named)

    monkeypatch.setattr(recorder, "executable_for", counted)
    return found


def both(program: Callable[..., Any], *args: Any) -> None:
    """``program`` gives and leaves in a block what it does in NumPy; the same array stays one."""
    copies = {id(a): a.copy() for a in args if isinstance(a, np.ndarray)}
    made = {key: lazy(a) for key, a in copies.items()}
    ours = [made.get(id(a), a) for a in args]
    theirs = [copies.get(id(a), a) for a in args]
    wanted = program(*theirs)
    with fused(strict=True):
        got = program(*ours)
    equal(got, wanted)
    equal(ours, theirs)


def step(x: Any, k: float) -> Any:
    """Operators, views, a slice update, a reduction, a broadcast and a selection."""
    x[1:-1] += 0.5 * (x[2:] - k * x[1:-1] + x[:-2])
    y = np.where(x > k, x - x.max(axis=1, keepdims=True), 1.0)
    return y.sum(axis=0), x.T[1:] * x.sum(), -y


def test_what_repeats_is_not_looked_for(sought: list[int]) -> None:
    """The second block finds its plan by what was recorded."""
    for _ in range(4):
        both(step, X, 2.0)
    assert len(sought) <= 2  # patterns are learned by the first


def test_numbers_that_change(sought: list[int]) -> None:
    """A number that has changed is planned as an argument; from then on all are known."""
    for k in (0.0, 1.0, -0.0, 2.5, 1e300, 1e-310, 7.0):
        both(lambda x, k: (x * k + 1, k - x), X, k)
    assert len(sought) == 2


def parts(x: Any, y: Any, k: Any) -> Any:
    """Parts that are updated once and again, by others, by themselves and by numbers."""
    x[1:-1] += y[:4]
    x[1:-1] += x[:1]
    x[:, 1:] *= k
    x[2:] -= (y + x)[2:]
    x[1:] += x[:-1]
    y[::2, ::-1] -= x[1::2]
    y[1::2] += y[::2] > 0
    x[0] -= x[1]
    view = x[1:3]
    view[:, 2:5] -= view[:1, 2:5]
    view -= view
    view += y[0]
    x[3:] += 1
    whole = x[...]
    whole -= y[:1]
    return x[2:] + y[:4], view.sum(axis=1)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_parts_that_are_updated(dtype: str, sought: list[int]) -> None:
    x = X.astype(dtype)
    for k in (2, 2.0, 0.5, 2.0) if dtype == "f8" else (2, 3, 2):
        for _ in range(3):
            both(parts, x, x[::-1] + 3, k)
    assert len(sought) < 12  # some are planned for numbers, or for these as arguments


def test_which_part_is_updated_by_which() -> None:
    """Programs that differ in one operand, one part or one operator alone."""

    def program(x: Any, y: Any, which: int) -> Any:
        x[...] = x + 1.0
        a, b = x * 2.0, y * 3.0
        if which == 0:
            x[1:] += a[:5]
        elif which == 1:
            x[1:] += b[:5]
        elif which == 2:
            x[1:] += a[1:]
        elif which == 3:
            x[:-1] += a[:5]
        elif which == 4:
            x[1:] -= a[:5]
        elif which == 5:
            x[1:] += 2.0
        else:
            x[1:] += a[0, 0]
        return a, b

    for _ in range(3):
        for which in range(7):
            both(program, X, X[::-1] + 0.5, which)


def test_what_waits_for_a_part_has_it_as_it_was() -> None:
    """A selection that nobody has looked at, and memory that others see."""

    def program(x: Any) -> Any:
        x[0] = 5.0
        chosen = x[x > 3.0]
        x[1:] += 1.0
        x[1:] -= x[:1]
        return chosen, x[chosen[0] > 0]

    for _ in range(3):
        both(program, X)
    for _ in range(3):
        given = X.copy()
        x = lazy(given)
        with fused(strict=True):
            x[1:] = 2.0
            seen = np.asarray(x)
            x[1:] += x[:1]
            assert seen[1, 0] == 2.0 + X[0, 0]


def filled(x: Any, k: Any) -> Any:
    """Numbers written to edges, all of it, and what runs backwards."""
    y = x * 2
    x[0] = x[-1] = k
    x[1:-1, 1::3] = k
    y[::-2] = k
    z = y + x
    z[...] = k
    y[1:, 4:5] = k
    return y, z, z * k


def others_filled(x: Any, k: Any) -> Any:
    """Numbers written to an element, to nothing, and to all elements in another order."""
    x[2, 3] = k
    x[1:, :0] = k
    y = x * 2
    y[::-1] = k
    return y, x.T[::2] + k


def test_numbers_that_are_written(sought: list[int]) -> None:
    """They are arguments as those of arithmetic are; integers are doubles where that is exact."""
    for k in (0.0, 1.0, -0.0, 2.5, float("nan"), float("-inf"), 3, -7, 0):
        both(filled, X, k)
    assert len(sought) <= 3
    both(others_filled, X, 2.5)
    both(others_filled, X, -0.0)
    for k in (True, (1 << 53) + 1, 1 << 64, np.float32(0.1)):
        both(filled, X, k)
    both(filled, X.astype("f4"), 1)
    both(filled, X.astype("i4"), 0.0)


def test_numbers_of_other_bits() -> None:
    """A zero of the other sign is another number, and so is a number of another type."""
    for k in (0.0, -0.0, 0, 2, 2.0, np.float32(2), np.float64(2), True):
        both(lambda x, k: np.copysign(1.0, x * k), X, k)
        both(lambda x, k: x * k, X.astype("f4"), k)
        both(lambda x, k: x * k, X.astype("i2"), k)


def test_who_reads_what() -> None:
    """Recordings of the same operations on other operands are others."""
    programs: list[Callable[..., Any]] = [
        lambda x, y: x - y, lambda x, y: y - x, lambda x, y: (x - y) * x, lambda x, y: (x - y) * y,
        lambda x, y: x - x, lambda x, y: x[1:] - y[:-1], lambda x, y: x[:-1] - y[1:],
        lambda x, y: (x + y) * (x - y), lambda x, y: (x + y) * (y - y),
    ]  # fmt: skip
    for program in programs * 2:
        both(program, X, X + 1)
        both(program, X, X)


def test_one_array_and_two() -> None:
    """Where an operand is another one there are two arrays to write to."""

    def program(x: Any, y: Any) -> Any:
        x[1:] += y[:-1]
        y *= 2
        return np.where(x > y, x, y), np.where(x > x, x, y)

    for _ in range(3):
        both(program, X, X)
        both(program, X, X + 1)


INTO: list[Callable[[Any, Any], Any]] = [
    lambda x, out: np.cumsum(x, 0, out=out),
    lambda x, out: np.cumprod(x, 0, None, out),
    lambda x, out: np.clip(x, -2, 2, out=out),
    lambda x, out: np.clip(x, -2, 2, out),
    lambda x, out: x.clip(-2, 2, out=out),
    lambda x, out: np.round(x, 0, out),
    lambda x, out: np.sum(x, 0, out=out[0]),
    lambda x, out: x.max(1, out=out[:, 0]),
    lambda x, out: np.mean(x, axis=0, out=out[1]),
    lambda x, out: np.std(0 * x, 1, None, out[:, 1]),
    lambda x, out: np.median(x, 0, out[2]),
]


@pytest.mark.parametrize("call", INTO)
def test_results_that_are_put_into_arrays(call: Callable[[Any, Any], Any]) -> None:
    """What ``out`` names is written once, in the memory that others see, and is what comes back."""

    def program(x: Any) -> Any:
        made = x * 2
        seen = made[::-1]
        call(x, seen)
        kept = made + 0
        call(made, made)
        call(x, x)
        whole = x * 2
        same = call(whole, whole) is whole
        return made, seen, kept, whole * 1, same

    def block(x: Any) -> Any:
        with fused():
            return program(x)

    for _ in range(3):
        ours, theirs = lazy(X), X.copy()
        got, wanted = block(ours), program(theirs)
        equal((ours, got[:-1]), (theirs, wanted[:-1]))
        assert got[-1] is wanted[-1]


def test_rows_that_are_written_to_several() -> None:
    """What is written is spread as NumPy spreads it; what does not fit is NumPy's error."""

    def program(x: Any) -> Any:
        x[1:-1] = x[:1] - x[-1:]
        x[3:] = x[0]
        x[:, 1:3] = x[:, :1]
        x[1:-1] += x[:1]
        x[1:-1] += x[1:2]
        x[::2, 4:] = x[1:2, 4:][:, ::-1]
        return (x + x[::-1][:1]) * (x + x[2:3])

    def unfit(x: Any) -> str:
        with pytest.raises(ValueError, match="could not broadcast") as error:
            x[1:3] = x[:3]
        return str(error.value)

    for _ in range(3):
        both(program, X)
        both(unfit, X)


def test_a_temporary_has_no_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody holds at the flush is a node, no more."""
    made: list[int] = []
    init = Storage.__init__
    monkeypatch.setattr(Storage, "__init__", lambda s, *a: made.append(1) or init(s, *a))
    x = lazy(X)
    for _ in range(2):  # patterns are learned by the first one
        made.clear()
        with fused():
            y = np.sqrt(x * x + 1.0) - x.max(axis=0)
            z = -y
    assert len(made) == 2
    equal([y, z], [np.sqrt(X * X + 1.0) - X.max(axis=0), -(np.sqrt(X * X + 1.0) - X.max(axis=0))])


def test_views_of_a_temporary() -> None:
    """They show what is written to it, and write to it."""

    def program(x: Any) -> Any:
        w = x * 2
        v = w[1:]
        w += 1
        v[0] = 7.0
        v[1:] = v[:-1]
        v[:] = v[:]
        u = w.reshape(-1)
        u[:3] = u[3:6]
        return w, v, w.T

    for _ in range(3):
        both(program, X)


def test_order_of_axes() -> None:
    """Arrays that lie in columns are recorded otherwise than those in rows."""
    for _ in range(2):
        for x in (X, np.asfortranarray(X), X[::-1], X[:, ::2], X.T):
            both(lambda x: (x + 1, x * x, x.sum(axis=0), np.where(x > 0, x, 0.0)), x)
            with fused():
                got = lazy(x) + 1
            assert np.asarray(got).strides == (x + 1).strides


def test_numbers_alone() -> None:
    """A ufunc of two of them has nothing to record."""
    for number in (3, 2.5, np.float32(1.5)):
        for _ in range(3):
            with fused():
                made = lazy(X) * fnp.minimum(number, 2)
            equal(made, X * np.minimum(number, 2))


def test_errors_are_numpys() -> None:
    """Shapes, numbers and memory that do not fit raise at once, also when met again."""
    small = np.arange(6, dtype=np.int8)
    fixed = lazy(X)
    np.asarray(fixed)
    for _ in range(2):
        with fused():
            with pytest.raises(ValueError, match="broadcast"):
                lazy(X) + lazy(X[:, 1:])
            with pytest.raises(OverflowError):
                lazy(small) + 300
            with pytest.raises(IndexError):
                lazy(X)[1:, 99]
            with pytest.raises(TypeError):
                lazy(X)[1.0:]
            with pytest.raises(TypeError):
                a = lazy(small)
                a += 0.5
            with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                lazy(X) / 0.0
            equal(lazy(small) < 300, small < 300)
            view = np.broadcast_to(lazy(X[:1]), X.shape)
            with pytest.raises(ValueError, match="read-only"):
                view[1:] = 1.0


def test_a_block_that_gains_nothing_is_passed_through() -> None:
    """Where NumPy at once is faster, that is what becomes of it; `strict` keeps it fused."""
    launches, strict = [], []
    for _ in range(ATTEMPTS + 16):
        with fused() as region:
            x = lazy(X) + 1
        launches.append(region.launches)
        equal(x, X + 1)
        with fused(strict=True) as kept:
            y = lazy(X) + 1
        strict.append(kept.launches)
        equal(y, X + 1)
    assert launches[:ATTEMPTS] == [1] * ATTEMPTS
    assert 0 in launches[ATTEMPTS:]
    assert strict == [1] * len(strict)


def test_other_work_is_measured_anew() -> None:
    """Calls that take many times as long as those measured, several in a row, are others."""
    trial = Trial()
    while trial.plain is None:
        trial.took(*((1e-6, True) if trial.wants_plain else (1e-5, False)))
    for seconds in (1e-6, 1e-3, 1e-3, 1e-6, 1e-3, 1e-3, 1e-3):
        trial.noticed(seconds)
        assert trial.plain
    trial.noticed(1e-3)
    assert trial.plain is None


def test_the_lock_is_given_back_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a signal's handler raises when it has just been taken."""

    def interrupted() -> None:
        recording.acquire()
        raise KeyboardInterrupt

    with fused(strict=True):
        x = lazy(X)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("fusecuda.capture.arrays.makers._acquire", interrupted)
            x + x
        with ThreadPoolExecutor(1) as other:
            assert other.submit(recording.acquire, blocking=False).result()
            other.submit(recording.release).result()
        y = x + x
    equal(y, X + X)


def test_a_write_waits_for_who_has_read() -> None:
    """What another recorder reads of an array is computed before a block writes to it."""
    x = lazy(X)
    outer = copy_context()
    for _ in range(2):
        want = np.asarray(x) * 2
        with fused(strict=True) as region:
            other = outer.run(lambda: x * 2)  # by the process's own recorder
            x[1:] += 1.0
        assert region.launches == 1  # the write is the block's
        equal(other, want)
