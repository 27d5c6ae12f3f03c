"""Which values get a buffer (the roots of kernels) and which are computed where they are used."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.node import Graph, Node, users
from ..graph.structure import structure_of
from .cost import CPU, GRAIN_ELEMENTS, MAX_STATEMENTS, SELECTED_COST, Machine, op_cost
from .cost import recompute_pays as pays
from .region import Roots, runs_apart

_MAX_COST = 1 << 30


def choose_roots(graph: Graph, forced: Mapping[Node, str], machine: Machine = CPU) -> Roots:
    """The nodes to materialise on ``machine``, operands first, each with the reason.

    Parameters, constants and reshapes are not among them: a parameter has its buffer, a constant
    needs none, a reshape is its operand's buffer under another shape.
    """
    nodes = graph.nodes()
    reasons = _required(graph, nodes)
    reasons.update(forced)
    return Roots(_Cut(nodes, reasons, machine).run())


def _required(graph: Graph, nodes: list[Node]) -> dict[Node, str]:
    reasons: dict[Node, str] = {}
    for node in nodes:
        row = structure_of(node)
        if row.whole:
            memory_of = _viewed if row.takes_views else unshaped
            reasons.setdefault(memory_of(node.operands[0]), row.whole)
        if runs_apart(node) and not row.is_view:
            reasons[node] = f"NumPy's {getattr(node.attr, 'name', node.op)} runs as it is"
            for operand in node.operands:
                reasons.setdefault(_viewed(operand), "a library call reads it whole")
        elif row.stored:
            reasons[node] = row.stored
    for node in graph.outputs:
        reasons[unshaped(node)] = "it is a result"
    return {n: why for n, why in reasons.items() if not structure_of(n).is_leaf}


def unshaped(node: Node) -> Node:
    """The node whose buffer ``node`` is under another shape."""
    while node.op == "reshape":
        (node,) = node.operands
    return node


def _viewed(node: Node) -> Node:
    """The node that needs a buffer so that ``node`` can be read as a view of memory."""
    below = node.operands[0] if node.op == "index" else node
    below = unshaped(below)
    return below if below.shape else node


class _Cut:
    """One walk that inlines what it can; cuts where a kernel grows or repeats too much."""

    def __init__(self, nodes: list[Node], reasons: dict[Node, str], machine: Machine) -> None:
        self.machine = machine
        self.nodes = nodes
        self.reasons = reasons
        self.used_by = users(nodes)
        self.cost: dict[Node, int] = {}
        self.group: dict[Node, Node] = {}
        self.size: dict[Node, int] = {}

    def run(self) -> dict[Node, str]:
        for node in self.nodes:
            row = structure_of(node)
            if row.unstored or (runs_apart(node) and not row.is_view):
                continue
            self._measure(node)
            if node not in self.reasons:
                why = self._refusal(node)
                if why:
                    self.reasons[node] = why
        return {n: self.reasons[n] for n in self.nodes if n in self.reasons}

    def _inlined(self, node: Node) -> list[Node]:
        return [o for o in dict.fromkeys(node.operands) if o in self.cost and o not in self.reasons]

    def _measure(self, node: Node) -> None:
        """Price ``node`` with what is inlined into it; cut that off if it grew too large."""
        below = self._inlined(node)
        groups = {self._find(o) for o in below}
        if 1 + sum(self.size[g] for g in groups) > MAX_STATEMENTS:
            for operand in below:
                self.reasons[operand] = f"a kernel holds at most {MAX_STATEMENTS} operations"
            below, groups = [], set()
        self.cost[node] = min(op_cost(node) + sum(self.cost[o] for o in below), _MAX_COST)
        self.group[node] = node
        self.size[node] = 1 + sum(self.size[g] for g in groups)
        for g in groups:
            self.group[g] = node

    def _find(self, node: Node) -> Node:
        path = []
        while self.group[node] is not node:
            path.append(node)
            node = self.group[node]
        for passed in path:
            self.group[passed] = node
        return node

    def _refusal(self, node: Node) -> str | None:
        """Why ``node`` should not be inlined, or None."""
        if structure_of(node).is_free and not structure_of(node).is_view:
            return None
        places = {u.map if u.op == "index" else None for u in self.used_by[node]}
        if len(places) > 1 and node.op != "index":
            if not pays(node, self.cost[node], len(places), self.machine):
                return f"computing it again at {len(places)} places costs more than keeping it"
            self.size[self._find(node)] *= len(places)
        if self._inside_selection(node) and self.cost[node] > SELECTED_COST:
            return "a part of a concatenate or pad is computed apart unless it is cheap"
        if self._is_scattered(node) and self.cost[node] > SELECTED_COST:
            return "all threads compute it before: a scatter takes elements one after the other"
        return None

    def _is_scattered(self, node: Node) -> bool:
        """True for much that is written, or tells where, element after element."""
        if node.size < GRAIN_ELEMENTS:
            return False
        return any(u.op == "scatter" and u.operands[0] is not node for u in self.used_by[node])

    def _inside_selection(self, node: Node) -> bool:
        return any(
            structure_of(u).is_choice
            or (u.op == "index" and any(structure_of(w).is_choice for w in self.used_by[u]))
            for u in self.used_by[node]
        )
