"""What computing a node at an index needs: its operands, each through an index map."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.dtypes import is_supported
from ..graph.index_map import IndexMap, identity
from ..graph.node import Node

Demand = tuple[Node, IndexMap]


def demands(node: Node, at: IndexMap) -> list[Demand]:
    """The operands that one element of ``node`` is computed from, with ``at`` mapping to them.

    ``at`` maps the loop indices to an index of ``node``. A reduce, an update and a library node
    have no such operands: they are the roots of kernels. The source of a gather is not listed: its
    index depends on values.
    """
    if node.op == "index":
        return [(node.operands[0], at.then(node.map))]
    if node.op == "concatenate":
        return list(concatenated(node, at))
    if node.op == "pad":
        return [(node.operands[0], padded(node, at)), (node.operands[1], scalar(at))]
    if node.op == "gather":
        lead = len(node.operands[1].shape)
        at_index = IndexMap(at.rank, at.offsets[:lead], at.coefs[:lead])
        return [(operand, at_index) for operand in node.operands[1:]]
    return [(o, at if o.shape else scalar(at)) for o in node.operands]


def runs_apart(node: Node) -> bool:
    """True if ``node`` is no kernel's: a library call, or an operation on types without kernels."""
    if node.op in ("parameter", "constant", "reshape"):
        return False
    return node.op == "library" or not all(is_supported(n.dtype) for n in (node, *node.operands))


def scalar(at: IndexMap) -> IndexMap:
    """The map to the one element of a 0-d operand."""
    return IndexMap(at.rank, (), ())


def concatenated(node: Node, at: IndexMap) -> Iterator[Demand]:
    """Each part of a concatenate with the map to its own index, in range only inside the part."""
    start = 0
    for part in node.operands:
        yield part, shifted(at, node.axis, -start)
        start += part.shape[node.axis]


def padded(node: Node, at: IndexMap) -> IndexMap:
    """The map to the framed operand of a pad, in range only inside the frame."""
    assert isinstance(node.attr, tuple)
    offsets = tuple(o - lo for o, (lo, _) in zip(at.offsets, node.attr, strict=True))
    return IndexMap(at.rank, offsets, at.coefs)


def shifted(at: IndexMap, axis: int, by: int) -> IndexMap:
    """``at`` with the constant of one operand axis changed."""
    offsets = (*at.offsets[:axis], at.offsets[axis] + by, *at.offsets[axis + 1 :])
    return IndexMap(at.rank, offsets, at.coefs)


def domain(root: Node) -> tuple[int, ...]:
    """The shape over which the elements behind ``root`` are computed."""
    if root.op == "reduce":
        return root.operands[0].shape
    if root.op == "update":
        return root.operands[1].shape
    return root.shape


def root_demands(root: Node) -> list[Demand]:
    """What the elements of ``root`` are computed from, over its `domain`."""
    at = identity(len(domain(root)))
    if root.op == "reduce":
        return [(root.operands[0], at)]
    if root.op == "update":
        return [(root.operands[1], at)]
    return demands(root, at)


class Roots:
    """The nodes that get a buffer, each with the reason, and what can be read as memory."""

    def __init__(self, reasons: dict[Node, str]) -> None:
        assert not any(n.op == "reshape" for n in reasons), "a reshape has its operand's buffer"
        self.reasons = reasons

    def __contains__(self, node: Node) -> bool:
        return node in self.reasons

    def __iter__(self) -> Iterator[Node]:
        return iter(self.reasons)

    def is_leaf(self, node: Node) -> bool:
        """True if ``node`` is read from memory and not computed where it is used."""
        return node in self.reasons or node.op in ("parameter", "reshape")

    def source(self, node: Node) -> Node:
        """The root or parameter whose buffer ``node`` is a view or reshape of."""
        while node not in self.reasons and node.op in ("reshape", "index"):
            node = node.operands[0]
        return node


class Region:
    """What a root computes from inlined nodes, and what it reads of materialised ones.

    ``inlined`` holds each (node, map) computed inside, ``reads`` each (materialised node, map);
    ``gathers`` the sources read at indices that depend on values. All maps are over `domain`.
    """

    def __init__(self, root: Node, roots: Roots) -> None:
        self.root = root
        self.inlined: dict[Demand, None] = {}
        self.reads: dict[Demand, None] = {}
        self.gathers: dict[Node, None] = {}
        if root.op == "gather":
            self.gathers[roots.source(root.operands[0])] = None
        stack = root_demands(root)
        while stack:
            demand = stack.pop()
            node, at = demand
            if demand in self.inlined or demand in self.reads:
                continue
            if roots.is_leaf(node):
                self.reads[demand] = None
                continue
            self.inlined[demand] = None
            if node.op == "gather":
                self.gathers[roots.source(node.operands[0])] = None
            stack.extend(demands(node, at))
        self.sources = dict.fromkeys(roots.source(node) for node, _ in self.reads)
        self.sources.update(self.gathers)
