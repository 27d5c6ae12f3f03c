"""What fused functions return: NumPy's exact types, in cold and warm calls."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg

import fusecuda as fc
from fusecuda.capture.record.structure import leaves
from tests.capture.calls.test_fused import calls
from tests.capture_check import equal
from tests.marks import one_in
from tests.side_by_side import run

X = np.arange(12.0).reshape(3, 4) - 5
Pair = namedtuple("Pair", "first second")


# --- results


RESULTS: list[Callable[[Any], Any]] = [
    lambda x: None, lambda x: x, lambda x: x * 1, lambda x: x.sum(), lambda x: np.float64(3),
    lambda x: (x.sum(), x.sum(keepdims=True), x[0, 0], x[0, 0] + 1), lambda x: x.any(),
    lambda x: {"a": x + 1, "b": [x.max(), (x.min(),)]}, lambda x: [x, x], lambda x: (), lambda x: 3,
    lambda x: Pair(x + 1, x.argmax()), lambda x: np.zeros(3), lambda x: x.mean(0)[None],
    lambda x: (x.shape, x.dtype, x.ndim, len(x), x.size), lambda x: x[...], lambda x: x[1, 1, ...],
    lambda x: np.where(x[0, 0] > 1, 1.0, 2.0), lambda x: x.reshape(4, 3)[1], lambda x: slice(1),
    lambda x: iter([1]).__next__(), lambda x: np.asarray(x) + 1,
    lambda x: isinstance(x, np.ndarray),
    lambda x: np.sum(x.astype("f4")), lambda x: x.astype(bool), list, sum,
    lambda x: float(x.sum()), lambda x: x.tolist(), str, repr,
    lambda x: {1, 2}, lambda x: x.copy().T, lambda x: max(x[0]), lambda x: np.array([x[0], x[1]]),
    lambda x: np.full(2, 3.0).__imul__(0), lambda x: 1 in x, lambda x: x.item(2),
    lambda x: x.flat[3],
    lambda x: [row.sum() for row in x], np.array, lambda x: x.view(np.int64) + 1,
    lambda x: np.ascontiguousarray(x.T), lambda x: (np.abs(x).max() < 3) or x,
]  # fmt: skip


@pytest.mark.parametrize("function", RESULTS)
def test_results_are_numpys(function: Callable[[Any], Any]) -> None:
    """Scalars are NumPy scalars, structures are what they were, in cold and warm calls."""
    calls(function, *((X + k,) for k in range(4)))


ORDERED: list[Callable[[Any], Any]] = [
    linalg.qr, linalg.svd, linalg.schur, lambda x: linalg.eigh(x + x.T), linalg.lu_factor,
    lambda x: [linalg.hessenberg(x + 1, calc_q=True), x * 2],
]  # fmt: skip


@pytest.mark.parametrize("function", ORDERED)
def test_parts_of_results_lie_as_numpys(function: Callable[[Any], Any]) -> None:
    """Where a library gives several arrays, too, the axes of each are in its order."""
    fused = fc.fused(lambda x: function(x), strict=True)  # noqa: PLW0108 - a function of ours
    for k in range(3):
        x = np.random.default_rng(k).normal(size=(4, 4))
        got, wanted = list(leaves(fused(x))), list(leaves(function(x)))
        equal(got, wanted)
        assert [a.strides for a in got] == [a.strides for a in wanted]


@pytest.mark.parametrize("x", [1, X[0]])
@pytest.mark.parametrize("in_block", [False, True])
def test_broadcast_results(x: Any, in_block: bool) -> None:
    """NumPy warns who asks whether they can be written to: nothing of ours does."""

    def f(x: Any) -> Any:
        return np.broadcast_arrays(x, [[1], [2]], np.arange(4))

    fused = f if in_block else fc.fused(f, strict=True)
    for _ in range(3):
        with warnings.catch_warnings(), fc.fused() if in_block else contextlib.nullcontext():
            warnings.simplefilter("error")
            got = [np.array(a) for a in fused(x)]
        equal(got, [np.array(a) for a in f(x)])


def _iterated(x: Any) -> Any:
    print("begins")
    it = x.flat
    found = [type(it), isinstance(it, np.flatiter), next(it), next(it), it.index]
    later = x.flat
    later[1] = 3.0
    next(later)
    return [*found, it[1:3], it.index], [later], x


def test_flat_iterators_are_numpys() -> None:
    """They are of its class, at its place, and those that are returned are its own."""
    fused = fc.fused(_iterated)
    for _ in range(3):
        got, wanted = fused(X.copy()), _iterated(X.copy())
        equal(got[0], wanted[0])
        for result in (got, wanted):
            (it,) = result[1]
            assert type(it) is np.flatiter and it.index == 1 and it.base is result[2]


def test_fresh_results() -> None:
    """Results of two calls never share memory, even where they do not depend on arguments."""
    fused = fc.fused(lambda x: (np.ones(3), x * 0, np.zeros_like(x)))
    for first, second in zip(fused(X), fused(X), strict=True):
        assert not np.shares_memory(first, second)


def test_generator_results_and_observation() -> None:
    """Iterators are run by the caller, outside of any trace, on NumPy arrays."""
    fused = fc.fused(lambda x: (row * 2 for row in x))
    for _ in range(3):
        for got, want in zip(fused(X), X, strict=True):
            assert type(got) is np.ndarray
            equal(got, want * 2)


def test_random_and_print(capsys: pytest.CaptureFixture[str]) -> None:
    """Functions that look at the world are run each time."""

    def f(x: Any) -> Any:
        print("sum", x.sum())
        return x * random.random() + np.random.rand()  # noqa: NPY002

    fused = fc.fused(f)
    for seed in (1, 2, 3, 1):
        results = []
        for function in (fused, f):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            results.append(function(X))
        equal(*results)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert lines[::2] == lines[1::2]


# --- containers, methods, keywords


CONTAINERS: list[tuple[Callable[..., Any], list[Any]]] = [
    (lambda v: v[0] + v[1], [[X, X * 2], [X + 1, X], (X, X)]),
    (lambda v: v.append(v[0] * 2), [[X], [X + 1]]),
    (lambda v: v["a"].__imul__(v["k"]), [{"a": X, "k": 2.0}, {"a": X, "k": 3.0}, {"a": X, "k": 3}]),
    (lambda v: v.update(b=v["a"] + 1), [{"a": X}, {"a": X * 2}]),
    (lambda v: (v, v[0]), [[X], [X + 1]]),
    (len, [[], [X], [X, X]]),
]


@pytest.mark.parametrize(("function", "values"), CONTAINERS)
def test_containers(function: Callable[..., Any], values: list[Any]) -> None:
    """Lists and dicts of arrays are followed, changed in place where the function changes them."""
    calls(function, *((v,) for v in values * 2))


class Model:
    """Has state that its fused method reads and writes."""

    def __init__(self) -> None:
        self.dt, self.weights = 0.5, np.arange(4.0)

    @fc.fused
    def step(self, x: Any, k: float = 1.0, *more: Any, scale: float = 2.0) -> Any:
        """One step."""
        self.dt += 1
        return x * self.weights * self.dt * k * scale + sum(more)


def test_methods_and_keywords() -> None:
    """Attributes are read anew at each call; keywords, defaults and ``*args`` bind as in Python."""
    mine, theirs = Model(), Model()
    plain = Model.step.function
    for args, kwargs in (((X,), {}), ((X, 3.0), {}), ((X,), {"k": 2.0}), ((X, 1, 5), {"scale": 3})):
        for _ in range(2):
            equal(mine.step(*args, **kwargs), plain(theirs, *args, **kwargs))
        mine.weights += 1
        theirs.weights += 1
    with pytest.raises(TypeError):
        mine.step()


def test_strict_and_lower() -> None:
    """strict raises where something would run unfused; an executable takes its own shapes only."""
    with pytest.raises(fc.NotFusedError):
        fc.fused(np.asarray, strict=True)(X)
    exe = fc.lower(lambda x, k: x * k + 1, fc.spec((3, 4)), 2.0)
    equal(exe(X, 3.0), X * 3 + 1)
    assert exe.launches == 1
    for wrong in ((X.T, 1.0), (X,), (X.astype("f4"), 1.0)):
        with pytest.raises(TypeError):
            exe(*wrong)
    with pytest.raises(fc.NotFusedError):
        fc.lower(lambda x: x * float(x.sum()), X)


def test_errstate_and_nesting() -> None:
    """An errstate that raises is honoured; fused functions call fused functions, and themselves."""
    inner = fc.fused(lambda x: x * 2)
    outer = fc.fused(lambda x: inner(x) + inner(x + 1))
    for _ in range(3):
        equal(outer(X), X * 2 + (X + 1) * 2)
    divide = fc.fused(lambda x: 1 / x)
    with np.errstate(divide="ignore"):
        equal(divide(X), 1 / X)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divide(X)


def test_a_view_is_one_object_wherever_it_is_found() -> None:
    """In the result, in its parts and in what is written."""

    @fc.fused
    def f(a: Any, b: Any, kept: Any) -> Any:
        seen, made = b[:1], (a * 2)[1:]
        kept["seen"] = seen
        return [seen] * 2, seen, (made, {"made": made})

    for offset in range(3):
        kept: dict[str, Any] = {}
        (first, second), third, (made, parts) = f(np.arange(4.0) + offset, np.arange(4.0), kept)
        assert first is second is third is kept["seen"]
        assert made is parts["made"]


WHOLE = [
    "x[:]", "x[...]", "x.view()", "x.T", "x.reshape(x.shape)", "x.ravel()", "np.moveaxis(x, 0, -1)",
    "x[None][0]", "np.split(x, 1)[0]", "np.asarray(x)", "np.atleast_1d(x)", "np.squeeze(x)",
    "x.real", "x.astype(float, copy=False)", "np.ascontiguousarray(x)", "x.__iadd__(1)",
]  # fmt: skip


@pytest.mark.parametrize("view", WHOLE)
@pytest.mark.parametrize("array", ["x", "x * 2"], ids=["given", "made"])
@one_in(8)
def test_a_view_of_all_is_another_array(view: str, array: str) -> None:
    """Unless NumPy gives the array itself: what is set on the view leaves the array as it is."""
    program = f"""
