"""Bounds of integers: every value is within those that its operations tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fusecuda.graph import build
from fusecuda.graph.bounds import _COMBINED, _OF_ONE, bounds
from fusecuda.graph.dtypes import BOOL, FLOAT64, INT64
from fusecuda.graph.interpret import evaluate
from fusecuda.graph.node import Node
from tests.marks import one_in
from tests.strategies import SPECIALS

INTEGERS = [d for d in SPECIALS if d.kind in "iu"]
OPS = tuple(_COMBINED)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@one_in(8)
def test_values_are_within_their_bounds(dtype: Any) -> None:
    """Of trees of operations on parameters, constants and counts, which may wrap around."""
    rng = np.random.default_rng(1)
    mask = build.parameter(1, (40,), BOOL)
    for _ in range(300):
        x = build.parameter(0, (40,), dtype)
        values: dict[Node, Any] = {x: rng.choice(SPECIALS[dtype], 40), mask: rng.random(40) < 0.5}
        pool = [x, build.convert(build.iota((40,), 0), dtype)]
        for constant in (*rng.choice(SPECIALS[dtype], 2), dtype.type(7)):
            pool.append(build.broadcast_to(build.constant(constant, dtype), (40,)))
        for _ in range(6):
            a, b = (pool[i] for i in rng.integers(0, len(pool), 2))
            op = str(rng.choice(OPS))
            if op == "where":
                pool.append(build.where(mask, a, b))
            else:
                pool.append(build.elementwise(op, [a, b], dtype))
            pool.append(build.elementwise(str(rng.choice(list(_OF_ONE))), [pool[-1]], dtype))
        pool += [build.convert(pool[-1], d) for d in INTEGERS]
        pool.append(build.gather(pool[-1], [build.broadcast_to(build.constant(3, INT64), (5,))]))
        for node in pool:
            found = bounds(node)
            assert found is not None
            with np.errstate(all="ignore"):
                value = value_of(node, values)
            assert found[0] <= int(value.min()) and int(value.max()) <= found[1], node


def value_of(node: Node, values: dict[Node, Any]) -> Any:
    if node not in values:
        values[node] = evaluate(node, [value_of(o, values) for o in node.operands])
    return values[node]


def test_what_is_told() -> None:
    """Counts, remainders and clipped numbers have bounds that are no wider than they need be."""
    count = build.iota((10,), 0)
    x = build.parameter(0, (10,), INT64)
    number = build.broadcast_to(build.constant(5, INT64), (10,))
    assert bounds(count) == (0, 9)
    assert bounds(build.elementwise("remainder", [x, number], INT64)) == (0, 4)
    assert bounds(build.elementwise("subtract", [number, count], INT64)) == (-4, 5)
    assert bounds(build.elementwise("minimum", [count, number], INT64)) == (0, 5)
    assert bounds(build.parameter(1, (), BOOL)) == (0, 1)
    assert bounds(build.parameter(1, (), FLOAT64)) is None
