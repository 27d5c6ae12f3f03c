"""Focused tests for planted bugs (tests/mutations/cuda_table.py) that shapes alone let pass."""

from __future__ import annotations

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda.backend import program
from fusecuda.emit_cuda.choice import COLUMN, SHORT
from fusecuda.graph.interpret import CUPY, interpret
from fusecuda.streams.memory_plan import plan_memory
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_shapes import compare
from tests.emulated import EmulatedDevice
from tests.strategies import same_bits

needs_emulator = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")
RNG = np.random.default_rng(8)


@needs_emulator
def test_row_values_are_read_for_rows_that_exist() -> None:
    """A block has room for more rows than there are; each row has a factor of its own."""
    x, factors = RNG.normal(size=(5, 20)), RNG.normal(size=(5, 1))
    device = compare(lambda a, b: (a * b).sum(axis=1), x, factors)
    assert [p.bounds[0].variant.skeleton for p, _ in device.reports] == [SHORT]


@needs_emulator
def test_row_values_are_read_for_columns_that_exist() -> None:
    """As above, for columns."""
    x, factors = RNG.normal(size=(20, 37)), RNG.normal(size=37)
    device = compare(lambda a, b: (a * b).sum(axis=0), x, factors)
    assert [p.bounds[0].variant.skeleton for p, _ in device.reports] == [COLUMN]


@needs_emulator
def test_indices_wrap_around() -> None:
    """As CuPy's: negative ones count from the end, others are taken modulo the extent."""
    x = RNG.normal(size=7)
    executable = fc.lower(lambda a, i: a[i] * 2, x, np.zeros(9, np.int64))
    indices = np.array([0, -1, 6, -7, 7, -8, 20, -50, 3])
    (got,), _ = emulated.run(executable.graph, [x, indices])
    assert same_bits(x[indices % 7] * 2, got)


def test_indices_are_as_wide_as_they_must() -> None:
    """Indices have 64 bits from the shape on at which 32 might overflow, and not before."""
    for shape, wide in (((1 << 15, 1 << 15), False), ((1 << 16, 1 << 15), True)):
        for function in (lambda a: a + 1, lambda a: a.sum(axis=1), lambda a: a.sum(axis=0)):
            executable = fc.lower(function, fc.spec(shape, np.int8))
            assembly, _ = emulated.assembled(executable.graph)
            assert [s.variant.wide for s in assembly.steps] == [wide]
            (text,) = executable.emit("cuda")
            assert any("blockIdx" in t and "const int64_t" in t for t in text.split("\n")) == wide


@needs_emulator
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "i8"])
def test_rows_of_negative_numbers(dtype: str) -> None:
    """A maximum of negative numbers is negative, that of the least number is the least."""
    x = -np.arange(1, 101).reshape(4, 25).astype(dtype)
    x[0] = -np.inf if x.dtype.kind == "f" else np.iinfo(dtype).min
    compare(lambda a: (a.max(axis=1), a.max(axis=0), (-1 - a).min(axis=1)), x)


@needs_emulator
def test_sums_of_long_rows_are_added_up() -> None:
    """Rows that are split over blocks, and what one block makes of their sums."""
    x = RNG.normal(size=(3, 70_001))
    device = compare(lambda a: (np.abs(a).sum(axis=1).sum(), np.abs(a).max(axis=1)), x)
    assert all(p.bounds[0].grid > 3 for p, _ in device.reports)
    compare(lambda a: a - a.sum(axis=1, keepdims=True), RNG.normal(size=(2, 9_001)))


@needs_emulator
@pytest.mark.parametrize("order", ["forward", "reverse", "shuffled"])
def test_long_columns_are_split_over_blocks(order: str) -> None:
    """Several blocks share each column, more columns than one block has; then rows of results."""
    for columns in (9, 40):
        x = RNG.normal(size=(5_001, columns))
        device = compare(lambda a: (a.sum(axis=0), a.argmax(axis=0)), x, order=order)
        assert {p.bounds[0].variant.skeleton for p, _ in device.reports} == {COLUMN}
        assert all(p.bounds[0].integers["parts"] > 4 for p, _ in device.reports)
        compare(lambda a: np.abs(a).sum(axis=0).max(), x, order=order)


@needs_emulator
def test_a_second_call_finds_its_counters_at_zero() -> None:
    """A program is called again and again; only the first call gets counters that are new."""
    x = RNG.normal(size=(2, 70_001))
    executable = fc.lower(lambda a: (a.sum(axis=1), np.abs(a).sum(axis=1).sum()), x)
    assembly, sources = emulated.assembled(executable.graph)
    ready = program(assembly, sources, plan_memory(assembly, 1), EmulatedDevice())
    for arguments in ([x], [x * 3], [x - 1]):
        want = interpret(executable.graph, arguments, CUPY)
        for w, got in zip(want, ready(arguments), strict=True):
            assert same_bits(w, got)


@pytest.mark.parametrize(("dtype", "prefix"), [(np.float32, "__f"), (np.float64, "__d")])
def test_what_the_user_wrote_apart_is_rounded_apart(dtype: type, prefix: str) -> None:
    """Sums, differences and products are rounding intrinsics, which no compiler contracts."""
    x = fc.spec(1000, dtype)
    (text,) = fc.lower(lambda a, b: a * b + a * a - b, x, x).emit("cuda")
    for operation, count in (("mul", 2), ("add", 1), ("sub", 1)):
        assert text.count(f"{prefix}{operation}_rn(") == count
