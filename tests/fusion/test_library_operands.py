"""Library calls take constants, scalar arguments and views of them, fused or not."""

from __future__ import annotations

import numpy as np
import pytest

from fusecuda.engine import build as compile_graph
from fusecuda.graph import build
from fusecuda.graph.dtypes import INT64
from fusecuda.graph.interpret import interpret
from fusecuda.graph.node import Graph, Node
from fusecuda.options import Options
from tests.marks import one_in

FORMS = {
    "bare": lambda k: k,
    "reshaped and broadcast": lambda k: build.broadcast_to(build.reshape(k, (1,)), (4,)),
    "broadcast": lambda k: build.broadcast_to(k, (4,)),
    "broadcast and reshaped": lambda k: build.reshape(build.broadcast_to(k, (4,)), (4, 1)),
}


@pytest.mark.parametrize("fuse", ["0", "1"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["constant", "scalar", "0-d array"])
@one_in(16)
def test_zero_dimensional_operands(
    kind: str, form: str, fuse: str, emitted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix product is given each, and its other operand too comes from nowhere in memory."""
    monkeypatch.setenv("FUSECUDA_FUSE", fuse)
    given: list[Node] = []
    number = build.constant(3, INT64)
    if kind != "constant":
        number = build.parameter(1, (), INT64, scalar=kind == "scalar")
        given = [number]
    x = build.parameter(0, (4,), INT64)
    value = FORMS[form](number)
    shape = np.dot(np.ones(4), np.ones(value.shape)).shape
    call = build.library("dot", [x, value], shape, INT64)
    out = build.elementwise("add", [call, build.constant(1, INT64)], INT64)
    graph = Graph((x, *given), (out, call))
    arguments = [np.arange(4), np.asarray(3)][: 1 + len(given)]
    results = compile_graph(graph, {}, Options()).run(arguments)
    for got, want in zip(results, interpret(graph, arguments), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
