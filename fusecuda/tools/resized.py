"""Resized: a graph with one of its extents made smaller, and those that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..cases.case import Case
from ..errors import GraphError
from ..graph.index_map import IndexMap, Shape
from ..graph.node import Graph, Node
from ..graph.verify import verify
from .dumps import index_limits

_NEAR = 8  # extents as near as this to the one that shrinks are that one with a border


def resized(case: Case, old: int, new: int) -> Case | None:
    """``case`` with extents of ``old`` made ``new``; None if the graph does not bear it."""
    extents = _Extents(old, new)
    made: dict[Node, Node] = {}
    for node in (*case.graph.parameters, *case.graph.nodes()):
        if node not in made:
            made[node] = _node(node, made, extents)
    graph = Graph(
        tuple(made[p] for p in case.graph.parameters),
        tuple(made[o] for o in case.graph.outputs),
        case.graph.name,
        case.graph.targets,
    )
    if any(n <= 0 for node in made.values() for n in node.shape):
        return None
    try:
        verify(graph)
    except GraphError:
        return None
    return replace(case, graph=graph, inputs=_inputs(case, graph), digests=())


@dataclass(frozen=True)
class _Extents:
    """What becomes of extents when ``old`` becomes ``new``."""

    old: int
    new: int

    def extent(self, n: int) -> int:
        """That of ``n``: one near the old keeps its distance, a multiple stays one."""
        if n == self.old or (self.old > _NEAR and abs(n - self.old) <= _NEAR):
            return n - self.old + self.new
        return n // self.old * self.new if n % self.old == 0 else n

    def shape(self, shape: Shape) -> Shape:
        """That of each extent."""
        return tuple(map(self.extent, shape))

    def offset(self, at: int, n: int) -> int:
        """That of a place in an extent of ``n``, which is counted from the nearer end."""
        return at if 2 * at < n else self.extent(n) - (n - at)


def _node(node: Node, made: dict[Node, Node], extents: _Extents) -> Node:
    attr = node.attr
    if isinstance(attr, IndexMap):
        target = node.shape if node.op == "update" else node.operands[0].shape
        offsets = tuple(extents.offset(o, n) for o, n in zip(attr.offsets, target, strict=True))
        attr = IndexMap(attr.rank, offsets, attr.coefs)
    operands = tuple(made[o] for o in node.operands)
    return Node(node.op, operands, extents.shape(node.shape), node.dtype, attr, node.line)


def _inputs(case: Case, graph: Graph) -> Sequence[Any]:
    """The first elements of the inputs; what is used as an index still fits."""
    assert case.inputs is not None
    found = list(case.inputs)
    limits = index_limits(graph)
    for node in graph.parameters:
        number = node.parameter.number
        value = np.asarray(found[number])
        value = np.array(value[tuple(slice(n) for n in node.shape)])
        if node in limits and value.dtype.kind in "iu":
            value = np.where(np.abs(value) < limits[node], value, 0).astype(value.dtype)
        found[number] = value[()] if node.parameter.scalar else value
    return found
