"""Blocks around CuPy code and control flow: nesting, threads, tasks, generators, exceptions."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

from fusecuda import fused  # noqa: E402
from fusecuda.capture.cupy import internals, patches  # noqa: E402
from fusecuda.capture.cupy import memory as spaces  # noqa: E402
from fusecuda.capture.cupy.region import CupyRegion  # noqa: E402
from fusecuda.capture.cupy.storages import table  # noqa: E402
from fusecuda.capture.record import rest as patience  # noqa: E402
from fusecuda.capture.record.recorder import default_recorder, recorder_in_force  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal, lazy  # noqa: E402
from tests.cupy_host import host, seen  # noqa: E402

cupy_host.install()
X = np.arange(24.0).reshape(4, 6)


@pytest.fixture(autouse=True)
def left_clean() -> Iterator[None]:
    """After each test CuPy is unpatched and no storage is known."""
    yield
    assert patches.active() == 0
    assert len(table) == 0


def test_nested_blocks_join() -> None:
    """An inner block does not flush."""
    h = host(X)
    with fused(device="cpu") as outer:
        a = h + 1
        with fused(device="cpu"):
            b = a * 2
        c = b - a
        h[0] = 7
    assert outer.launches <= 3
    for got, want in ((a, X + 1), (b, (X + 1) * 2), (c, X + 1)):
        equal(seen(got), want)
    assert (seen(h)[0] == 7).all()


def test_an_exception_leaves_arrays_computed() -> None:
    """What was recorded before it is there afterwards."""
    h, kept = host(X), []
    with pytest.raises(KeyError), fused(device="cpu"):
        kept.append(h * 3)
        h[1:] += 1
        raise KeyError("x")
    equal(seen(kept[0]), X * 3)
    assert seen(h)[1, 0] == X[1, 0] + 1
    with fused(device="cpu") as region:
        b = h + 1
    assert region.launches == 1 and type(b) is cp.ndarray


@pytest.mark.parametrize("last", ["_prepare_modules", "when_idle"])
def test_an_interrupt_while_a_block_is_entered(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing records afterwards, and CuPy is as it was."""

    def interrupt(*_: Any) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    patches.settle()
    monkeypatch.setattr(patches, last, interrupt)
    with pytest.raises(KeyboardInterrupt), fused(device="cpu", strict=True):
        pytest.fail("the block began")
    assert recorder_in_force.get() is default_recorder and patches.active() == 0
    with fused(device="cpu", strict=True):
        b = host(X) + 1
    equal(seen(b), X + 1)


def test_an_interrupt_just_before_a_block_is_left() -> None:
    """What it has recorded is computed when the next one is entered."""
    block = fused(device="cpu", strict=True)
    block.__enter__()
    b = host(X) * 2
    assert type(b) is not cp.ndarray
    del block  # as a signal's handler has it that raises when `__exit__` begins
    with fused(device="cpu", strict=True):
        assert type(b) is cp.ndarray
    equal(seen(b), X * 2)
    assert recorder_in_force.get() is default_recorder


def test_generators_and_tasks() -> None:
    """A block inside a task or a generator records for itself alone."""

    def numbers() -> Iterator[Any]:
        a = host(X)
        for k in range(3):
            with fused(device="cpu"):
                a = a + k
            yield a

    async def task(k: int) -> Any:
        h = host(X)
        with fused(device="cpu") as region:
            a = h * k
            await asyncio.sleep(0)
            b = a + k
        return region.launches, b

    async def run() -> list[Any]:
        return await asyncio.gather(*(task(k) for k in range(5)))

    for k, (launches, b) in enumerate(asyncio.run(run())):
        assert launches >= 1
        equal(seen(b), X * k + k)
    for got, want in zip(numbers(), (X, X + 1, X + 3), strict=True):
        equal(seen(got), want)


