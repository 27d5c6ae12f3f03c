"""Repeats: what is computed of repeated elements is computed before these are counted on.

``np.repeat``, ``np.tile`` and blocks of equal values are broadcasts whose axes are merged. Merged
they need memory, so what is computed of them is computed over the axes as they were, and merged in
turn: a result's memory is the same under both shapes. The same elements meet in the same
operations.
"""

from __future__ import annotations

from dataclasses import replace

from . import build
from .index_map import axis_map, split_axes
from .node import Graph, Node


def merge_later(graph: Graph) -> Graph:
    """``graph`` with the merging of broadcast axes behind elementwise operations."""
    new: dict[Node, Node] = {}
    merged: set[Node] = set()
    for node in graph.nodes():
        made = node.with_operands(tuple([new[o] for o in node.operands]))
        later = _elementwise(made, merged) or _broadcast(made, merged) or _reduction(made, merged)
        if later is not None:
            merged.update((later,) if later.op == "reshape" else ())
        elif made.op == "reshape" and (
            _needs_memory(made.operands[0]) or made.operands[0] in merged
        ):
            made = build.reshape(made.operands[0], made.shape)
            if made.op == "reshape":  # and not back to the axes that it had
                splits = split_axes(made.shape, made.operands[0].shape) is not None
                merged.update((made,) if splits else ())
        new[node] = later or made
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def _needs_memory(node: Node) -> bool:
    """True for what is computed, and for elements that are broadcast along some axis."""
    if node.is_elementwise and node.shape and node.size:
        return True
    if node.op != "index" or node.operands[0].shape == () or not node.size:
        return False
    return any(n > 1 and not node.map.uses_axis(j) for j, n in enumerate(node.shape))


def _elementwise(node: Node, merged: set[Node]) -> Node | None:
    """An operation on what is merged, over the axes that it had before, and merged then."""
    if not node.is_elementwise:
        return None
    shapes = {o.operands[0].shape for o in node.operands if o in merged}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    view = split_axes(node.shape, shape)
    if view is None:
        return None
    operands = [
        o if o.shape == () else o.operands[0] if o in merged else build.index(o, view, shape)
        for o in node.operands
    ]
    inner = Node(node.op, tuple(operands), shape, node.dtype, node.attr, node.line)
    return build.reshape(inner, node.shape)


def _broadcast(node: Node, merged: set[Node]) -> Node | None:
    """What is merged with further axes, as a broadcast of it before it is merged."""
    if node.op != "index" or node.operands[0] not in merged or not node.size:
        return None
    (whole,) = node.operands
    (inner,) = whole.operands
    groups = split_axes(whole.shape, inner.shape)
    assert groups is not None
    walked = [a for a, n in enumerate(whole.shape) if n != 1]
    places = [_only_axis(node, a) for a in walked]
    if None in places or len(set(places)) < len(places):
        return None
    shape: list[int] = []
    rows: list[tuple[int, int, int | None]] = [(0, 0, None)] * len(inner.shape)
    for j, extent in enumerate(node.shape):
        if j not in places:
            shape.append(extent)
            continue
        for axis, step in enumerate(groups.coefs[walked[places.index(j)]]):
            if step:
                rows[axis] = (0, 1, len(shape))
                shape.append(inner.shape[axis])
    return build.reshape(build.index(inner, axis_map(rows, len(shape)), tuple(shape)), node.shape)


def _reduction(node: Node, merged: set[Node]) -> Node | None:
    """A reduction of what is merged, along the axes that it had: its rows are the same."""
    if node.op != "reduce" or node.operands[0] not in merged:
        return None
    (whole,) = node.operands
    (inner,) = whole.operands
    groups = split_axes(whole.shape, inner.shape)
    assert groups is not None
    steps = [groups.coefs[a] for a in node.reduction.axes]
    axes = tuple(axis for row in steps for axis, step in enumerate(row) if step)
    if not axes or not all(map(any, steps)):
        return None
    shape = tuple(n for axis, n in enumerate(inner.shape) if axis not in axes)
    attr = replace(node.reduction, axes=axes)
    return build.reshape(Node("reduce", (inner,), shape, node.dtype, attr, node.line), node.shape)


def _only_axis(node: Node, axis: int) -> int | None:
    """The axis of the view ``node`` that walks all of its operand's ``axis``, and nothing else."""
    steps = [(j, step) for j, step in enumerate(node.map.coefs[axis]) if step]
    if len(steps) != 1 or node.map.offsets[axis]:
        return None
    ((j, step),) = steps
    return j if step == 1 and node.shape[j] == node.operands[0].shape[axis] else None
