"""Writes at integer arrays, ``ufunc.at``, counts and choices, as users make them, against NumPy."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fusecuda import count_launches, fused, lower
from tests.capture_check import equal, lazy
from tests.marks import one_in
from tests.threads import at_once

Program = Callable[[Any, Any, Any], Any]
# Programs of an array (5, 4), indices (6,) of 0 to 3 and values (6,), which change at each call.


def written(a: Any, i: Any, v: Any) -> Any:
    a[i, i - 4] = v
    a[i[:2]] = 7
    a[:, i] = v
    a[..., i[::2]] = v[::-2]
    return a.sum(axis=0)


def of_several_axes(a: Any, i: Any, v: Any) -> Any:
    b = a.reshape(5, 2, 2)
    b[i, :, i % 2] = v[:, None]
    b[:, i % 2, i - i] = v
    b[i[:, None], i[:2] % 2] = v[:2]
    return a


def of_parts(a: Any, i: Any, v: Any) -> Any:
    a[1:4][i % 3] = v[:, None]
    a[::-1, ::-2][i, i % 2] = v
    a.T[i] = 5
    a[2][i] += v
    a[:, 1:3].T[i % 2, i] -= v
    return a * 2


def added(a: Any, i: Any, v: Any) -> Any:
    np.add.at(a, (i, i % 4), v)
    np.subtract.at(a, i, v[:, None])
    np.add.at(a, (slice(None), i), v)
    np.maximum.at(a, (..., i), 3.0)
    np.minimum.at(a.T, i - 4, v[:5])
    np.multiply.at(a, i, 0.5)
    return a.copy()


def with_itself(a: Any, i: Any, v: Any) -> Any:
    a[i] = a[: len(i) - 1][[0, 1, 2, 3, 4, 0]]
    b = a[0]
    b[i] = b[i - 1]
    a[i] = a[2]
    np.add.at(a, i, a[i])
    np.add.at(a[1], i, a[1, i])
    a[[1, 0, 2, 3, 4]] = a
    return a


def written_by_what_it_holds(a: Any, i: Any, v: Any) -> Any:
    n = (a[0] * 0).astype(np.int64) + i[:4]
    n[n] = n[::-1]
    n[n[n]] = n
    i[i] = i[::-1]
    a[i] = v[:, None]
    i[2:] = 0
    a[i] += 1
    return n, i


def augmented(a: Any, i: Any, v: Any) -> Any:
    a[i] += v[:, None]
    a[i, i] *= 2
    a[:, i] /= 4
    a[i] = -a[i]
    return a


def of_lists(a: Any, i: Any, v: Any) -> Any:
    a[[0, 2]] = [1, 2, 3, 4]
    a[[0, -1], [1, 1]] = [5, v[0]]
    a[[[1], [2]], [0, 3]] = ((1, 2), (3, 4))
    np.add.at(a, [0, 0, 0], 1)
    np.add.at(a, ([0, 0], [1, 1]), [True, 2.5])
    a[i] = v[None, None, :4]
    return a


def of_scalars(a: Any, i: Any, v: Any) -> Any:
    a[i[0]] = 1
    a[i[1], i] = 2
    a[i[2:3], i[0]] = v[0]
    np.add.at(a, i[0], 3)
    np.add.at(a, (i[0], i[1]), v[1])
    a[np.int32(2), i] = 4
    a[np.array(3)] = 5
    a[np.array(1), np.array([2])] = v[3:4]
    a[1, i] = v
    a[1:3, i] = v
    a[i, None] = 3
    a[i[:, None], None, 1] = 3
    return a


def of_masks(a: Any, i: Any, v: Any) -> Any:
    m = v > 0
    a[i[m]] = 3
    a[i[m], i[m]] = v[m]
    np.add.at(a, i[m], 2)
    np.add.at(a[0], i[m], v[m])
    a[m[:5], 1] = 4
    a[m[:5], i[:1]] = 4
    a[i, i] = v[m].sum()
    b = v[m]
    b[np.arange(b.size) % 2] = 1
    np.add.at(b, [0] * b.size, 1)
    return a, b, np.bincount(i[m], minlength=4), np.bincount(i, m, 9)


def counted(a: Any, i: Any, v: Any) -> Any:
    return (
        np.bincount(i, minlength=4), np.bincount(i, v, 4), np.bincount(i % 3, None, 3),
        np.bincount(i, minlength=9), np.bincount(i), np.bincount(i, minlength=1),
        np.bincount(i, v, minlength=2), np.bincount(i[:0], minlength=3),
        np.bincount(i.astype(np.uint8), i, 5), np.bincount(i > 1, minlength=2),
        np.bincount([1, 2, 2], minlength=4), np.bincount(x=i, minlength=4) if 0 else 0,
    )  # fmt: skip


def in_bins(a: Any, i: Any, v: Any) -> Any:
    return (
        np.histogram(a, 4, (-3, 3)), np.histogram(v, bins=7, range=(-2.5, 1.0)),
        np.histogram(i, 3, (0, 3)), np.histogram(v, 5, range=(0.0, 1.0), density=True),
        np.histogram(v.astype(np.float32), 10, (0.1, 1.7)), np.histogram(v),
        np.histogram(a, [0, 1, 2]), np.histogram(a.T, 3, (np.float32(-1), np.int8(2))),
        np.histogram(v, 4, (-3, 3), weights=i), np.histogram(i[:0], 2, (0, 1)),
    )  # fmt: skip


def choices(a: Any, i: Any, v: Any) -> Any:
    w = v.astype(np.float32)
    return (
        np.choose(v > 0, [v, -v]), np.choose(i % 3, (v, w, i)), np.choose(i[:, None] % 2, [v, w]),
        np.choose(i % 2, [v[0], w]), np.choose(i[0] % 2, [v[0], v[1]]), np.choose(i, [v, w, i, v]),
        np.choose(i % 2, [i, i > 1]), np.choose(i, [v, w], mode="wrap"),
        np.choose(i % 2, a[:2, :1]),
        np.choose((i % 2).astype(np.uint8), [v, i]), np.choose([1, 0], [v[:2], v[2:4]]),
    )  # fmt: skip


def nothing_at_all(a: Any, i: Any, v: Any) -> Any:
    a[i[:0]] = 9
    a[i[:0], i[:0]] += 1
    np.add.at(a, i[:0], v[:0, None])
    a[:0][:, i] = 3
    b = a[:, :0]
    b[i] = 1
    np.add.at(b, i, 1)
    return a, b


def in_a_row(a: Any, i: Any, v: Any) -> Any:
    b = a + 1
    old = b.copy()
    b[i] = v[:, None]
    kept = b[1] * 2
    np.add.at(b, i, 1)
    b[:, i] = kept[i]
    c = b.T
    c[i % 4] += old[:, i % 4].T
    return b, kept, c[0], old


def shared(a: Any, i: Any, v: Any) -> Any:
    b, c = a[:, :2], a[:, 1:]
    b[i] = c[i, :2]
    c[i] += b[i, :1]
    np.add.at(b, (i, i % 2), c[i, 0])
    d = a.reshape(-1)
    d[i] = d[i + 1]
    d[i * 3] = a[0, 1]
    return b, d


PROGRAMS = (
    written, of_several_axes, of_parts, added, with_itself, written_by_what_it_holds, augmented,
    of_lists, of_scalars, of_masks, counted, in_bins, choices, nothing_at_all, in_a_row, shared,
)  # fmt: skip


def arguments(call: int) -> tuple[Any, Any, Any]:
    """Other values of the same shapes at each call."""
    rng = np.random.default_rng(call)
    v = rng.integers(-9, 9, 6) / 4
    v[:2] = 1.25, -1
    return rng.integers(-9, 9, (5, 4)) / 2, rng.integers(0, 4, 6), v


@pytest.fixture(params=["c", "cuda"])
def machine(request: pytest.FixtureRequest) -> str:
    """Kernels of the C back end, or those of CUDA on the emulator with calls of NumPy."""
    if request.param == "cuda":
        request.getfixturevalue("emulated_cuda")
    return str(request.param)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@one_in(6)
def test_fused_functions(program: Program, machine: str) -> None:
    """Four calls of other values give NumPy's results and leave arguments as NumPy does."""
    mine = fused(program)
    for call in range(4):
        ours, theirs = arguments(call), arguments(call)
        with np.errstate(all="ignore"):
            equal(mine(*ours), program(*theirs))
        equal(ours, theirs)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("inside", [True, False], ids=["block", "outside"])
