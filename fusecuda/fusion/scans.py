"""Scans: running sums and products, which kernels compute along with what is around them.

In graphs they are library calls, for not every machine has kernels for all of them. The order is
NumPy's, one element after the other, so that the bits are NumPy's too; on a GPU it is that of
`graph.tree.tree_scan`.
"""

from __future__ import annotations

from ..graph import build
from ..graph.folds import scan_of
from ..graph.node import Graph, Node
from .cost import Machine


def scanned(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with nodes of kind scan for the library calls that are such."""
    if not machine.scanned_row or not any(map(scan_of, graph.nodes())):
        return graph
    new: dict[Node, Node] = {}
    for node in graph.nodes():
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        new[node] = _scan(fresh)
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def _scan(node: Node) -> Node:
    attr = scan_of(node)
    if attr is None:
        return node
    operand = build.convert(node.operands[0], node.dtype)
    return Node("scan", (operand,), node.shape, node.dtype, attr, node.line)
