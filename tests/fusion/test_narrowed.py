"""Integers in narrower types than NumPy's: the same values, whatever is computed of what."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.fusion.cost import CPU
from fusecuda.fusion.narrowed import _COMPARED, _COMPUTED, narrowed
from fusecuda.graph import build
from fusecuda.graph.dtypes import BOOL, FLOAT32
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.verify import verify
from tests import programs_of_integers
from tests.marks import one_in
from tests.strategies import SPECIALS, same_bits

INTEGERS = [d for d in SPECIALS if d.kind in "iu"]
WIDE = [d for d in INTEGERS if d.itemsize >= 4]
_UNARY = ("negative", "absolute", "square", "sign")
N = 64


def _random_graph(rng: np.random.Generator) -> tuple[Graph, list[Any]]:
    """Operations on bytes, shorts, bools, wide integers, constants and counts, and arguments."""
    kinds = [*INTEGERS, BOOL, FLOAT32]
    parameters = tuple(build.parameter(i, (N,), kind) for i, kind in enumerate(kinds))
    arguments = [rng.choice(SPECIALS[kind], N) for kind in kinds]
    wide = WIDE[rng.integers(len(WIDE))]
    *integers, mask, x = parameters
    tests = [mask, build.elementwise("less", [x, x], BOOL)]
    pool = [build.convert(p, wide) for p in (*integers, mask)]
    pool.append(build.convert(build.iota((N,), 0), wide))
    for number in (rng.integers(0, 300), rng.integers(0, 9), wide.type(0)):
        pool.append(build.broadcast_to(build.constant(int(number), wide), (N,)))
    for _ in range(10):
        op = str(rng.choice(sorted(_COMPUTED)))
        a, b = (pool[i] for i in rng.integers(0, len(pool), 2))
        if op == "where":
            pool.append(build.where(tests[rng.integers(len(tests))], a, b))
        elif op in _COMPARED:
            tests.append(build.elementwise(op, [a, b], BOOL))
        else:
            operands = [a] if op in _UNARY else [a, b]
            pool.append(build.elementwise(op, operands, wide))
        pool += [build.convert(pool[-1], INTEGERS[rng.integers(len(INTEGERS))])]
        pool[-1:] = [build.convert(pool[-1], wide)]
        if rng.random() < 0.2:
            pool.append(build.reshape(build.reshape(pool[-1], (8, 8)), (N,)))
    floats = build.convert(pool[-1], FLOAT32)
    return Graph(parameters, (*pool[-5:], *tests[-2:], floats)), arguments


@pytest.mark.parametrize("seed", range(12))
@one_in(8)
def test_values_are_the_same(seed: int) -> None:
    """Of random graphs by the interpreter; in some of them there are narrower operations."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(150):
        graph, arguments = _random_graph(rng)
        for least in (1, 4):
            narrow = narrowed(graph, dataclasses.replace(CPU, narrowest=least))
            verify(narrow)
            found += len(_types(narrow) - _types(graph))
            with np.errstate(all="ignore"):
                wanted, got = interpret(graph, arguments), interpret(narrow, arguments)
            for a, b in zip(wanted, got, strict=True):
                assert same_bits(np.asarray(a), np.asarray(b))
    assert found > 50


def _types(graph: Graph) -> set[tuple[str, Any]]:
    return {(n.op, n.dtype) for n in graph.nodes() if n.op in _COMPUTED - _COMPARED}


PHOTO = np.random.default_rng(2).integers(0, 256, (40, 70, 3), dtype=np.uint8)
SOUND = np.random.default_rng(3).integers(-30000, 30000, 4000, dtype=np.int16)


