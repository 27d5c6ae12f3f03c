"""Shapes of masks and of what is written: taken where NumPy takes them, else its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import lazy, outcome, same_outcome
from tests.marks import one_in

pytestmark = pytest.mark.usefixtures("recorded")

_WRITES = [
    ((3,), (1, 3), True), ((3,), (1, 1, 3), (3,)), ((3,), (1, 3), (1, 3)), ((3,), (3,), (1, 3)),
    ((2, 3), (1, 2, 3), (2, 1)), ((3,), (2, 3), True), ((), (1,), True), ((), (1, 1), ()),
    ((0,), (1, 0), True), ((2, 3), (1, 1, 1, 3), True), ((3,), (1, 1), (3,)),
]  # fmt: skip


@pytest.mark.parametrize(("target", "source", "where"), _WRITES)
def test_copyto_drops_leading_axes_of_one(target: Any, source: Any, where: Any) -> None:
    """As any write does, of the source, but not of the mask."""
    values = np.arange(1.0, 1 + np.prod(source, dtype=int)).reshape(source)
    mask = where if where is True else np.arange(np.prod(where, dtype=int)).reshape(where) % 2 == 0

    def write(into: Any, values: Any) -> Any:
        np.copyto(into, values, where=mask)
        return into

    wanted = outcome(write, np.zeros(target), values)
    same_outcome(outcome(write, lazy(np.zeros(target)), lazy(values)), wanted)
    same_outcome(outcome(fc.fused(write), np.zeros(target), values), wanted)


_MASKS = [
    ((4, 3), (3,)), ((4, 5), (3,)), ((1, 5), (3,)), ((5, 1), (3,)), ((5,), (2, 5)), ((5,), (1, 5)),
    ((3, 0), (3,)), ((5, 1), (5, 3)), ((), ()), ((4, 3), (4, 1)), ((2, 2, 3), (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "mean", "var", "std"])
@pytest.mark.parametrize(("shape", "mask"), _MASKS)
@one_in(8)
def test_masks_of_reductions(name: str, shape: Any, mask: Any) -> None:
    """A mask that is larger than the array, or does not broadcast to it, is NumPy's error."""
    x = np.arange(np.prod(shape, dtype=float)).reshape(shape)
    where = np.arange(np.prod(mask, dtype=int)).reshape(mask) % 2 == 0

    def reduced(x: Any, where: Any) -> Any:
        return getattr(np, name)(x, where=where)

    wanted = outcome(reduced, x, where)
    same_outcome(outcome(reduced, lazy(x), lazy(where)), wanted)
    same_outcome(outcome(fc.fused(reduced), x, where), wanted)


_PRODUCTS = [
    ((3,), (3,)), ((3,), (3, 3)), ((3, 3), (3,)), ((2, 3), (3, 1)), ((2, 3), (3, 3)), ((3,), ()),
    ((2, 1, 3), (3, 3)), ((3, 3), (2, 3, 3)), ((1,), (1,)), ((3,), (2, 3, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "other"), _PRODUCTS)
def test_products_in_place(shape: Any, other: Any) -> None:
    """They are not broadcast: what is not of the array's shape is NumPy's error."""

    def product(a: Any, b: Any) -> Any:
        a @= b
        return a

    a, b = np.ones(shape), np.full(other, 2.0)
    wanted = outcome(product, a.copy(), b)
    same_outcome(outcome(product, lazy(a), lazy(b)), wanted)
    for _ in range(2):
        same_outcome(outcome(fc.fused(product), a.copy(), b), wanted)


def test_a_number_that_is_padded_stays_an_array() -> None:
    """It has no axes, and may be written to."""
    assert type(fc.fused(np.pad, strict=True)(np.array(2.5), 1)) is np.ndarray