@one_in(32)
def test_lazy_arrays(program: Program, inside: bool, both_ways: int) -> None:
    """Lazy arrays, in a block and outside of one."""
    for call in range(3):
        ours, theirs = lazy(arguments(call)), arguments(call)
        with np.errstate(all="ignore"):
            want = program(*theirs)
            with fused() if inside else contextlib.nullcontext():
                got = program(*ours)
            equal(got, want)
        equal(ours, theirs)


# --- memory that is shared


def into_three(a: Any, b: Any, i: Any, j: Any) -> Any:
    a[i] = b[j]
    np.add.at(b, j, a[i])
    j[i] = i[j]
    a[j] -= b[i]
    return a + b, i * j


MEMORY: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "apart": lambda x, n: (x[:6], x[6:12], n[:6], n[6:12]),
    "overlapping": lambda x, n: (x[:6], x[3:9], n[:6], n[2:8]),
    "backwards": lambda x, n: (x[:6], x[5::-1], n[:6], n[5::-1]),
    "in steps": lambda x, n: (x[:12:2], x[1:13:2], n[::2], n[1::2]),
    "interleaved": lambda x, n: (x[:12:2], x[:6], n[::2], n[:6]),
}


@pytest.mark.parametrize("name", MEMORY)
@one_in(10)
def test_arguments_that_share_memory(name: str, recorded: None) -> None:
    """What is written through one argument is seen through the other, as in NumPy."""
    made = MEMORY[name]

    def given(call: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(call)
        return rng.integers(-9, 9, 13) / 2, rng.integers(0, 6, 12)

    mine = fused(into_three)
    for call in range(3):
        ours, theirs = given(call), given(call)
        equal(mine(*made(*ours)), into_three(*made(*theirs)))
        equal(ours, theirs)
    ours, theirs = lazy(given(9)), given(9)
    equal(into_three(*made(*ours)), into_three(*made(*theirs)))
    equal(ours, theirs)


def test_an_argument_given_twice() -> None:
    """As value, index and target at once."""

    def program(a: Any, b: Any, c: Any) -> Any:
        a[b] = c[::-1]
        np.add.at(c, b % 3, a)
        return a + b

    mine = fused(program)
    for call in range(3):
        ours = np.random.default_rng(call).integers(0, 5, 5)
        theirs = ours.copy()
        equal(mine(ours, ours, ours), program(theirs, theirs, theirs))
        equal(ours, theirs)


@pytest.mark.filterwarnings("ignore:fusecuda computes with NumPy")
def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter gives the same."""
    monkeypatch.setenv("FUSECUDA_CC", "false")
    for program in (added, of_parts, in_a_row, counted, of_masks):
        mine = fused(program)
        for call in range(3):
            ours, theirs = arguments(call), arguments(call)
            equal(mine(*ours), program(*theirs))
            equal(ours, theirs)


def test_in_threads(recorded: None) -> None:
    """Threads that add to one lazy array lose nothing, whether they look or not."""
    shared = lazy(np.zeros(4))
    own = lazy(np.array([0, 1, 2, 3, 3]))

    def work() -> None:
        for _ in range(20):
            np.add.at(shared, own, 1.0)

    at_once([work] * 4)
    assert np.asarray(shared).tolist() == [80, 80, 80, 160]


# --- counts


def test_a_minlength_that_does_not_suffice_any_more() -> None:
    """The result is longer then, as NumPy's is; negative values are its error."""
    mine = fused(lambda x, w: (np.bincount(x, minlength=4) * 2, np.bincount(x, w, 4)))
    for largest in (3, 1, 9, 0, 3, 12):
        x = np.array([0, largest, 1, 1])
        w = np.array([0.5, 1, 2, -3]) * largest
        equal(mine(x, w), (np.bincount(x, minlength=4) * 2, np.bincount(x, w, 4)))
    with pytest.raises(ValueError, match="negative"):
        mine(np.array([0, -1, 1, 1]), np.ones(4))
    equal(mine(np.array([3, 3, 3, 3]), np.ones(4))[1], np.array([0.0, 0, 0, 4]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "i8"])
def test_bins_at_their_edges(dtype: str) -> None:
    """On edges, next to them, outside, and of no number; few bins and many."""
    for bins, ends in ((10, (0, 1)), (7, (-0.3, 2.1)), (3, (0.1, 0.7)), (1000, (0, 255)),
                       (255, (0, 255)), (5, (-1e300, 1e300)), (13, (1, 1 + 2**-40)),
                       (6, (np.float32(0.1), 3)), (4, (-128, 127))):  # fmt: skip
        if (dtype == "f4" and ends[1] - ends[0] < 1e-9) or (dtype == "f4" and ends[1] > 1e38):
            continue
        edges = np.histogram_bin_edges(np.empty(0, dtype), bins, ends)
        around = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]
        odd = [[np.nan, np.inf, -np.inf, 0.0, -0.0]] if dtype[0] == "f" else [[0, 255, 127]]
        with np.errstate(all="ignore"):
            values = np.concatenate([*around, *odd]).astype(dtype)
            for density in (False, True):
                function = functools.partial(np.histogram, bins=bins, range=ends, density=density)
                mine = fused(lambda x, function=function: function(x))
                equal(mine(values), function(values))
                equal(function(lazy(values)), function(values))


