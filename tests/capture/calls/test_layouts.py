"""Layouts: a replay computes only what its trace was made for, whoever looks at the arrays."""

from __future__ import annotations

import pickle
import random
import sys
import time
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import executable
from fusecuda.capture.calls.overlap import overlaps_of
from fusecuda.capture.record.view import address_of, in_memory_order, layout_in, memory_in_order
from fusecuda.tools.counting import count_launches
from tests.capture_check import equal
from tests.marks import one_in

N = 40_000


def _of(kind: str) -> Any:
    x = np.arange(1.0, N + 1).reshape(200, -1)
    turned = np.asfortranarray(x)
    return {
        "same": x.copy(),
        "other values": x[::-1].copy(),
        "dtype": x.astype(np.float32),
        "integers": x.astype(np.int64),
        "swapped": x.astype(">f8"),
        "equal dtype": x.view(np.dtype(np.float64, metadata={"unit": "m"})),
        "shape": x.reshape(100, -1),
        "rank": x.reshape(-1),
        "every other": np.repeat(x, 2, axis=1)[:, ::2],
        "backwards": x[::-1, ::-1].copy()[::-1, ::-1],
        "turned": turned,
        "read-only": np.broadcast_to(x, x.shape),
        "shifted": np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:]
        .view(np.float64)
        .reshape(x.shape),
        "masked": np.ma.masked_array(x, x > 5),
        "list": x.tolist()[:3],
        "number": 2.5,
        "scalar": np.float64(2.5),
    }[kind]


KINDS = [
    "same", "other values", "dtype", "integers", "swapped", "equal dtype", "shape", "rank",
    "every other", "backwards", "turned", "read-only", "shifted", "masked", "list", "number",
    "scalar",
]  # fmt: skip


def plain(x: Any, y: Any) -> Any:
    return np.add(x, y) * 2 - 1, np.sum(x)


@pytest.mark.parametrize("first", ["same", "turned", "every other"])
@one_in(10)
def test_each_layout_has_a_trace_of_its_own(first: str) -> None:
    """After a trace of one layout, calls with others give what NumPy gives, one after the other."""
    function = fc.fused(plain, strict=True)  # the newest trace is tried first
    for kind in [first, first, *KINDS, first, *KINDS]:
        x = _of(kind)
        try:
            found, expected = function(x, x), plain(x, x)
        except fc.NotFusedError:
            assert kind in ("swapped", "shifted", "masked", "list", "number", "scalar")
            continue
        for a, b in zip(found, expected, strict=True):
            assert type(a) is type(b), kind
            assert np.asarray(a).dtype == np.asarray(b).dtype, kind
            assert np.allclose(np.ma.filled(a), np.ma.filled(b)), kind


@pytest.mark.parametrize("number", [0, 1])
def test_each_argument_is_looked_at(number: int) -> None:
    function = fc.fused(plain, strict=True)
    given = [_of("same"), _of("same")]
    function(*given)
    for kind in ("shape", "every other", "turned", "dtype", "same", "integers"):
        given = [_of("same"), _of("same")]
        given[number] = _of(kind)
        if given[0].shape == given[1].shape:
            assert np.array_equal(function(*given)[0], plain(*given)[0]), kind
        else:
            with pytest.raises((ValueError, fc.NotFusedError)):
                function(*given)


def test_what_no_run_looks_at_is_a_condition() -> None:
    """A trace of a read-only array stands for others, as any trace does."""
    function = fc.fused(lambda x, y: x.sum() + len(y), strict=True)
    for kind in ("read-only", "read-only", "same", "read-only"):
        for y in (_of("rank"), _of("same")):
            assert function(_of(kind), y) == _of(kind).sum() + len(y), kind
    assert function.traces == 4


def test_an_equal_dtype_is_the_same() -> None:
    """A dtype that equals the one recorded, but is another object, is replayed as well."""
    function = fc.fused(lambda x: x * 2, strict=True)
    function(_of("same"))
    traces = function.traces
    for kind in ("equal dtype", "other values", "equal dtype"):
        assert np.array_equal(function(_of(kind)), _of(kind) * 2)
    assert function.traces == traces


