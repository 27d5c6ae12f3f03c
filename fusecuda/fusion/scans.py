"""Scans: running sums and products, which kernels compute along with what is around them.

In graphs they are library calls, for not every machine has kernels for them. The order is NumPy's,
one element after the other, so that the bits are NumPy's too.
"""

from __future__ import annotations

from ..graph import build
from ..graph.dtypes import is_supported
from ..graph.node import Graph, LibraryCall, Node, Operand, Reduction

_KINDS = {"cumsum": "sum", "cumprod": "prod"}


def scanned(graph: Graph) -> Graph:
    """``graph`` with nodes of kind scan for the library calls that are such."""
    if not any(_is_scan(node) for node in graph.nodes()):
        return graph
    new: dict[Node, Node] = {}
    for node in graph.nodes():
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        new[node] = _scan(fresh) if _is_scan(fresh) else fresh
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def _is_scan(node: Node) -> bool:
    call = node.attr
    if not isinstance(call, LibraryCall) or call.name not in _KINDS or call.args != (Operand(0),):
        return False
    (operand,) = node.operands
    known = is_supported(node.dtype) and is_supported(operand.dtype) and node.dtype.kind != "b"
    product = call.name == "cumprod" and node.dtype.kind == "c"  # NumPy's bits are the machine's
    axis = dict(call.kwargs).get("axis")
    return known and not product and isinstance(axis, int) and node.size > 0


def _scan(node: Node) -> Node:
    assert isinstance(node.attr, LibraryCall)
    axis = dict(node.attr.kwargs)["axis"]
    assert isinstance(axis, int)
    operand = build.convert(node.operands[0], node.dtype)
    attr = Reduction(_KINDS[node.attr.name], (axis % len(node.shape),))
    return Node("scan", (operand,), node.shape, node.dtype, attr, node.line)
