"""What is put together of parts: parts are written to their places, and nothing before them.

``np.stack`` of computed arrays, and ``out = np.empty(…)`` with ``out[k] = …`` for each ``k``, are
one kernel with a store for each part, if the parts are alike in shape. ``out = np.zeros(…)`` with
``out[1:-1] = …`` is a frame around a value, which is computed where it is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

from ..graph import build
from ..graph.index_map import axis_map
from ..graph.node import Graph, Node, users
from ..graph.passes import are_disjoint
from .cost import SELECTED_COST, op_cost
from .overwriting import Place, place_of
from .region import Roots

_SHORT = 64  # elements of a line, below which to test where it lies costs more than a launch,
_LITTLE = 1 << 14  # of arrays with more elements than that
_MOST = 240  # places that are compared with one another


def placed(graph: Graph) -> Graph:
    """``graph`` with concatenates of costly parts, all of one shape, as updates of an array.

    What is written to a part of an array of one value is framed by that value.
    """
    nodes = graph.nodes()
    cost, used, outputs = _costs(nodes), users(nodes), set(graph.outputs)
    chosen: dict[Node, Callable[[Node], Node]] = {}
    for node in nodes:
        if _is_worth_it(node, cost) and _is_stored(node, used[node], outputs):
            chosen[node] = _updates
        elif _is_in_one_value(node) and not _is_overwritten(node.operands[0], used, outputs):
            cheap = cost[node.operands[1]] <= SELECTED_COST
            if cheap or not _is_stored(node, used[node], outputs):
                chosen[node] = _framed
    if not chosen:
        return graph
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        new[node] = chosen[node](fresh) if node in chosen else fresh
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def _costs(nodes: list[Node]) -> dict[Node, int]:
    """What an element of each node costs, with the elementwise operations that lead to it."""
    cost: dict[Node, int] = {}
    for node in nodes:
        inlined = node.is_elementwise or node.op in ("index", "gather")
        below = sum(cost[o] for o in node.operands) if inlined else 0
        cost[node] = min(op_cost(node) + below, SELECTED_COST + 1)
    return cost


def _is_worth_it(node: Node, cost: dict[Node, int]) -> bool:
    if node.op != "concatenate" or len({part.shape for part in node.operands}) > 1:
        return False
    line = min(math.prod(node.operands[0].shape[node.axis :]), node.shape[-1])
    if line < _SHORT and node.size > _LITTLE and len(node.operands) > 1:
        return True
    return any(cost[p] > SELECTED_COST and _is_computed(p) for p in node.operands)


def _is_stored(node: Node, used: list[Node], outputs: set[Node]) -> bool:
    """True for what needs memory of its own, whatever kernels there are."""
    whole = ("library", "reshape", "update", "scatter")
    return node in outputs or any(
        u.op in whole or (u.op == "gather" and u.operands[0] is node) for u in used
    )


def _is_computed(part: Node) -> bool:
    """True for a value that no kernel has to store first, whatever its axes are called."""
    if part.op == "index" and part.size == part.operands[0].size:
        part = part.operands[0]
    return part.is_elementwise


def _updates(node: Node) -> Node:
    """The ``concatenate`` as an array into which each part is written."""
    made = build.broadcast_to(build.constant(0, node.dtype), node.shape)
    start = 0
    for part in node.operands:
        value, rows = _without_units(part)
        rows[node.axis] = (start + rows[node.axis][0], *rows[node.axis][1:])
        place = axis_map(rows, len(value.shape))
        made = Node("update", (made, value), node.shape, node.dtype, place, node.line)
        start += part.shape[node.axis]
    return made


def _without_units(part: Node) -> tuple[Node, list[tuple[int, int, int]]]:
    """``part`` without axes of extent 1, as it was computed, and the rows of its map."""
    rank = len(part.shape)
    kept = [a for a, n in enumerate(part.shape) if n != 1]
    if len(kept) == rank or not kept:
        return part, [(0, 1, a) for a in range(rank)]
    rows = [(0, 1, kept.index(a)) if a in kept else (0, 0, 0) for a in range(rank)]
    shape = tuple(part.shape[a] for a in kept)
    return build.index(part, axis_map(rows, len(kept)), shape), rows


def _is_in_one_value(node: Node) -> bool:
    """True for an update of a box in an array of one value, however its axes are turned."""
    if node.size > _LITTLE and node.shape[-1] < _SHORT:
        return False
    if node.op != "update" or node.operands[0].op != "index" or node.operands[0].operands[0].shape:
        return False
    rows = [[(j, step) for j, step in enumerate(row) if step] for row in node.map.coefs]
    steps = [found for row in rows for found in row]
    return max(map(len, rows)) < 2 and sorted(steps) == [(j, 1) for j in range(node.map.rank)]


def _framed(node: Node) -> Node:
    """The ``update`` as its value with the array's one value around it."""
    array, value = node.operands
    at = {row.index(1): a for a, row in enumerate(node.map.coefs) if 1 in row}
    rank = len(node.shape)
    shape = tuple(value.shape[row.index(1)] if 1 in row else 1 for row in node.map.coefs)
    turned = build.index(value, axis_map([(0, 1, at[j]) for j in sorted(at)], rank), shape)
    ends = zip(node.map.offsets, shape, node.shape, strict=True)
    return build.pad(turned, array.operands[0], tuple((o, n - o - k) for o, k, n in ends))


def never_seen(graph: Graph, roots: Roots) -> set[Node]:
    """Values of new memory of which each element is overwritten before anybody reads it."""
    used = users(graph.nodes())
    outputs = set(graph.outputs)
    return {r for r in roots if r.op == "index" and _is_overwritten(r, used, outputs)}


def _is_overwritten(node: Node, used: dict[Node, list[Node]], outputs: set[Node]) -> bool:
    left, version = node.size, node
    places: list[Place] = []
    while left > 0 and version not in outputs and len(places) < _MOST:
        later = used[version]
        if len(later) != 1 or later[0].op != "update" or later[0].operands[1] is version:
            return False
        (version,) = later
        places.append(place_of(version))
        left -= version.operands[1].size
    if left or not places:
        return False
    apart = all(are_disjoint(*one[:2], *other[:2]) for one, other in combinations(places, 2))
    return apart and all(place.at.is_injective(place.over) for place in places)
