"""Motion: views, reshapes and gathers moved towards what they read, so that they cost nothing.

The same elements meet in the same operations; only where they are picked changes.
"""

from __future__ import annotations

from . import build, index_map
from .index_map import IndexMap
from .node import Graph, Node, topological, users
from .ops import OPS


def gather_to_view(node: Node) -> Node | None:
    """A gather at positions that count evenly, all inside, is a view."""
    if node.op != "gather" or node.size == 0:
        return None
    operand, *indices = node.operands
    rank = len(indices[0].shape)
    rows = [progression(i) for i in indices]
    if any(row is None for row in rows):
        return None
    trailing = len(operand.shape) - len(indices)
    total = rank + trailing
    offsets = tuple(row[0] for row in rows if row) + (0,) * trailing
    coefs = [(*row[1], *(0,) * trailing) for row in rows if row]
    coefs += [tuple(int(j == rank + t) for j in range(total)) for t in range(trailing)]
    view = IndexMap(total, offsets, tuple(coefs))
    return build.index(operand, view, node.shape) if view.fits(node.shape, operand.shape) else None


def progression(index: Node) -> tuple[int, tuple[int, ...]] | None:
    """Offset and coefficients of an index that is affine in its own position, else None."""
    if index.op == "constant":
        return int(index.value), ()
    if index.op == "iota":
        return 0, tuple(int(j == index.axis) for j in range(len(index.shape)))
    if index.op == "index":
        below = progression(index.operands[0])
        if below is None:
            return None
        offset, coefs = below
        moved = offset + sum(c * o for c, o in zip(coefs, index.map.offsets, strict=True))
        return moved, tuple(
            sum(c * row[j] for c, row in zip(coefs, index.map.coefs, strict=True))
            for j in range(index.map.rank)
        )
    if index.op in ("add", "multiply") and index.operands[1].op == "constant":
        below = progression(index.operands[0])
        value = int(index.operands[1].value)
        if below is None:
            return None
        if index.op == "add":
            return below[0] + value, below[1]
        return below[0] * value, tuple(c * value for c in below[1])
    return None


def gather_operands(node: Node) -> Node | None:
    """A gather of what few arrays, or many of its elements, are computed of is made on these.

    So what is picked alone is computed, and nothing stored for it. One array must be read at every
    index, so that an index out of range is still found.
    """
    if node.op != "gather" or node.size > node.operands[0].size:
        return None
    operand, *indices = node.operands
    inner = _computed(operand)
    known = set(inner)
    read = {o for n in inner for o in n.operands if o.shape == operand.shape} - known
    if not inner or any(o.op == "iota" for o in read):
        return None
    if len(read) > _FEW and node.size * len(read) > operand.size:
        return None
    picked: dict[Node, Node | None] = {}
    for n in inner:
        operands = [picked[o] if o in known else _pick(o, node, indices) for o in n.operands]
        found = [o for o in operands if o is not None]
        whole = len(found) == len(operands)
        picked[n] = build.elementwise(n.op, found, n.dtype, n.line) if whole else None
    return picked[operand]


_FEW = 2  # arrays that are read here and there as quickly as one
_MOST = 64  # operations that a gather is moved above


def _computed(operand: Node) -> list[Node]:
    """The elementwise operations that ``operand`` is made by, operands first, if not too many."""
    found: dict[Node, None] = {}
    stack = [operand]
    while stack:
        node = stack.pop()
        if not _is_picked_through(node, operand) or node in found:
            continue
        found[node] = None
        if len(found) > _MOST:
            return []
        stack.extend(node.operands)
    return topological([operand], found) if found else []


def _is_picked_through(node: Node, operand: Node) -> bool:
    """True for an operation on whole arrays, of which no element is an error."""
    if not node.is_elementwise or node.shape != operand.shape or OPS[node.op].may_fail:
        return False
    return any(o.shape == operand.shape and o.op != "index" for o in node.operands)


