"""Lanes: elements that cost little meet those of their chunk as they are computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.graph.interpret import interpret
from tests.strategies import same_bits

LENGTHS = (1, 2, 7, 31, 32, 33, 63, 100, 511, 512, 513, 545, 1000, 1025, 2600)


def squares(x: Any, y: Any) -> Any:
    return (x * x).sum(axis=-1), (x * y).sum(), np.prod(1 + y * 1e-3, axis=-1)


def extremes(x: Any, y: Any) -> Any:
    """Of floats that are computed; y has no NaN."""
    return np.abs(x).max(axis=-1) + 0, (x - y).min(axis=-1) + 0, np.abs(y).min(), (-y).max()


def statistics(x: Any, y: Any) -> Any:
    """Eight of one read."""
    d = x - y
    return (
        *(x.sum(axis=-1), y.sum(axis=-1), d.sum(axis=-1), (x * y).sum(axis=-1)),
        *((d * d).sum(axis=-1), np.abs(d).max(axis=-1), y.max(axis=-1) + 0, y.min(axis=-1) + 0),
    )


def in_pieces(x: Any, y: Any) -> Any:
    """All of parts of arrays, some chunks of which lie in one piece."""
    return (x[:, : x.shape[1] // 2] ** 2).sum(), (y[::2] * 2).max() + 0, (y * y).sum()


def standard(y: Any) -> Any:
    """What is read once stays resident between passes."""
    z = y * 2 - 1
    mean = z.mean(axis=-1, keepdims=True)
    return (z - mean) / np.sqrt(((z - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-3)


def arguments(dtype: str, length: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(length)
    x, y = rng.normal(size=(2, 5, length)).astype(dtype)
    x[0], x[1, ::2], x[1, 1::2] = -0.0, 0.0, -0.0
    x[2, -1], x[3, length // 2], x[3, 0] = np.nan, np.inf, -np.inf
    return x, y


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("program", [squares, extremes, statistics, in_pieces, standard])
def test_lanes_are_those_of_the_tree(program: Callable[..., Any], dtype: str) -> None:
    for length in LENGTHS:
        given = arguments(dtype, length)[-program.__code__.co_argcount :]
        fused = fc.lower(program, *given)
        wanted = interpret(fused.graph, list(given), KERNELS)
        got = fused(*given)
        for one, want in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
            assert same_bits(np.asarray(one), want), (length, one, want)


def test_a_segment_is_a_row() -> None:
    y = np.random.default_rng(2).normal(size=1700)
    ends = [0, 1, 40, 700, 1690]
    found = fc.fused(lambda y: np.add.reduceat(y * 2, ends), strict=True)(y)
    for got, part in zip(found, np.split(y, ends[1:]), strict=True):
        assert got == fc.lower(lambda part: (part * 2).sum(), part)(part)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_sums_are_those_of_the_tree(dtype: str) -> None:
    def sums(x: Any) -> Any:
        return x.sum(), x.sum(axis=1), (x * x).sum(axis=1)

    for length in LENGTHS:
        rng = np.random.default_rng(length)
        x = (rng.normal(size=(3, length)) + 1j * rng.normal(size=(3, length))).astype(dtype)
        x[1] = complex(-0.0, -0.0)
        fused = fc.lower(sums, x)
        for got, want in zip(fused(x), interpret(fused.graph, [x], KERNELS), strict=True):
            assert same_bits(np.asarray(got), want)


def test_what_costs_little_needs_no_buffer() -> None:
    x, y = (a[0] for a in arguments("f8", 1000))
    for program in (squares, extremes, statistics):
        text = "".join(fc.lower(program, x, y).emit("c"))
        assert "fc_take_" in text
        assert "[FC_CHUNK + FC_BLOCK]" not in text
    (text,) = fc.lower(lambda x: np.exp(x).sum(axis=-1), x).emit("c")
    assert "fc_take_" not in text
