"""Cones: what computing a root needs, from node to operand, each through an index map."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.dtypes import is_supported
from ..graph.index_map import IndexMap, Shape, identity
from ..graph.node import Node
from ..graph.structural import Demand
from ..graph.structure import structure_of


def domain(node: Node) -> Shape:
    """The shape over which the elements behind ``node`` are computed."""
    return structure_of(node).domain(node)


def demands(node: Node, at: IndexMap) -> list[Demand]:
    """What one element of ``node`` is computed from, as `Structure.demands` tells."""
    return structure_of(node).demands(node, at)


def root_demands(root: Node) -> list[Demand]:
    """What the elements of ``root`` are computed from, over its `domain`."""
    return demands(root, identity(len(domain(root))))


def runs_apart(node: Node) -> bool:
    """True if ``node`` is no kernel's: a library call, or an operation on types without kernels."""
    if structure_of(node).unstored:
        return False
    return node.op == "library" or not all(is_supported(n.dtype) for n in (node, *node.operands))


class Roots:
    """The nodes that get a buffer, each with the reason, and what can be read as memory."""

    __slots__ = ("reasons",)

    def __init__(self, reasons: dict[Node, str]) -> None:
        assert not any(n.op == "reshape" for n in reasons), "a reshape has its operand's buffer"
        self.reasons = reasons

    def __contains__(self, node: Node) -> bool:
        return node in self.reasons

    def __iter__(self) -> Iterator[Node]:
        return iter(self.reasons)

    def is_leaf(self, node: Node) -> bool:
        """True if ``node`` is read from memory and not computed where it is used."""
        return node in self.reasons or (structure_of(node).unstored and node.op != "constant")

    def source(self, node: Node) -> Node:
        """The root or parameter whose buffer ``node`` is a view or reshape of."""
        while node not in self.reasons and structure_of(node).is_view:
            node = node.operands[0]
        return node


def reached(root: Node, roots: Roots) -> Iterator[tuple[Demand, bool]]:
    """All that the elements of ``root`` need, each once, and whether it is read from memory."""
    seen: set[Demand] = set()
    stack = root_demands(root)
    while stack:
        demand = stack.pop()
        if demand in seen:
            continue
        seen.add(demand)
        is_read = roots.is_leaf(demand[0])
        yield demand, is_read
        if not is_read:
            stack.extend(demands(*demand))


class Cone:
    """What a root computes from inlined nodes, and what it reads of materialised ones.

    ``inlined`` holds each (node, map) computed inside, ``reads`` each (materialised node, map);
    ``gathers`` the sources read at places that values tell. All maps are over `domain`.
    """

    __slots__ = ("gathers", "inlined", "reads", "root", "sources")

    def __init__(self, root: Node, roots: Roots) -> None:
        self.root = root
        self.inlined: dict[Demand, None] = {}
        self.reads: dict[Demand, None] = {}
        self.gathers: dict[Node, None] = {}
        if structure_of(root).looks_up:
            self.gathers[roots.source(root.operands[0])] = None
        for demand, is_read in reached(root, roots):
            (self.reads if is_read else self.inlined)[demand] = None
            if not is_read and structure_of(demand[0]).looks_up:
                self.gathers[roots.source(demand[0].operands[0])] = None
        self.sources = dict.fromkeys(roots.source(node) for node, _ in self.reads)
        self.sources.update(self.gathers)
