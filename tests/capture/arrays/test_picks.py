"""What a mask picks: computed where it lies; NumPy's array as soon as somebody asks for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused
from fusecuda.capture.arrays import picks
from tests.capture_check import equal, lazy
from tests.marks import few, one_in
from tests.threads import at_once

X = np.arange(-12.0, 12.0).reshape(4, 6)
Y = np.arange(24.0).reshape(4, 6)[::-1] * 3 - 20
N = np.arange(-12, 12).reshape(4, 6)


def in_place(x: Any, y: Any) -> Any:
    x[x < 0] *= -2
    x[y > 3] += 1
    return x


def of_another(x: Any, y: Any) -> Any:
    m = x < y
    x[m] = y[m] * 3 + x[m]
    return x


def computed_twice(x: Any, y: Any) -> Any:
    x[x * 2 < y] = y[x * 2 < y] - 1
    return x


def in_steps(x: Any, y: Any) -> Any:
    m = (x < y) & (x > -9)
    t = y[m]
    u = t
    t += 1
    t *= x[m]
    t **= 2
    x[m] = np.where(u > 9, u, np.clip(-u, -50, 50))
    return x


def into_integers(x: Any, y: Any) -> Any:
    n = (x * 2).astype(np.int16)
    n[n > 2] = y[n > 2] / 2
    n[n < 0] //= 3
    return n


def read_before_it_is_written(x: Any, y: Any) -> Any:
    m = x > 0
    t = x[m]
    x[m] = 0
    x += y
    x[m] += t
    return x


def mask_changed(x: Any, y: Any) -> Any:
    m = x > 0
    t = x[m] + 1
    before = m.copy()
    m[:2] = False
    x[before] = t
    x[m] = y[m]
    return x, m


def summed(x: Any, y: Any) -> Any:
    m = x < y
    t = x[m] * 2
    return t.sum(), t.mean(), np.prod(np.sign(t) + 2), (t > 3).any(), (t > -99).all(), t.sum(axis=0)


def spread(x: Any, y: Any) -> Any:
    t = x[y > 0]
    t = t[: t.size // 2 * 2]
    u = (x - y)[y > 0]
    return t.max(), u.min(), u.max(axis=0), np.max(u), np.var(u * 0 + 4), u.std(ddof=1) >= 0


def counted(x: Any, y: Any) -> Any:
    t = y[x > 2]
    return np.count_nonzero(t > 5), np.mean(t, dtype=np.float32), np.sum(t, dtype=np.int64)


def asked_for(x: Any, y: Any) -> Any:
    t = x[x > y]
    u = y[x > y]
    return len(t), t.shape, t.size, t.max(), t[::-1] + u, np.sort(u), t.ndim, t.dtype, t.T


def of_a_view(x: Any, y: Any) -> Any:
    inner = x[1:-1, ::-2]
    inner[inner > 0] -= y[1:-1, ::-2][inner > 0]
    return x


def views_of_it(x: Any, y: Any) -> Any:
    t = x[x > 0]
    first = t[:3]
    t += 100
    first *= 2
    return t, first, x


def complex_numbers(x: Any, y: Any) -> Any:
    z = x + 1j * y
    z[x > 0] = z[x > 0].conj() * 2
    z[y < 0] *= 1j
    return z, z[x > 0].sum()


def one_in_a_tuple(x: Any, y: Any) -> Any:
    x[(x > 0,)] = y[(x > 0,)] + 1
    x[..., :][y > 0] = 7
    return x


def nothing_and_all(x: Any, y: Any) -> Any:
    x[x > 99] += 1
    x[x < 99] += 1
    return x, y[x > 999], y[x > 999].sum(), y[x < 999]


def rows(x: Any, y: Any) -> Any:
    m = x[:, 0] > -5
    x[m] += y[m] * 2
    return x, x[m].sum()


def points(x: Any, y: Any) -> Any:
    label = np.arange(4) % 3
    out = []
    for k in range(3):
        mine = x[label == k]
        out += [mine.mean(axis=0), mine.sum(), (mine - y[0]).max(axis=0), mine[0], mine.ndim]
        x[label == k] -= y[label == k].sum(axis=0) + x[0]
        out.append(x[label == k].sum(axis=1))
    x[label > 0] = -1
    return x, out


def cubes(x: Any, y: Any) -> Any:
    c = x.reshape(2, 2, 6) + y[:2, None]
    m = c[..., 0] < c[..., 3]
    t = c[m] * np.arange(6.0) + y[1, :1]
    c[m] = t
    return c, t.sum(axis=0), c[m].shape, c[m][:, 1], t


def numbers_first(x: Any, y: Any) -> Any:
    m, n = x != 0, x.astype(int)
    n[m] = 100 // n[m]
    k = x[:, 0] > -5
    return n, 10 % n[m], 1 - x[m], y[0] - x[k], np.where(x[m] > 3, 1, 0), np.maximum(0, y[m])


def every_argument(x: Any, y: Any) -> Any:
    m, out, is_any = x > -5, np.zeros(()), np.zeros((), bool)
    np.sum(x[m], None, None, out)
    np.any(x[m] > 3, None, is_any)
    t = np.clip(x[x > 5], a_min=np.arange(6.0)[::-1] + 5, a_max=[9.0] * 6)
    return out, is_any, t, np.var(x[m] * 4, None, None, None, 1) > 1, np.any(x[m], 0, None, True)


def kept(x: Any, y: Any) -> Any:
    many = []
    for i in range(40):
        many.append(x[x > i % 7] * 2)
        x += i % 3 - 1
    t, c = y[y > 9], 0
    for _ in range(40):
        c = (t - c).sum() % 7
    return many, c, t, x


PROGRAMS: list[Callable[[Any, Any], Any]] = [
    in_place, of_another, computed_twice, in_steps, into_integers, read_before_it_is_written,
    mask_changed, summed, spread, counted, asked_for, of_a_view, views_of_it, complex_numbers,
    one_in_a_tuple, nothing_and_all, rows, points, cubes,
    numbers_first, every_argument, kept,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("turned", few([False, True], 1), ids=["plain", "turned"])
@one_in(16)
def test_as_numpy(program: Any, turned: bool, both_ways: int) -> None:
    """On lazy arrays, recorded and at once, and in functions, recorded and replayed."""
    values = (X[::-1, ::-1], Y.T.copy().T) if turned else (X, Y)
    want = [program(*map(np.array, values)) for _ in range(1)]
    equal([program(*lazy([*values]))], want)
    f = fused(program)
    for _ in range(3):
        args = [v.copy() for v in values]
        mine = [v.copy() for v in values]
        equal([f(*args), *args], [program(*mine), *mine])


ONE_KERNEL = [in_place, of_another, computed_twice, in_steps, summed, of_a_view]


@pytest.mark.parametrize("program", ONE_KERNEL, ids=lambda p: p.__name__)
def test_nothing_is_gathered(program: Any) -> None:
    """What is done to picks and written back, or summed up, is one kernel."""
    f = fused(program)
    for _ in range(3):
        arguments = X.copy(), Y.copy()
        with fc.count_launches() as count:
            f(*arguments)
    assert count.total == 1, count.by_name


def test_lowered() -> None:
    """A masked update has a plan though nobody knows how many elements there are."""
    exe = fc.lower(of_another, fc.spec((4, 6)), fc.spec((4, 6)))
    assert exe.launches == 1


def test_a_pick_that_is_alive_when_all_is_computed(recorded: None) -> None:
    """It shows what was picked when it was made."""
    a = lazy(X)
    m = a > 2
    t, u = a[m], a[m] * 2
    a[m] = -1
    equal(a, np.where(X > 2, -1, X))
    m[:] = True
    a += 1
    equal([t, u, a[m]], [X[X > 2], X[X > 2] * 2, (np.where(X > 2, -1, X) + 1).ravel()])


def test_shapes_that_are_set_later(recorded: None) -> None:
    """What was picked is of arrays and masks of the shapes that they had then."""

    def program(x: Any, y: Any) -> Any:
        u, m = (x + 1).ravel(), (y > 3).ravel()
        t, n = u[m], u[u < 0]
        places = np.nonzero(m)[0]
        u.shape, m.shape = (6, 4), (3, 8)
        return t, n, places, u, m

    equal(program(lazy(X), lazy(Y)), program(X, Y))
    f = fused(program)
    for _ in range(3):
        equal(f(X, Y), program(X, Y))


def test_written_at_once_after_it_was_picked() -> None:
    """Arrays so large that their picks are recorded, of which an element is written at once."""
    big = np.arange(200_000.0)
    a, m = lazy(big), lazy(big > 199_990)
    t = a[m]
    a[199_995] = -1.0
    equal(t, big[199_991:])
    equal(a[199_990:], np.array([*big[199_990:199_995], -1, *big[199_996:]]))


def test_masks_that_look_alike(recorded: None) -> None:
    """Views of one array by different slices are not one mask, nor are comparisons with others."""
    for pair in [(0, 3, 0, 0), (0, 0, 0, 1), (1, 2, 0, 0)]:
        left, right, low, high = pair
        a, got, want = lazy(X), lazy(np.zeros((4, 3))), np.zeros((4, 3))
        first, other = X[:, left : left + 3] > low, X[:, right : right + 3] > high
        want[other] = 5 if first.sum() == other.sum() else 0
        try:
            got[a[:, right : right + 3] > high] = (got + 5)[a[:, left : left + 3] > low]
        except ValueError:
            assert first.sum() != other.sum()
        equal(got, want)


@pytest.mark.parametrize("dearest", [picks._DEAREST, 1000])
def test_dear_functions_are_computed_of_what_is_picked(
    dearest: int, monkeypatch: pytest.MonkeyPatch, recorded: None
) -> None:
    """So are those that fail for some values: nobody asked for the others."""
    monkeypatch.setattr(picks, "_DEAREST", dearest)
    n = lazy(N)
    equal(n[n >= 0] ** n[n >= 0], N[N >= 0] ** N[N >= 0])
    equal(n[n >= 0] ** np.abs(n[n >= 0]), N[N >= 0] ** np.abs(N[N >= 0]))
    f = fused(lambda n: 2 ** n[n >= 0])
    for _ in range(3):
        equal(f(N.copy()), 2 ** N[N >= 0])


@pytest.mark.parametrize(
    "fault",
    [
        lambda a, b: a[a > 0] + b,
        lambda a, b: a[a[:, 0] > 0] + b[:, 0],
        lambda a, b: a.__setitem__(a[0] > 0, 1),
        lambda a, b: a.__setitem__(a > 0, b[b > 2]),
        lambda a, b: a[a > 0].__iadd__(b[b > 0]),
        lambda a, b: a[a[1:] > 0],
        lambda a, b: a[a > 0].sum(axis=1),
        lambda a, b: a[a > 99].max(),
        lambda a, b: np.min(a[a > 99], axis=0),
        lambda a, b: np.mean(a, where=b),
        lambda a, b: np.var(a[0], where=b[0].astype(int)),
        lambda a, b: a.sum(axis=0, where=b),
        lambda a, b: np.clip(a[a > 0], a_min=np.zeros(6), a_max=9),
        lambda a, b: (a > 0)[a > 0].__isub__(True),
        lambda a, b: (a.astype(int))[a > 0].__itruediv__(2),
    ],
)
@one_in(8)
def test_errors_are_numpys(fault: Any, both_ways: int) -> None:
    """And nothing has changed."""
    a, b = X.copy(), Y.copy()
    with pytest.raises(Exception) as known:
        fault(a, b)
    mine = lazy([X, Y])
    with pytest.raises(known.type):
        fault(*mine)
    equal(mine, [a, b])


def test_what_numpy_warns_of_is_left_to_it() -> None:
    """Complex numbers written to real ones."""
    a, z = lazy(X), lazy(X + 2j)
    with pytest.warns(np.exceptions.ComplexWarning):
        a[a > 0] = z[a > 0]
    equal(a, X)


def test_read_only(recorded: None) -> None:
    """A mask writes to nothing that may not be written to."""
    a = fnp.broadcast_to(lazy(X[0]), (4, 6))
    with pytest.raises(ValueError, match="read-only"):
        a[a > 0] *= 2


@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
@pytest.mark.parametrize("dtype", few([np.float32, np.int8, np.float16, np.float64, np.bool_], 2))
@one_in(10)
def test_moments_under_a_mask(dtype: Any, recorded: None) -> None:
    """As NumPy's, along each axis, with counts that no float of the type holds."""
    x, m = np.asarray(X % 3, dtype), (X % 2 == 0) ^ (Y > 9)
    for axis, keep in [(None, False), (0, True), (1, False)]:
        got = np.mean(lazy(x), axis=axis, keepdims=keep, where=lazy(m))
        equal(got, np.mean(x, axis=axis, keepdims=keep, where=m))
        for ddof in (0, 2):
            got = np.var(lazy(x), axis=axis, keepdims=keep, ddof=ddof, where=lazy(m))
            with np.errstate(invalid="ignore", divide="ignore"):
                want = np.var(x.astype(float), axis=axis, keepdims=keep, ddof=ddof, where=m)
            assert got.dtype == np.var(x).dtype
            np.testing.assert_allclose(np.asarray(got), want, rtol=0.003)