@fused
def f(x, kept):
    x = {array}
    kept["v"] = v = {view}
    return v, x, [v]
"""
    steps = [
        *("x, kept = np.arange(4.0), {}", "v, y, _ = f(x, kept)", "v.flags.writeable = False"),
        "y[0] = 5",
    ]
    run(program, [*steps, *("f(np.arange(4.0), {})",) * 2, *steps])


@pytest.mark.parametrize("view", WHOLE)
def test_a_view_of_all_that_was_given_after_a_look(view: str) -> None:
    """As `test_a_view_of_all_is_another_array`, where the call is a path."""
    program = f"""
@fused
def f(x, kept):
    if x.max() > 2: kept["n"] = np.median(x)
    return {view}
"""
    steps = ["x = np.arange(4.0)", "v = f(x, {})", "v.flags.writeable = False", "x[0] = 5"]
    run(program, [*steps, *("f(np.arange(4.0), {})",) * 2, *steps])


def test_a_view_of_all_in_a_call_that_is_recorded_anew() -> None:
    """As `test_a_view_of_all_is_another_array`."""
    program = """
@fused
def f(x): return sum(x.tolist()), x[:], x
"""
    run(program, ["x = np.arange(2e3)", *("total, v, y = f(x)", "v.shape = 20, 100") * 3])


def test_what_is_read_only_stays_so() -> None:
    """Views that NumPy gives to be looked at alone."""

    @fc.fused
    def f(a: Any) -> Any:
        return np.broadcast_to(a, (2, a.size)), np.outer(a, a).diagonal(), a[1:]

    for offset in range(3):
        wide, diagonal, rest = f(np.arange(4.0) + offset)
        assert not wide.flags.writeable and not diagonal.flags.writeable
        assert rest.flags.writeable and wide[1, 2] == 2.0 + offset


def test_a_view_found_twice_is_one_object_and_computed_once() -> None:
    """Alone and in a container, of an argument that is changed before."""

    @fc.fused
    def f(a: Any) -> Any:
        a += 1
        view = (a * 2)[1:]
        return view, [view, {"view": view}]

    for offset in range(3):
        x = np.arange(3.0) + offset
        first, (second, named) = f(x)
        assert first is second is named["view"]
        assert x.tolist() == [1 + offset, 2 + offset, 3 + offset]
        assert first.tolist() == [4 + 2 * offset, 6 + 2 * offset]
    assert f.explain().startswith("f: replayed")
