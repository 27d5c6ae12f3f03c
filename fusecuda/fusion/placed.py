"""What is put together of parts: parts are written to their places, and nothing before them.

``np.stack`` of computed arrays, and ``out = np.empty(…)`` with ``out[k] = …`` for each ``k``, are
one kernel with a store for each part, if the parts are alike in shape. ``out = np.zeros(…)`` with
``out[1:-1] = …`` is a frame around a value, which is computed where it is read; so is what slices
along one axis make up, as in ``np.gradient``, and ``out = u.copy()`` with ``out[1:-1] = …``, which
would be copied only to be overwritten. So are the edges of what was computed, with what is cheap
written to them: ``h = x * 2`` with ``h[0] = h[:, -1] = 0``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, combinations

from ..graph import build
from ..graph.index_map import Shape, axis_map
from ..graph.node import Graph, Node, topological, users
from ..graph.passes import are_disjoint
from ..graph.structure import structure_of
from .cone import Roots
from .cost import SELECTED_COST, op_cost
from .overwriting import Place, place_of

_SHORT = 64  # elements of a line, below which to test where it lies costs more than a launch,
_LITTLE = 1 << 14  # of arrays with more elements than that
_MOST = 240  # places that are compared with one another


def placed(graph: Graph) -> Graph:
    """``graph`` with concatenates of costly parts, all of one shape, as updates of an array.

    What is written to a part of an array of one value is framed by that value.
    """
    graph = _read_last(graph)
    nodes = graph.nodes()
    cost, used, outputs = costs(nodes), users(nodes), set(graph.outputs)
    edged = _edged(graph, nodes, cost, used)
    chosen: dict[Node, Callable[[Node], Node]] = {}
    joined: dict[Node, list[Node]] = {}
    for node in nodes:
        if is_joined_apart(node, cost, True) and _is_stored(node, used[node], outputs):
            chosen[node] = _updates
        elif node in edged:
            chosen[node] = _chosen_among
        elif _is_in_one_value(node) and not _is_overwritten(node.operands[0], used, outputs):
            cheap = cost[node.operands[1]] <= SELECTED_COST
            if cheap or not _is_stored(node, used[node], outputs):
                chosen[node] = _framed
        elif _is_of_kept(node, graph) and _is_chosen_cheaply(node, cost):
            chosen[node] = _chosen_among
        elif node.op == "update" and not _is_stored(node, used[node], outputs):
            parts = _slices(node)
            if parts is not None and all(len(used[p]) == 1 for p in parts[1:]):
                joined[node] = parts
    if not chosen and not joined:
        return graph
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        if node in joined:
            axis = axis_of(node)
            parts = sorted(joined[node], key=lambda u: u.map.offsets[axis])
            fresh = build.concatenate([turned(u, new[u.operands[1]]) for u in parts], axis)
        new[node] = chosen[node](fresh) if node in chosen else fresh
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


def costs(nodes: Sequence[Node]) -> dict[Node, int]:
    """What an element of each node costs, with the elementwise operations that lead to it."""
    cost: dict[Node, int] = {}
    for node in nodes:
        inlined = node.is_elementwise or node.op == "index" or structure_of(node).looks_up
        below = sum(cost[o] for o in node.operands) if inlined else 0
        cost[node] = min(op_cost(node) + below, SELECTED_COST + 1)
    return cost


def is_joined_apart(node: Node, cost: dict[Node, int], blocks: bool = False) -> bool:
    """True for a concatenate whose parts, all of one shape, are better written than chosen from.

    Of ``blocks`` parts that are concatenates are parts of their own.
    """
    if node.op != "concatenate":
        return False
    parts = [part for part, _ in _parts(node)] if blocks else [*node.operands]
    if len({part.shape for part in parts}) > 1:
        return False
    line = min(math.prod(parts[0].shape[node.axis :]), node.shape[-1])
    if line < _SHORT and node.size > _LITTLE and len(parts) > 1:
        return True
    if any(cost[p] > SELECTED_COST and _is_computed(p) for p in parts):
        return True
    return blocks and any(_chosen_cost(o, cost) > SELECTED_COST for o in node.operands)


def _chosen_cost(part: Node, cost: dict[Node, int]) -> int:
    """What an element of ``part`` costs, with all that those of a concatenate are chosen from."""
    if part.op != "concatenate":
        return 0
    return op_cost(part) + sum(_chosen_cost(o, cost) or cost[o] for o in part.operands)


def _parts(node: Node) -> list[tuple[Node, list[int]]]:
    """What the concatenate ``node`` is put together of, and where each part starts.

    Parts that are concatenates, as rows of ``np.block``, are taken apart, too.
    """
    found, start = [], 0
    for part in node.operands:
        inner = _parts(part) if part.op == "concatenate" else [(part, [0] * len(part.shape))]
        found += [
            (leaf, [s + start * (a == node.axis) for a, s in enumerate(at)]) for leaf, at in inner
        ]
        start += part.shape[node.axis]
    return found


def _is_stored(node: Node, used: list[Node], outputs: set[Node]) -> bool:
    """True for what needs memory of its own, whatever kernels there are."""
    whole = ("library", "reshape", "update", "scatter")
    return node in outputs or any(
        u.op in whole or (structure_of(u).looks_up and u.operands[0] is node) for u in used
    )


def _is_computed(part: Node) -> bool:
    """True for a value that no kernel has to store first, whatever its axes are called."""
    if part.op == "index" and part.size == part.operands[0].size:
        part = part.operands[0]
    return part.is_elementwise


def _updates(node: Node) -> Node:
    """The ``concatenate`` as an array into which each part is written."""
    made = build.broadcast_to(build.constant(0, node.dtype), node.shape)
    for part, starts in _parts(node):
        value, rows = _without_units(part)
        place = axis_map(rows, len(value.shape)).moved(starts)
        made = Node("update", (made, value), node.shape, node.dtype, place, node.line)
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
    if not _has_lines(node):
        return False
    if node.op != "update" or node.operands[0].op != "index" or node.operands[0].operands[0].shape:
        return False
    return is_of_box(node)


def _has_lines(node: Node) -> bool:
    """True unless to test at each element where it lies costs more than a launch."""
    return node.size <= _LITTLE or node.shape[-1] >= _SHORT


def is_of_box(node: Node) -> bool:
    """True for an update of elements side by side, however its axes are turned; not of a number."""
    rows = [[(j, step) for j, step in enumerate(row) if step] for row in node.map.coefs]
    steps = sorted(found for row in rows for found in row)
    alone = max(map(len, rows), default=2) < 2
    return alone and steps == [(j, 1) for j in range(node.map.rank)]


def _framed(node: Node) -> Node:
    """The ``update`` as its value with the array's one value around it."""
    value = turned(node, node.operands[1])
    ends = zip(node.map.offsets, value.shape, node.shape, strict=True)
    widths = tuple((o, n - o - k) for o, k, n in ends)
    return build.pad(value, node.operands[0].operands[0], widths)


