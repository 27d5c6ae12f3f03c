"""Emulated kernels on what is not aligned: rows that begin anywhere, runs, indices taken apart."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.emit_cuda import choice, launch, nvrtc
from fusecuda.emit_cuda.quotients import quotient_by
from tests import emulated, emulator
from tests.emit_cuda.test_cuda_compile import ARCHITECTURES, facts, sources_of
from tests.emit_cuda.test_cuda_kernels import variants
from tests.emit_cuda.test_cuda_shapes import compare
from tests.marks import chosen, one_in
from tests.programs import PROGRAMS
from tests.strategies import same_bits

RNG = np.random.default_rng(12)
needs_emulator = pytest.mark.skipif(not emulator.available(), reason="needs a C++ compiler")


def above(a: Any) -> Any:
    """A row kernel that writes rows as long as those it reads."""
    return a - a.max(axis=-1, keepdims=True)


@pytest.mark.parametrize("wide", [False, True])
def test_quotients_are_exact(wide: bool) -> None:
    """As `fc_over` computes them, for the least and the largest and for neighbours of multiples."""
    bits = 64 if wide else 32
    most, mask = (1 << (bits - 1)) - 1, (1 << bits) - 1
    draw = random.Random(5)
    divisors = [1, 2, 3, 5, 7, 641, most - 1, most, (most + 1) // 2, (most + 1) // 2 + 1]
    divisors += [draw.randrange(1, 1 << draw.randrange(1, bits)) for _ in range(300)]
    for d in (min(d, most) for d in divisors):
        factor, down = quotient_by(d, wide)
        assert -(1 << (bits - 1)) <= factor <= most and 0 <= down < bits
        last = most // d * d
        for n in (0, d - 1, d, last - 1, last, most, draw.randrange(most)):
            assert ((2 * n & mask) * (factor & mask) >> bits) >> down == n // d, (n, d)


@needs_emulator
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "c8"])
@one_in(10)
def test_rows_that_begin_anywhere(dtype: str) -> None:
    """Lanes of one row hand on what belongs to the packs of their neighbours; each element once."""
    function = (lambda a: a * a.sum(axis=-1, keepdims=True)) if dtype == "c8" else above
    for length in (1, 2, 3, 5, 7, 31, 33, 126, 129, 130, 515, 1001):
        device = compare(function, (RNG.normal(size=(9, length)) * 9).astype(dtype))
        (report,) = [r for _, r in device.reports]
        written = sum(report.written)
        assert written == sum(report.touched_written) == 9 * length * np.dtype(dtype).itemsize
        if length == 1001 and np.dtype(dtype).itemsize >= 4:
            stored = written // min(16, 4 * np.dtype(dtype).itemsize)
            assert report.vector_accesses > stored * 0.95


@needs_emulator
def test_rows_are_written_where_they_lie() -> None:
    """A part of each row, which begins anywhere; not one element beside it."""

    def inside(a: Any) -> None:
        part = a[:, 3:-2]
        a[:, 3:-2] = part - part.min(axis=1, keepdims=True)

    for width in (11, 40, 133, 700):
        x = RNG.normal(size=(5, width)).astype("f4")
        want = x.copy()
        inside(want)
        executable = fc.lower(inside, x.copy())
        emulated.run(executable.graph, [x])
        assert same_bits(want, x)


@needs_emulator
def test_each_access_of_a_row_is_chosen_by_itself() -> None:
    """What all rows read alike stays in packs beside rows that are not aligned."""
    x, gain = RNG.normal(size=(6, 1001)).astype("f4"), RNG.normal(size=1001).astype("f4")
    device = compare(lambda a, g: above(a) * g, x, gain)
    ((prepared, _),) = device.reports
    (bound,) = prepared.bounds
    assert bound.variant.packed and bound.variant.unit is None
    gains = [n for n, (base, _) in enumerate(prepared.pointers) if base == 1]
    names = [name for name, ctype in prepared.parameters if "*" in ctype]
    whole = {n: bound.integers[f"whole{name.lstrip('inout')}"] for n, name in enumerate(names)}
    assert {n for n, flag in whole.items() if flag} == set(gains)
    mixed = compare(lambda a, g: above(a) * g, x[:, :1000], gain[::-1][:1000])
    assert [v.unit for v in variants(mixed)] == [None]


@needs_emulator
def test_runs_of_rows_are_packed() -> None:
    """Rows of several axes, of which the innermost are whole packs; others go one by one."""
    x = RNG.normal(size=(7, 9, 24)).astype("f4")
    for last, packed in ((16, True), (8, True), (4, True), (6, False)):
        part = x[:, 1:6, :last]
        for function in (
            lambda a: a.sum(axis=(1, 2)),
            lambda a: a - a.max(axis=(1, 2))[:, None, None],
        ):
            (found,) = variants(compare(function, part))
            assert (found.rank, found.packed) == (2, packed)


@needs_emulator
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "c16"])
@one_in(10)
def test_tiles_of_any_size(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small and large ones, aligned and not, in batches, and written where they lie."""
    monkeypatch.setattr(launch, "Facts", lambda: choice.Facts(1))
    large = np.dtype(dtype).itemsize <= 4

    def drawn(*shape: int) -> Any:
        return (RNG.normal(size=shape) * 9).astype(dtype)

    for n, m in ((40, 36), (64, 192), (65, 131), (17, 90)):
        device = compare(lambda a, b, c: a * b.T + c, drawn(n, m), drawn(m, n), drawn(n, m))
        (found,) = variants(device)
        assert found.skeleton == "tiles"
        assert found.side == (64 if large and max(n, m) > 64 else 32)
    wide, flat = drawn(3, 33, 70), drawn(3, 70, 36)
    compare(lambda a, b: a[:, :, 1:] + b.transpose(0, 2, 1)[:, :33, 1:], wide, flat)

    def added(a: Any, b: Any) -> None:
        a[1:, 3:] += b.T[1:, 3:]

    for n, m in ((40, 44), (41, 43)):
        x, y = drawn(n, m), drawn(m, n)
        want = x.copy()
        added(want, y)
        executable = fc.lower(added, x.copy(), y)
        _, device = emulated.run(executable.graph, [x, y])
        assert same_bits(want, x) and [v.skeleton for v in variants(device)] == ["tiles"]


