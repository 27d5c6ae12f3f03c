"""Random graphs: fused C, unfused C and the interpreter give the same bits, and texts lose nothing.

Graphs are merged, so that one compilation covers many. A failing batch is taken apart: the message
names the seed, and ``random_graph(seed)`` is the reproducer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from fusecuda.cpu_fallback.interpreted import KERNELS
from fusecuda.engine import build
from fusecuda.graph.build import elementwise, index, iota, library, parameter, reshape, update
from fusecuda.graph.dtypes import FLOAT64, INT64
from fusecuda.graph.index_map import axis_map
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.graph.passes import simplify
from fusecuda.graph.text import parse_hlo, print_hlo
from fusecuda.graph.verify import verify
from fusecuda.options import Options
from tests.marks import few, one_in
from tests.random_graphs import Case, merge, random_graph
from tests.strategies import Array, same_bits

BATCH = 20  # graphs in one compilation


def cases(first: int, exact: bool = True, failing: bool = True) -> list[Case]:
    """The batch of graphs whose seeds start at ``first``."""
    return [random_graph(seed, exact, failing) for seed in range(first, first + BATCH)]


def copies(arguments: Sequence[Any]) -> list[Any]:
    """The arguments with memory of their own, laid out as they were."""
    return [_copy(a) if isinstance(a, np.ndarray) else a for a in arguments]


def _copy(array: Array) -> Array:
    """A copy with the same strides, negative and zero ones too."""
    span = sum(abs(s) * (n - 1) for n, s in zip(array.shape, array.strides, strict=True))
    if array.size == 0:
        return np.empty_like(array)
    room = np.empty(span // array.itemsize + 1, array.dtype)
    start = -sum(min(s, 0) * (n - 1) for n, s in zip(array.shape, array.strides, strict=True))
    twin = np.ndarray(array.shape, array.dtype, room, start, array.strides)
    twin[...] = array
    return twin


def compiled(case: Case) -> list[Array]:
    """The outputs of ``case`` by compiled kernels; arguments must be overwritten as targets say."""
    arguments = copies(case.arguments)
    with np.errstate(all="ignore"):  # library calls warn as NumPy does
        results = build(case.graph, case.strides, Options()).run(arguments)
    targets = set(case.graph.targets)
    for number, (before, after) in enumerate(zip(case.arguments, arguments, strict=True)):
        if number not in targets and isinstance(before, np.ndarray):
            assert same_bits(before, after), f"argument {number} was written to"
    outputs = []
    for i, result in enumerate(results):
        target = case.graph.target(i)
        assert (result is None) == (target is not None)
        outputs.append(result if target is None else arguments[target])
    return outputs


def disagreement(case: Case, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which output differs where from the interpreter's, or ""."""
    try:
        monkeypatch.setenv("FUSECUDA_FUSE", "0")
        unfused = compiled(case)
        monkeypatch.setenv("FUSECUDA_FUSE", "1")
        fused = compiled(case)
    except AssertionError as error:
        return f"{error!r}"
    expected = interpret(case.graph, case.arguments, KERNELS)
    for name, got in (("unfused", unfused), ("fused", fused)):
        for i, (want, have) in enumerate(zip(expected, got, strict=True)):
            if not same_bits(want, have):
                return f"{name} output {i}:\n{have!r}\nnot\n{want!r}"
    return ""