@pytest.mark.parametrize("number", [1, 1.5, 300, -1, np.float32(0.1), np.int64(3)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f2", "f4", "f8"])
def test_numbers_at_places(dtype: str, number: Any) -> None:
    """A number that an array can hold is one of the array's type: then it is a kernel."""

    def added(x: Any, i: Any) -> Any:
        np.add.at(x, i % 8, number)
        return x

    mine, theirs = np.arange(8).astype(dtype), np.arange(8).astype(dtype)
    if isinstance(number, float | np.floating) and mine.dtype.kind in "iu":
        return  # which NumPy refuses, or computes of
    with np.errstate(all="ignore"):
        fits = np.asarray(number).astype(dtype) == number or mine.dtype.kind in "iu"
    if fits:
        assert lower(added, mine, np.arange(20)).launches == 1
    np.testing.assert_array_equal(fused(added)(mine, np.arange(20)), added(theirs, np.arange(20)))


def test_indices_are_looked_at_once() -> None:
    """As long as they stay what they are."""

    def means(x: Any, k: Any) -> Any:
        return np.bincount(k, weights=x, minlength=50) / np.bincount(k, minlength=50)

    def written(x: Any, k: Any) -> Any:
        sums = np.bincount(k, weights=x, minlength=50)
        k += 1
        more = np.bincount(k, minlength=50)
        k[3] = 60
        return sums, more, np.bincount(k, minlength=50)

    rng = np.random.default_rng(8)
    x, k = rng.normal(size=5000), rng.integers(0, 50, 5000)
    fast = fused(means)
    for _ in range(2):
        with count_launches() as counter:
            got = fast(x, k)
        np.testing.assert_allclose(got, means(x, k), rtol=1e-9)
    assert counter.total <= 3, counter.by_name  # a look, the two sums, the quotient
    for _ in range(3):
        equal(fused(written)(x, k.copy()), written(x, k.copy()))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "i2", "i8"])