def test_the_driver_knows_a_dtype_by_other_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays from a file or another process bring dtype objects of their own."""
    function, step = fc.fused(plain, strict=True), fc.fused(_steps, strict=True)
    for _ in range(3):
        function(_of("same"), _of("same"))
        step(*_parameters())
    before = function.traces, step.traces
    given, parameters = pickle.loads(pickle.dumps(([_of("same")] * 2, _parameters())))
    assert given[0].dtype is not _of("same").dtype
    turned = np.dtype(">f8").newbyteorder()  # which says the order that is the machine's
    given[1] = given[1].view(turned if sys.byteorder == "little" else given[1].dtype)
    with monkeypatch.context() as patch:
        patch.setattr(executable, "_fits", None)  # nobody else looks
        assert np.array_equal(function(*given)[0], plain(*given)[0])
        step(*parameters)
    assert (function.traces, step.traces) == before
    with pytest.raises(fc.NotFusedError, match="dtype >f8"):
        function(_of("swapped"), given[1])
    fresh = fc.fused(_steps, strict=True)  # which is recorded with them
    for _ in range(3):
        fresh(*parameters)
    (replay,) = fresh._entries[next(iter(fresh._entries))].replays
    assert "looks" in replay.__code__.co_names


def test_a_call_that_does_not_fit_runs_nothing() -> None:
    """What the trace overwrites is as it was until a call fits."""

    def doubled(x: Any) -> None:
        x *= 2

    function: Callable[..., Any] = fc.fused(doubled)
    function(_of("same"))
    x = _of("same")
    with pytest.raises(ValueError, match="read-only"):
        function(np.broadcast_to(x, x.shape))
    assert np.array_equal(x, _of("same"))
    function(x)
    assert np.array_equal(x, 2 * _of("same"))


def test_launches_are_counted_while_layouts_are_looked_at() -> None:
    function = fc.fused(lambda x: x * 2 + 1, strict=True)
    one, other = _of("same"), _of("other values")
    for _ in range(3):
        function(one)
    with count_launches() as count:
        function(one)
        function(other)
    assert count.total == 2


def _pieces(starts: dict[int, tuple[int, int]], count: int, n: int) -> list[Any]:
    """Arrays of ``n`` numbers, apart but for those of ``starts``: where in which other one."""
    arrays = [np.full(2 * n, float(i + 1))[:n] for i in range(count)]
    for i, (other, start) in starts.items():
        base = arrays[other].base
        assert base is not None
        arrays[i] = base[start : start + n]
    return arrays


def _halved(arrays: list[Any]) -> None:
    """Each array of the first half takes in its partner of the other half."""
    half = len(arrays) // 2
    for a, b in zip(arrays[:half], arrays[half:], strict=True):
        a[...] = a * 0.5 + b


@pytest.mark.parametrize("count", [2, 6, 40])
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize(
    "overlap",
    [{0: (-1, 3)}, {-1: (0, 100)}, {0: (-1, 99)}, {-1: (0, 0)}, {1: (0, 4)}, {-1: (1, 5)}],
    ids=["written and read", "no overlap", "last element", "same", "two written", "another"],
)
@one_in(12)
def test_memory_is_looked_at(count: int, watched: bool, overlap: dict[int, Any]) -> None:
    """A trace of arrays that are apart does not stand for ones that share memory, one written."""
    n, starts = 100, {}
    for i, (other, start) in overlap.items():
        pair = i % count, other % count
        if pair[0] == pair[1] or n <= start < 2 * n:  # behind it
            continue
        starts[pair[0]] = pair[1], start
    function = fc.fused(_halved, strict=True)
    for given in ({}, {}, starts, {}, starts):
        found, expected = (_pieces(given, count, n) for _ in range(2))
        if watched:
            with count_launches():
                function(found)
        else:
            function(found)
        _halved(expected)
        for a, b in zip(found, expected, strict=True):
            assert np.array_equal(a, b)


def test_memory_behind_a_backward_walk() -> None:
    """Where an array begins and ends is counted from its lowest byte."""

    def added(x: Any, y: Any) -> None:
        x += y

    function = fc.fused(added, strict=True)
    for shift in (160, 160, 0, 50, 160, -100, -100):
        memory, other = np.arange(480.0), np.arange(480.0)
        for a, call in ((memory, function), (other, added)):
            call(a[160:320][::-1], a[160 + shift : 320 + shift])
        assert np.array_equal(memory, other), shift
    assert function.traces == 4  # apart, the same memory, and parts of it


def _steps(weights: Any, gradients: Any, totals: Any, others: Any) -> None:
    """No run sees ``others``."""
    for k, g in enumerate(gradients):
        totals[k] *= 0.9
        totals[k] += 0.1 * g * g
        weights[k] -= 0.01 * g / np.sqrt(totals[k] + 1e-8)


def _parameters(kind: str = "same", number: int = 3) -> list[list[Any]]:
    """Lists of arrays, of which one is of that kind."""
    given = [[_of("same") + k for _ in range(8)] for k in range(4)]
    if kind == "shared":
        memory = np.arange(1.0, N + 201).reshape(-1, 200)
        given[0][number], given[1][number] = memory[1:], memory[:-1]  # read when it is overwritten
    elif kind == "one object":
        given[1][number] = given[0][number]
    else:
        given[1][number] = _of(kind)
    return given


def test_the_driver_looks_at_many_arrays_at_once() -> None:
    """Where a run, or none of several, sees all of them."""
    step = fc.fused(_steps, strict=True)
    for _ in range(3):
        step(*_parameters())
    (replay,) = step._entries[next(iter(step._entries))].replays
    names = replay.__code__.co_names
    assert "looks" in names
    assert not {"strides", "are_apart"} & set(names)


@pytest.mark.parametrize(
    "kind", ["other values", "dtype", "turned", "backwards", "shared", "one object"]
)
@one_in(6)
def test_what_the_driver_sees(kind: str) -> None:
    step = fc.fused(_steps)
    for _ in range(3):
        step(*_parameters())
    found, expected = _parameters(kind), _parameters(kind)
    step(*found)
    _steps(*expected)
    for a, b in zip(chain(*found), chain(*expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_views_of_known_layouts_are_those_of_any() -> None:
    """What a replay shows of its memory, by a layout that was found once."""
    shape = (3, 4, 5)
    shows: list[Any] = [
        *(lambda m: m.T, lambda m: m[::-1, 1:], lambda m: m.transpose(2, 0, 1)[:, ::2]),
        *(lambda m: m.reshape(-1)[3:40:3], lambda m: m[:, :0], lambda m: m.copy()),
    ]
    memory = np.arange(60.0).reshape(shape)
    for shown in shows:
        quickly = layout_in(shape, memory.dtype, shown)
        for given in (memory, np.asfortranarray(memory), memory[:2]):
            want, got = shown(given), quickly(given)
            np.testing.assert_array_equal(got, want, strict=True)
            assert got.strides == want.strides
            assert np.may_share_memory(got, given) is np.may_share_memory(want, given)


def test_memory_in_its_order() -> None:
    memory = np.arange(60.0).reshape(3, 4, 5)
    for a in (memory, memory.T, memory[::-1, :, ::2], np.broadcast_to(memory[0], (6, 4, 5))):
        found, view = in_memory_order(a)
        np.testing.assert_array_equal(view.of(found), a, strict=True)
        same = memory_in_order(a)
        assert (found.shape, found.strides) == (same.shape, same.strides)
        assert sorted(found.strides, reverse=True) == list(found.strides)
        assert min(found.strides) >= 0


def test_overlaps_are_those_of_all_pairs() -> None:
    draws = random.Random(3)
    for _ in range(300):
        whole = [np.zeros(24), np.zeros((4, 6), order="F")]
        arrays = [draws.choice(whole)]
        for _ in range(draws.randint(1, 7)):
            flat = draws.choice(whole).reshape(-1, order="A")
            part = flat[draws.randrange(24) :: draws.choice((-2, -1, 1, 3))]
            arrays.append(draws.choice((part, part[:0], np.broadcast_to(part[:1], 4), whole[1].T)))
        want = [
            (i, j, address_of(b) - address_of(a))
            for j, b in enumerate(arrays)
            for i, a in enumerate(arrays[:j])
            if np.may_share_memory(a, b)
        ]
        assert overlaps_of(arrays) == tuple(sorted(want))


def test_overlaps_of_many_arrays_take_no_pairs() -> None:
    rows = [*np.zeros((5000, 4)), np.zeros(4)]
    begun = time.thread_time()
    assert overlaps_of(rows) == ()
    assert time.thread_time() - begun < 1  # 12 million pairs take five


def shifted(base: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return np.lib.stride_tricks.as_strided(base, shape, strides)


@pytest.mark.parametrize(
    "made",
    [
        lambda: shifted(np.arange(6.0), (3, 4), (8, 8)),
        lambda: shifted(np.arange(6.0), (4,), (0,)),
        lambda: shifted(np.arange(30.0)[9:], (3, 4), (16, -8)),
        lambda: np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3, writeable=True),
        lambda: np.arange(24.0).reshape(2, 3, 4).T,
        lambda: np.arange(24.0)[::-2],
    ],
)
def test_updates_of_arrays_that_overlap_themselves(made: Any) -> None:
    """Each element is computed of what was there before, as NumPy computes it."""

    def add(a: Any, by: float) -> Any:
        a += by
        a *= a
        return a.sum()

    fused = fc.fused(add)
    for by in (1.0, 2.0):
        got, want = made(), made()
        equal(fused(got, by), add(want, by))
        equal(got, want)
