"""Rows that are cut into parts: all threads are through with one pass before the next begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans
from fusecuda.cpu_fallback.threads import set_thread_count, thread_count
from fusecuda.fusion import cost
from fusecuda.fusion.binding import Bound
from fusecuda.graph.interpret import interpret
from fusecuda.graph.tree import CHUNK
from tests.capture_check import equal
from tests.marks import one_in

RNG = np.random.default_rng(3)
LONG = 150_003  # elements


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    """Parts are taken by several threads, whatever the machine has."""
    before = thread_count()
    set_thread_count(2)
    yield
    set_thread_count(before)


def standardised(x: Any) -> Any:
    """Two sums, one after the other, and their use."""
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def softmax(x: Any) -> Any:
    """What is costly is kept."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def entropy(x: Any) -> Any:
    """Values of rows, and a sum over them."""
    top = x.max(axis=-1, keepdims=True)
    return (np.log(np.exp(x - top).sum(axis=-1)) + top[..., 0]).sum()


def several(x: Any) -> Any:
    """Elements are written by two passes, rows by the end."""
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    spread = np.abs(centred).max(axis=-1, keepdims=True)
    return x * 2 + mean, centred / spread, spread[..., 0] - mean[..., 0], centred.argmin(axis=-1)


def correlation(x: Any) -> Any:
    """Several sums in each pass."""
    n = x.shape[-1] // 2
    a, b = x[..., :n] - x[..., :n].mean(), x[..., n : 2 * n] - x[..., n : 2 * n].mean()
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


FUNCTIONS = [standardised, softmax, entropy, several, correlation]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(LONG,), (1, LONG), (3, 70_000), (2, 40_000 + CHUNK)], ids=str)
@one_in(12)
def test_as_interpreted(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    """The bits of rows that are not cut, each time."""
    check(function, RNG.normal(size=shape))


@pytest.mark.parametrize("function", FUNCTIONS)
@one_in(24)
def test_elements_apart(function: Callable[..., Any]) -> None:
    """Rows of which the elements do not lie side by side, in memory of other types."""
    wide = RNG.normal(size=(2, 3 * LONG)).astype("f4")
    for x in (wide[0, ::3], wide[:, ::-2], wide.T[::2].T, (wide[:1, ::2] * 99).astype("i2")):
        check(function, x)


def uncut(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The results of the same kernels over whole rows, which one thread computes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "SPLIT_ELEMENTS", 1 << 60)
        plans.forget()
        executable = fc.lower(function, *arguments)
        plans.forget()
        assert all(s.phases == 1 for s in executable.assembly.steps if isinstance(s, Bound))
        return every(executable(*arguments))


def every(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


def check(function: Callable[..., Any], *arguments: Any) -> None:
    executable = fc.lower(function, *arguments)
    steps = [s for s in executable.assembly.steps if isinstance(s, Bound)]
    assert any(step.phases > 1 for step in steps), executable.explain()
    want = uncut(function, *arguments)
    for _ in range(5):
        equal(every(executable(*arguments)), want)


def test_a_long_row_is_one_launch() -> None:
    """However long it is, for all threads pass over it."""
    x = RNG.normal(size=(1 << 21) + 1)
    executable = fc.lower(standardised, x)
    assert executable.launches == 1
    assert np.allclose(executable(x), standardised(x), rtol=1e-12, atol=1e-12)


def test_rows_in_parts_beside_others() -> None:
    """Kernels that share a launch have as many passes as each needs."""
    x, y, z = RNG.normal(size=LONG), RNG.normal(size=60_000), RNG.normal(size=(300, 20))

    def many(x: Any, y: Any, z: Any) -> Any:
        return standardised(x), y * 2 + 1, softmax(y), z.sum(axis=1), y.max()

    check(many, x, y, z)


def subtracted(x: Any) -> None:
    x -= x.mean()
    x /= np.sqrt((x * x).mean())


def by_first_and_last(x: Any) -> None:
    x[...] = (x - x.mean()) * x[0] + x[-1]


def but_the_first(x: Any) -> None:
    x[1:] -= x[0] * x[1:].sum() / x.size


def by_columns(x: Any) -> None:
    rows = x.reshape(3, -1)
    rows *= rows[:, :1] / np.abs(rows).max(axis=1, keepdims=True)


@pytest.mark.parametrize("function", [subtracted, by_first_and_last, but_the_first, by_columns])
def test_arguments_that_are_overwritten(function: Callable[[Any], None]) -> None:
    """By the last pass alone; what rows need of them is read before."""
    fused = fc.fused(function)
    for _ in range(4):
        x = RNG.normal(size=LONG)
        want = x.copy()
        function(want)
        fused(x)
        np.testing.assert_allclose(x, want, rtol=1e-10, atol=1e-10)


def test_kernels_of_fewer_passes_run_once() -> None:
    """In a launch with one that passes over its rows several times."""

    @fc.fused
    def function(x: Any, y: Any) -> Any:
        y += 1
        return standardised(x)

    x, y = RNG.normal(size=LONG), np.zeros(60_000)
    for n in range(1, 5):
        np.testing.assert_allclose(function(x, y), standardised(x), rtol=1e-10, atol=1e-10)
        assert (y == n).all()


def test_bits_of_the_tree() -> None:
    """Those of the interpreter."""
    x = RNG.normal(size=(2, LONG))
    executable = fc.lower(several, x)
    equal(every(executable(x)), interpret(executable.graph, [x]))


def test_short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many parts as there may be, and a last one of one element."""
    monkeypatch.setattr(cost, "SPLIT_ELEMENTS", CHUNK)
    plans.forget()
    for length in (2 * CHUNK, 2 * CHUNK + 1, 64 * CHUNK, 64 * CHUNK + 1, 130 * CHUNK + 7):
        for function in FUNCTIONS[:4]:
            check(function, RNG.normal(size=length))


def test_one_thread() -> None:
    """Which passes over the parts one after the other."""
    set_thread_count(1)
    check(several, RNG.normal(size=LONG))
