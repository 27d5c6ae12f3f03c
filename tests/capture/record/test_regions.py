"""Regions: blocks, exceptions, tasks, threads, forks, failures and long recordings."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from tests.capture_check import equal, lazy

X = np.arange(24.0).reshape(4, 6)


def test_block() -> None:
    """A block computes what it recorded in few launches and tells about them."""
    with fused() as region:
        a = lazy(X)
        b = np.sqrt(a * 2 + 1)
        c = b - a
    assert region.launches == 1
    assert "sqrt" in region.explain()
    equal((b, c), (np.sqrt(X * 2 + 1), np.sqrt(X * 2 + 1) - X))


def test_empty_block() -> None:
    """A block that records nothing launches nothing."""
    with fused() as region:
        pass
    assert region.launches == 0
    assert region.explain()


def test_nested_blocks_join() -> None:
    """An inner block does not flush: its operations are computed with the outer block's."""
    with fused() as outer:
        a = lazy(X) + 1
        with fused():
            b = a * 2
        c = b - a
    assert outer.launches == 1
    equal((a, b, c), (X + 1, (X + 1) * 2, X + 1))


def test_nested_blocks_with_names() -> None:
    """One that may be asked for its launches has them when it ends."""
    with fused() as outer:
        a = lazy(X) + 1
        with fused() as inner:
            b = a * 2
        c = b - a
    assert (outer.launches, inner.launches) == (2, 1)
    assert "multiply" in inner.explain()
    equal((a, b, c), (X + 1, (X + 1) * 2, X + 1))


def test_exception_leaves_live_arrays_computed() -> None:
    """What was recorded before an exception is there afterwards."""
    kept: list[Any] = []
    a = lazy(X)
    with pytest.raises(KeyError), fused():
        kept.append(a * 3)
        a += 1
        raise KeyError("x")
    equal(kept[0], X * 3)
    equal(a, X + 1)
    with fused() as region:
        b = a + 1
    assert region.launches == 1
    equal(b, X + 2)


def test_generators_and_tasks() -> None:
    """A block inside a task or a generator records for itself alone."""

    def numbers() -> Iterator[Any]:
        with fused():
            a = lazy(X)
            for k in range(3):
                a = a + k
                yield a

    async def task(k: int) -> Any:
        with fused() as region:
            a = lazy(X) * k
            await asyncio.sleep(0)
            b = a + k
        return region.launches, b

    async def run() -> list[Any]:
        return await asyncio.gather(*(task(k) for k in range(5)))

    for k, (launches, b) in enumerate(asyncio.run(run())):
        assert launches >= 1
        equal(b, X * k + k)
    for got, want in zip(numbers(), (X, X + 1, X + 3), strict=True):
        equal(got, want)


def test_threads() -> None:
    """Eight threads that record, write and flush at once, on own and on shared arrays."""
    shared = lazy(X)
    base = shared * 2
    faults: list[Any] = []

    def work(seed: int) -> None:
        try:
            for k in range(40):
                a = lazy(X + seed)
                a[1:] += a[:-1]
                b = base + a * k + shared
                x = X + seed
                x[1:] += x[:-1].copy()
                equal(b.sum(axis=1), (X * 2 + x * k + X).sum(axis=1))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not faults, faults[0]


FORK = """
import os, sys
import numpy as np, fusecuda as fc
x = np.arange(200000.0)
a = fc.Array.of_array(x)
assert float((a * 2).sum()) == float((x * 2).sum())  # threads have run
b = a * 3 + 1
child = os.fork()
ok = np.array_equal(np.asarray(b), x * 3 + 1)
ok = ok and float((b + a).max()) == float((x * 4 + 1).max())
if child == 0:
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
sys.exit(0 if ok and status == 0 else 2)
"""


def test_fork_with_pending_arrays() -> None:
    """After a fork, parent and child both compute what was pending, also once threads have run."""
    done = subprocess.run([sys.executable, "-c", FORK], timeout=60, check=False)
    assert done.returncode == 0


