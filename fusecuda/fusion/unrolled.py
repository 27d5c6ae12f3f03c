"""Reductions of a few elements, written as their combinations in the order of the tree.

A row of three elements is not worth the tree's loops: its sum is two additions, which fuse as any
do. The bits are those of the tree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..graph import build, index_map
from ..graph.dtypes import computed_in
from ..graph.node import Graph, Node, users
from ..graph.passes import RULES, rewrite
from ..graph.structure import structure_of
from ..graph.tree import LANES
from .cost import Machine
from .overlapping import overlapping

FEWEST = 4096  # rows: fewer are not worth a text of their own for each length
BESIDE = 8  # columns side by side, up to which they do not advance together
COMBINE = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum",
    "any": "bitwise_or", "all": "bitwise_and",
}  # fmt: skip


def unrolled(graph: Graph, machine: Machine) -> Graph:
    """``graph`` without reductions of at most ``machine.short`` elements.

    A reduction stays where its rows are needed again as rows: what is broadcast over them,
    computed for something else, too, or made of another reduction.
    """
    nodes = graph.nodes()
    used = users(nodes)
    few = [n for n in nodes if is_combined(n)]
    short = [n for n in few if _is_short(n, machine.short)]
    chosen = {n for n in short if _stands_alone(n, used, graph, short)}
    chosen |= overlapping(few, used, set(graph.outputs), machine.window)
    if not chosen:
        return graph
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        if node in chosen:
            elements = _elements(fresh.operands[0], node.reduction.axes)
            fresh = combined(node, elements, machine.group)
        new[node] = fresh
    return rewrite(graph.with_outputs(tuple([new[o] for o in graph.outputs])), RULES)


def is_combined(node: Node) -> bool:
    """True for a reduction of enough rows that operations on elements can make."""
    return node.op == "reduce" and node.reduction.kind in COMBINE and node.size >= FEWEST


def _is_short(node: Node, most: int) -> bool:
    (operand,) = node.operands
    axes = node.reduction.axes
    if math.prod(operand.shape[max(axes) + 1 :]) > BESIDE:  # columns advance together in any case
        return False
    return 0 < math.prod(operand.shape[a] for a in axes) <= most


def _stands_alone(
    node: Node, used: dict[Node, list[Node]], graph: Graph, short: Sequence[Node]
) -> bool:
    """True if nothing but short reductions needs what the rows of ``node`` are computed of."""
    if _is_broadcast(node, used):
        return False
    outputs = set(graph.outputs)
    (row,) = node.operands
    computed = [row]
    for inner in computed:  # grows
        if inner.op == "reduce":
            return False
        own = inner.is_elementwise and inner.shape == row.shape
        if own and (inner in outputs or any(u not in (*computed, *short) for u in used[inner])):
            return False
        if inner.is_elementwise or structure_of(inner).is_view:
            computed += [o for o in inner.operands if o not in computed]
    return True


def _is_broadcast(node: Node, used: dict[Node, list[Node]]) -> bool:
    """True if ``node`` meets something larger, or rows like its own, which may have one element."""
    (row,) = node.operands
    reached = [node]
    for inner in reached:  # grows
        for user in used.get(inner, ()):
            larger = user.size > node.size
            if user.op not in ("update", "concatenate") and (larger or user.shape == row.shape):
                return True
            if (user.is_elementwise or structure_of(user).is_view) and user not in reached:
                reached.append(user)
    return False


def combined(node: Node, row: Sequence[Node], group: int) -> Node:
    """What the tree makes of the elements of a ``row`` in the reduction ``node``."""
    wider = computed_in(node.dtype)
    elements = [build.convert(e, wider) for e in row]
    starts = range(0, min(len(elements), LANES * group), group)
    lanes = [[elements[i] for i in taken(s, len(elements), group)] for s in starts]
    return finished(node, folded(node, [met(node, lane) for lane in lanes]))


def taken(start: int, count: int, group: int) -> list[int]:
    """Which of ``count`` elements of a chunk the lane takes whose first one is ``start``."""
    firsts = range(start, count, LANES * group)
    return [i for first in firsts for i in range(first, min(first + group, count))]


def met(node: Node, parts: Sequence[Node]) -> Node:
    """``parts``, of the type that the reduction ``node`` computes in, one after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = build.elementwise(COMBINE[node.reduction.kind], [total, part], total.dtype)
    return total


def folded(node: Node, lanes: Sequence[Node]) -> Node:
    """The lanes of a chunk of the reduction ``node``, combined in halves."""
    width = LANES // 2
    while width:
        pairs = itertools.zip_longest(lanes[:width], lanes[width:])
        lanes = [met(node, [p for p in pair if p is not None]) for pair in pairs]
        width //= 2
    (total,) = lanes
    return total


def finished(node: Node, total: Node) -> Node:
    """The result of the reduction ``node``, whose elements make up ``total``."""
    if node.reduction.kind == "sum" and total.dtype.kind in "fc":  # of negative zeros it is +0.0
        total = build.elementwise("add", [total, build.constant(0, total.dtype)], total.dtype)
    return build.convert(_with_line(total, node), node.dtype)


def _with_line(total: Node, node: Node) -> Node:
    return Node(total.op, total.operands, total.shape, total.dtype, total.attr, node.line)


def _elements(operand: Node, axes: Sequence[int]) -> list[Node]:
    """The elements of the rows along ``axes``, in row-major order, each an array of all rows."""
    kept = [a for a in range(len(operand.shape)) if a not in axes]
    shape = tuple(operand.shape[a] for a in kept)
    found = []
    for place in itertools.product(*(range(operand.shape[a]) for a in axes)):
        at = dict(zip(axes, place, strict=True))
        rows = [
            (at[a], 0, None) if a in at else (0, 1, kept.index(a))
            for a in range(len(operand.shape))
        ]
        found.append(picked(operand, index_map.axis_map(rows, len(kept)), shape))
    return found


def picked(node: Node, view: index_map.IndexMap, shape: tuple[int, ...]) -> Node:
    """``node`` seen through ``view``; of a computed node what computes it there."""
    if not node.is_elementwise:
        return build.index(node, view, shape)
    operands = [o if o.shape == () else picked(o, view, shape) for o in node.operands]
    return Node(node.op, tuple(operands), shape, node.dtype, node.attr, node.line)
