"""Results whose extents differ from call to call: what follows is replayed all the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import fused
from tests.marks import one_in


def _drawn(i: int) -> list[Any]:
    return [np.random.default_rng(i).integers(-50, 50, 400) / 8]


def _plain(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def recordings(function: Callable[..., Any], make: Callable[[int], list[Any]], calls: int) -> int:
    """How often calls are recorded that have the results and effects of plain ones."""
    ours = fused(function)
    for i in range(calls):
        mine, theirs = make(i), copy.deepcopy(make(i))
        with fc.count_launches():  # so that measurement does not decide
            got = _plain(ours(*mine))
        want = _plain(function(*theirs))
        for a, b in zip([*mine, *got], [*theirs, *want], strict=True):
            assert type(a) is type(b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(a, b, rtol=1e-13)
    return ours.traces


def picked(x: Any) -> Any:
    return np.sqrt(x[x > 0]).sum()


def returned(x: Any) -> Any:
    return x[x > 0], np.unique(x), x * 2


def written(x: Any) -> Any:
    y = x[x > 0.3]
    y += 1
    part = y[1:]
    part[::2] = 7
    np.multiply(y, 2, out=y)
    y **= 2
    y.sort()
    return y, part * 2, y[y > 1.2], y.copy(), y.astype(np.float32), y.reshape(-1, 1).T


def masked(x: Any) -> Any:
    x[x > 0] *= -2
    x[x < -3] += np.flatnonzero(x < -3)
    return x.sum()


def counted(x: Any) -> Any:
    y = x[x > 0]
    n = len(y)
    mean = y.sum() / n if n > 10 else 0.0
    return mean, n, y[: n // 2].max(), int((x > 0).sum()), np.count_nonzero(x) + 1, int(y[-1] * 8)


def grouped(x: Any) -> Any:
    values, counts = np.unique(x, return_counts=True)
    return values[counts.argmax()], np.cumsum(counts)[-1], np.concatenate([values, x])


def mixed(x: Any) -> Any:
    y = x[x > 0]
    z = np.exp(x / 50)
    z[:3] = y[:3]
    z[3:6] += y[3:6]
    return z, np.where(y > 3, y, 0.0), np.stack([y, y]), np.add.reduce(y), np.diff(y)


def trimmed(x: Any) -> Any:
    y = x + 0
    y[np.abs(y) > 3] = 0
    return np.compress(y > 0, y), np.extract(y < 0, y), np.argwhere(y > 2), np.nonzero(y)[0]


FUNCTIONS = [picked, returned, written, masked, counted, grouped, mixed, trimmed]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@one_in(8)
def test_extents_that_differ_are_not_looked_at(function: Any) -> None:
    """A call sees one extent, a second that there are others; there is hardly more to record."""
    assert recordings(function, _drawn, 8) <= 3


def test_dates_are_followed_by_calls() -> None:
    """What a replay has dropped is not computed with again."""

    def f(x: Any) -> Any:
        days = x.astype("i8").astype("M8[D]")
        late = x > 0
        return days[late], days[late].max()

    ours, x = fused(f), np.arange(-12.0, 12.0).reshape(4, 6)
    for shift in (0, 100, 3, 100, -5):
        kept, last = ours(x + shift)
        want = f(x + shift)
        assert kept.dtype == want[0].dtype and (kept == want[0]).all() and last == want[1]


def test_an_extent_that_the_program_needs_is_looked_at() -> None:
    """A loop over what was picked runs as often as it has to."""

    def f(x: Any) -> Any:
        total = 0.0
        for i, v in enumerate(x[x > 0]):
            total += i * v
        return total + len(np.zeros(x[x > 0].shape))

    assert recordings(f, lambda i: [np.arange(-6.0 + i % 3, 4.0)], 9) == 3


def test_views_of_what_differs_are_views_wherever_they_meet() -> None:
    """An array that has to have a storage, and a view of it, share memory."""

    def f(x: Any) -> Any:
        y = x[x > 0]
        z = y[2:]
        w = np.exp(x / 50)
        w[:4] = z[:4]
        z *= 2
        w[4:8] = np.broadcast_to(y, (1, len(y)))[0, 2:6]
        np.copyto(w[8:12], y[:4])
        y -= 1
        return w, y, z

    recordings(f, _drawn, 5)


def test_what_a_call_raises_leads_to_a_path_of_its_own() -> None:
    """Caught by the function's own ``except``, and raised at its line by a replay."""

    def inverse(a: Any) -> Any:
        try:
            return np.linalg.inv(a) * 2
        except np.linalg.LinAlgError:
            return a - 1

    matrices = [np.zeros((3, 3)), np.eye(3), 2 * np.eye(3)]
    assert recordings(inverse, lambda i: [matrices[i % 3]], 9) == 2

    def counts(a: Any, calls: Any) -> Any:
        calls += 1
        return np.linalg.inv(a) * calls.max()

    ours, calls = fused(counts), np.zeros(2)
    for i in range(6):
        if i % 3 == 2:
            with pytest.raises(np.linalg.LinAlgError):
                ours(matrices[0], calls)
        else:
            np.testing.assert_array_equal(ours(matrices[1], calls), np.eye(3) * (i + 1))
        assert calls.tolist() == [i + 1, i + 1]


def test_views_that_depend_on_values_are_found_again() -> None:
    """`trim_zeros` gives a view: where it begins is looked at."""

    def f(x: Any) -> Any:
        kept = np.trim_zeros(x)
        kept *= 2
        return kept.sum()

    rows = [[0, 1, 2, 0], [1, 2, 3, 4], [0, 0, 5, 0], [0, 0, 0, 0]]
    recordings(f, lambda i: [np.array(rows[i % 4], float)], 12)


def test_a_number_that_is_compared_is_no_condition() -> None:
    """What is compared with it is; so a loop until convergence is replayed."""

    def f(x: Any) -> Any:
        turns = 0
        while float(np.abs(x).max()) > 0.01 and turns < 40:
            x = x * 0.5
            turns += 1
        return x, turns, f"{float(x[0]) > 0}"

    def make(i: int) -> list[Any]:
        return [np.linspace(1, (1.5, 1.6, 8.5)[i % 3], 50)]

    assert recordings(lambda x: f(x)[:2], make, 6) == 2


def test_what_an_extent_made_definite_is_found_again() -> None:
    """The array is one and the same, loose first and then not: it stays known when the one goes."""

    def f(x: Any, n: int) -> Any:
        return np.fft.fft(x, n).real, np.fft.fft(x)

    sizes = (8, 16, 16, 16, 12, 12, 8)
    recordings(f, lambda i: [np.random.default_rng(i).random(8), sizes[i % 7]], 14)
