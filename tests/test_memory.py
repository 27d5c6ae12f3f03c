"""Memory: liveness and offsets, reuse, in-place results, and a pool that gets its blocks back."""

from __future__ import annotations

import gc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fusecuda as fc
from fusecuda.cpu_fallback.pool import LARGEST, LIMIT, SMALLEST, Pool
from fusecuda.streams.liveness import Interval, aligned, assign_offsets

intervals = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 500)).map(
        lambda t: Interval(t[0], t[0] + t[1], t[2])
    ),
    max_size=14,
)


@given(intervals)
def test_live_temporaries_never_overlap(lives: list[Interval]) -> None:
    """Two temporaries that are live at once have disjoint bytes inside the block."""
    offsets, size = assign_offsets(lives)
    for i, a in enumerate(lives):
        assert 0 <= offsets[i] <= size - aligned(a.nbytes)
        for j, b in enumerate(lives[:i]):
            common = set(range(a.first, a.last + 1)) & set(range(b.first, b.last + 1))
            if common and a.nbytes and b.nbytes:
                apart = offsets[i] + a.nbytes <= offsets[j] or offsets[j] + b.nbytes <= offsets[i]
                assert apart, (a, b)


@given(intervals)
def test_a_chain_of_lives_shares_memory(lives: list[Interval]) -> None:
    """The block is never larger than all temporaries together, nor smaller than what is live."""
    _, size = assign_offsets(lives)
    assert size <= sum(aligned(a.nbytes) for a in lives)
    steps = range(20)
    peak = max(sum(a.nbytes for a in lives if a.first <= s <= a.last) for s in steps)
    assert size >= peak


def test_dead_temporaries_are_reused() -> None:
    """Twenty sorted copies, one after the other, need two temporaries, not twenty."""

    def program(x: np.ndarray) -> np.ndarray:
        for _ in range(20):
            x = np.sort(x * 2, axis=0)
        return x

    x = np.random.default_rng(0).normal(size=(100, 100))
    executable = fc.lower(program, x)
    assert executable.memory.result_bytes == x.nbytes
    assert executable.memory.block_bytes <= 2 * aligned(x.nbytes)
    np.testing.assert_array_equal(executable(x), program(x))


def test_peak_is_known_before_running() -> None:
    """`memory.peak_bytes` is results plus temporaries, without a call having been made."""
    executable = fc.lower(lambda x: (x + 1).sum(), fc.spec((1000, 1000)))
    assert executable.memory.peak_bytes < 100_000  # partial sums only: no array-sized temporary


def test_a_block_comes_back_when_the_last_view_dies() -> None:
    """The pool lends a block again only when neither the array nor any view of it lives."""
    pool = Pool()
    shape = (SMALLEST // 8,)
    a = pool.empty(shape, np.dtype(np.float64))
    view = a[5:]
    first = a.__array_interface__["data"][0]
    del a
    b = pool.empty(shape, np.dtype(np.float64))
    assert b.__array_interface__["data"][0] != first
    del view
    gc.collect()
    c = pool.empty(shape, np.dtype(np.float64))
    assert c.__array_interface__["data"][0] == first
    assert type(c) is np.ndarray
    assert c.flags.writeable


def test_the_pool_is_bounded_and_trimmed() -> None:
    """Arrays beyond the limits are NumPy's own; free blocks are given back by `trim`."""
    pool = Pool()
    kept = [pool.empty((LARGEST,), np.dtype(np.uint8)) for _ in range(LIMIT // LARGEST + 3)]
    assert pool.stats()["held"] <= LIMIT
    huge = pool.empty((LARGEST + 1,), np.dtype(np.uint8))
    assert huge.base is None
    assert pool.empty((3,), np.dtype(np.uint8)).base is None
    kept.clear()
    assert pool.stats()["free"] == pool.stats()["held"] > 0
    assert pool.trim() == 0


def test_results_of_two_calls_do_not_share_memory() -> None:
    """A kept result is not overwritten by later calls."""
    double = fc.fused(lambda x: x * 2)
    x = np.arange(100_000.0)
    first = double(x)
    kept = first.copy()
    for i in range(5):
        other = double(x + i)
        assert not np.shares_memory(first, other)
    np.testing.assert_array_equal(first, kept)


def test_an_argument_that_is_overwritten_needs_no_temporary() -> None:
    """``x *= 2`` runs in place: nothing is allocated."""

    def scale(x: np.ndarray) -> None:
        x *= 2

    executable = fc.lower(scale, fc.spec((1000,)))
    assert executable.memory.peak_bytes == 0
    x = np.arange(1000.0)
    executable(x)
    np.testing.assert_array_equal(x, 2 * np.arange(1000.0))
