"""Faults that were found once in capture around CuPy: each stays mended."""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

import numpy as np
import pytest

cp = pytest.importorskip("cupy")

import fusecuda.numpy as fnp  # noqa: E402
from fusecuda import fused  # noqa: E402
from tests import cupy_host  # noqa: E402
from tests.capture_check import equal  # noqa: E402
from tests.cupy_host import host, over, seen  # noqa: E402

cupy_host.install()
X = np.arange(4.0)


def on_cpu(function: Any) -> Any:
    return fused(function, device="cpu")


def test_a_whole_write_then_a_part() -> None:
    """The array that was written from is another one than the part is of."""
    a, c = host(np.zeros(4)), host(X)
    with fused(device="cpu"):
        a[:] = c
        a[2] += 1
    equal(seen(a), np.array([0.0, 1, 3, 3]))
    equal(seen(c), X)
    b, d = host(np.zeros((4, 3))), host(np.arange(12.0).reshape(4, 3))
    with fused(device="cpu"):
        b[...] = d
        b[2] = 7
    want = np.arange(12.0).reshape(4, 3)
    want[2] = 7
    equal(seen(b), want)


def test_a_flush_in_a_call_leaves_no_replay() -> None:
    """What the call knew of its arguments' storages is gone; the overlap would not be asked for."""

    def f(a: Any, b: Any, c: Any) -> Any:
        a.data  # noqa: B018
        b += 1
        return c * 2 + b

    g = on_cpu(f)
    g(*[host(X) for _ in range(3)])
    base = np.arange(6.0)
    shared = over(base)
    got = seen(g(host(X), shared[1:5], shared[0:4]))
    want = np.arange(6.0)
    equal(got, f(types.SimpleNamespace(data=0), want[1:5], want[0:4]))
    equal(base, want)