def test_replays_part_in_the_order_of_the_recording() -> None:
    """What was picked of parts of one array, before that changed, is not mixed up."""

    def program(x: Any, y: Any) -> Any:
        m = x > 0
        found = [x[m]] + [y[i : i + 2][m[i : i + 2]] for i in (0, 1, 2, 0, 1, 2)]
        m.T[0] = True
        return found, m

    f = fused(program)
    for i in range(8):
        x = np.roll(X, i)
        equal(f(x.copy(), Y.copy()), program(x.copy(), Y.copy()))


@pytest.mark.parametrize("in_a_function", [False, True])
def test_what_is_kept_is_gathered(in_a_function: bool, recorded: None) -> None:
    """A list of picks does not keep all the arrays that they are of."""
    frames: list[Any] = []

    def program(x: Any, n: int) -> Any:
        found = []
        for i in range(n):
            frame = x + i
            found.append(frame[frame > 20])
            frames.append(found[-1])
        known = sum(getattr(f, "pick", None) is not None for f in frames)
        frames.clear()
        return known, *found

    call = fused(program) if in_a_function else program
    for _ in range(3):
        known, *found = call(X.copy() if in_a_function else lazy(X), 60)
        equal(found, [(X + i)[X + i > 20] for i in range(60)])
        assert known <= picks._MOST


