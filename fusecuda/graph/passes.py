"""Passes: rewrite rules that never change a bit, applied in one walk with common subexpressions.

Each rule takes a node, whose operands are already rewritten, and gives its replacement or None. Its
docstring says why the numbers stay the same. Dead code needs no pass: a node that no output reaches
is never visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import gcd

from . import build, index_map
from .arithmetic import (
    add_whole_numbers,
    convert_chosen_constants,
    decide_where,
    divide_by_powers_of_two,
    divide_by_shifts,
    drop_identity_arithmetic,
    drop_repeats,
    fold_constants,
    merge_conversions,
)
from .choices import choose_in_rows
from .index_map import Shape
from .motion import drop_overwritten, gather_operands, gather_to_view, move_reshapes
from .node import Graph, Node
from .ops import OPS
from .repeats import merge_later

Rule = Callable[[Node], Node | None]


def simplify(graph: Graph) -> Graph:
    """The same graph after all passes: motion, the rules with CSE, writes that nobody sees."""
    for run in PASSES:
        graph = run(graph)
    return graph


def apply_rules(graph: Graph) -> Graph:
    """``graph`` with the rules applied, equal nodes made one."""
    return rewrite(graph, RULES)


def respell_outputs(graph: Graph) -> Graph:
    """Results that are others under other axes of extent one lie in their place."""
    outputs = [  # what goes to an argument's memory is laid out as that is
        output if graph.target(i) is not None else _respelled(output)
        for i, output in enumerate(graph.outputs)
    ]
    return graph.with_outputs(tuple(outputs))


def rewrite(graph: Graph, rules: tuple[Rule, ...]) -> Graph:
    """``graph`` with ``rules`` applied to each node until none fits, equal nodes made one."""
    new: dict[Node, Node] = {}
    seen: dict[tuple[object, ...], Node] = {}
    shared: set[Node] = set()
    for node in graph.nodes():
        fresh = node.with_operands(tuple(new[o] for o in node.operands))
        new[node] = _share(_apply(fresh, rules), seen, shared)
    return graph.with_outputs(tuple(new[o] for o in graph.outputs))


def _apply(node: Node, rules: tuple[Rule, ...]) -> Node:
    line = node.line
    changed = True
    while changed:
        changed = False
        for rule in rules:
            replacement = rule(node)
            if replacement is not None:
                node, changed = replacement, True
    if node.line is None and node.op not in ("parameter", "constant"):
        node.line = line
    return node


def _share(node: Node, seen: dict[tuple[object, ...], Node], shared: set[Node]) -> Node:
    """The first node seen that computes the same as ``node``; constants are compared by bits.

    A rule may have built several nodes; each of them is looked up, operands first.
    """
    if node in shared:
        return node
    node = node.with_operands(tuple([_share(o, seen, shared) for o in node.operands]))
    if node.op != "parameter":
        key = (node.op, node.attr, node.shape, node.dtype, *map(id, node.operands))
        node = seen.setdefault(key, node)
    shared.add(node)
    return node


def compose_views(node: Node) -> Node | None:
    """A view of a view is one view; a view of every element at its own index is none."""
    if node.op == "index":
        (operand,) = node.operands
        if operand.op == "index" or (operand.shape == node.shape and node.map.is_identity()):
            return build.index(operand, node.map, node.shape)
    if node.op == "reshape" and node.operands[0].op == "reshape":
        return build.reshape(node.operands[0].operands[0], node.shape)
    if node.op == "reshape" and node.operands[0].shape == node.shape:
        return node.operands[0]
    return None


def reshape_to_view(node: Node) -> Node | None:
    """A reshape that only splits axes or drops extents of one is a view: no element moves."""
    if node.op != "reshape" or node.size == 0:
        return None
    view = index_map.split_axes(node.operands[0].shape, node.shape)
    return None if view is None else build.index(node.operands[0], view, node.shape)


def unwrap_scalar_operands(node: Node) -> Node | None:
    """An elementwise op takes a 0-d operand as it is: each element reads the same value."""
    if not node.is_elementwise or not any(o.op == "index" for o in node.operands):
        return None
    bare = [o.operands[0] if _is_scalar_view(o) else o for o in node.operands]
    if all(a is b for a, b in zip(bare, node.operands, strict=True)):
        return None
    if all(o.shape == () for o in bare) and not (OPS[node.op].may_fail and node.size == 0):
        small = Node(node.op, tuple(bare), (), node.dtype, node.attr, node.line)
        return build.broadcast_to(small, node.shape)
    return node.with_operands(tuple(bare))


def drop_unit_axes(node: Node) -> Node | None:
    """An op on views that only add axes of extent one is made without them: the same elements.

    So a row value with ``keepdims`` is a row value.
    """
    if not node.is_elementwise or 1 not in node.shape:
        return None
    arrays = [o for o in node.operands if o.shape != ()]
    if not all(o.op == "index" and _is_respelled(o) for o in arrays):
        return None
    shape = max((o.operands[0].shape for o in arrays), key=len, default=node.shape)
    if len(shape) >= len(node.shape):
        return None
    squeeze, expand = _respelling(node.shape, shape), _respelling(shape, node.shape)
    operands = [o if o.shape == () else build.index(o, squeeze, shape) for o in node.operands]
    small = Node(node.op, tuple(operands), shape, node.dtype, node.attr, node.line)
    return build.index(small, expand, node.shape)


def reduce_without_unit_axes(node: Node) -> Node | None:
    """A reduction of a view that only adds axes of extent one is made without them.

    So a mean over row values with ``keepdims`` is one over row values. Of such axes alone it stays:
    a sum of one element is +0.0 where that is -0.0.
    """
    if node.op != "reduce" or node.size == 0 or node.operands[0].op != "index":
        return None
    (view,) = node.operands
    if not view.size or not _is_respelled(view):
        return None
    (row,) = view.operands
    long = [a for a, n in enumerate(view.shape) if n != 1]
    own = [a for a, n in enumerate(row.shape) if n != 1]
    reduced = [a for a, outer in zip(own, long, strict=True) if outer in node.reduction.axes]
    if not reduced or len(row.shape) >= len(view.shape):
        return None
    axes = tuple(a for a, n in enumerate(row.shape) if n == 1 or a in reduced)
    shape = tuple(n for a, n in enumerate(row.shape) if a not in axes)
    attr = replace(node.reduction, axes=axes)
    small = Node("reduce", (row,), shape, node.dtype, attr, node.line)
    return build.index(small, _respelling(shape, node.shape), node.shape)


def _respelling(shape: Shape, target: Shape) -> index_map.IndexMap:
    """The map that shows ``shape`` as ``target``, which has other axes of extent one."""
    axes = (j for j, n in enumerate(target) if n != 1)
    rows = [(0, 0, None) if n == 1 else (0, 1, next(axes)) for n in shape]
    return index_map.axis_map(rows, len(target))


def _is_respelled(node: Node) -> bool:
    """True for a view of all elements in order, under a shape with other axes of extent one."""
    (operand,) = node.operands
    if [n for n in operand.shape if n != 1] != [n for n in node.shape if n != 1]:
        return False
    return node.map.same_over(_respelling(operand.shape, node.shape), node.shape)


def _respelled(output: Node) -> Node:
    """A result that is another one under a shape with axes of extent one: it lies in its place."""
    if output.op == "index" and output.size and _is_respelled(output):
        (operand,) = output.operands
        if operand.is_elementwise or operand.op == "reduce":
            return build.reshape(operand, output.shape)
    return output


def _is_scalar_view(node: Node) -> bool:
    return node.op == "index" and node.operands[0].shape == ()


def forward_writes(node: Node) -> Node | None:
    """Reading what was just written gives the value; reading elsewhere, the version before.

    Writing again what was just written changes nothing.
    """
    if node.op == "update" and node.operands[0].op == "update":
        first, value = node.operands
        if first.map == node.map and first.operands[1] is value:
            return first
    if node.op != "index" or node.operands[0].op != "update":
        return None
    written = node.operands[0]
    old, value = written.operands
    if node.map == written.map and node.shape == value.shape:
        return value
    if are_disjoint(node.map, node.shape, written.map, value.shape):
        return build.index(old, node.map, node.shape)
    return None


def are_disjoint(
    a: index_map.IndexMap, a_shape: tuple[int, ...], b: index_map.IndexMap, b_shape: tuple[int, ...]
) -> bool:
    """True if two views of one array surely share no element: apart along some axis.

    Along an axis they are apart when their ranges do not meet or their steps keep them on
    different residues. False may also mean "not known".
    """
    if 0 in a_shape or 0 in b_shape:
        return True
    if len(a.offsets) != len(b.offsets):  # one of them sees the array under another shape
        return False
    for one, other in zip(_progressions(a, a_shape), _progressions(b, b_shape), strict=True):
        (a_low, a_high, a_step), (b_low, b_high, b_step) = one, other
        if a_high < b_low or b_high < a_low:
            return True
        common = gcd(a_step, b_step)
        if common > 1 and (a_low - b_low) % common:
            return True
    return False


@lru_cache(maxsize=4096)  # a long chain of updates asks for the same ones again and again
def _progressions(
    view: index_map.IndexMap, shape: tuple[int, ...]
) -> tuple[tuple[int, int, int], ...]:
    """Lowest and highest index that ``view`` reads along each operand axis, and their step."""
    found = []
    for offset, row in zip(view.offsets, view.coefs, strict=True):
        low = high = offset
        step = 0
        for c, n in zip(row, shape, strict=True):
            low += min(c * (n - 1), 0)
            high += max(c * (n - 1), 0)
            step = gcd(step, c) if n > 1 else step
        found.append((low, high, step))
    return tuple(found)


RULES: tuple[Rule, ...] = (
    gather_to_view,
    gather_operands,
    compose_views,
    reshape_to_view,
    forward_writes,
    unwrap_scalar_operands,
    merge_conversions,
    convert_chosen_constants,
    add_whole_numbers,
    fold_constants,
    drop_identity_arithmetic,
    divide_by_shifts,
    divide_by_powers_of_two,
    drop_repeats,
    decide_where,
    drop_unit_axes,
    reduce_without_unit_axes,
)

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    move_reshapes,
    merge_later,
    apply_rules,
    choose_in_rows,
    respell_outputs,
    drop_overwritten,
)
