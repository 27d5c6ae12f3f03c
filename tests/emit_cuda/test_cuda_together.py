"""Reductions and loops in one launch: the blocks of one kernel, divided among several."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.backend import program
from fusecuda.emit_cuda.shared import company_source
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts
from tests.marks import chosen, few, one_in
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(8)
ORDERS = ("forward", "reverse", "shuffled")


def of_every_kind(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Rows of some lanes, of a warp or two, of blocks that meet; a loop; a running sum."""
    return a.sum(axis=1), (b * 2).max(axis=1), c.sum(), d * 3, np.cumsum(d[:5], axis=1)


def of_columns(a: Any, d: Any, b: Any) -> Any:
    """Two with as many threads for a column, and one of short columns."""
    return a.sum(axis=0), (d * 2).max(axis=0), b[:, :400].argmin(axis=0)


def of_rows_that_meet(a: Any, d: Any, b: Any) -> Any:
    return abs(a).sum(axis=1).max(), abs(d[:7]).max(axis=1).sum(), abs(b).sum(axis=1).max()


SHAPES = {"a": (1037, 9), "b": (5, 1000), "c": (70_003,), "d": (33, 40)}


def arguments(function: Any, dtype: str = "f4") -> list[Any]:
    names = inspect.signature(function).parameters
    return [RNG.normal(size=SHAPES[name]).astype(dtype) for name in names]


LAUNCHES = {of_every_kind: 1, of_columns: 2, of_rows_that_meet: 2}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("function", LAUNCHES)
@one_in(6)
def test_one_launch(function: Any, order: str) -> None:
    """The interpreter's bits, again and again: counters are each kernel's own."""
    executable = fc.lower(function, *arguments(function))
    assembly, sources = emulated.assembled(executable.graph)
    device = emulated.EmulatedDevice(order)
    ready = program(assembly, sources, plan_memory(assembly, 1), device)
    values = arguments(function)
    for _ in range(2):
        del device.reports[:]
        results = ready(values)
        for got, want in zip(results, interpret(executable.graph, values, CUPY), strict=True):
            assert same_bits(got, want)
        assert len(device.reports) == LAUNCHES[function]


def test_what_needs_another_block_is_apart() -> None:
    """Rows kept in shared memory have launches of their own, and as much of it as one needs."""

    def spread(*arrays: Any) -> Any:
        *wide, small = arrays
        return [a / (1 + abs(a).sum(axis=1, keepdims=True)) for a in wide] + [small * 2]

    given = [RNG.normal(size=(3, n)).astype("f4") for n in (20_000, 24_001, 50)]
    executable = fc.lower(spread, *given)
    results, device = emulated.run(executable.graph, given)
    for got, want in zip(results, interpret(executable.graph, given, CUPY), strict=True):
        assert same_bits(got, want)
    assert sorted(len(p.bounds) for p, _ in device.reports) == [1, 2]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
@pytest.mark.parametrize("function", few(LAUNCHES, 1), ids=lambda f: f.__name__)
def test_registers(arch: str, function: Callable[..., Any]) -> None:
    """Shared launches neither spill nor use local memory."""
    executable = fc.lower(function, *arguments(function, "f8"))
    assembly, own = emulated.assembled(executable.graph)
    sources = [company_source(c, own) for c in assembly.companies]
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, (name, registers)


def test_clusters_share_launches() -> None:
    """With such of as many blocks."""

    def weights(x: Any) -> Any:
        e = 1 / (1 + (x - x.max(axis=1, keepdims=True)) ** 2)
        return e / e.sum(axis=1, keepdims=True)

    def both(x: Any, y: Any) -> Any:
        return weights(x), weights(y * 2)

    for rows, clusters in (((1, 3), [8, 8]), ((3, 40), [8, 1]), ((200, 300), [1, 1])):
        shapes = zip(rows, (16_400, 16_900), strict=True)
        arrays = [RNG.normal(size=shape).astype("f4") for shape in shapes]
        executable = fc.lower(both, *arrays)
        assembly, sources = emulated.assembled(executable.graph)
        assert [s.variant.blocks for s in assembly.steps] == clusters
        assert len(assembly.companies) == len(set(clusters))
        if rows == (1, 3):
            device = emulated.EmulatedDevice("reverse")
            found = program(assembly, sources, plan_memory(assembly, 1), device)(arrays)
            for got, want in zip(found, interpret(executable.graph, arrays, CUPY), strict=True):
                assert same_bits(want, got)