def test_what_is_used_often_is_gathered(recorded: None) -> None:
    """Each use of a pick goes over all of the array."""
    a = lazy(X)
    t = a[a > 9]
    for i in range(picks._OFTEN):
        equal(np.sum(t + i), (X[X > 9] + i).sum())
    assert t.pick is not None
    equal(np.sum(t), X[X > 9].sum())
    assert t.pick is None


def test_threads_ask_for_one_pick(recorded: None) -> None:
    """It is gathered once."""
    for _ in range(20):
        a = lazy(X)
        t = a[a > 0] * 2
        at_once([lambda t=t: equal(t, X[X > 0] * 2) for _ in range(3)])  # type: ignore[misc]


def program(seed: int) -> Callable[[Any, Any], Any]:
    """Random work on picks: the text of a function, compiled."""
    draw = random.Random(seed)
    lines = ["m = x < y", "k = x + y > 3", "t = x[m]", "u = y[k]"]
    for _ in range(draw.randrange(4, 14)):
        mask, a, b = draw.choice("mk"), draw.choice("xy"), draw.choice("xy")
        own = {"m": "t", "k": "u"}[mask]
        lines.append(
            draw.choice(
                [
                    f"{own} = {a}[{mask}] * 2 - {own}",
                    f"{own} += {b}[{mask}]",
                    f"{a}[{mask}] = {own}",
                    f"{a}[{mask}] += 1",
                    f"{a}[{mask}] = {b}[{mask}] * 0.5",
                    f"{own} = np.maximum({own}, {draw.randrange(9)})",
                    f"{a} = {a} + {b}",
                    f"{a}[1:] = {b}[:-1]",
                    f"out.append({own}.sum())",
                    f"out.append({own}[:2].copy())",
                    f"{a}[{a} > {draw.randrange(9)}] -= 3",
                    f"{mask} = {a} > {draw.randrange(5)}; {own} = {b}[{mask}]",
                    f"{mask}[0] = {mask}[-1]; {own} = {own}[:0]",
                    f"out.append(float({a}.sum()))",
                    f"{own} = {own} % 7",
                ]
            )
        )
    text = "\n    ".join(lines)
    source = f"def f(x, y):\n    out = []\n    {text}\n    return [x, y, t, u, m, k, *out]\n"
    space: dict[str, Any] = {"np": np}
    exec(source, space)
    space["f"].__doc__ = source
    return space["f"]  # type: ignore[no-any-return]


def check(seeds: range) -> None:
    """Random programs on lazy arrays against NumPy's own."""
    for seed in seeds:
        f = program(seed)
        try:
            want = f(X.copy(), Y.copy())
        except ValueError as error:
            with pytest.raises(ValueError, match=r"."):
                [np.asarray(v) for v in f(*lazy([X, Y]))]
            assert "shape" in str(error) or "broadcast" in str(error) or "cannot" in str(error)
            continue
        try:
            equal(f(*lazy([X, Y])), want)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{f.__doc__}") from error


@pytest.mark.parametrize("first", range(0, 25, 5))
@one_in(10)
def test_random_programs(first: int, recorded: None) -> None:
    """Picks, masks and arrays that change under them."""
    check(range(first, first + 5))


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(1))
def test_many_random_programs(batch: int, recorded: None) -> None:
    """As above."""
    check(range(1000 + 60 * batch, 1060 + 60 * batch))