def _is_of_kept(node: Node, graph: Graph) -> bool:
    """True for an update of a box in an argument that stays as it is: it would be copied first."""
    if node.op != "update" or not _has_lines(node) or not is_of_box(node):
        return False
    (old, value) = node.operands
    if value.op == "library" or value.size == 0:  # a scatter goes on in the copy
        return False
    return old.op == "parameter" and old.parameter.number not in graph.written


def _edged(
    graph: Graph, nodes: Sequence[Node], cost: Mapping[Node, int], used: dict[Node, list[Node]]
) -> set[Node]:
    """Updates, with what is cheap, of slices of what is computed, which nobody sees without them.

    What is dear is computed once where slices end it; others would have it on both sides.
    """
    outputs, chosen = set(graph.outputs), set[Node]()
    before: dict[Node, list[Node]] = {}  # the updates that a version is made by
    for node in nodes:
        if node.op != "update" or not _is_cheap_slice(node, cost):
            continue
        (old, _) = node.operands
        kept = old.op == "parameter" and old.parameter.number not in graph.written
        alone = kept or (used[old] == [node] and old not in outputs)
        known = old in before or kept or old.op == "index" or old.is_elementwise
        dear = cost[before.get(old, [node])[0].operands[0]] > SELECTED_COST
        if not alone or not known or (dear and not _is_at_an_end(node)):
            continue
        before[node] = [*before.get(old, ()), node]
        few = len(before[node]) <= max(_SLICES, _ENDS * len(node.shape))
        long = node.size <= _LITTLE or len(before[node]) * _SHORT <= _ENDS * node.shape[-1]
        stored = _is_stored(node, used[node], outputs) or _is_chosen_from(node, used)
        if few and long and not stored and _slices(node) is None:
            chosen.update(before[node])
    return chosen


def _is_chosen_from(node: Node, used: Mapping[Node, Sequence[Node]]) -> bool:
    """True if something is put together of parts of ``node``, as what is rolled is."""
    readers = {w for u in used[node] for w in (u, *(used[u] if u.op == "index" else ()))}
    return any(structure_of(reader).is_choice for reader in readers)


def _is_cheap_slice(node: Node, cost: Mapping[Node, int]) -> bool:
    """True for an update, with what is cheap, of a part along one axis."""
    value = node.operands[1]
    if value.op == "library" or not value.size or cost[value] > SELECTED_COST:
        return False
    parts = [k for k, n in zip(box(node), node.shape, strict=True) if k != n]
    return _has_lines(node) and is_of_box(node) and len(parts) == 1


def _is_at_an_end(node: Node) -> bool:
    """True for an update of the first or the last elements along an axis."""
    axis = axis_of(node)
    return node.map.offsets[axis] in (0, node.shape[axis] - box(node)[axis])


def _is_chosen_cheaply(node: Node, cost: Mapping[Node, int]) -> bool:
    """True if choosing between what is written and what was there costs less than a copy."""
    value = node.operands[1]
    if cost[value] <= SELECTED_COST:
        return True
    ends = zip(node.map.offsets, box(node), node.shape, strict=True)
    return _is_computed(value) and all(0 < low < n - k or k == n for low, k, n in ends)