@needs_emulator
def test_axes_of_one_element_are_not_walked() -> None:
    """Those in front; kernels are those of fewer axes."""
    x = RNG.normal(size=(1, 6, 8, 20)).astype("f4")[..., ::2]
    for part in (x, x[:, :1], x[:, :1, :1]):
        first = part.reshape(part.shape[1:]) if part.shape[1] > 1 else part[0, 0]
        a, b = compare(lambda a: a * 2 + 1, part), compare(lambda a: a * 2 + 1, first)
        assert [v.rank for v in variants(a)] == [v.rank for v in variants(b)]


@pytest.mark.skipif(not nvrtc.available(), reason="needs NVRTC")
@pytest.mark.parametrize("arch", chosen(ARCHITECTURES, ("sm_90",)))
@pytest.mark.slow
def test_what_is_not_aligned_does_not_spill(arch: str) -> None:
    """Odd rows, short and long, strided elements of programs with costly functions, and tiles."""
    by_name = {p.name: p for p in PROGRAMS}
    found = []
    for name in ("softmax", "layer_norm", "black_scholes"):
        program = by_name[name]
        for n, m in ((64, 101), (48, 3001)):
            arguments = program.arguments(RNG, n, 2 * m)
            for dtype in ("f4", "f8"):
                odd = [a[..., : 2 * m : 2].astype(dtype) for a in arguments]
                strided = [a.astype(dtype)[..., ::2] for a in arguments]
                found += sources_of(program.function, *odd) + sources_of(program.function, *strided)
    found += sources_of(by_name["softmax"].function, fc.spec((500, 65_536), np.float32))
    found += sources_of(by_name["softmax"].function, fc.spec((500, 70_001), np.float32))
    row = fc.spec((65_536,), np.float32)
    found += sources_of(
        by_name["layer_norm"].function, fc.spec((500, 65_536), np.float32), row, row
    )
    for dtype in ("f4", "f8", "i1"):
        a, b = fc.spec((2000, 3001), np.dtype(dtype)), fc.spec((3001, 2000), np.dtype(dtype))
        found += sources_of(lambda a, b, c, d, e: a + b.T * c - d.T * e, a, b, a, b, a)
    for name, (stack, spilled, registers) in facts(found, arch).items():
        assert (stack, spilled) == (0, 0) and registers <= 144, name


@needs_emulator
@pytest.mark.parametrize("size", [1, 255, 1023, 1024, 1025, 2500])
def test_a_thread_takes_four_elements_wherever_they_lie(size: int) -> None:
    """Blocks of 1,024; the last one tests."""
    x = RNG.normal(size=(size, 2))
    device = compare(lambda a: a[:, 0] * 2 - a[:, 1], x)
    ((prepared, _),) = device.reports
    assert prepared.grid == -(-size // 1024)
    assert not prepared.bounds[0].variant.packed
