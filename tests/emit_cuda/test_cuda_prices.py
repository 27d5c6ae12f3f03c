"""Prices: a device computes again what is dear to keep, and reads again what is dear to read."""

from __future__ import annotations

from typing import Any

import numpy as np

import fusecuda as fc
from fusecuda.engine import Executable
from fusecuda.graph.interpret import CUPY, interpret
from tests.emulated import run
from tests.strategies import same_bits


def lowered(function: Any, *shapes: tuple[int, ...], device: str = "cuda") -> Executable:
    return fc.lower(function, *[fc.spec(s, np.float32) for s in shapes], device=device)


def moved(executable: Executable) -> int:
    """The least bytes that its kernels move."""
    return sum(k.bytes_read + k.bytes_written for k in executable.kernels)


def neighbours(u: Any) -> Any:
    e = np.sqrt(u * u + 1) / (u * u + 2)
    return e[1:-1] * 2 - e[2:] - e[:-2]


def test_what_is_used_at_several_places_is_computed_there() -> None:
    """A root and a quotient cost a device less than their bytes, and a CPU more."""
    assert lowered(neighbours, (100_000,)).launches == 1
    assert lowered(neighbours, (100_000,), device="cpu").launches == 2
    u = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    graph = lowered(neighbours, (1000,)).graph
    (found,), _ = run(graph, [u])
    assert same_bits(found, interpret(graph, [u], CUPY)[0])


def of_many(*arrays: Any) -> Any:
    total = sum(arrays[1:], start=arrays[0])
    return total.sum(0), total.sum(1)


def test_what_is_made_of_many_arrays_is_kept() -> None:
    """Two kernels would read all of them; one that they read anyway costs nothing."""
    size = 4 * 1000 * 1000
    assert 9 * size < moved(lowered(of_many, *[(1000, 1000)] * 8)) < 11 * size

    def read_anyway(*arrays: Any) -> Any:
        total = sum(arrays[1:], start=arrays[0])
        return total.sum(0), *[(a * total).sum(1) for a in arrays]

    assert moved(lowered(read_anyway, *[(1000, 1000)] * 4)) < 8.5 * size