@pytest.mark.parametrize("bins", [1, 7, 64, 1000])
def test_bins_between_the_extremes(dtype: str, bins: int) -> None:
    """On edges and next to them; ranges that are none are left to NumPy, and so are its errors."""
    rng = np.random.default_rng(bins)
    values = (rng.normal(size=400) * 30 + 100).astype(dtype)
    with np.errstate(all="ignore"):
        edges = np.histogram_bin_edges(values, bins)
        around = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)]
        cases = [values, np.concatenate([values, *(e.astype(dtype) for e in around)])]
        cases += [np.full(5, 3, dtype), values[:0], np.repeat(values[:2], 3), values[::-3]]
    if dtype[0] == "f":
        cases += [np.array([1, np.nan, 2], dtype), np.array([1, np.inf], dtype)]
        cases += [np.array([0, 1e-45], dtype), np.arange(9, dtype=dtype) + dtype_large(dtype)]
    for density in (None, True):
        function = functools.partial(np.histogram, bins=bins, density=density)
        both = functools.partial(np.histogram2d, bins=(bins, 5), density=density)
        mine = fused(lambda x, function=function: function(x))
        mine_2d = fused(lambda x, both=both: both(x, x[::-1]))
        for x in cases:
            assert_same(mine, function, x)
            assert_same(mine_2d, lambda x, both=both: both(x, x[::-1]), x)


