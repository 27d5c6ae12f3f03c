"""Choices: what is written to one element of each row, as a choice at every element of the rows.

So is what is written to a diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import build, index_map
from .dtypes import BOOL, INT64
from .motion import progression
from .node import Graph, LibraryCall, Node, users


def choose_in_rows(graph: Graph) -> Graph:
    """A scatter to one place of each row of what is computed is a choice where it is computed.

    All indices but one count the rows, so no place comes twice. What is in memory, or is filled
    with one number to be there, is left to scatters, which touch no more than they write. An index
    out of bounds is found as before. It is the same with writes to a diagonal.
    """
    nodes = graph.nodes()
    if not any(map(_is_written, nodes)):
        return graph
    used, outputs = users(nodes), set(graph.outputs)
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        new[node] = fresh
        if _is_written(node) and not (
            _is_filled(node.operands[0])
            and (node in outputs or any(u.op in _STORED for u in used[node]))
        ):
            new[node] = (_choice if _is_scatter(node) else _diagonal)(fresh) or fresh
    return graph.with_outputs(tuple([new[o] for o in graph.outputs]))


_STORED = frozenset({"library", "reshape", "update"})  # what reads from memory


def _is_scatter(node: Node) -> bool:
    return isinstance(node.attr, LibraryCall) and node.attr.name == "scatter"


def _is_written(node: Node) -> bool:
    return _is_scatter(node) or (node.op == "update" and len(node.shape) > 1)


def _is_computed(old: Node) -> bool:
    return _is_filled(old) or (old.is_elementwise and old.shape != ())


def _is_filled(old: Node) -> bool:
    """True for one number everywhere."""
    return old.op == "index" and old.operands[0].op == "constant"


def _choice(node: Node) -> Node | None:
    """The choice that a scatter is, if it is one."""
    assert isinstance(node.attr, LibraryCall)
    old, value, *indices = node.operands
    kind = str(dict(node.attr.kwargs)["kind"])
    if not _is_computed(old) or value.dtype != old.dtype or not node.size:
        return None
    if kind != "set" and not build.fusible(kind, (old.dtype, old.dtype)):
        return None
    found = _free_axis(old, indices)
    if found is None:
        return None
    free, axes = found
    rank, lead = len(old.shape), len(axes)
    of_rows = index_map.axis_map([(0, 1, a) for a in axes], rank)
    rest = [(0, 1, a) for a in range(len(indices), rank)]
    of_values = index_map.axis_map([*((0, 1, a) for a in axes), *rest], rank)
    extent = build.constant(old.shape[free], INT64)
    place = build.elementwise("within", [indices[free], extent], INT64, node.line)
    assert place.shape == indices[free].shape and len(place.shape) == lead
    here = build.iota(old.shape, free)
    there = build.index(place, of_rows, old.shape)
    chosen = build.index(value, of_values, old.shape)
    if kind != "set":
        chosen = build.elementwise(kind, [old, chosen], old.dtype)
    return build.where(build.elementwise("equal", [here, there], BOOL), chosen, old)


def _free_axis(old: Node, indices: Sequence[Node]) -> tuple[int, list[int]] | None:
    """The axis of ``old`` whose index is any, and the axes that each axis of the indices counts."""
    common = indices[0].shape
    free, counted = [], {}
    for axis, index in enumerate(indices):
        along = _counts(index, old.shape[axis])
        if along is None:
            free.append(axis)
        else:
            counted[along] = axis
    if len(free) != 1 or len(counted) != len(indices) - 1 or len(counted) != len(common):
        return None
    return free[0], [counted[j] for j in range(len(common))]


def _counts(index: Node, extent: int) -> int | None:
    """The axis along which ``index`` counts from 0 to ``extent``, if it does."""
    found = progression(index)
    if found is None or found[0] or sorted(found[1]) != [0] * (len(found[1]) - 1) + [1]:
        return None
    axis = found[1].index(1)
    return axis if index.shape[axis] == extent else None


def _diagonal(node: Node) -> Node | None:
    """The choice that an update of a diagonal is, from one edge to another; else None.

    Some axes, two or more, are walked together; others are written whole.
    """
    old, value = node.operands
    view = node.map
    if not _is_computed(old) or not value.size or any(sum(map(abs, c)) != 1 for c in view.coefs):
        return None
    walked = [coefs.index(1) if 1 in coefs else -1 for coefs in view.coefs]
    shared = [j for j in set(walked) if walked.count(j) > 1]
    if -1 in walked or len(shared) != 1 or len(set(walked)) < view.rank:
        return None
    (along,) = shared
    together = [a for a, j in enumerate(walked) if j == along]
    first = min(together, key=lambda a: view.offsets[a])
    ends = [old.shape[a] - view.offsets[a] for a in together]
    rest = [a for a in range(len(walked)) if a not in together]
    whole = all(not view.offsets[a] and old.shape[a] == value.shape[walked[a]] for a in rest)
    if view.offsets[first] or min(ends) != value.shape[along] or not whole:
        return None
    here = build.iota(old.shape, first)
    test: Node | None = None
    for axis in together:
        if axis != first:
            moved = build.elementwise(
                "add", [here, build.constant(view.offsets[axis], INT64)], INT64
            )
            same = build.elementwise("equal", [build.iota(old.shape, axis), moved], BOOL)
            test = same if test is None else build.elementwise("bitwise_and", [test, same], BOOL)
    assert test is not None
    return build.where(test, _spread(value, walked, first, old), old)


def _spread(value: Node, walked: Sequence[int], first: int, old: Node) -> Node:
    """``value``, along a diagonal, for each place along axis ``first`` of ``old``."""
    axes = [first if walked.count(j) > 1 else walked.index(j) for j in range(len(value.shape))]
    if value.op == "index" and value.operands[0].shape == ():
        return build.broadcast_to(value.operands[0], old.shape)
    more = [(0, old.shape[a] - n) for a, n in zip(axes, value.shape, strict=True)]
    framed = build.pad(value, build.constant(0, value.dtype), tuple(more))
    return build.index(
        framed, index_map.axis_map([(0, 1, a) for a in axes], len(old.shape)), old.shape
    )