def test_threads_that_share_an_argument() -> None:
    """Each trace that is kept holds, whatever other threads flushed while it was recorded."""

    def f(b: Any, c: Any, w: Any) -> Any:
        y = c * 2
        b += 1
        return y + w

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(12):
            g, w, c = on_cpu(f), host(np.ones(4)), host(X)

            def work(g: Any = g, c: Any = c, w: Any = w) -> None:
                for _ in range(3):
                    mine = host(np.zeros(4))
                    g(mine, c, w)
                    assert (seen(mine) == 1).all()

            threads = [threading.Thread(target=work) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            base, want = np.arange(6.0), np.arange(6.0)
            shared = over(base)
            got = seen(g(shared[1:5], shared[0:4], host(np.ones(4))))
            equal(got, f(want[1:5], want[0:4], np.ones(4)))
            equal(base, want)
    finally:
        sys.setswitchinterval(before)


def test_a_replay_completes_what_it_reads_by_name() -> None:
    """An array read by name may be pending in another thread."""
    state, x = over(np.zeros(3)), host(np.ones(3))
    g = on_cpu(lambda x: x + state)
    g(x)
    pending, done = threading.Event(), threading.Event()

    def elsewhere() -> None:
        nonlocal state
        with fused(device="cpu"):
            state += 5
            pending.set()
            done.wait()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    pending.wait()
    try:
        equal(seen(g(x)), np.full(3, 6.0))
    finally:
        done.set()
        thread.join()


def test_a_result_of_another_dtype() -> None:
    """A dtype view of a new array is one in the replay too."""
    g = on_cpu(lambda x: (x * 2).view(np.int64))
    for _ in range(3):
        equal(seen(g(host(X))), (X * 2).view(np.int64))


@pytest.mark.parametrize("kind", ["cupy", "numpy"])
def test_a_number_that_raises_is_a_condition(kind: str) -> None:
    """The next number may not raise."""

    def reciprocal(x: Any, k: Any) -> Any:
        try:
            s = 1 / k
        except ZeroDivisionError:
            s = 0.0
        return x * s

    def power(x: Any, k: Any) -> Any:
        try:
            s = 2.0**k
        except OverflowError:
            s = -1.0
        return x * s

    make, back = (host, seen) if kind == "cupy" else (np.copy, np.asarray)
    for f, numbers in ((reciprocal, (0, 2, 0, 4)), (power, (5000, 5, 5000))):
        g = on_cpu(f)
        for k in numbers:
            equal(back(g(make(X), k)), f(X, k))


def test_a_number_that_does_not_fit_is_a_condition() -> None:
    """In an assignment too."""

    def f(x: Any, k: Any) -> Any:
        y = x * 1
        try:
            y[0] = k
        except OverflowError:
            y[0] = 0
        return y

    g = on_cpu(f)
    for k in (300, 5, 300):
        want = np.arange(4, dtype=np.int8)
        want[0] = k if k < 128 else 0
        equal(seen(g(host(np.arange(4, dtype=np.int8)), k)), want)


def test_identity_and_places_are_conditions() -> None:
    """Which arguments are one array, and whether they are views."""
    x, y = host(X), host(X)
    for f in (lambda a, b: (a + b, cp.may_share_memory(a, b)), lambda a, b: (a + b, a is b)):
        g = on_cpu(f)
        assert [g(x, y)[1], g(x, x)[1], g(x, y)[1]] == [False, True, False]
    g, v, w = on_cpu(lambda a, b: (a + b, a is b)), x[1:], x[1:]
    assert [g(v, w)[1], g(v, v)[1], g(v, w)[1]] == [False, True, False]
    g, square = on_cpu(lambda a: (a * 2, a.strides)), host(np.ones((3, 3)))
    assert [g(s)[1] for s in (square[:], square.T, square[:])] == [(24, 8), (8, 24), (24, 8)]
    g = on_cpu(lambda a: (a * 2, cp.byte_bounds(a)))
    assert g(x)[1] != g(y)[1]
    g = on_cpu(lambda a: (a * 2, a.base is None))
    assert [g(x)[1], g(over(np.arange(8.0))[:4])[1], g(x)[1]] == [True, False, True]


def test_a_module_of_the_users_is_not_taken_for_constant() -> None:
    """Its attributes are read where nobody sees it."""
    module = types.ModuleType("settings")
    module.k = 2.0  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        m = module
        return x * m.k

    for make, back in ((host, seen), (np.copy, np.asarray)):
        g = on_cpu(f)
        for k in (2.0, 3.0, 3.0):
            module.k = k  # type: ignore[attr-defined]
            equal(back(g(make(X))), X * k)


@pytest.mark.parametrize("dtype", [np.float16, np.complex64])
def test_signs_of_zeros_in_library_calls(dtype: Any) -> None:
    """Plans and common subexpressions tell 0.0 from -0.0, and 1 from True."""
    a = np.arange(3).astype(dtype)
    f = fused(lambda x, k: (x * k, x * -k), device="cpu")
    for k in (0.0, -0.0, 0.0):
        for got, want in zip(f(a, k), (a * k, a * -k), strict=True):
            assert np.asarray(got).tobytes() == want.tobytes()
    with fused():
        plus, minus = fnp.asarray(a) * 0.0, fnp.asarray(a) * -0.0
    assert np.asarray(plus).tobytes() == (a * 0.0).tobytes()
    assert np.asarray(minus).tobytes() == (a * -0.0).tobytes()


def test_defaults_that_change() -> None:
    """A call by keyword takes the defaults of now."""

    def d(x: Any, k: float = 2) -> Any:
        return x * k

    g, x = on_cpu(d), host(X)
    equal(seen(g(x=x)), X * 2)
    d.__defaults__ = (5,)
    equal(seen(g(x=x)), X * 5)
    equal(seen(g(x)), X * 5)


def test_followed_numbers_stay_inside() -> None:
    """What the caller gets back are numbers, in the caller's own containers."""

    def f(x: Any, d: dict[str, Any], found: list[Any]) -> Any:
        d["n"] += 1
        found.append(3.0)
        return x * d["n"]

    d, found = {"n": 1, "x": 2.0}, [[1.0]]
    inner = found[0]
    g = on_cpu(f)
    for n in (2, 3):
        equal(seen(g(host(X), d, found)), X * n)
        assert [type(d["n"]), type(d["x"]), d["n"]] == [int, float, n]
        assert found[0] is inner and type(inner[0]) is float and type(found[-1]) is float
    assert on_cpu(lambda x, k: {k: x * k})(host(X), 2).keys() == {2}


def test_changes_before_an_exception_stay() -> None:
    """A list that was given holds what the function put there."""

    def f(x: Any, found: list[Any]) -> Any:
        found.append(x * 2)
        raise KeyError

    found: list[Any] = [1.0]
    with pytest.raises(KeyError):
        on_cpu(f)(host(X), found)
    assert found[0] == 1.0 and len(found) == 2
    equal(seen(found[1]), X * 2)


def test_numbers_that_fill() -> None:
    """`full` takes a followed number; `pow` a third one."""
    g = on_cpu(lambda x, k: cp.full((4,), k) * x)
    for k in (2.0, 3.0):
        equal(seen(g(host(X), k)), X * k)
    h = fused(lambda x, k: fnp.full(4, k) * x * pow(k, 2, 7))
    for k in (2, 5):
        equal(np.asarray(h(X, k)), np.full(4, k) * X * pow(k, 2, 7))


def test_offsets_and_decimals_are_integers() -> None:
    """As in NumPy, at once."""
    with fused(device="cpu"):
        x = host(X.reshape(2, 2))
        for bad in (np.nan, 2.5):
            with pytest.raises(TypeError):
                cp.trace(x, bad)
            with pytest.raises(TypeError):
                np.trace(fnp.asarray(X.reshape(2, 2)), bad)
    with pytest.raises(TypeError):
        np.round(fnp.asarray(X), 2.5)
    with np.errstate(all="ignore"):
        small = np.arange(3, dtype=np.int8)
        equal(np.asarray(np.where(fnp.asarray(small) > 1, 200, fnp.asarray(small))),
              np.where(small > 1, 200, small))  # fmt: skip