def blended(image: Any) -> Any:
    """Products of bytes as NumPy's default integers, and a quotient of small numbers."""
    wide = image.astype(np.int64)
    alpha = wide[..., 2:]
    return ((wide * alpha + (255 - alpha) * 12 + 127) // 255).astype(np.uint8)


def grey(image: Any) -> Any:
    wide = image.astype(np.int32)
    return (wide[..., 0] * 77 + wide[..., 1] * 150 + wide[..., 2] * 29) >> 8


def counted(image: Any) -> Any:
    """Neighbours that are bright, and what is made of their number."""
    bright = (image[..., 0] > 128).astype(int)
    near = bright[1:-1, :-2] + bright[1:-1, 2:] + bright[:-2, 1:-1] + bright[2:, 1:-1]
    return np.where((near == 2) | (near == 3), near * 10, -near)


def quantised(sound: Any) -> Any:
    """Rounded down and towards 0, of both signs, and by 0."""
    wide = sound.astype(np.int64)
    by = np.abs(wide) % 7
    with np.errstate(divide="ignore"):
        return wide // 12 * 12, wide % -9, np.fmod(wide, 11), wide // by, wide % by


def doubled(image: Any) -> Any:
    """What does not fit in anything narrower after the third square."""
    wide = image.astype(np.int64)
    return wide**2, wide**2 * wide**2, (wide**2 * wide**2) * (wide**2 * wide**2)


def sounding(sound: Any) -> Any:
    """Narrow numbers among floats."""
    return (sound.astype(np.int64) * 3 - 1) / 7.0 + (sound.astype(np.int64) << 3)


@pytest.mark.parametrize(
    ("function", "given", "narrow"),
    [
        (blended, PHOTO, "uint16"),
        (grey, PHOTO, "uint16"),
        (counted, PHOTO, "int16"),
        (quantised, SOUND, "int16"),
        (doubled, PHOTO, "uint16"),
        (sounding, SOUND, "int32"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_programs(emitted: str, function: Any, given: Any, narrow: str) -> None:
    """By both back ends as NumPy computes them; in types that their vectors have."""
    executable = fc.lower(function, given)
    with np.errstate(all="ignore"):
        wanted, got = (f(given) for f in (function, executable))
    if not isinstance(wanted, tuple):
        wanted, got = (wanted,), (got,)
    for a, b in zip(wanted, got, strict=True):
        assert same_bits(np.asarray(a), np.asarray(b))
    source = "".join(kernel.source for kernel in executable.kernels)
    assert (f"({narrow}_t)(" in source) is (emitted == "c" or narrow == "int32")


def test_lanes_are_not_packed_to_be_unpacked() -> None:
    """Bools that doubles are compared for are counted in lanes of theirs."""
    x = np.linspace(-1, 1, 1000)
    executable = fc.lower(lambda x: ((x > 0).astype(int) + (x < 0.5)) * 3, x)
    assert "(int16_t)" not in executable.kernels[0].source
    assert "(int32_t)" not in executable.kernels[0].source


def test_a_cast_is_made_once() -> None:
    """Of what several operations use."""

    def tripled(image: Any) -> Any:
        wide = image.astype(np.int64)
        return (wide * 2 ^ wide * 3) - wide * 4

    graph = narrowed(fc.lower(tripled, PHOTO).graph, CPU)
    assert [n.dtype for n in graph.nodes() if n.op == "convert"] == [np.int16, np.int64]


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("rows", [3, 40, 512, 513, 1100])
@one_in(6)
def test_sums_side_by_side(kind: Any, rows: int) -> None:
    """Of the largest and the smallest numbers there are, in chunks and in trees of them."""
    ends = [True, False] if kind is np.bool_ else [np.iinfo(kind).max, np.iinfo(kind).min]
    for end in ends:
        x = np.full((rows, 70), end, kind)
        x[:, 1::3] = 1
        fused = fc.lower(lambda x: (x.sum(axis=0), (x != 1).sum(axis=0), x.mean(axis=0)), x)
        for got, wanted in zip(fused(x), (x.sum(0), (x != 1).sum(0), x.mean(0)), strict=True):
            assert same_bits(got, wanted)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore")
@one_in(8)
def test_random_programs(seed: int) -> None:
    """Fused functions of integers give NumPy's bits."""
    assert not programs_of_integers.failure(seed)
