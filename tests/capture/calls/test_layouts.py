"""Layouts: a replay computes only what its trace was made for, whoever looks at the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.tools.counting import count_launches

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
