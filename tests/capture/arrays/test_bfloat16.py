"""Bfloat16, where ml_dtypes is installed: NumPy's types and values, fused; sums rounded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.cases import case
from fusecuda.cases.case import Case
from fusecuda.codegen.packing import packer, words_of
from fusecuda.engine import build as compile_graph
from fusecuda.graph.dtypes import kind_of, parse_dtype, type_text
from tests.capture_check import equal, outcome, same_outcome
from tests.marks import one_in

ml_dtypes = pytest.importorskip("ml_dtypes")
B16 = np.dtype(ml_dtypes.bfloat16)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

RNG = np.random.default_rng(16)
X = (3 * RNG.normal(size=(6, 40))).astype(B16)
Y = RNG.normal(size=(6, 40)).astype(B16)
ODD = X.copy()
ODD[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40]
SMALL = RNG.integers(-9, 9, X.shape)


def agree(function: Callable[..., Any], *arrays: Any) -> Any:
    """Recorded and replayed, what ``function`` gives, raises and writes is NumPy's, to the bit."""
    fused = fc.fused(function)
    for _ in range(2):
        mine, theirs = [np.array(a) for a in arrays], [np.array(a) for a in arrays]
        want = outcome(function, *theirs)
        same_outcome(outcome(fused, *mine), want)
        equal(mine, theirs)
    return fused


