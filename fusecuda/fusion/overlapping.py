"""Windows that overlap: reductions whose neighbours share most of their elements.

A sliding window of twenty elements is read twenty times, by as many results. Row by row that is a
short loop for each of them; as twenty shifted reads it is one loop over all results, and what
follows a window fuses with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from ..graph.node import Node
from .cost import op_cost


def overlapping(
    candidates: Collection[Node],
    used: Mapping[Node, Sequence[Node]],
    outputs: Collection[Node],
    window: int,
) -> set[Node]:
    """Those of the reductions ``candidates`` of windows that overlap which are worth unrolling.

    That is where they cost at most ``window`` additions.
    """

    def is_short(node: Node, cost: int) -> bool:
        (row,) = node.operands
        elements = math.prod(row.shape[a] for a in node.reduction.axes)
        return elements * (2 + cost) <= window  # it is read and combined, too

    return alone({node for node in candidates if _overlaps(node)}, used, outputs, is_short)


def alone(
    found: set[Node],
    used: Mapping[Node, Sequence[Node]],
    outputs: Collection[Node],
    is_wanted: Callable[[Node, int], bool] = lambda node, cost: True,
) -> set[Node]:
    """Those of ``found`` which alone need what is computed in the shape of their rows.

    Of a deviation, both the mean and the sum of squares are among them, or neither is. A reduction
    ``is_wanted`` for what an element costs that is computed in that shape.
    """
    while True:
        kept = set()
        for node in found:
            computed = _computed(node.operands[0], used)
            inside = {*computed, *found}
            own = all(inner not in outputs and inside.issuperset(used[inner]) for inner in computed)
            if own and is_wanted(node, sum(map(op_cost, computed))):
                kept.add(node)
        if kept == found:
            return found
        found = kept


def _computed(row: Node, used: Mapping[Node, Sequence[Node]]) -> set[Node]:
    """All that is computed of ``row``, with what that is computed of, in its shape."""
    seen, stack = {row}, [row]
    while stack:
        inner = stack.pop()
        near = [n for n in (*inner.operands, *used.get(inner, ())) if n.shape == row.shape]
        fresh = {n for n in near if n.is_elementwise or n.op == "index"} - seen
        if not inner.is_elementwise:  # what it is a view of is not looked at
            fresh -= set(inner.operands)
        seen |= fresh
        stack += fresh
    return {n for n in seen if n.is_elementwise}


def _overlaps(node: Node) -> bool:
    """True if what ``node`` combines reads elements that its neighbours read, too."""
    (row,) = node.operands
    return any(_shares(view, node.reduction.axes) for view in views_below(row))


def views_below(row: Node) -> list[Node]:
    """What the elementwise operations of the shape of ``row`` that it is made by are given."""
    seen, stack, found = {row}, [row], []
    while stack:
        inner = stack.pop()
        if not inner.is_elementwise:
            found.append(inner)
            continue
        fresh = {o for o in inner.operands if o.shape == row.shape} - seen
        seen |= fresh
        stack += fresh
    return found


def _shares(view: Node, axes: Collection[int]) -> bool:
    """True if a step along some other axis leads where steps along ``axes`` lead."""
    if view.op != "index":
        return False
    long = [j for j, n in enumerate(view.shape) if n > 1]
    for row in view.map.coefs:
        reach = sum(abs(row[j]) * (view.shape[j] - 1) for j in long if j in axes)
        steps = [abs(row[j]) for j in long if j not in axes and row[j]]
        if steps and min(steps) <= reach:
            return True
    return False