def dtype_large(dtype: str) -> Any:
    """A number from which its neighbours are two apart."""
    return np.dtype(dtype).type(2.0 ** (np.finfo(dtype).nmant + 1))


def assert_same(mine: Any, theirs: Any, x: Any) -> None:
    """Equal results, or errors of one text."""
    outcomes = []
    for function in (mine, theirs):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes.append(function(x.copy()))
        except Exception as error:
            outcomes.append((type(error), str(error)))
    equal(*outcomes)


@pytest.mark.parametrize("dtype", ["i8", "u1", "i2", "u4"])
@pytest.mark.parametrize("places", [3, 500, 600])
@pytest.mark.parametrize("count", [100, 40_000])
def test_tallies(dtype: str, places: int, count: int) -> None:
    """Sums of integers at few places, made by threads of their own, and what is there before."""
    rng = np.random.default_rng(places)
    index, added = rng.integers(0, places, count), rng.integers(0, 100, count).astype(dtype)

    def summed(i: Any, v: Any) -> Any:
        zeros = np.zeros(places, v.dtype)
        np.add.at(zeros, i % places, v)
        ones = np.ones(2 * places, v.dtype)
        np.add.at(ones[::2], i % places, v * 2)
        return zeros, ones, np.bincount(i % places, minlength=places)

    mine = fused(summed, strict=True)
    for _ in range(2):
        equal(mine(index, added), summed(index, added))
    executable = lower(lambda i: np.bincount(i % places, minlength=places), index)
    assert executable.launches == 1 or places > 512


def test_an_index_out_of_bounds_among_tallies() -> None:
    """It is an error, and nothing is written."""
    index = np.zeros(40_000, int)
    index[39_000] = 9

    def added(i: Any, v: Any) -> Any:
        v = v * 1
        np.add.at(v, i, 1)
        return v

    with pytest.raises(IndexError):
        fused(added)(index, np.zeros(8, int))
    index[39_000] = -1
    equal(fused(added)(index, np.zeros(8, int)), added(index, np.zeros(8, int)))


def test_an_index_behind_the_end() -> None:
    """What its operations tell of it allows for that."""

    def counted(i: Any) -> Any:
        zeros = np.zeros(8, int)
        np.add.at(zeros, i % 9, 1)
        return zeros

    with pytest.raises(IndexError):
        fused(counted)(np.arange(100))
    equal(fused(counted)(np.arange(8)), counted(np.arange(8)))


@pytest.mark.parametrize("result", ["a * 1", "a.copy()", "(a + 0, a * 1)", "(a * 1)[::-1]"])
def test_what_is_written_at_indices_may_be_a_result_too(result: str) -> None:
    """All indices are looked at before the argument is overwritten, of which a copy is given."""
    space: dict[str, Any] = {}
    exec(f"def program(a, i, v):\n    a[i] = v\n    return {result}", space)
    for dtype in (np.float64, np.int8):
        fused_one = fused(space["program"], strict=True)
        for last in (3, 5, 2):
            (a, b), v = np.zeros((2, 6), dtype), np.arange(3, dtype=dtype)
            want = space["program"](a, np.array([0, 1, last]), v)
            equal(fused_one(b, np.array([0, 1, last]), v), want)
            equal(b, a)
