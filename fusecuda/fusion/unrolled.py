"""Reductions of a few elements, written as their combinations in the order of the tree.

A row of three elements is not worth the tree's loops: its sum is two additions, which fuse as any
do. The bits are those of the tree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

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
Used = Mapping[Node, Sequence[Node]]
COMBINE = {
    "sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum",
    "any": "bitwise_or", "all": "bitwise_and",
}  # fmt: skip


def unrolled(graph: Graph, machine: Machine) -> Graph:
    """``graph`` without reductions of at most ``machine.short`` elements, or ``inner`` ones.

    A reduction stays where its rows are needed again as rows: what is broadcast over them,
    computed for something else, too, or made of another reduction.
    """
    nodes = graph.nodes()
    used = users(nodes)
    few = [n for n in nodes if is_combined(n)]
    inner = {n for n in few if _is_short(n, machine.inner) and _is_step(n, used)}
    short = [n for n in few if n in inner or _is_short(n, machine.short)]
    chosen = _alone(short, used, graph)
    chosen |= overlapping(few, used, set(graph.outputs), machine.window)
    if not chosen:
        return graph
    parted = _picked_from(chosen, used, graph)
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        if node in chosen:
            elements = _elements(fresh.operands[0], node.reduction.axes)
            fresh = combined(node, elements, machine.group)
        elif any(o in parted and _is_component(node, o) for o in node.operands):
            fresh = picked(fresh.operands[0], node.map, node.shape)
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


def _is_step(node: Node, used: Used) -> bool:
    """True if ``node`` is made of a reduction, or something reduced or larger is made of it.

    Rows that lie in memory are reduced as they are before their values are.
    """
    later, earlier = [node], [*node.operands]
    for inner in later:  # grows
        users = [u for u in used.get(inner, ()) if u not in later]
        if any(u.op == "index" and u.size > node.size for u in users):
            return True
        if any(u.reduces for u in users) and not _reads_rows(node):
            return True
        later += [u for u in users if u.is_elementwise or structure_of(u).is_view]
    for inner in earlier:  # grows
        if inner.reduces:
            return True
        if inner.is_elementwise or structure_of(inner).is_view:
            earlier += [o for o in inner.operands if o not in earlier]
    return False


def _reads_rows(node: Node) -> bool:
    """True if the rows that ``node`` reduces are memory, which lanes read side by side."""
    (row,) = node.operands
    stack, met = [row], {row}
    while stack:
        inner = stack.pop()
        if inner.op == "parameter" and inner.size >= row.size:
            return True
        if inner.is_elementwise or structure_of(inner).is_view:
            fresh = set(inner.operands) - met
            met |= fresh
            stack += fresh
    return False


def _alone(short: Collection[Node], used: Used, graph: Graph) -> set[Node]:
    """Those of the reductions ``short`` whose rows nothing needs but others of them."""
    found = set(short)
    while True:
        picked = _picked_from(found, used, graph)
        kept = {n for n in found if _stands_alone(n, used, graph, found, picked)}
        if kept == found:
            return found
        found = kept


def _picked_from(short: Collection[Node], used: Used, graph: Graph) -> set[Node]:
    """Values of which single elements of short rows are taken, or that ``short`` reduces."""
    found: set[Node] = set()
    outputs = set(graph.outputs)
    for node in reversed(graph.nodes()):
        if node in outputs or not (node.is_elementwise or node.op == "index"):
            continue
        if all(u in found or u in short or _is_component(u, node) for u in used[node]):
            found.add(node)
    return found


def _is_component(user: Node, node: Node) -> bool:
    """True if ``user`` shows one of the few elements of each row of ``node``."""
    if user.op != "index":
        return False
    rows = zip(user.map.coefs, node.shape, strict=True)
    return any(1 < n <= BESIDE and not any(row) for row, n in rows) and user.size < node.size


def _stands_alone(
    node: Node, used: Used, graph: Graph, short: Collection[Node], picked: Collection[Node]
) -> bool:
    """True if nothing but short reductions needs what the rows of ``node`` are computed of."""
    if _is_broadcast(node, used, picked):
        return False
    outputs = set(graph.outputs)
    (row,) = node.operands
    computed, stack = {row}, [row]
    while stack:
        inner = stack.pop()
        if inner.op == "reduce" and inner not in short:
            return False
        if inner.is_elementwise or structure_of(inner).is_view:
            fresh = set(inner.operands) - computed
            computed |= fresh
            stack += fresh
    known = {*computed, *short, *picked}
    own = [n for n in computed if n.is_elementwise and n.shape == row.shape]
    return all(n not in outputs and known.issuperset(used[n]) for n in own)


def _is_broadcast(node: Node, used: Used, picked: Collection[Node]) -> bool:
    """True if ``node`` meets something larger, or rows like its own, which may have one element.

    What is only ``picked`` from is computed element by element.
    """
    (row,) = node.operands
    reached = [node]
    for inner in reached:  # grows
        for user in used.get(inner, ()):
            rows = user.size > node.size or user.shape == row.shape
            if user.op not in ("update", "concatenate") and rows and user not in picked:
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
    new: dict[Node, Node] = {}
    stack = [node]
    while stack:
        inner = stack[-1]
        computed = inner.is_elementwise
        below = [o for o in inner.operands if o.shape != () and o not in new] if computed else []
        if below:
            stack += below
            continue
        stack.pop()
        operands = tuple([new.get(o, o) for o in inner.operands])
        new[inner] = (
            Node(inner.op, operands, shape, inner.dtype, inner.attr, inner.line)
            if computed
            else build.index(inner, view, shape)
        )
    return new[node]
