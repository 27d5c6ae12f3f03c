"""Which values get a buffer (the roots of kernels) and which are computed where they are used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ..graph.node import Graph, Node, users
from ..graph.structure import structure_of
from .cone import Roots, runs_apart
from .cost import (
    GRAIN_ELEMENTS,
    LARGEST,
    LINE_COST,
    MAX_STATEMENTS,
    SELECTED_COST,
    SLICE_COST,
    Machine,
    again_pays,
    broadcast_pays,
    may_fail,
    op_cost,
    price,
    recompute_pays,
)  # fmt: skip
from .tallies import has_tallies

_MAX_COST = 1 << 30
_ENDS = 2  # parts
_ROWS = 3  # in which a value is computed anew, from which on that is looked at
_NEAR = 8  # elements of a run: in shorter ones what stays the same is computed for each
_MOST_AGAIN = MAX_STATEMENTS // 3  # operations that one value makes where it is computed again


def choose_roots(graph: Graph, forced: Mapping[Node, str], machine: Machine) -> Roots:
    """The nodes to materialise on ``machine``, operands first, each with the reason.

    Parameters, constants and reshapes are not among them: a parameter has its buffer, a constant
    needs none, a reshape is its operand's buffer under another shape.
    """
    nodes = graph.nodes()
    reasons = _required(graph, nodes)
    reasons.update(forced)
    return Roots(_Cut(nodes, reasons, machine).run())


def _required(graph: Graph, nodes: Sequence[Node]) -> dict[Node, str]:
    reasons: dict[Node, str] = {}
    for node in nodes:
        row = structure_of(node)
        if row.whole:
            memory_of = _viewed if row.looks_up else unshaped
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


def _times_anew(view: Node) -> int:
    """How often elements are computed that ``view`` shows along axes of its own.

    Along a run, or a row, an element that stays the same is computed once.
    """
    if view.op != "index" or view.size <= view.operands[0].size or view.operands[0].size == 1:
        return 1
    unused = [a for a in range(len(view.shape)) if not view.map.uses_axis(a)]
    inner = len(view.shape)
    while inner - 1 in unused:
        inner -= 1
    along = math.prod(view.shape[inner:])
    apart = math.prod(view.shape[a] for a in unused if a < inner)
    return apart if along >= _NEAR else apart * along


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

    def __init__(self, nodes: Sequence[Node], reasons: dict[Node, str], machine: Machine) -> None:
        self.machine = machine
        self.nodes = nodes
        self.reasons = reasons
        self.used_by = users(nodes)
        self.cost: dict[Node, int] = {}
        self.price: dict[Node, float] = {}  # of computing it again, as what is read is at hand
        self.fails: set[Node] = set()  # what some values make an error, with what is computed of it
        self.chosen: set[Node] = set()  # what is read from memory, if only its place is a choice
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
        """Price ``node`` with what is inlined into it; cut off what is too large, if it grew so."""
        groups: dict[Node, list[Node]] = {}
        below = self._inlined(node)
        read = [o for o in below if structure_of(o).is_view and not self._inlined(o)]
        for operand in below:
            if operand not in read:
                groups.setdefault(self._find(operand), []).append(operand)
        # What adds up in two sums, one after the other, may grow by the second one.
        most = MAX_STATEMENTS if len(groups) > 1 else LARGEST
        for group in sorted(groups, key=self.size.__getitem__, reverse=True):
            if self._sum(groups, read) <= most:
                break
            for operand in groups.pop(group):
                self.reasons[operand] = f"a kernel holds at most {MAX_STATEMENTS} operations"
        below = [*read, *(o for operands in groups.values() for o in operands)]
        self.cost[node] = min(op_cost(node) + sum(self.cost[o] for o in below), _MAX_COST)
        if may_fail(node) or not self.fails.isdisjoint(below):
            self.fails.add(node)
        self.price[node] = self._price(node, below)
        self.group[node] = node
        self.size[node] = self._sum(groups, read)
        for g in groups:
            self.group[g] = node

    def _price(self, node: Node, below: Sequence[Node]) -> float:
        """The price of an element; a choice among elements of memory is one among places."""
        row = structure_of(node)
        is_read = all(o in self.chosen or o not in below for o in node.operands)
        if is_read and (row.is_choice or row.is_view):
            self.chosen.add(node)
            return row.is_choice + max((self.price[o] for o in below), default=0.0)
        if row.is_choice and len(node.operands) > _ENDS:
            middle = node.operands[len(node.operands) // 2]  # most elements are of it
            found = price(node, self.machine) + self.price.get(middle, 0.0)
            return found + LINE_COST / max(1, node.shape[-1])
        return price(node, self.machine) + sum(self.price[o] for o in below)

    def _sum(self, groups: Iterable[Node], read: Sequence[Node]) -> int:
        """The operations of a node with all of ``groups`` and what is ``read`` through views."""
        return 1 + len(read) + sum(self.size[g] for g in groups)

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
        places = {u.map if u.op == "index" else None: u.size for u in self.used_by[node]}
        if len(places) > 1 and node.op != "index":
            again = len(places) if sum(places.values()) > node.size else 1  # parts: each once
            size = self.size[self._find(node)] * len(places)
            is_read = structure_of(node).is_choice or node in self.chosen  # at other places
            pays = recompute_pays if is_read else again_pays
            most = _MOST_AGAIN if again > 1 else MAX_STATEMENTS
            if size > most or not pays(node, self.price[node], again, self.machine):
                return f"computing it again at {len(places)} places costs more than keeping it"
            self.size[self._find(node)] = size
        dear = self.price[node] >= SELECTED_COST
        times = max((_times_anew(u) for u in self.used_by[node]), default=1) if dear else 1
        if times >= _ROWS:
            follows = self._ends_reduction(node)
            if not broadcast_pays(node, self.price[node], times, follows, self.machine):
                return f"each of {times} rows would compute it anew"
        if self.cost[node] > self._most_selected(node):
            return "a part of a concatenate or pad is computed apart unless it is cheap"
        if self._is_scattered(node) and self.cost[node] > SELECTED_COST:
            return "all threads compute it before: a scatter takes elements one after the other"
        return None

    def _ends_reduction(self, node: Node) -> bool:
        """True for what is made of a reduction, element by element, which is stored anyway."""
        seen, stack = {node}, [node]
        while stack:
            for operand in stack.pop().operands:
                if operand.shape != node.shape or operand in seen:
                    continue
                if operand in self.reasons and operand.reduces:
                    return True
                if operand in self.cost:
                    seen.add(operand)
                    stack.append(operand)
        return False

    def _is_scattered(self, node: Node) -> bool:
        """True for much that is written, or tells where, element after element."""
        if node.size < GRAIN_ELEMENTS:
            return False
        scatters = [
            u for u in self.used_by[node] if u.op == "scatter" and u.operands[0] is not node
        ]
        return not all(map(has_tallies, scatters))

    def _most_selected(self, node: Node) -> int:
        """What ``node`` may cost where it is computed for elements that are chosen from others.

        Most elements of three slices or more are the middle one's, and computed of that alone.
        """
        choices = [
            w
            for u in self.used_by[node]
            for w in (u, *(self.used_by[u] if u.op == "index" else ()))
            if structure_of(w).is_choice
        ]
        if not choices:
            return _MAX_COST
        slices = all(len(w.operands) > _ENDS for w in choices) and node not in self.fails
        return SLICE_COST if slices else SELECTED_COST
