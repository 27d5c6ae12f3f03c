"""Scatters: values written, or added to what is there, at indices that depend on values.

In graphs they are library calls, for not every machine has kernels for them. Elements are taken in
order, one after the other, as NumPy does: the last of several values for a place stays, and sums
have NumPy's bits.
"""

from __future__ import annotations

from ..graph import build
from ..graph.dtypes import is_supported
from ..graph.index_map import identity
from ..graph.node import Graph, LibraryCall, Node, Scatter, users
from ..graph.passes import are_disjoint
from .cone import Roots, domain
from .cost import GRAIN_ELEMENTS


def scattered(graph: Graph) -> Graph:
    """``graph`` with nodes of kind scatter for the library calls that are such.

    One on a part of an array that is then written back goes to the array itself.
    """
    nodes = graph.nodes()
    if not any(_is_scatter(node) for node in nodes):
        return graph
    used, outputs = users(nodes), set(graph.outputs)
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        if _is_scatter(node):
            fresh = _scatter(fresh)
        elif _is_written_back(node):
            inner = node.operands[1]
            if used[inner] == [node] and inner not in outputs:
                fresh = _in_part(fresh)
        new[node] = fresh
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def _kind(node: Node) -> str:
    assert isinstance(node.attr, LibraryCall)
    return str(dict(node.attr.kwargs)["kind"])


def _is_scatter(node: Node) -> bool:
    call = node.attr
    if not isinstance(call, LibraryCall) or call.name != "scatter":
        return False
    if not is_supported(node.dtype) or not node.size or not node.operands[1].size:
        return False
    return _kind(node) == "set" or build.fusible(_kind(node), (node.dtype, node.dtype))


def _scatter(node: Node) -> Node:
    attr = Scatter(_kind(node), identity(len(node.shape)), node.shape)
    return Node("scatter", node.operands, node.shape, node.dtype, attr, node.line)


def _is_written_back(node: Node) -> bool:
    """True for an update with a scatter of the very elements that it overwrites."""
    if node.op != "update" or not _is_scatter(node.operands[1]):
        return False
    old, part = node.operands[0], node.operands[1].operands[0]
    if part.op != "index" or part.map != node.map:
        return False
    while old is not part.operands[0]:  # they may be those of a version before
        if old.op != "update" or not are_disjoint(old.map, domain(old), node.map, part.shape):
            return False
        old = old.operands[0]
    return True


def _in_part(node: Node) -> Node:
    old, inner = node.operands
    attr = Scatter(inner.scatter.kind, node.map, inner.shape)
    return Node("scatter", (old, *inner.operands[1:]), node.shape, node.dtype, attr, inner.line)


def filled(graph: Graph, roots: Roots) -> set[Node]:
    """Values of one number that a scatter alone goes on in, and may as well fill first itself.

    One thread does both, so they are small, or are not much beside what is scattered.
    """
    used, outputs = users(graph.nodes()), set(graph.outputs)
    found = set()
    for root in roots:
        if root.op == "index" and root not in outputs and _is_given(number_of(root)):
            (*_, last) = later = used[root]
            alone = len(later) == 1 and last.op == "scatter" and last.operands[0] is root
            if alone and root.size <= max(GRAIN_ELEMENTS, last.operands[1].size):
                found.add(root)
    return found


def _is_given(number: Node) -> bool:
    """True for a number that no kernel has to compute, nor to read."""
    return number.op == "constant" or (number.op == "parameter" and number.parameter.scalar)


def number_of(value: Node) -> Node:
    """The number that all elements of ``value`` are, or what it is a view of."""
    while value.op == "index":
        (value,) = value.operands
    return value
