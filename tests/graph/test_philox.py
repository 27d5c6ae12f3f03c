"""The rows of random bits: published vectors and exact integers, by everything that computes."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda import engine
from fusecuda.graph import build
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph
from fusecuda.graph.ops import OPS
from fusecuda.options import Options
from tests.random_bits import KNOWN, block, number

U64 = np.dtype(np.uint64)
EDGES = (0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 0x0123456789ABCDEF)


def graph_of(*names: str, count: int) -> Graph:
    """The rows on three arrays."""
    given = tuple(build.parameter(i, (count,), U64) for i in range(3))
    return Graph(given, tuple(build.elementwise(name, given, U64) for name in names))


def columns(rows: list[tuple[int, int, int]]) -> list[np.ndarray]:
    return [np.array(column, U64) for column in zip(*rows, strict=True)]


def compiled(graph: Graph, arguments: list[np.ndarray]) -> list[np.ndarray]:
    return [r for r in engine.build(graph, {}, Options()).run(arguments) if r is not None]


def blocks_of(results: list[np.ndarray]) -> list[int]:
    return [int(a) | int(b) << 64 for a, b in zip(*results, strict=True)]


def test_the_model_gives_the_published_blocks() -> None:
    for counter, key, expected in KNOWN:
        assert block(number(counter), number(key)) == number(expected)


def test_published_vectors(emitted: str) -> None:
    """By C or CUDA, by the interpreter, and by the function that NumPy is given."""
    counters, keys = ([number(row[i]) for row in KNOWN] for i in (0, 1))
    mask = 2**64 - 1
    arguments = columns([(c & mask, c >> 64, k) for c, k in zip(counters, keys, strict=True)])
    graph = graph_of("philox", "philox_rest", count=3)
    expected = [number(row[2]) for row in KNOWN]
    assert blocks_of(compiled(graph, arguments)) == expected
    assert blocks_of(interpret(graph, arguments)) == expected
    direct = [OPS[name].numpy(*arguments) for name in ("philox", "philox_rest")]
    assert blocks_of(direct) == expected


def test_any_counter_stream_and_key(emitted: str) -> None:
    """Carries and borders of the words; numbers as well as arrays."""
    rows = [(c, s, k) for c in EDGES for s in EDGES for k in EDGES]
    arguments = columns(rows)
    graph = graph_of("philox", "philox_rest", count=len(rows))
    expected = [block(c | s << 64, k) for c, s, k in rows]
    assert blocks_of(compiled(graph, arguments)) == expected
    assert blocks_of(interpret(graph, arguments)) == expected


def test_below_is_the_whole_part_of_an_exact_product(emitted: str) -> None:
    rng = np.random.default_rng(0)
    rows = [(h, low, n) for h in EDGES for low in EDGES for n in EDGES]
    rows += [tuple(map(int, r)) for r in rng.integers(0, 2**64 - 1, (500, 3), np.uint64)]
    graph = graph_of("below", count=len(rows))
    expected = [(h << 64 | low) * (n or 2**64) >> 128 for h, low, n in rows]
    for (got,) in (compiled(graph, columns(rows)), interpret(graph, columns(rows))):
        assert [int(v) for v in got] == expected
    assert all(v < n for v, (_, _, n) in zip(expected, rows, strict=True) if n)


@pytest.mark.parametrize("name", ["philox", "philox_rest", "below"])
def test_other_types_have_no_text(name: str) -> None:
    assert [k for k in OPS[name].text] == ["u64"]
    assert not build.fusible(name, [np.dtype(np.int64)] * 3)
