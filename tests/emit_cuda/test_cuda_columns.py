"""Columns that are passed over more than once, by emulated CUDA kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import nvrtc
from fusecuda.emit_cuda.choice import NOWHERE, SHARED, Facts
from fusecuda.fusion.cost import CPU
from fusecuda.graph.interpret import CUPY, interpret
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.emit_cuda.test_cuda_shapes import compare, on_device_of
from tests.marks import chosen, few, one_in
from tests.strategies import same_bits

pytestmark = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(8)


def batch_norm(x: Any) -> Any:
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)


def replaced(x: Any) -> None:
    x[...] = batch_norm(x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@one_in(12)
def test_columns_kept_in_shared_memory(dtype: str) -> None:
    """They are read once, whatever their length, and may be overwritten."""
    for length in (2, 33, 130, 500, 700):
        x = RNG.normal(size=(length, 41)).astype(dtype)
        ((prepared, report),) = compare(batch_norm, x, plan_for=CPU).reports
        (bound,) = prepared.bounds
        assert (bound.variant.skeleton, bound.variant.kept) == ("columns", SHARED)
        (place,) = [i for i, (name, _) in enumerate(prepared.parameters) if name == "in0"]
        assert report.read[place] == x.nbytes
        executable = fc.lower(replaced, x)
        (want,) = interpret(executable.graph, [x.copy()], CUPY)
        emulated.run(executable.graph, [x], executable.strides, plan_for=CPU)
        assert same_bits(x, want)


def test_long_columns_are_read_again() -> None:
    """By each pass, where there is no room for them."""
    ((prepared, report),) = compare(batch_norm, RNG.normal(size=(4100, 9)), plan_for=CPU).reports
    assert prepared.bounds[0].variant.kept == NOWHERE and Facts().shared < 4100 * 32 * 8
    assert max(report.read) == 3 * 4100 * 9 * 8


def deviations(x: Any) -> Any:
    """Something of each element, of each column, and of all of them; and where one is largest."""
    below = x - x.mean(axis=0)
    size = np.sqrt((below * below).mean(axis=0))
    return below / size, size.sum(), (below * below).argmax(axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
@one_in(24)
def test_columns_kept_by_clusters(dtype: str, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of a cluster keeps some rows, and they tell each other what these come to."""
    facts = {"f4": 227 << 10, "f8": 420 << 10}[dtype]
    for length, processors, blocks in ((600, 132, 8), (900, 4, 2), (1500, 4, 4), (3001, 4, 8)):
        on_device_of(monkeypatch, multiprocessors=processors, shared=facts)
        x = RNG.normal(size=(length, 70)).astype(dtype)
        ((prepared, report),) = compare(deviations, x, plan_for=CPU, order=order).reports
        (bound,) = prepared.bounds
        assert (bound.variant.kept, bound.variant.blocks) == (SHARED, blocks)
        assert prepared.grid == 3 * blocks
        (place,) = [i for i, (name, _) in enumerate(prepared.parameters) if name == "in0"]
        assert report.read[place] == x.nbytes


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
@pytest.mark.parametrize("dtype", few(("f4", "f8"), 1))
def test_registers(arch: str, dtype: str) -> None:
    """Neither spills nor local memory, whether columns are kept or not."""
    sources = []
    for length in (100, 5000):
        sources += sources_of(batch_norm, np.ones((length, 5000), dtype))
    for name, (stack, spilled, registers) in facts(sources, arch).items():
        assert (stack, spilled) == (0, 0), name
        assert registers <= 128, (name, registers)