OTHERS = [
    *(np.dtype(t) for t in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")),
    *(np.dtype(t) for t in ("c8", "c16")),
]


def test_every_other_type_meets_it_as_numpy_says() -> None:
    """Promotion both ways round, comparisons, casts both ways; what one of them has not raises."""

    def mixed(b: Any, *others: Any) -> Any:
        for o in others:
            yield from (b + o, o * b, np.subtract(o, b), b == o, np.logical_or(b, o))
            yield from (b.astype(o.dtype), o.astype(b.dtype))
            if o.dtype.kind != "c":
                yield from (np.maximum(b, o), np.copysign(b, o), np.floor_divide(o, b))

    others = [(SMALL % 5).astype(t) for t in OTHERS]
    fused = fc.fused(lambda *arrays: tuple(mixed(*arrays)))
    for _ in range(2):
        for got, want in zip(fused(np.abs(Y), *others), mixed(np.abs(Y), *others), strict=True):
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(got.astype("c16"), want.astype("c16"), rtol=2.0**-20)
    agree(np.arctan2, X, others[-1])


NUMBERS = [2, 2.5, 1j, True, np.float16(2), np.float32(2), np.int8(2), np.int64(2), B16.type(2)]


def test_numbers_meet_it_as_numpy_says() -> None:
    """Integers of Python's are weak; floats make it float32, which is NumPy's own rule."""

    def mixed(b: Any) -> Any:
        made = [f(b, n) for n in NUMBERS for f in (np.add, np.multiply, np.less, np.divide)]
        return *made, b**2, b * b, 2 - b, b / 3

    agree(mixed, X)
    assert fc.fused(lambda b: b + 1)(X).dtype == B16
    assert fc.fused(lambda b: b + 1.0)(X).dtype == np.float32
    follows = agree(lambda b, k: b * k, X, 5)
    assert follows(X, 7)[0, 0] == (X * 7)[0, 0]  # a number is an argument of the kernel


@pytest.mark.parametrize("function", [
    lambda b: b & b,
    lambda b: ~b,
    lambda b: b << 1,
    lambda b: np.add(b, b, dtype="f2"),
    lambda b: np.concatenate([b, b.astype("f2")]),
    lambda b: np.exp(np.arange(3), dtype=b.dtype),
])  # fmt: skip
def test_what_numpy_refuses_raises_the_same(function: Callable[..., Any]) -> None:
    assert isinstance(outcome(function, X), TypeError)
    agree(function, X)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "extremes": lambda b, o: (o.max(axis=1), o.min(), o.argmax(axis=1), o.argmin(axis=0),
                              np.maximum(o, b), np.fmin(o, b), np.sign(o), -o, abs(o),
                              np.signbit(o), np.copysign(b, o), np.nanmax(o), np.isnan(o)),
    "choices": lambda b, o: (np.where(o > b, o, b), np.where(b > 0, b, 0), np.where(b > 0, b, 0.5),
                             np.clip(b, -1, 1), np.clip(b, -1.5, None), b[b > 0],
                             np.nan_to_num(o), np.select([b > 1, b < 0], [b, o])),
    "movement": lambda b, o: (b[1:-1, ::-2], b.T.reshape(-1), np.concatenate([b, o]), b[[0, 2]],
                              np.pad(b, 1), np.broadcast_to(b[0], (2, 40)) + 1, np.roll(b, 3),
                              b[:, None] * o[None, :, ::-1], b[:0] + 1, b[0, 0] + b, b.copy()),
    "rounding": lambda b, o: (np.round(b), np.round(b, 1), np.round(b * 100, -1), np.rint(o),
                              np.floor(b), np.trunc(b), b // o, b % 2, np.fmod(b, 3)),
    "unknown to kernels": lambda b, o: (np.nextafter(b, o), np.spacing(b), b @ o.T, np.sort(o),
                                        np.dot(b, o.T), np.cumsum(b, axis=1), np.frexp(b)),
    "made": lambda b, o: (np.arange(0, 3, 0.25, dtype=b.dtype), np.full((2, 3), 1.3, b.dtype) * 2,
                          np.zeros_like(b) + 1, np.linspace(0, 1, 7, dtype=b.dtype),
                          np.eye(3, dtype=b.dtype) - b[:3, :3], np.radians(b), np.deg2rad(b)),
    "looked at": lambda b, o: (float(b[0, 0]), int(b[1, 1]), b[2, 2].item(), bool(b[0, 0] > 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@one_in(8)
def test_programs_have_numpys_bits(name: str) -> None:
    """And on arrays that lie in steps, backwards or transposed."""
    agree(PROGRAMS[name], X, ODD)
    if name in ("extremes", "choices", "movement"):
        agree(PROGRAMS[name], X[::-1, ::-1], np.asfortranarray(ODD))


def test_updates_write_what_numpy_writes() -> None:
    """Slices, masks, places, wider values; what has no place in it raises."""

    def written(z: Any, b: Any, f: Any) -> None:
        z[1:3] *= 2
        z += 1.5
        z[:, ::2] -= f[:, ::2]
        z[z > 4] = 0
        z[[0, 1]] = b[:2]
        z[3, 3] = np.inf
        np.add(f, b, out=z[4:5])
        z **= 2
        np.add.at(z, [0, 5, 0], b[:3])

    agree(written, X, Y, Y.astype("f4") * np.float32(1.01))

    def refused(z: Any) -> None:
        z |= 1

    agree(refused, X)


def test_arguments_that_overlap_and_lie_in_steps() -> None:
    """Memory that is shared, or seen by NumPy in the midst of kernels, is not taken for void."""

    def shifted(a: Any, b: Any) -> Any:
        a += 1
        b *= 2
        return np.sort((a + b)[::-1]), a.max()

    fused = fc.fused(shifted, strict=True)
    for _ in range(2):
        mine, theirs = X.reshape(-1).copy(), X.reshape(-1).copy()
        got, want = fused(mine[:-1], mine[1:]), shifted(theirs[:-1], theirs[1:])
        equal([*got, mine], [*want, theirs])
    z = (Y + 1)[::-1, ::2]
    for function in (lambda a: a[:, ::2] @ a[:, 1::2].T, lambda a: np.spacing(a[::2, 1:]) * 2):
        equal(fc.lower(function, z)(z), function(z))


def test_sums_and_moments_are_rounded_once() -> None:
    """In bfloat16 a sum of ones ends at 256, and a count of 1003 is 1004."""
    ones = np.ones(6000, B16)
    assert fc.fused(lambda a: a.sum())(ones) == B16.type(6000)
    assert fc.fused(lambda a: a.mean())(np.full(70001, 3, B16)) == 3
    assert fc.fused(lambda a: a.mean(dtype=B16))(np.full(70001, 3, np.int8)) == 3
    x = (3 * RNG.normal(size=(3, 1003)) + 1).astype(B16)
    for name in ("sum", "mean", "var", "std"):
        got = fc.fused(lambda a, name=name: getattr(a, name)(axis=1))(x)
        want = getattr(x.astype(float), name)(axis=1)
        assert got.dtype == B16
        np.testing.assert_allclose(got.astype(float), want, rtol=2.0**-7)


def test_softmax_and_layer_norm_are_one_kernel() -> None:
    """Each operation rounded, in float32 what a Python float has made float32."""

    def norms(a: Any) -> Any:
        e = np.exp(a - a.max(axis=-1, keepdims=True))
        distance = a - a.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(a.var(axis=-1, keepdims=True) + 1e-5)
        return e / e.sum(axis=-1, keepdims=True), distance / deviation

    soft, normed = fc.fused(norms)(X)
    assert (soft.dtype, normed.dtype) == (B16, np.float32)
    exact = norms(X.astype(float))
    np.testing.assert_allclose(soft.astype(float), exact[0], rtol=2.0**-4)
    np.testing.assert_allclose(normed, exact[1], rtol=2.0**-5, atol=2.0**-6)
    assert fc.lower(norms, X).launches == 1


@pytest.mark.usefixtures("both_ways")
def test_lazy_arrays_and_blocks() -> None:
    """The namespace takes and makes them; a block on them is NumPy's."""
    import fusecuda.numpy as fnp

    def body(b: Any, o: Any) -> Any:
        return fnp.exp(b) * 2 - o, fnp.where(o > b, b, 1)

    want = [np.exp(X) * 2 - Y, np.where(Y > X, X, 1)]
    a, b = fnp.asarray(X), fnp.asarray(Y, dtype=B16)
    equal([np.asarray(r) for r in body(a, b)], want)
    for _ in range(3):
        with fc.fused():
            got = body(fnp.asarray(X), fnp.asarray(Y))
    equal([np.asarray(r) for r in got], want)


def test_text_files_and_sources(tmp_path: Path) -> None:
    """`spec` and HLO know it by name, kept inputs are read back, both languages have its text."""
    exe = fc.lower(lambda a, b: a * b + a, fc.spec((6, 40), "bfloat16"), fc.spec((6, 40), B16))
    assert "bf16[6,40] multiply" in exe.hlo and fc.parse_hlo(exe.hlo).outputs[0].dtype == B16
    assert parse_dtype("bf16") == B16 and np.dtype(type_text(B16)) == B16 and kind_of(B16) == "f"
    assert all("fc_round_bf16" in text for text in (exe.kernels[0].source, exe.emit("cuda")[0]))
    path = tmp_path / "kept.hlo"
    Case(fc.parse_hlo(exe.hlo), inputs=[X, ODD]).write(path)
    back = case.read(path)
    equal(back.inputs, [X, ODD])
    equal(compile_graph(back.graph, {}, fc.Options()).run(back.arguments()), [X * ODD + X])


def test_numbers_of_it_are_packed_as_bits() -> None:
    """`struct` has no code for it; what tells launches apart has all its values."""
    buffer = bytearray(16)
    packer(B16)(buffer, 4, 1.00390625)  # to even
    assert bytes(buffer[4:6]) == np.array(1, B16).tobytes()
    assert words_of(B16, "n") == ("d", ["float(n)"])
