"""Reading back: what has been written to an array is read there by whoever has to wait for it.

Where another step of ``u`` comes behind ``u[1:-1] = v``, it reads what lies around an element in
``u``, and ``v`` itself. It is a kernel of its own, which would have ``v`` stored twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..graph import build
from ..graph.node import Graph, Node, users

Taken = dict[tuple[Node, Node], Node]  # who reads a value: the update that has written it


def read_back(graph: Graph) -> Graph:
    """``graph`` with reads of what an update has written for other uses of its value.

    That is where all that comes of such a use needs the update anyway.
    """
    nodes = graph.nodes()
    used = users(nodes)
    updates = [n for n in nodes if n.op == "update" and _is_kept_for_others(n, used, graph)]
    if not updates:
        return graph
    taken = _taken(nodes, used, updates, graph)
    return graph.with_outputs(_rebuilt(graph.outputs, taken)) if taken else graph


def _is_kept_for_others(update: Node, used: Mapping[Node, Sequence[Node]], graph: Graph) -> bool:
    value = update.operands[1]
    if value.size == 1:  # a number is computed again where it is used
        return False
    return value.is_elementwise and len(used[value]) > 1 and value not in graph.outputs


def _taken(
    nodes: Sequence[Node],
    used: Mapping[Node, Sequence[Node]],
    updates: Sequence[Node],
    graph: Graph,
) -> Taken:
    """Who is to read back what, for each that may; sets of ``updates`` are bit masks."""
    own = {update: 1 << i for i, update in enumerate(updates)}
    needs: dict[Node, int] = {}  # the updates of which something is read for each node
    seen: dict[Node, int] = {}  # those that an array has had
    for node in nodes:
        mask = 0
        for place, operand in enumerate(node.operands):
            goes_on = node.op == "update" and not place  # others' elements may share its kernel
            mask |= needs[operand] | (0 if goes_on else seen.get(operand, 0))
        needs[node] = mask
        if node.op == "update":
            seen[node] = own.get(node, 0) | seen.get(node.operands[0], 0)
    waits: dict[Node, int] = {}  # those before all that comes of it, itself apart
    for node in reversed(nodes):
        mask = 0 if node in graph.outputs or not used[node] else -1
        for user in used[node]:
            mask &= waits[user]
        waits[node] = (needs[node] | mask) & ~own.get(node, 0)
    found: Taken = {}
    for update in updates:
        value = update.operands[1]
        for user in used[value]:
            if user is not update and waits[user] & own[update]:
                found.setdefault((user, value), update)
    return found


def _rebuilt(outputs: Sequence[Node], taken: Taken) -> tuple[Node, ...]:
    """The ``outputs`` where those read back who have ``taken`` to it."""
    new: dict[Node, Node] = {}
    stack = [*outputs]
    while stack:
        node = stack[-1]
        if node in new:
            stack.pop()
            continue
        sources = [taken.get((node, operand), operand) for operand in node.operands]
        missing = [source for source in sources if source not in new]
        if missing:
            stack += missing
            continue
        stack.pop()
        operands = [
            new[operand] if source is operand else _read(new[source], source)
            for operand, source in zip(node.operands, sources, strict=True)
        ]
        new[node] = node.with_operands(tuple(operands))
    return tuple([new[output] for output in outputs])


def _read(fresh: Node, update: Node) -> Node:
    """What the ``fresh`` copy of an ``update`` has written."""
    value = update.operands[1]
    return build.index(fresh, update.map, value.shape)
