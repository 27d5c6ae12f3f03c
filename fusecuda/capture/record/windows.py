"""Windows: a graph seen on the parts of its arrays that it touches.

A loop that writes ``history[i]`` or reads ``rows[i : i + n]`` records another index at each step.
On the window that it touches, the graph is the same each time, and so is its plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...graph.index_map import IndexMap, Shape
from ...graph.node import Node, topological
from .leaf import Leaf

_VIEWS, _VIEWED = frozenset(("index", "update")), frozenset(("parameter", "update"))
Box = tuple[tuple[int, int], ...]  # for each axis the first index and the one behind the last


def windowed(
    outputs: Sequence[Node], own: Sequence[Leaf | None]
) -> tuple[Sequence[Node], Sequence[Leaf | None]]:
    """``outputs`` and ``own`` with each array that is touched in part replaced by that part.

    A part has fewer rows, or one index along another axis.
    """
    nodes = topological(outputs)
    views = any(n.op in _VIEWS and n.operands[0].op in _VIEWED for n in nodes)
    boxes = _boxes(nodes, outputs, own) if views else {}
    if not boxes:
        return outputs, own
    parts: dict[int, Leaf] = {}
    new: dict[Node, Node] = {}
    inside: dict[Node, Box] = {}  # the versions of arrays that are seen in part
    for node in nodes:
        if isinstance(node, Leaf):
            new[node] = _part(node, boxes, parts)
            if new[node] is not node:
                inside[node] = boxes[id(node.array)]
            continue
        operands = tuple([new[o] for o in node.operands])
        box = inside.get(node.operands[0]) if node.op in ("index", "update") else None
        if box is not None:
            new[node] = _moved(node, operands, box)
            if node.op == "update":
                inside[node] = box
        elif operands == node.operands:
            new[node] = node
        else:
            new[node] = node.with_operands(operands)
    ours = [None if o is None else _part(o, boxes, parts) for o in own]
    return [new[o] for o in outputs], ours


def _boxes(
    nodes: Sequence[Node], outputs: Sequence[Node], own: Sequence[Leaf | None]
) -> dict[int, Box]:
    """The window of each array, by its identity, that is smaller than the array."""
    version: dict[Node, Leaf] = {}  # the array that a node is a version of
    touched: dict[int, list[tuple[IndexMap, Shape]]] = {}
    whole: set[int] = set()
    for node in nodes:
        if isinstance(node, Leaf):
            if not node.parameter.scalar:
                version[node] = node
            continue
        seen: Sequence[Node] = node.operands
        if node.op in ("index", "update") and seen[0] in version:
            base, shape = version[seen[0]], node.shape
            if node.op == "update":
                version[node], shape = base, seen[1].shape
            touched.setdefault(id(base.array), []).append((node.map, shape))
            seen = seen[1:]
        whole.update(id(version[o].array) for o in seen if o in version)
    for output, leaf in zip(outputs, own, strict=True):
        base_of = version.get(output)
        if base_of is None or leaf is None or base_of.array is not leaf.array:
            whole.update(id(other.array) for other in (leaf, base_of) if other is not None)
    found = {}
    for base in {id(b.array): b for b in version.values()}.values():
        key = id(base.array)
        if key not in whole and key in touched:
            box = _box(base.shape, touched[key])
            if box != tuple((0, n) for n in base.shape):
                found[key] = box
    return found


def _box(extents: Shape, accesses: Sequence[tuple[IndexMap, Shape]]) -> Box:
    """The smallest range of rows, and along other axes the only index, that hold the accesses."""
    if any(0 in shape for _, shape in accesses):
        return tuple((0, n) for n in extents)
    box = []
    for axis, extent in enumerate(extents):
        low, high = extent, 0
        for view, shape in accesses:  # from the lowest to the highest index
            steps = [c * (n - 1) for c, n in zip(view.coefs[axis], shape, strict=True)]
            offset = view.offsets[axis]
            low = min(low, offset + sum(min(s, 0) for s in steps))
            high = max(high, offset + sum(max(s, 0) for s in steps) + 1)
        box.append((low, high) if axis == 0 or high - low == 1 else (0, extent))
    return tuple(box)


def _part(leaf: Leaf, boxes: dict[int, Box], parts: dict[int, Leaf]) -> Leaf:
    """The leaf of the window of an array, one for each array; ``leaf`` itself if there is none."""
    box = None if leaf.parameter.scalar else boxes.get(id(leaf.array))
    if box is None:
        return leaf
    part = parts.get(id(leaf.array))
    if part is None:
        window = tuple([slice(low, high) for low, high in box])
        array: Any = leaf.array[window]
        source = leaf.array, window
        part = parts[id(leaf.array)] = Leaf(array, array.shape, leaf.dtype, source=source)
    return part


def _moved(node: Node, operands: tuple[Node, ...], box: Box) -> Node:
    """An index or update node on the window ``box`` of its array."""
    offsets = tuple(o - low for o, (low, _) in zip(node.map.offsets, box, strict=True))
    shape = operands[0].shape if node.op == "update" else node.shape
    view = dataclasses.replace(node.map, offsets=offsets)
    return Node(node.op, operands, shape, node.dtype, view, node.line)
