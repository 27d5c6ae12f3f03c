"""Integers of which a mask drops all but the last bits: computed in 32, to the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.cost import CPU
from fusecuda.fusion.narrowed import narrowed
from tests.strategies import SPECIALS, same_bits

LONG = np.resize(SPECIALS[np.dtype(np.int64)], 700)
LONG[:300] = np.random.default_rng(4).integers(-(2**63), 2**63 - 1, 300)
OTHER = LONG[::-1].copy()
AMOUNTS = np.resize([0, 1, 31, 32, 33, 63, 64, -1, 2**32 + 1, 2**40], 700)


def generator(x: Any, y: Any) -> Any:
    """Numbers that follow each other, and what is made of them."""
    total = np.zeros(x.shape, dtype=np.int64)
    for _ in range(3):
        x = (x * 1103515245 + 12345) & 0x7FFFFFFF
        total += x % 6 + 1
    return total, x


def hashed(x: Any, y: Any) -> Any:
    """With all 32 bits, shifts, differences and signs."""
    h = 5381 - x
    for part in (y, ~x, -y):
        h = (((h << 5) + h) * 33 ^ part) & 0xFFFFFFFF
    return h, h >> 7, h + 1


def unsigned(x: Any, y: Any) -> Any:
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    return (a * b + a**2 - b | a) & np.uint64(0xFFFF)


def bytes_first(x: Any, y: Any) -> Any:
    """Of narrow numbers of both signs."""
    return 0xFFFFFFFF & (x.astype(np.int8).astype(np.int64) * -7 * y)


def one_bit_more(x: Any, y: Any) -> Any:
    return x * y & 0x1FFFFFFFF


def shifted_right(x: Any, y: Any) -> Any:
    return (x * y >> 16) & 0xFFFF


def shifted_by_many(x: Any, y: Any) -> Any:
    return (x * 3 << AMOUNTS) * 5 & 0xFFFFFF


def wanted_elsewhere(x: Any, y: Any) -> Any:
    product = x * y
    return product & 0xFF, product


def without_products(x: Any, y: Any) -> Any:
    return (x + y ^ x) & 0xFF


NARROW = (generator, hashed, unsigned, bytes_first)
WIDE = (one_bit_more, shifted_right, wanted_elsewhere, without_products)


@pytest.mark.parametrize("function", [*NARROW, *WIDE], ids=lambda f: f.__name__)
def test_values(emitted: str, function: Any) -> None:
    """By both back ends as NumPy computes them."""
    _check(function)


def test_shifts_by_more_than_32_bits_hold() -> None:
    """As NumPy has them; CuPy's are of a few bits of the number by which."""
    _check(shifted_by_many)


def _check(function: Any) -> None:
    with np.errstate(all="ignore"):
        wanted, got = (f(LONG, OTHER) for f in (function, fc.lower(function, LONG, OTHER)))
    if not isinstance(wanted, tuple):
        wanted, got = (wanted,), (got,)
    for a, b in zip(wanted, got, strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("function", [*NARROW, *WIDE], ids=lambda f: f.__name__)
def test_types_of_products(function: Any) -> None:
    """They are of 32 bits where that is enough, there are any, and nobody wants the rest."""
    graph = narrowed(fc.lower(function, LONG, OTHER).graph, CPU)
    kinds = {n.dtype.itemsize for n in graph.nodes() if n.op in ("multiply", "add")}
    assert kinds == ({4, 8} if function is hashed else {4} if function in NARROW else {8})