def _chosen_among(node: Node) -> Node:
    """The ``update`` as slices, along each axis, of what was there and of what is written."""
    old, value = node.operands
    made = turned(node, value)
    starts = list(node.map.offsets)
    for axis in reversed(range(len(node.shape))):
        low, high, end = starts[axis], starts[axis] + made.shape[axis], node.shape[axis]
        before, after = (_slice(old, starts, made.shape, axis, *e) for e in ((0, low), (high, end)))
        made = build.concatenate([*before, made, *after], axis)
        starts[axis] = 0
    return made


def _slice(
    old: Node, starts: Sequence[int], shape: Shape, axis: int, begin: int, end: int
) -> list[Node]:
    """The elements of ``old`` from ``starts`` on, in ``shape`` but for a range along ``axis``.

    Of what slices along that axis make up already they are parts of its slices.
    """
    if begin >= end:
        return []
    if old.op == "concatenate" and old.axis == axis:
        ends = [0, *accumulate(part.shape[axis] for part in old.operands)]
        parts = [
            _slice(part, starts, shape, axis, max(begin - first, 0), min(end, last) - first)
            for part, first, last in zip(old.operands, ends, ends[1:], strict=False)
        ]
        return [piece for pieces in parts for piece in pieces]
    at = [begin if a == axis else start for a, start in enumerate(starts)]
    view = axis_map([(start, 1, a) for a, start in enumerate(at)], len(shape))
    return [build.index(old, view, (*shape[:axis], end - begin, *shape[axis + 1 :]))]


def turned(node: Node, value: Node) -> Node:
    """The ``value`` of the update of a box, with the axes of the array."""
    at = {row.index(1): a for a, row in enumerate(node.map.coefs) if 1 in row}
    view = axis_map([(0, 1, at[j]) for j in sorted(at)], len(node.shape))
    return build.index(value, view, box(node))


def box(node: Node) -> tuple[int, ...]:
    """The extents of the box that ``node`` updates."""
    value = node.operands[1]
    return tuple(value.shape[row.index(1)] if 1 in row else 1 for row in node.map.coefs)


def _slices(node: Node) -> list[Node] | None:
    """The updates that make up all of ``node``, the last one first, if they do along one axis."""
    found = [node]
    while (before := found[-1].operands[0]).op == "update":
        if len(found) == _SLICES:
            return None
        found.append(before)
    if len(found) == 1 or not _has_lines(node) or not all(map(is_of_box, found)):
        return None
    axis = axis_of(node)
    if any(n != node.shape[a] for u in found for a, n in enumerate(box(u)) if a != axis):
        return None
    in_order = sorted(found, key=lambda u: u.map.offsets[axis])
    ends = accumulate((box(u)[axis] for u in in_order), initial=0)
    starts = [u.map.offsets[axis] for u in in_order]
    return found if [*starts, node.shape[axis]] == list(ends) else None


def _read_last(graph: Graph) -> Graph:
    """``graph`` in which what slices make up is read when all of them have been written.

    Reads of some slices have been taken to before the others were written, and kept them apart.
    """
    for _ in range(_CHAINS):
        nodes, outputs = graph.nodes(), set(graph.outputs)
        used = users(nodes)
        moved = next(filter(None, (_early(node, used, outputs) for node in nodes)), None)
        if moved is None:
            break
        new: dict[Node, Node] = {}
        for node in topological([*moved.values(), *graph.outputs]):
            operands = (moved[node],) if node in moved else node.operands
            new[node] = node.with_operands(tuple([new[o] for o in operands]))
        graph = graph.with_outputs(tuple([new[o] for o in graph.outputs]))
    return graph


def _early(node: Node, used: dict[Node, list[Node]], outputs: set[Node]) -> dict[Node, Node] | None:
    """The reads of earlier versions of ``node``, which slices make up, each with ``node``."""
    if node.op != "update" or _is_stored(node, used[node], outputs):
        return None
    parts = _slices(node) or []
    found: dict[Node, Node] = {}
    for i, later in enumerate(parts[:-1]):
        version = later.operands[0]
        readers = [u for u in used[version] if u is not later]
        if version in outputs or not all(_is_beside(r, parts[: i + 1]) for r in readers):
            return None
        found.update(dict.fromkeys(readers, node))
    return None if not found.keys().isdisjoint(topological([node])) else found


def _is_beside(reader: Node, updates: Sequence[Node]) -> bool:
    """True for a view of nothing that is updated."""
    return reader.op == "index" and all(
        are_disjoint(reader.map, reader.shape, u.map, u.operands[1].shape) for u in updates
    )


def axis_of(node: Node) -> int:
    """The first axis along which ``node`` updates only a part."""
    return next((a for a, n in enumerate(box(node)) if n != node.shape[a]), 0)


_CHAINS = 16  # of which early reads are moved
_ENDS = 2  # of each axis
_SLICES = 4  # beyond, choosing among them at each element takes longer than to write each


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