def test_a_generator_suspended_inside_a_block() -> None:
    """What it yields is seen by whoever asks, also while it waits."""

    def numbers(h: Any) -> Iterator[Any]:
        with fused(device="cpu"):
            for k in range(3):
                h += k
                yield h * 2

    want, h = X.copy(), host(X)
    for k, got in enumerate(numbers(h)):
        want += k
        equal(got.get() if type(got) is not cp.ndarray else seen(got), want * 2)
    equal(seen(h), want)


def test_threads() -> None:
    """Six threads, each with blocks of its own, on own and shared arrays."""
    shared = host(X)
    faults: list[Any] = []

    def work(seed: int) -> None:
        try:
            for k in range(15):
                mine = host(X + seed)
                with fused(device="cpu"):
                    mine[1:] += mine[:-1]
                    b = (mine * k + shared).sum(axis=1)
                x = X + seed
                x[1:] += x[:-1].copy()
                equal(seen(b), (x * k + X).sum(axis=1))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults, faults[0]


def test_two_blocks_on_one_array() -> None:
    """A write in one thread's block comes after the reads that another's has recorded."""
    h = host(X)
    begin, written = threading.Event(), threading.Event()

    def write() -> None:
        begin.wait(10)
        with fused(device="cpu"):
            h[...] = 0
        written.set()

    thread = threading.Thread(target=write)
    thread.start()
    with fused(device="cpu"):
        y = h + 1
        begin.set()
        written.wait(10)
        z = h + 1
    thread.join()
    equal(seen(y), X + 1)
    equal(seen(z), X * 0 + 1)


def test_lazy_and_cupy_arrays_in_one_block() -> None:
    """NumPy's lazy arrays are computed apart from CuPy's."""
    h, a = host(X), lazy(X)
    with fused(device="cpu"):
        b, c = h * 2, a * 3
    equal(seen(b), X * 2)
    equal(c, X * 3)


def test_other_streams_and_events_flush() -> None:
    """Waiting for the device inside a block waits for what was recorded."""
    h = host(X)
    with fused(device="cpu"):
        y = h * 2
        with pytest.raises((cp.cuda.runtime.CUDARuntimeError, NotImplementedError)):
            cp.cuda.Stream.null.synchronize()  # no driver here
        assert type(y) is cp.ndarray


def test_dtype_views_of_one_memory() -> None:
    """The same bytes under two dtypes: each write is seen by the other."""
    h = host(np.zeros(4, "f4"))
    with fused(device="cpu"):
        bits = h.view("i4")
        h += 1
        bits += 1
        h *= 2
        y = (h + 0).view("u4")
    want = np.zeros(4, "f4")
    want += 1
    want.view("i4")[...] += 1
    want *= 2
    equal(seen(h), want)
    equal(seen(y), want.view("u4"))


def test_an_empty_block() -> None:
    """Nothing recorded, nothing launched."""
    with fused(device="cpu") as region:
        host(X)
    assert region.launches == 0
    assert region.explain()


