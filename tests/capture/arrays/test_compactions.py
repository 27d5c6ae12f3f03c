"""What masks pick, and where it is, by kernels: NumPy's results, in fused functions and lazily."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from tests.capture_check import equal, lazy
from tests.marks import few, one_in

COUNT = 40_000  # elements: lazy arrays of so many are recorded


def picked(x: Any, r: Any) -> Any:
    return x[(x > 0.5) & (x < 2)], np.sqrt(x[x > 0]) * 2


def picked_and_placed(x: Any, r: Any) -> Any:
    y = np.abs(x) * 3
    return y[y > 0.5], np.flatnonzero(y > 0.5), x[y > 0.5]


def rows(x: Any, r: Any) -> Any:
    return r[r[:, 0] > 0] * 2, r[r[:, 1] > r[:, 0]][:, ::-1], r[:, 1:][r[:, 2] > 0]


def columns(x: Any, r: Any) -> Any:
    return r.T[r.sum(axis=0) > 0], r[::2, ::-1][r[::2, ::-1] > 0]


def places(x: Any, r: Any) -> Any:
    ys, xs = np.nonzero(r > 0.5)
    return np.nonzero(x > 1), xs, ys, np.argwhere(r > 1), np.where(x > 0), (r > 1).nonzero()[1]


def of_numbers(x: Any, r: Any) -> Any:
    n = np.trunc(x).astype(np.int16)
    return np.flatnonzero(n), np.nonzero(n + 1j * n), np.argwhere(np.trunc(r)), n[n != 0]


def compressed(x: Any, r: Any) -> Any:
    m = r[:, 0] > 0
    flat = np.compress(x > 0, x + 1), np.extract(r > 0, r), np.extract(np.trunc(x), x)
    return *flat, np.compress(m, r, axis=0), np.compress(m, x[: m.size]), r.compress(m, 0)


def summed_where_they_are(x: Any, r: Any) -> Any:
    ys, xs = np.nonzero(r > 0.5)
    return ys.sum(), (xs * ys).max(), np.flatnonzero(x > 0).sum() > 0


def extents(x: Any, r: Any) -> Any:
    y = x[x > 0]
    i = np.flatnonzero(x < 0)
    return len(y), y.shape, y[: len(y) // 2], i.size, x[i], i[-1:]


def written_before(x: Any, r: Any) -> Any:
    z = x * 2
    y, i = z[z > 0], np.flatnonzero(z > 0)
    z[:] = 0
    y += 1
    return y, i, z


def views(x: Any, r: Any) -> Any:
    y = x[x > 0]
    first = y[:3]
    y *= 2
    first -= 1
    return y, first, np.sort(y)[::-1]


def in_a_loop(x: Any, r: Any) -> Any:
    left = x
    for _ in range(4):
        left = left[left > left.mean()]
    return left


def everything(x: Any, r: Any) -> Any:
    return x[x == x], x[x != x], np.flatnonzero(x != x), r[np.isnan(r[:, 0])], x[x > 1e9].sum()


PROGRAMS = (
    picked, picked_and_placed, rows, columns, places, of_numbers, compressed,
    summed_where_they_are, extents, written_before, views, in_a_loop, everything,
)  # fmt: skip


def inputs() -> Iterator[tuple[Any, Any]]:
    """Arrays of which masks pick more, or fewer, from call to call."""
    for seed, share in enumerate((0.0, 0.0, 0.5, -0.5, 0.1)):
        rng = np.random.default_rng(seed)
        yield rng.normal(size=COUNT) + share, rng.normal(size=(COUNT // 5, 5)) + share


@pytest.mark.parametrize("program", PROGRAMS)
@one_in(8)
def test_fused(program: Callable[..., Any]) -> None:
    """Call after call, with other extents."""
    function = fused(strict=True)(program)
    for x, r in inputs():
        equal(function(x.copy(), r.copy()), program(x, r), ulp=2)


@pytest.mark.parametrize("program", few(PROGRAMS, 6))
def test_lazy(program: Callable[..., Any]) -> None:
    """The same of lazy arrays."""
    for x, r in list(inputs())[1:3]:
        equal(program(lazy(x), lazy(r)), program(x, r), ulp=2)


@pytest.mark.parametrize("program", [picked, picked_and_placed, compressed])
def test_one_launch(program: Callable[..., Any]) -> None:
    """All that a function returns is picked by one launch, from the second extent on too."""
    function = fused(strict=True)(program)
    for x, r in inputs():
        function(x, r)
    with fc.count_launches() as counted:
        function(x, r)
    assert counted.total == 1 and "compact" in str(counted.by_name)


def test_indices_of_one_mask() -> None:
    """Those along all axes are written by one kernel, whichever is asked for first."""

    @fused(strict=True)
    def found(r: Any) -> Any:
        ys, xs = np.nonzero(r > 0.5)
        return len(xs), ys, xs

    for _, r in inputs():
        equal(found(r), (int((r > 0.5).sum()), *np.nonzero(r > 0.5)))
    with fc.count_launches() as counted:
        found(r)
    assert counted.total == 1


def test_what_is_picked_elsewhere_is_not_computed_whole() -> None:
    """A pick that waits while another one is asked for is written as it is picked."""

    @fused(strict=True)
    def parts(x: Any) -> Any:
        doubled = x[x > 0] * 2
        return doubled, x[x < 1][::2]

    for x, _ in inputs():
        equal(parts(x), (x[x > 0] * 2, x[x < 1][::2]))
    with fc.count_launches() as counted:
        parts(x)
    assert counted.total == 1 and "loop" not in str(counted.by_name)


def test_what_nobody_needs_is_not_kept() -> None:
    """A value of which only what is picked is returned is not written itself."""
    function = fused(strict=True)(picked_and_placed)
    x, r = next(inputs())
    for _ in range(3):
        function(x, r)
    assert "y = np.abs" in function.explain() and "loop_absolute" not in function.explain()


def test_memory_as_numpys() -> None:
    """What is picked is contiguous and may be written to; results do not share memory."""
    function = fused(strict=True)(lambda x: (x[x > 0], x[x > 0], np.argwhere(x > 0)))
    for x, _ in inputs():
        first, second, places = function(x)
        first[:] = 0
        assert second.all() and first.flags.carray and second.flags.carray
        theirs = np.argwhere(x > 0)  # whose second axis has one element, wherever the next would be
        assert places.strides[:1] == theirs.strides[:1] and places.flags.fnc == theirs.flags.fnc


@pytest.mark.parametrize("key", ["short", "long", "flat"])
def test_errors_are_numpys(key: str) -> None:
    """A mask that does not fit."""
    x, r = next(inputs())
    mask = {"short": x[1:] > 0, "long": np.append(x, 1) > 0, "flat": r.ravel() > 0}[key]
    other = r if key == "flat" else x

    def taken(a: Any, m: Any) -> Any:
        return a[m]

    with pytest.raises(IndexError) as plain:
        taken(other, mask)
    with pytest.raises(IndexError, match="boolean index did not match") as own:
        fused(taken)(other, mask)
    assert str(own.value) == str(plain.value)


def test_short_conditions() -> None:
    """NumPy takes a condition that is shorter than the array."""
    x, r = next(inputs())

    def taken(x: Any, r: Any) -> Any:
        return np.compress(x[:7] > 0, x), np.compress(r[0] > 0, r, axis=1), np.compress([1, 0], x)

    function = fused(strict=True)(taken)
    for _ in range(2):
        wanted = np.compress(x[:7] > 0, x), np.compress(r[0] > 0, r, axis=1), x[:1]
        equal(function(x, r), wanted)


def test_an_operation_that_fails() -> None:
    """The error of what is picked comes when it is asked for, and the next call is as any other."""
    function = fused(lambda x, i: x[i][x[i] > 0])
    x, _ = next(inputs())
    places = np.arange(COUNT)
    for last in (0, COUNT, 1, COUNT + 1, 2):
        places[-1] = last
        if last >= COUNT:
            with pytest.raises(IndexError):
                function(x, places)
        else:
            equal(function(x, places), x[places][x[places] > 0])