def _pick(operand: Node, node: Node, indices: list[Node]) -> Node | None:
    """What ``node``, a gather, picks of one operand, which may be broadcast; None if unknown."""
    if operand.shape == ():
        return operand
    if operand.op != "index":
        return build.gather(operand, indices, node.line)
    axes = [
        row.index(1) if sum(map(abs, row)) == 1 and 1 in row else -1 for row in operand.map.coefs
    ]
    if -1 in axes or any(operand.map.offsets) or axes != sorted(set(axes)):
        return None
    source = operand.operands[0]
    if any(n != operand.shape[j] for n, j in zip(source.shape, axes, strict=True)):
        return None
    used = [indices[j] for j in axes if j < len(indices)]
    rank = len(indices[0].shape)
    picked = build.gather(source, used, node.line) if used else source
    picked = gather_to_view(picked) or picked
    lead = list(range(rank)) if used else []
    kept = lead + [j - len(indices) + rank for j in axes if j >= len(indices)]
    view = index_map.axis_map([(0, 1, j) for j in kept], len(node.shape))
    return build.index(picked, view, node.shape)


_RESHAPE_LEAVES = frozenset(
    ["parameter", "constant", "reshape", "reduce", "segment", "library", "update", "gather"]
)


def drop_overwritten(graph: Graph) -> Graph:
    """Without the updates that only the next update of the same region sees: it hides them."""
    nodes = graph.nodes()
    used_by = users(nodes)
    new: dict[Node, Node] = {}
    for node in nodes:
        operands = tuple(new[o] for o in node.operands)
        if node.op == "update":
            old, value = node.operands
            hidden = (
                old.op == "update"
                and used_by[old] == [node]
                and old.map == node.map
                and old.operands[1].shape == value.shape
                and old not in graph.outputs
            )
            if hidden and value is not old:
                operands = (new[old].operands[0], operands[1])
        new[node] = node.with_operands(operands)
    return graph.with_outputs(tuple(new[o] for o in graph.outputs))


def move_reshapes(graph: Graph) -> Graph:
    """Reshapes that merge axes are moved above the elementwise ops that only they use.

    The same elements meet in the same operations; only the shape in which they are counted changes.
    """
    nodes = graph.nodes()
    used_by = users(nodes)
    outputs = set(graph.outputs)
    new: dict[Node, Node] = {}
    for node in nodes:
        if node.op == "reshape" and node.size:
            region = _movable(node, used_by, outputs)
            if region:
                new[node] = _rebuild(node, region, new)
                continue
        new[node] = node.with_operands(tuple(new[o] for o in node.operands))
    return graph.with_outputs(tuple(new[o] for o in graph.outputs))


def _movable(
    reshape: Node, used_by: dict[Node, list[Node]], outputs: set[Node]
) -> list[Node] | None:
    """The elementwise nodes that ``reshape`` may pass, operands first, or None if it may not."""
    (top,) = reshape.operands
    if index_map.split_axes(top.shape, reshape.shape) is not None:
        return None
    region: set[Node] = set()
    stack = [top]
    while stack:
        node = stack.pop()
        if node.op in _RESHAPE_LEAVES or node.shape == () or node in region:
            continue
        private = all(u is reshape or u in region for u in used_by[node])
        if not node.is_elementwise or node in outputs or not private:
            return None
        region.add(node)
        stack.extend(node.operands)
    return topological([top], region) if region else None


def _rebuild(reshape: Node, region: list[Node], new: dict[Node, Node]) -> Node:
    moved: dict[Node, Node] = {}
    for node in region:
        operands = tuple(
            moved.get(o) or (new[o] if o.shape == () else build.reshape(new[o], reshape.shape))
            for o in node.operands
        )
        moved[node] = Node(node.op, operands, reshape.shape, node.dtype, node.attr, node.line)
    return moved[region[-1]]
