"""Memory: liveness and offsets, reuse, in-place results, and a pool that gets its blocks back."""

from __future__ import annotations

import gc
import itertools
import sys
import sysconfig
import threading
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.cpu_fallback import array_object
from fusecuda.cpu_fallback import pool as pool_module
from fusecuda.cpu_fallback import program as program_module
from fusecuda.cpu_fallback.pool import LARGEST, LIMIT, SMALLEST, Pool, free_count
from fusecuda.streams.liveness import aligned, assign_offsets
from tests.timelines import lived

intervals = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 500)).map(
        lambda t: (t[0], t[0] + t[1], t[2])  # first and last step, bytes
    ),
    max_size=14,
)


@given(intervals)
def test_live_temporaries_never_overlap(lives: list[tuple[int, int, int]]) -> None:
    """Two temporaries that are live at once have disjoint bytes inside the block."""
    offsets, size = assign_offsets([lived(*one) for one in lives])
    for i, (first, last, nbytes) in enumerate(lives):
        assert 0 <= offsets[i] <= size - aligned(nbytes)
        for j, (begin, end, other) in enumerate(lives[:i]):
            common = set(range(first, last + 1)) & set(range(begin, end + 1))
            if common and nbytes and other:
                apart = offsets[i] + nbytes <= offsets[j] or offsets[j] + other <= offsets[i]
                assert apart, (lives[i], lives[j])


@given(intervals)
def test_a_chain_of_lives_shares_memory(lives: list[tuple[int, int, int]]) -> None:
    """The block is never larger than all temporaries together, nor smaller than what is live."""
    _, size = assign_offsets([lived(*one) for one in lives])
    assert size <= sum(aligned(nbytes) for _, _, nbytes in lives)
    steps = range(20)
    peak = max(sum(n for first, last, n in lives if first <= s <= last) for s in steps)
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


needs_reuse = pytest.mark.skipif(free_count() is None, reason="counts prove nothing here")


def test_counts_tell_a_free_block_where_python_has_a_lock() -> None:
    """Results are reused with every Python that counts references under its global lock."""
    expected = not sysconfig.get_config_var("Py_GIL_DISABLED")
    assert (free_count() is not None) == expected
    assert Pool()._free == pool_module.pool._free


@needs_reuse
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


@needs_reuse
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


true_count = sys.getrefcount
numbers = itertools.count()
WRONG_COUNTS: dict[str, Callable[[object], int]] = {
    "borrowed": lambda block: 3,  # always what was once taken for a free block
    "capped": lambda block: min(true_count(block), 4),  # a second array does not show
    "immortal": lambda block: 1 << 30,
    "backwards": lambda block: 10 - true_count(block),
    "different for each": lambda block: next(numbers),
}


@pytest.mark.parametrize("wrong", WRONG_COUNTS.values(), ids=WRONG_COUNTS)
def test_counts_that_prove_nothing_are_not_believed(
    wrong: Callable[[object], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With counts that do not follow the arrays over a block, every result is NumPy's own."""
    monkeypatch.setattr(sys, "getrefcount", wrong)
    _without_reuse(monkeypatch)


def test_no_reuse_where_threads_count_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a build without the global lock a count need not show what another thread holds."""
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": 1}.get)
    _without_reuse(monkeypatch)


def test_no_reuse_without_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another Python may have no reference counts at all."""
    monkeypatch.delattr(sys, "getrefcount")
    _without_reuse(monkeypatch)


def _without_reuse(monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_count() is None
    pool = Pool()
    monkeypatch.setattr(program_module, "pool", pool)
    double = fc.fused(lambda x: x * 2)
    x = np.arange(SMALLEST / 4)
    results = [double(x + i) for i in range(4)]
    for i, result in enumerate(results):
        assert result.base is None
        np.testing.assert_array_equal(result, 2 * (x + i))
    assert pool.stats() == {"held": 0, "free": 0}
    assert pool.trim() == 0


def test_a_debugger_does_not_change_what_is_free() -> None:
    """With a trace function, which makes copies of frames' names, no two results share memory."""
    shape = (SMALLEST // 8,)
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        assert frame.f_locals is not None
        return trace

    try:
        sys.settrace(trace)
        pool = Pool()
        first = pool.empty(shape, np.dtype(np.float64))
        sys.settrace(None)
        second = pool.empty(shape, np.dtype(np.float64))
        sys.settrace(trace)
        third = pool.empty(shape, np.dtype(np.float64))
    finally:
        sys.settrace(before)
    for a, b in itertools.combinations([first, second, third], 2):
        assert not np.shares_memory(a, b)


def test_a_finaliser_in_the_middle_gets_memory() -> None:
    """A finaliser that runs while the pool chooses a block, and computes, does not wait for it."""
    pool = Pool()
    found: list[np.ndarray] = []
    with pool._lock:
        inner = threading.Thread(
            target=lambda: found.append(pool.empty((SMALLEST,), np.dtype(np.uint8)))
        )
        inner.start()
        inner.join(20)
    assert found
    assert found[0].base is None


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


def test_without_a_known_object_layout_numpy_gives_the_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where array objects are laid out in another way, calls give the same results."""

    def program(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        y += x[::-1] * 2
        return np.sort(y * x) + y.sum()

    x, y = np.arange(3000.0)[::3], np.linspace(0, 1, 1000)
    expected_y = y.copy()
    expected = fc.lower(program, x, y)(x, expected_y)
    assert array_object.shows_layouts(array_object.data_offset())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "implementation", SimpleNamespace(name="another"))
        offset = array_object.data_offset()
    assert offset is None and not array_object.shows_layouts(offset)
    monkeypatch.setattr(program_module, "_DATA", offset)
    monkeypatch.setattr(program_module, "LAYOUTS", False)
    monkeypatch.setattr(program_module.Program, "_layouts", None)  # nobody asks for them
    plans.forget()
    executable = fc.lower(program, x, y)
    np.testing.assert_array_equal(executable(x, y), expected)
    np.testing.assert_array_equal(y, expected_y)
    plans.forget()


def test_an_argument_that_is_overwritten_needs_no_temporary() -> None:
    """``x *= 2`` runs in place: nothing is allocated."""

    def scale(x: np.ndarray) -> None:
        x *= 2

    executable = fc.lower(scale, fc.spec((1000,)))
    assert executable.memory.peak_bytes == 0
    x = np.arange(1000.0)
    executable(x)
    np.testing.assert_array_equal(x, 2 * np.arange(1000.0))
