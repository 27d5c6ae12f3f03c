"""Reads of an array moved to its later versions, where other elements have been written since.

What reads only elements that edges leave alone was taken to the version before the edges were
written. If it is needed only with others that need the edges, that is no gain, and it may keep the
earlier version alive when the later one is to be written in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Graph, Node, topological, users
from ..graph.passes import are_disjoint


def read_later(graph: Graph) -> Graph:
    """``graph`` in which views show the last version of what they are of that gains nothing."""
    nodes = graph.nodes()
    if sum(n.op == "update" for n in nodes) < 2:
        return graph
    moved = _Later(graph, nodes).moved()
    if not moved:
        return graph
    new: dict[Node, Node] = {}
    for node in topological([*moved.values(), *graph.outputs]):
        operands = (moved[node],) if node in moved else node.operands
        new[node] = node.with_operands(tuple([new[o] for o in operands]))
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


class _Later:
    """One search of a graph for views that may be of later versions."""

    def __init__(self, graph: Graph, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.outputs = set(graph.outputs)
        self.used = users(nodes)
        self.number = {node: i for i, node in enumerate(nodes)}
        self.below: list[int] = []  # for each node, a bit mask of those that it is computed from
        for node in nodes:
            mask = 0
            for operand in node.operands:
                i = self.number[operand]
                mask |= self.below[i] | 1 << i
            self.below.append(mask)

    def moved(self) -> dict[Node, Node]:
        """The views that may be of later versions, each with the last one."""
        found = {}
        for node in self.nodes:
            if node.op == "index" and node not in self.outputs:
                last = self._last(node)
                if last is not node.operands[0]:
                    found[node] = last
        return found

    def _last(self, view: Node) -> Node:
        """The last version of what ``view`` shows that shows it the same, and is needed anyway."""
        (version,) = view.operands
        while True:
            after = [u for u in self.used[version] if u.writes and u.operands[0] is version]
            if len(after) != 1 or not _is_beside(view, after[0]):
                return version
            if not self._is_needed_with(view, after[0]):
                return version
            (version,) = after

    def _is_needed_with(self, view: Node, version: Node) -> bool:
        """True if all that is computed of ``view`` is computed of ``version``, too.

        Not so what is only written into it: such writes may share a kernel with those before.
        """
        seen, stack = {view}, [view]
        while stack:
            node = stack.pop()
            if node is version or node in self.outputs:
                return False
            for user in self.used[node]:
                if user in seen or self._is_computed_of(user, version):
                    continue
                if user.writes:
                    return False
                seen.add(user)
                stack.append(user)
        return True

    def _is_computed_of(self, node: Node, version: Node) -> bool:
        """True if some operand of ``node``, other than what it writes into, needs ``version``."""
        i = self.number[version]
        given = (self.number[o] for o in node.operands[node.writes :])
        return any(n == i or self.below[n] >> i & 1 for n in given)


def _is_beside(view: Node, update: Node) -> bool:
    """True if surely nothing that ``view`` shows is written by ``update``."""
    if update.op != "update":
        return False
    return are_disjoint(view.map, view.shape, update.map, update.operands[1].shape)