def test_failing_flush() -> None:
    """An index out of range concerns one array, each time it is touched; all else is computed."""
    a = lazy(X)
    with fused():
        good = a * 2
        bad = a[np.array([0, 9])]
        after = a + 1
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds"):
            np.asarray(bad)
        with pytest.raises(IndexError):
            bad + 1
    equal((good, after, a), (X * 2, X + 1, X))
    with fused() as region:
        again = a - 1
    assert region.launches == 1
    equal(again, X - 1)


def test_thousand_stencil_steps() -> None:
    """A long loop over lazy arrays is cut at its period: few compilations, bounded memory."""
    u = lazy(np.sin(np.arange(400.0)))
    w = np.sin(np.arange(400.0))
    counts = []
    tracemalloc.start()
    peaks = []
    for step in range(1000):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        w[1:-1] += 0.25 * (w[2:] - 2 * w[1:-1] + w[:-2])
        if step in (500, 999):
            counts.append(fc.compile_count())
            peaks.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    equal(u, w)
    assert counts[0] == counts[1]
    assert peaks[1] < peaks[0] + 4_000_000


def test_long_chain() -> None:
    """Fifty thousand operations on one array, none of them observed."""
    a, x = lazy(X[0]), X[0].copy()
    for _ in range(25_000):
        a = a * 0.5
        a = a + 1
        x = x * 0.5 + 1
    equal(a, x)


def test_doubling() -> None:
    """``x = x + x`` sixty times is sixty operations, not 2**60."""
    a, x = lazy(X), X.copy()
    with fused() as region:
        for _ in range(60):
            a, x = a + a, x + x
    equal(a, x)
    assert region.launches <= 3


def test_many_inputs_and_outputs() -> None:
    """Three hundred arrays in, three hundred out, in one region."""
    inputs = [X[0] + k for k in range(300)]
    arrays = [lazy(v) for v in inputs]
    with fused():
        total = sum(arrays[1:], arrays[0])
        results = [a * 2 + total for a in arrays]
    want = sum(inputs[1:], inputs[0])
    for got, v in zip(results, inputs, strict=True):
        equal(got, v * 2 + want)


def test_dropped_values_cost_nothing() -> None:
    """What nobody holds at the end of a block is not computed."""
    with fused() as region:
        a = lazy(X)
        for _ in range(5):
            a * 3
        b = a + 1
    assert region.launches == 1
    equal(b, X + 1)


def swap(a: Any, b: Any) -> Any:
    """Two arguments exchanged through a tuple."""
    a[:], b[:] = b.copy(), a.copy()


def copy_then_clear(a: Any, b: Any) -> Any:
    """An argument that takes a version of another one, which is overwritten after that."""
    b[0] = 1
    a[:] = b
    b[:] = 0


def ping_pong(a: Any, b: Any) -> Any:
    """Versions that go back and forth, and one that stays."""
    t = a.copy()
    t[0] = b[1]
    a[1] = t[0]
    b[:] = t
    a[:] = b
    b[2] = a[0]
    return t


def masked_then_filled(a: Any, b: Any) -> Any:
    """A mask that is made from a version which is overwritten whole later on."""
    a[1] = b[0]
    b[b > a] = 4
    a.fill(3)


def copied_version(a: Any, b: Any) -> Any:
    """A result that depends on an argument's version before the last."""
    b[0] = 1
    a[:] = b
    b[1] = a[0]
    return a + b


@pytest.mark.parametrize(
    "program", [swap, copy_then_clear, ping_pong, masked_then_filled, copied_version]
)
def test_arguments_that_take_each_others_versions(program: Any) -> None:
    """Each version is read before it is overwritten, whatever memory it ends up in."""
    a, b = X.copy(), X[::-1] * 3
    x, y = a.copy(), b.copy()
    got, want = fused(program)(a, b), program(x, y)
    equal(
        [a, b, *[v for v in (got,) if v is not None]],
        [x, y, *[v for v in (want,) if v is not None]],
    )


def test_a_region_counts_writes_to_older_arrays() -> None:
    """What is written to an array from before the block is computed in the block."""
    a, x = lazy(X), X.copy()
    with fused() as region:
        a[1:] = a[:-1] * 2
        x[1:] = x[:-1] * 2
    assert region.launches >= 1
    equal(a, x)
