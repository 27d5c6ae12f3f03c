"""Repeated elements, and what is merged of several axes, are computed where they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from tests.capture_check import equal
from tests.marks import one_in

RNG = np.random.default_rng(5)
A, V = (RNG.choice([-7.0, -3, -2, 2, 4, 5, 9], n) for n in ((12, 30), 12))  # whose sums are exact


def tiled(a: Any, v: Any) -> Any:
    return np.tile(v[:10], (12, 3)) - a


def tiled_twice(a: Any, v: Any) -> Any:
    return np.tile(a[:4, :10], (3, 3)) - a


def upsampled(a: Any, v: Any) -> Any:
    return np.repeat(np.repeat(a[:6, :15], 2, axis=0), 2, axis=1) * 0.5 + a


def blocks(a: Any, v: Any) -> Any:
    return np.broadcast_to(v[:4, None, None], (4, 3, 30)).reshape(12, 30) * a + v[:, None]


def outer_flat(a: Any, v: Any) -> Any:
    return np.outer(v, v[:10]).ravel() * a.ravel()[:120] + 1


def kronecker(a: Any, v: Any) -> Any:
    return np.kron(a[:3, :5], a[:4, :6]) - a


def seen_as_well(a: Any, v: Any) -> Any:
    product = v[:, None] * a
    return product, product.reshape(-1) * 2, np.abs(product.reshape(6, 60)) - 1


def reduced(a: Any, v: Any) -> Any:
    twice = np.repeat(a[:6], 2, axis=0) * a
    return twice.sum(axis=1), twice.max(), twice.reshape(4, 90).min(axis=0)


def weighed(a: Any, v: Any) -> Any:
    x = np.repeat(a[:6], 2, axis=0) * a
    d = x - x.max(axis=1, keepdims=True)
    return d * (d * d).sum(axis=1, keepdims=True), x.argmax(axis=1), np.outer(v, v).ravel().sum()


def cut(a: Any, v: Any) -> Any:
    twice = np.repeat(a[:6], 2, axis=0)
    return (
        twice[:5, :7] * a[:5, :7],
        twice[1::2] - a[:6],
        np.repeat(v, 2)[::-1] * 3,
        twice[:, None] + v[:1],
    )


def back_again(a: Any, v: Any) -> Any:
    product = v[:, None] * a
    there = product.reshape(-1)
    again = there.reshape(12, 30)
    return there * 2, (again * 3)[::2, 1:], again.sum(axis=0), np.abs(again)[:, None] + v[:1]


def turned(a: Any, v: Any) -> Any:
    return np.repeat(a[:6], 2, axis=0).T + np.ascontiguousarray(a.T), np.outer(v, v).reshape(
        2, 72
    ).sum(axis=0)


def repeated_unlike(a: Any, v: Any) -> Any:
    return np.repeat(v, 6) * np.repeat(v[:8], 9) + np.tile(v, 6)


def in_place(a: Any, v: Any) -> Any:
    a *= np.repeat(a[:6], 2, axis=0)
    v[...] = np.repeat(v[:4] + 1, 3)
    return np.repeat(a[0, :6], 2) + v


def unit_axes(a: Any, v: Any) -> Any:
    row = np.broadcast_to(v[:, None, None], (12, 1, 5)).reshape(60)
    return row * 2, np.broadcast_to(v[:1], (12, 1)).reshape(12, 1, 1) + a[:, None]


def none_at_all(a: Any, v: Any) -> Any:
    return np.repeat(a[:0], 2, axis=0) * a[:0], np.repeat(v, 0) + 1


ONE_KERNEL = [weighed, tiled, upsampled, blocks, outer_flat, kronecker]
OTHERS = [
    back_again,
    cut,
    turned,
    tiled_twice,
    seen_as_well,
    reduced,
    repeated_unlike,
    in_place,
    unit_axes,
]


@pytest.mark.parametrize("function", [*ONE_KERNEL, *OTHERS], ids=lambda f: f.__name__)
@one_in(16)
def test_values(function: Callable[..., Any], emitted: str) -> None:
    """They are NumPy's, and so are shapes, and arguments that are written to."""
    call = fc.fused(function, strict=True)
    for _ in range(2):
        mine, theirs = (A.copy(), V.copy()), (A.copy(), V.copy())
        equal([call(*mine), *mine], [function(*theirs), *theirs])
    flipped = (np.asfortranarray(A)[::-1], V[::-1])
    equal(call(*(x.copy("K") for x in flipped)), function(*(x.copy("K") for x in flipped)))


def test_nothing_is_repeated() -> None:
    equal(fc.fused(none_at_all, strict=True)(A, V), none_at_all(A, V))


@pytest.mark.parametrize("function", ONE_KERNEL, ids=lambda f: f.__name__)
def test_one_kernel(function: Callable[..., Any]) -> None:
    assert fc.lower(function, A, V).launches == 1