def check(batch: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail, with the graph at fault, if the outputs of ``batch`` disagree."""
    check_together(batch, lambda case: disagreement(case, monkeypatch))


def check_together(batch: list[Case], disagreement: Callable[[Case], str]) -> None:
    """Fail, with the graph at fault, if there is a ``disagreement`` in one of ``batch``."""
    together = disagreement(merge(batch))
    if not together:
        return
    for case in batch:
        alone = disagreement(case)
        if alone:
            pytest.fail(f"{case.name}: {alone}\n{print_hlo(case.graph)}", pytrace=False)
    pytest.fail(f"only merged, from {batch[0].name}: {together}", pytrace=False)


@pytest.mark.parametrize("first", few(range(0, 120, BATCH), 1))
def test_compiled_graphs_give_the_interpreters_bits(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the batches hold nothing that may fail, so that results overwrite arguments early."""
    check(cases(first, failing=first // BATCH % 2 == 0), monkeypatch)


@pytest.mark.parametrize("count", few((6, BATCH), 1))
def test_transcendental_functions_have_the_interpreters_bits(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where NumPy's bits are not promised, fused, unfused and no kernels agree on every bit."""
    check(cases(10_000, exact=False)[:count], monkeypatch)


X, Y = (parameter(i, (6, 4), FLOAT64) for i in range(2))
SUM = elementwise("add", [X, Y], FLOAT64)


def flipped(node: Node) -> Node:
    """``node`` upside down."""
    return index(node, axis_map([(node.shape[0] - 1, -1, 0), (0, 1, 1)], 2), node.shape)


def columns(old: Node, value: Node) -> Node:
    """``old`` of shape (4, 6) with every second column replaced."""
    return update(old, index(value, COLUMNS, (4, 3)), COLUMNS)


COLUMNS = axis_map([(0, 1, 0), (1, 2, 1)], 2)
LINE = reshape(iota((6, 4), 1), (24,))
TURNED = update(LINE, LINE, axis_map([(23, -1, 0)], 1))
REGROUPED = reshape(library("sort", [SUM], (6, 4), FLOAT64), (4, 6))
OVERWRITING: dict[str, tuple[tuple[Node, ...], tuple[int | None, ...]]] = {
    "both arguments swapped": ((Y, X), (0, 1)),
    "swapped and computed": ((elementwise("negative", [Y], FLOAT64), SUM), (0, 1)),
    "an argument reversed": ((flipped(X),), (0,)),
    "an argument and its reverse": ((elementwise("add", [X, flipped(X)], FLOAT64),), (0,)),
    "swapped and reversed": ((flipped(Y), flipped(X)), (0, 1)),
    "a product and what it is made of": ((SUM, elementwise("sqrt", [X], FLOAT64)), (0, None)),
    "a regrouped value updated": ((columns(REGROUPED, REGROUPED),), ()),
    "regrouped and updated twice": ((columns(columns(REGROUPED, REGROUPED), REGROUPED),), ()),
    "turned, and used before": ((TURNED, elementwise("subtract", [LINE, TURNED], INT64)), ()),
    "an argument regrouped and updated": ((columns(reshape(X, (4, 6)), reshape(Y, (4, 6))),), ()),
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_results_that_overwrite_what_they_are_made_of(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All results are as if every one had been computed before any argument was overwritten."""
    outputs, targets = OVERWRITING[name]
    arguments = list(np.random.default_rng(0).normal(size=(2, 6, 4)))
    check([Case(Graph((X, Y), outputs, "overwriting", targets), arguments, {}, name)], monkeypatch)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(20_000, 20_300, BATCH))
def test_many_more_graphs(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the two tests above, on other seeds."""
    exact = first // BATCH % 5 != 0
    check(cases(first, exact, failing=first // BATCH % 2 == 0), monkeypatch)


@pytest.mark.parametrize("first", range(0, 400, BATCH))
@one_in(10)
def test_simplified_and_parsed_graphs_compute_the_same(first: int) -> None:
    """Passes keep graphs well-formed and their bits; text is read back to an equal graph."""
    for case in [*cases(first), *cases(first + 10_000, exact=False)]:
        graph, arguments = case.graph, case.arguments
        verify(graph)
        simplified = simplify(graph)
        verify(simplified)
        text = print_hlo(graph)
        parsed = parse_hlo(text)
        assert print_hlo(parsed) == text
        assert parsed.targets == graph.targets
        want = interpret(graph, arguments)
        for other in (simplified, parsed):
            got = interpret(other, arguments)
            same = [same_bits(a, b) for a, b in zip(want, got, strict=True)]
            assert all(same), f"{case.name}, outputs {same}\n{text}"
