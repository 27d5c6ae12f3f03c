"""Results lie in memory as NumPy's do: elementwise ones keep the order of their operands' axes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
import fusecuda.numpy as fnp
from fusecuda import fused
from tests.marks import one_in

NDArray = np.ndarray[Any, Any]

MADE: dict[str, Callable[[Any, Any], Any]] = {
    "one operand": lambda x, y: x * 2,
    "two": lambda x, y: x + y,
    "a row": lambda x, y: x * y[0],
    "a column": lambda x, y: x * y[:, :1],
    "steps": lambda x, y: abs(x)[:, ::2] * 3,
    "backwards": lambda x, y: x[::-1] * y[::-1],
    "transposed": lambda x, y: (x - y).T,
    "a chain": lambda x, y: (x - y.mean()) / (abs(x) + 1) > 0.5,
    "where": lambda x, y: np.where(x > 0, x, y),
    "where of numbers": lambda x, y: np.where(x > 0, 1.0, 0.0),
    "divmod": lambda x, y: np.divmod(x, y)[1],
    "library function": lambda x, y: np.spacing(x),
    "clip": lambda x, y: np.clip(x, -0.5, 0.5),
    "cast": lambda x, y: x.astype(np.float32),
    "cast in rows": lambda x, y: x.astype(np.float32, order="C"),
    "method copy": lambda x, y: x.copy(),
    "function copy": lambda x, y: np.copy(x),
    "copy in columns": lambda x, y: x.copy("F"),
    "copy of rows": lambda x, y: np.copy(np.broadcast_to(y[0], x.shape)),
    "cast of columns": lambda x, y: np.broadcast_to(y[..., :1], x.shape).astype(np.float32),
    "like rows": lambda x, y: np.full_like(np.broadcast_to(y[0], x.shape), 2.0),
    "repeated rows": lambda x, y: np.repeat(np.broadcast_to(y[0], x.shape), 2, 0),
    "numbers in rows": lambda x, y: np.nan_to_num(np.broadcast_to(y[0], x.shape)),
    "module copy": lambda x, y: copy.copy(x),
    "deep copy": lambda x, y: copy.deepcopy(x),
    "zeros like": lambda x, y: np.zeros_like(x),
    "full like, in columns": lambda x, y: np.full_like(x, 3.0, order="F"),
    "ones like, other shape": lambda x, y: np.ones_like(x, shape=(2, 3)),
    "zeros in columns": lambda x, y: np.zeros(x.shape, order="F") + 1,
    "sums": lambda x, y: x.sum(-1),
    "extremes, axes kept": lambda x, y: x.max(axis=0, keepdims=True),
    "means": lambda x, y: x.mean(1, keepdims=True) * y,
    "places": lambda x, y: x.argmin(axis=0),
    "deviations": lambda x, y: x.std(axis=(0, 1)),
    "ravel K": lambda x, y: x.ravel("K"),
    "ravel A": lambda x, y: np.ravel(x, "A"),
    "flatten F": lambda x, y: x.flatten("F"),
    "ravel A, backwards": lambda x, y: x[::-1].copy("C")[::-1].ravel("A"),
    "flatten A, backwards": lambda x, y: x[::-1].flatten("A"),
    "tiled once": lambda x, y: np.tile(x, 1),
    "array in rows": lambda x, y: np.array(x, order="C"),
    "array in columns": lambda x, y: np.array(x, np.float32, order="F") * 1,
    "asarray in columns": lambda x, y: np.asarray(x[:, :2], order="F") + 0,
    "running sums": lambda x, y: np.cumsum(x, 1),
    "running products": lambda x, y: np.cumprod(x, 0),
    "sorted": lambda x, y: np.sort(x, 0),
    "places when sorted": lambda x, y: np.argsort(x, 0),
    "concatenated": lambda x, y: np.concatenate([x, y, x], 1),
    "joined by rows": lambda x, y: np.vstack([x, y * 2]),
    "taken columns": lambda x, y: np.take(x, [2, 0, 1], 1),
    "rolled": lambda x, y: np.roll(x, 2, 1),
    "framed": lambda x, y: np.pad(x, 1),
    "reshape A": lambda x, y: np.reshape(x, (-1, 2), order="A"),
}


def orders() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    yield from itertools.product(itertools.permutations(range(2)), repeat=2)
    axes = list(itertools.permutations(range(3)))
    yield from zip(axes, axes[2:] + axes[:2], strict=True)


def laid(axes: tuple[int, ...], seed: int) -> NDArray:
    """An array whose axes lie in memory in the order ``axes``."""
    shape = (4, 6, 3)[: len(axes)]
    memory = np.random.default_rng(seed).standard_normal([shape[a] for a in axes])
    return memory.transpose(np.argsort(axes))


def layout(a: NDArray) -> tuple[Any, ...]:
    """Shape, type, and the strides along axes that have more than one element."""
    return a.shape, a.dtype, [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1]


def check(result: Any, wanted: NDArray) -> None:
    found = np.asarray(result)
    assert layout(found) == layout(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", MADE)
@one_in(16)
def test_results_are_laid_out_as_numpys(name: str) -> None:
    function = MADE[name]
    traced = fused(function)
    for first, second in orders():
        x, y = laid(first, 1), laid(second, 2)
        wanted = function(x, y)
        for _ in range(2):
            check(traced(x, y), wanted)
        check(function(fnp.asarray(x), fnp.asarray(y)), wanted)


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0, 1)])
def test_updates_of_arguments_keep_their_memory(axes: tuple[int, ...]) -> None:
    def step(x: Any, y: Any) -> Any:
        x *= 2
        x += y
        x[1:] -= 1
        return x - y

    ours, plain, other = laid(axes, 1), laid(axes, 1), laid(axes, 2)
    traced = fused(step)
    for _ in range(2):
        check(traced(ours, other), step(plain, other))
        check(ours, plain)


def test_the_layout_is_known_before_values() -> None:
    x = fnp.asarray(np.asfortranarray(np.ones((3, 4))))
    made = x * 2
    assert made.flags.f_contiguous
    assert made.flags.owndata
    assert not made.T.flags.owndata
    assert made.strides == (8, 24)
    assert np.zeros_like(x).flags.f_contiguous
    assert fnp.full((3, 4), 2.0, order="F").strides == (8, 24)
    assert fnp.ascontiguousarray(made).flags.c_contiguous


def test_nothing_is_transposed_in_memory_order() -> None:
    def standardised(x: Any) -> Any:
        return (x - x.mean(0)) / x.std(0)

    x = np.asfortranarray(np.random.default_rng(0).standard_normal((50, 40)))
    lowered = fc.lower(standardised, x)
    assert lowered.launches == 1
    check(lowered(x), standardised(x))
    doubled = fc.lower(lambda a: a.T * 2 + 1, np.ones((5, 7)))
    assert "index" not in doubled.hlo


def test_updating_all_of_a_permuted_view_is_no_update() -> None:
    lowered = fc.lower(lambda a: np.add(a.T, 1, out=a.T), np.ones((5, 7)))
    assert "update" not in lowered.hlo


def test_sums_do_not_depend_on_the_layout() -> None:
    x = np.random.default_rng(5).standard_normal((37, 53, 3))
    summed = fused(lambda a: a.sum(axis=(0, 1)), strict=True)
    for axes in itertools.permutations(range(3)):
        other = np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
        np.testing.assert_array_equal(summed(other), summed(x))


@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0, 1)])
def test_what_indices_pick_lies_row_by_row(axes: tuple[int, ...]) -> None:
    """NumPy leaves the index's axes in front in memory; reading along rows is quicker."""

    def picked(x: Any) -> Any:
        place = abs(x[0, 1:3]).argmin() % 2
        return x[:, [2, 0, 1]], x[np.array([[0, 2], [1, 1]])], x[:, [0, place]] * 2

    x = laid(axes, 3)
    traced = fused(picked, strict=True)
    for _ in range(2):
        for found, wanted in zip(traced(x), picked(x), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.flags.c_contiguous
