"""Compactions: the elements, or rows, that a mask picks, side by side.

In graphs they are library calls, for not every machine has kernels for them. How many rows there
are is known when the kernel has run: the extent of a node is the most that it may be, so nothing
else in a graph reads a compaction. It is a result, which whoever runs the graph cuts off where its
rows end.
"""

from __future__ import annotations

from ..graph.dtypes import is_supported
from ..graph.node import Graph, Node
from ..graph.structure import is_compaction
from .cost import Machine


def compacted(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with nodes of kind compact for the library calls that are such.

    Without fusion too: only a kernel tells where its rows end.
    """
    if not machine.compacts:
        return graph
    return graph.with_outputs(tuple(map(_compact, graph.outputs)))


def _compact(node: Node) -> Node:
    """A node of its own for a result, which no other one is."""
    kinds = (node.dtype, *[o.dtype for o in node.operands])
    if not is_compaction(node) or not node.size or not all(map(is_supported, kinds)):
        return node
    return Node("compact", node.operands, node.shape, node.dtype, None, node.line)
