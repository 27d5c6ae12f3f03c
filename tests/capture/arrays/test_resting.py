"""Single operations on arrays of middling size are NumPy's work where recording them is in vain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda.capture.record import rest
from fusecuda.capture.record.recorder import AT_ONCE_BELOW, VAIN_BELOW, default_recorder
from tests.capture_check import equal
from tests.marks import one_in

SIDE = 200  # of square arrays of doubles, 320,000 bytes
assert AT_ONCE_BELOW < 8 * SIDE * SIDE < VAIN_BELOW * AT_ONCE_BELOW / 4


@pytest.fixture(autouse=True)
def nothing_rests() -> Iterator[None]:
    """What rests in other tests does not rest here."""
    default_recorder.flush()
    rest._operations.clear()
    yield
    default_recorder.flush()
    rest._operations.clear()


def square(seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random((SIDE, SIDE)) - 0.5


def launches(step: Callable[[], Any], times: int = 8) -> list[int]:
    """How many kernels each of some calls of ``step`` runs."""
    found = []
    for _ in range(times):
        before = default_recorder.launches
        step()
        default_recorder.flush()
        found.append(default_recorder.launches - before)
    return found


def test_products_and_single_operations_in_turn() -> None:
    b, n, c = fnp.asarray(square()), square(), square(1)
    for _ in range(12):
        b, n = (b @ c) * 0.5, (n @ c) * 0.5
    begin = default_recorder.launches
    for _ in range(12):
        b, n = (b @ c) * 0.5, (n @ c) * 0.5
    assert default_recorder.launches - begin <= 12
    equal(b, n)
    assert launches(lambda: (b * 2) @ c) == [1, 1, 1, 1, 0, 0, 0, 0]


# A line of each kind: what it does to a square array and a vector, and how many kernels it saves.
LINES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reversed": lambda np_, x, v: (1 - x) @ v,
    "two": lambda np_, x, v: (x * 2 + 1) @ v,
    "comparison": lambda np_, x, v: (x > 0.25) @ v,
    "unary": lambda np_, x, v: abs(-x) @ v,
    "power": lambda np_, x, v: (x**2) @ v,
    "ufunc": lambda np_, x, v: np_.maximum(x, 0) @ v,
    "of_arrays": lambda np_, x, v: (x + x) @ v,
    "broadcast": lambda np_, x, v: (x * v) @ v,
    "where": lambda np_, x, v: np_.where(x > 0, x, 0.5) @ v,
    "largest": lambda np_, x, v: float((x - 1).max()),
    "in_place": lambda np_, x, v: x.__isub__(0.5) @ v,
    "in_place_twice": lambda np_, x, v: x.__iadd__(x * 0.5) @ v,
    "part_of": lambda np_, x, v: (x[:, 1:] - x[:, :-1]) @ v[1:],
    "written": lambda np_, x, v: (x.__setitem__(slice(1, None), x[:-1]), x @ v)[1],
    "masked": lambda np_, x, v: (x.__setitem__(x > 0.25, 0.25), x @ v)[1],
    "integers": lambda np_, x, v: (x.astype(int) ^ 5) @ v,
}


@pytest.mark.parametrize("name", LINES)
@one_in(10)
def test_lines_that_gain_nothing(name: str) -> None:
    """After a few times no kernel runs; the numbers are the same both ways."""
    line = LINES[name]
    x, n, v = fnp.asarray(square()), square(), np.linspace(-1, 1, SIDE)
    lazy_v = fnp.asarray(v)
    for _ in range(16):  # the bytecode of a call changes after a few times
        equal(line(fnp, x, lazy_v), line(np, n, v))
    found = launches(lambda: line(fnp, x, lazy_v), 4)
    assert not sum(found) or name == "integers"  # whose cast is recorded
    for _ in found:
        line(np, n, v)
    equal(x, n)


def test_what_is_fused_goes_on_being_recorded() -> None:
    x = fnp.asarray(square())

    def many() -> Any:
        y = x
        for _ in range(4):
            y = (y * 2 + 1) * x - y
        assert y.storage.pending
        return float(y.sum())

    def few() -> Any:
        y = x * 2
        assert y.storage.pending  # sums are ours
        return float(y.sum())

    assert launches(many, 10) == launches(few, 10) == [1] * 10


def test_large_arrays_complex_ones_and_other_functions_are_recorded() -> None:
    large = fnp.asarray(np.ones(VAIN_BELOW * AT_ONCE_BELOW // 8 + 1))
    z = fnp.asarray(square() + 1j)
    for step in (lambda: large * 2, lambda: z * 2, lambda: z * 1j, lambda: fnp.exp(z.real)):
        assert launches(lambda step=step: step().storage.complete(), 8) == [1] * 8
    wide, high = fnp.asarray(np.ones((1, 2000))), fnp.asarray(np.ones((2000, 1)))

    def table() -> None:  # a large result of small arrays
        (wide + high).storage.complete()

    assert launches(table, 8) == [1] * 8
    for _ in range(8):
        with fc.fused() as region:
            y = fnp.asarray(square()) * 2
        assert region.launches == 1
        equal(y, square() * 2)


def test_a_line_that_rests_is_recorded_again() -> None:
    """Once in a while; where more follows by then, from then on."""
    x, v = fnp.asarray(square()), np.ones(SIDE)
    more = False

    def step() -> Any:
        y = x * 3
        for _ in range(12 if more else 0):
            y = y * 0.5 + x
        return y @ v

    assert sum(launches(step, 8)) == 4
    assert sum(launches(step, rest._AGAIN)) == 1
    more = True
    found = launches(step, 2 * rest._AGAIN)
    assert found[-1] == 1
    y = x * 3
    assert y.storage.pending


def test_what_waits_sees_the_values_from_before() -> None:
    """A line that rests writes to no memory that something recorded still reads."""
    x, n, v = fnp.asarray(square()), square(), np.ones(SIDE)
    for i in range(12):
        late, plain = (fnp.exp(x), np.exp(n)) if i > 6 else (None, None)
        x += 1
        n += 1
        x[2:] -= 0.5
        n[2:] -= 0.5
        equal(x @ v, n @ v)
        if late is not None:
            np.testing.assert_allclose(np.asarray(late), plain, rtol=1e-14)


def test_results_have_memory_of_their_own() -> None:
    """Whose views keep it, and which is not lent to others meanwhile."""
    x, n = fnp.asarray(square()), square()
    kept, want = [], []
    for i in range(24):
        y = x * i
        kept.append(y[3:5] if i % 2 else np.asarray(y)[::2])
        want.append((n * i)[3:5] if i % 2 else (n * i)[::2])
        del y
    for a, b in zip(kept, want, strict=True):
        equal(a, b)


def test_errors_are_numpys() -> None:
    x, other = fnp.asarray(square()), fnp.asarray(np.ones((3, SIDE * 50)))
    for _ in range(8):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            x + other
        with pytest.raises(ValueError, match="could not broadcast"):
            x[:] = other
    for _ in range(8):
        equal((x - x) @ x, np.zeros((SIDE, SIDE)))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        x / (x - x)
