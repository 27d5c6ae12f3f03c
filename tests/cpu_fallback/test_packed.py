"""Packed loops: functions of short runs, and of elements that lie apart, in full vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.graph.interpret import interpret
from tests.marks import at_length, one_in
from tests.strategies import same_bits

SHAPES = (
    *((1, 3), (3, 2), (5, 7), (40, 3), (67, 9), (300, 17), (20, 40), (6, 300), (0, 5), (2100, 2)),
)


def apart(x: Any) -> Any:
    return np.exp(x[:, ::3]), np.cos(x[::2, 0]), np.tanh(x[::-1, ::-1])


def shifted(x: Any) -> Any:
    """What is read is computed with, and some of it stored as it is."""
    y = x[:, 1:] - x[:, :-1]
    return np.arctan2(y, x[:, 1:]), np.exp(y) + x[:, :1], x[:, 1:] + 0


def rolled(x: Any) -> Any:
    """Tests of indices end runs."""
    framed = np.pad(x, ((1, 0), (2, 1)))
    return np.cos(np.roll(x, 1, 1)), np.exp(framed), np.sin(np.concatenate([x, x[:, :1]], 1))


def converted(x: Any) -> Any:
    """Integers, halves and truths among what waits."""
    whole = (x * 8).astype(np.int16)
    return np.sqrt(np.exp(whole[:, 1:])), np.exp(x[:, 1:] > 0), np.exp(x.astype("f2")[:, 1:])


def summed(x: Any) -> Any:
    """Chunks of rows that lie in pieces."""
    y = x[:, 1:]
    return np.cos(y).sum(), np.exp(x.T[::2]).sum(), (np.exp(y) * 100).astype(np.int32).sum()


def centred(x: Any) -> Any:
    """Of what is kept of a row, which is read through windows."""
    e = np.exp(x.reshape(-1, 1)[::2, 0])
    return e / e.sum()


PROGRAMS = (apart, shifted, rolled, converted, summed, centred)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@one_in(12)
def test_bits_are_those_of_long_runs(program: Callable[..., Any], dtype: str) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(3).normal(size=shape).astype(dtype)
        fused = fc.lower(program, x)
        got = fused(x)
        wanted = interpret(fused.graph, [x], KERNELS)
        for one, want in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
            assert same_bits(np.asarray(one), want), shape


@at_length
def test_numbers_of_elements_and_choices_by_them() -> None:
    def counted(x: Any) -> Any:
        column = np.arange(x.shape[-1])
        return np.where(column % 3 == 0, np.exp(x), x * column), np.log1p(column * np.abs(x))

    for rows, columns in ((30, 3), (50, 11), (9, 70)):
        x = np.random.default_rng(1).normal(size=(rows, columns + 1))[:, 1:]
        long = np.tile(x[:, None], (1, 40, 1))  # each row is one of many alike
        for got, want in zip(fc.lower(counted, x)(x), fc.lower(counted, long)(long), strict=True):
            assert same_bits(got, want[:, 7])


def test_what_is_updated_in_place() -> None:
    @fc.fused(strict=True)
    def update(x: Any) -> None:
        x[:, 1::2] = np.exp(x[:, 1::2])
        x[:, 2:] += np.cos(x[:, :-2])

    for columns in (3, 6, 30):
        x = np.random.default_rng(4).normal(size=(500, columns))
        for _ in range(2):
            want = x.copy()
            want[:, 1::2] = np.exp(want[:, 1::2])
            want[:, 2:] += np.cos(want[:, :-2])
            update(x)
            np.testing.assert_allclose(x, want, rtol=1e-14, atol=1e-14)
            x[...] = np.random.default_rng(5).normal(size=x.shape)


def test_which_loops_are_packed() -> None:
    """Functions of what fills no vectors; neither sums, nor long runs side by side."""
    x = np.ones((400, 9), np.float32)
    wide = np.ones((9, 400), np.float32)
    for given, program in ((x, apart), (x, rolled), (x, summed), (wide[:, :200], rolled)):
        assert "whole" in "".join(fc.lower(program, given).emit("c"))
    for given, plain in ((x, lambda x: x[:, 1:] + 1), (wide, lambda x: np.cos(x[:, 1:]))):
        assert "whole" not in "".join(fc.lower(plain, given).emit("c"))


def test_threads_share_packed_loops() -> None:
    x = np.random.default_rng(6).normal(size=(200_000, 5))
    got = fc.lower(lambda x: np.exp(x[:, 1:]), x)(x)
    np.testing.assert_allclose(got, np.exp(x[:, 1:]), rtol=1e-15, atol=0)