@pytest.mark.parametrize("taped", [True, False])
def test_explanations_name_the_lines_of_their_own_block(
    taped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another block has recorded the same before, and when it is known."""
    monkeypatch.setattr(CupyRegion, "is_taped", taped)
    h = host(X)
    for _ in range(3):
        with fused(device="cpu") as one:
            a = h * 2 + 1
        with fused(device="cpu") as other:
            b = h * 2
            b += 1
        equal(seen(a), seen(b))
        numbers = [re.findall(r"regions.py:(\d+)", block.explain()) for block in (one, other)]
        first = test_explanations_name_the_lines_of_their_own_block.__code__.co_firstlineno
        assert numbers == [[str(first + 9)], [str(first + 11), str(first + 12)]]


def test_zero_size_and_zero_dimensional() -> None:
    """Arrays without elements, and with one."""
    e, s = host(np.empty((0, 3))), host(np.array(2.0))
    with fused(device="cpu"):
        a = e * 2 + 1
        t = e.sum(axis=0)
        e[...] = 5
        s += 1
        u = s * s
    assert type(a) is cp.ndarray and a.shape == (0, 3)
    equal(seen(t), np.zeros(3))
    equal(seen(u), np.array(9.0))


def test_swaps_and_self_assignment() -> None:
    """As if the right side were computed first."""
    a, x = host(X), X.copy()
    with fused(device="cpu"):
        a[0], a[1] = a[1].copy(), a[0].copy()
        a[:, ::-1] = a
        a[1:] = a[:-1]
        a += a.T.reshape(4, 6)
    x[0], x[1] = x[1].copy(), x[0].copy()
    x[:, ::-1] = x.copy()
    x[1:] = x[:-1].copy()
    x += x.T.reshape(4, 6)
    equal(seen(a), x)


def test_a_block_that_gains_nothing_is_passed_on() -> None:
    """Where each operation is looked at, most are run as without us; results are the same."""
    h = host(X)
    with fused(device="cpu") as region:
        for k in range(300):
            assert float(h[0, 1] * k) == k
            cp.median(h + 1)
        h += 1
    equal(seen(h), X + 1)
    assert region.launches < 200


@pytest.mark.parametrize("name", ["shuffle", "permutation", "choice"])
def test_random_generators_complete_what_they_are_given(name: str) -> None:
    """Methods of a `RandomState` run outside of recording, on computed arrays."""
    rng = object.__new__(cp.random.RandomState)
    asked: list[Any] = []
    space = spaces.SPACES["cpu"]

    class Watching(cupy_host.HostSpace):
        def native(self, function: Any, args: Any, kwargs: Any) -> Any:
            if args and args[0] is rng:
                asked.append((function.__name__, [type(a) for a in args[1:]]))
                return None
            return super().native(function, args, kwargs)

    spaces.SPACES["cpu"] = Watching()
    try:
        h = host(X)
        with fused(device="cpu") as region:
            other = h + 1
            getattr(rng, name)(h * 2)
            rng.random_sample(3)
            assert type(other) is cp.ndarray  # computed with the array that was asked for
            third = h * 3
            rng.random_sample(3)
            assert type(third) is not cp.ndarray  # drawing numbers computes nothing
        assert region.launches >= 1
    finally:
        spaces.SPACES["cpu"] = space
    assert asked == [(name, [cp.ndarray]), ("random_sample", [int]), ("random_sample", [int])]
    equal(seen(third), X * 3)


def test_generators_are_gated() -> None:
    """Each public method of a random generator has a stand-in inside a block, none outside."""
    patches.settle()
    owners = (cp.random.RandomState, cp.random.Generator)
    plain = {(o, n): f for o in owners for n, f in vars(o).items() if not n.startswith("_")}
    with fused(device="cpu"):
        for (owner, name), original in plain.items():
            assert not callable(original) or vars(owner)[name] is not original, name
    patches.settle()
    assert all(vars(o)[n] is f for (o, n), f in plain.items())


class PlainSpace(cupy_host.HostSpace):
    """As if CuPy could compute on host memory itself."""

    is_cupys_own = True


def test_blocks_that_gain_nothing_are_passed_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some runs with one operation or none; another block is recorded as ever."""
    monkeypatch.setitem(spaces.SPACES, "cpu", PlainSpace())
    h, recorded = host(X), []
    for _ in range(2 * patience.ATTEMPTS):
        with ExitStack() as stack:
            region = stack.enter_context(fused(device="cpu"))
            recorded.append(patches.active())
            if patches.active():
                y = h + 1
                equal(y.get() if type(y) is not cp.ndarray else seen(y), X + 1)
    assert recorded == [1] * patience.ATTEMPTS + [0] * patience.ATTEMPTS
    assert "passed through" in region.explain() and region.launches == 0
    with fused(device="cpu") as region:
        z = (h + 1) * 2
    assert region.launches == 1 and "passed" not in region.explain()
    equal(seen(z), (X + 1) * 2)


def test_blocks_that_gain_or_must_fuse_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gain in between starts the count anew; ``strict`` blocks are always recorded."""
    monkeypatch.setitem(spaces.SPACES, "cpu", PlainSpace())
    h = host(np.ones(patience.TINY // 8 + 1))
    for k in range(3 * patience.ATTEMPTS):
        with fused(device="cpu"):
            assert patches.active() == 1
            y = h + 1
            if k % 8 == 7:
                y = y * 2
        assert type(y) is cp.ndarray
    for _ in range(2 * patience.ATTEMPTS):
        with fused(device="cpu", strict=True) as region:
            h + 1
            assert patches.active() == 1
        assert region.launches <= 1


@pytest.mark.parametrize(("count", "recorded"), [(4, False), (70, True)])
def test_blocks_of_tiny_arrays_are_passed_through(
    monkeypatch: pytest.MonkeyPatch, count: int, recorded: bool
) -> None:
    """Unless they make a large one of them on the way."""
    patience.forget()  # the same `with` statement serves both
    monkeypatch.setitem(spaces.SPACES, "cpu", PlainSpace())
    h = host(np.ones(count))
    for k in range(patience.ATTEMPTS + 4):
        with fused(device="cpu"):
            active = patches.active()
            assert active == (recorded or k < patience.ATTEMPTS)
            if active:
                y = (h[:, None] * h[None, :] + 1).sum(axis=1)
        assert not active or type(y) is cp.ndarray


def test_a_rest_ends() -> None:
    """A block that was passed through long enough is tried again."""
    site = (test_a_rest_ends.__code__, 0)
    for _ in range(patience.ATTEMPTS):
        assert not patience.rests(site)
        patience.left(site, gained=False)
    assert [patience.rests(site) for _ in range(patience.REST + 1)] == [True] * patience.REST + [
        False
    ]


def on_device(values: Any, device: int) -> Any:
    """A copy of ``values`` that says it lies on ``device``."""
    copy = values.copy()
    address = copy.__array_interface__["data"][0]
    pointer = internals.over_address(address, copy.nbytes, copy, device)
    return internals.array_over(pointer, copy.shape, copy.dtype)


class OneDevice(cupy_host.HostSpace):
    """Refuses kernels on arrays of several devices."""

    def run(self, executable: Any, arrays: Any, device: int) -> list[Any]:
        given = [a for a in arrays if isinstance(a, cp.ndarray)]
        assert {internals.pointer_of(a).device_id for a in given} <= {device}
        self.devices.append(device)
        made = super().run(executable, arrays, device)
        return [r if r is None else on_device(seen(r), device) for r in made]

    devices: list[int] = []  # noqa: RUF012


def test_arrays_of_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kernel has one device; operands of two are CuPy's own affair, pending ones complete."""
    space = OneDevice()
    monkeypatch.setitem(spaces.SPACES, "cpu", space)
    space.devices.clear()
    a, b = on_device(X, 0), on_device(X * 2, 1)
    with fused(device="cpu") as region:
        for _ in range(2):
            c = a + b  # CuPy runs it
            d = a * 3 - 1
            e = b * 5 + 1
            f = cp.where(a > 3, b, a)
            g = (b + 1) * 2
        taken = region.explain()
    assert set(space.devices) == {0, 1}
    for got, want in ((c, X * 3), (d, X * 3 - 1), (e, X * 10 + 1), (g, (X * 2 + 1) * 2)):
        equal(seen(got), want)
    equal(seen(f), np.where(X > 3, X * 2, X))
    assert [internals.pointer_of(v).device_id for v in (d, e, g)] == [0, 1, 1] and taken


def test_numbers_assigned_on_another_device(
    monkeypatch: pytest.MonkeyPatch, where_they_stand: None
) -> None:
    """What waits on the first is computed before, and drops what is known: nothing is lost."""
    space = OneDevice()
    monkeypatch.setitem(spaces.SPACES, "cpu", space)
    wanted = X * 2
    wanted[1:3] = 0.5
    for _ in range(3):
        a, b = on_device(X, 0), on_device(X * 2, 1)
        space.devices.clear()
        with fused(device="cpu"):
            b[:1] += 0  # known, and of another device by the time that it is assigned to
            c = a * 3
            b[1:3] = 0.5
            d = b + 1
        equal(seen(b), wanted)
        equal(seen(c), X * 3)
        equal(seen(d), wanted + 1)
