"""Components: what is put together of them is computed component by component.

``np.cross``, ``np.stack((x, y, z), axis=-1)`` and ``p[:, 0] = …``, ``p[:, 1] = …`` make one array
of few along an axis, or put some in the place of others. What is computed of it elementwise, and
what reads or reduces its components, is computed of these: all of it is one kernel over what they
have in common, and the array is stored only if it is a result. The same elements meet in the same
operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..graph import build
from ..graph.index_map import IndexMap, axis_map
from ..graph.node import Graph, Node, users
from ..graph.passes import RULES, rewrite
from .cost import Machine
from .placed import axis_of, box, costs, is_joined_apart, is_of_box, turned
from .unrolled import COMBINE, combined

_MOST = 8  # components
_STATEMENTS = 160  # of all components: longer texts take longer, to compile and to run


class _Axis(NamedTuple):
    """An axis of an array, and how many components are along it."""

    number: int
    extent: int


def by_components(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with components in the place of what is put together of them, where that pays."""
    made = _Components(graph, machine)
    if not made.joined:
        return graph
    return rewrite(made.graph(), RULES)


class _Components:
    """A graph while its nodes are made anew: the components of those that have some."""

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.old = graph
        self.machine = machine
        self.used = users(graph.nodes())
        self.outputs = set(graph.outputs)
        self.base: dict[Node, Node] = {}  # what has the components that updates leave
        self.joined = self._joined()
        self.new: dict[Node, Node] = {}
        self.axis: dict[Node, _Axis] = {}  # of nodes with components
        self.parts: dict[Node, list[Node]] = {}

    def _joined(self) -> dict[Node, tuple[_Axis, dict[int, Node]]]:
        """What is put together and would be stored, with what it is put together of, by places."""
        found: dict[Node, tuple[_Axis, dict[int, Node]]] = {}
        cost = costs(self.old.nodes())
        for node in self.old.nodes():
            if node.op == "concatenate" and is_joined_apart(node, cost):
                number, parts = node.axis, dict(enumerate(node.operands))
                is_made = len(parts) == node.shape[number]
            elif node.op == "update" and len(node.shape) > 1:
                number = axis_of(node)
                parts = self._updates(node, number)
                is_made = bool(parts)
            else:
                continue
            axis = _Axis(number, node.shape[number])
            is_short = 1 < axis.extent <= _MOST and len(node.shape) > 1  # or they are numbers
            takes = (self._takes(user, node, axis) for user in self.used[node])
            if is_made and is_short and any(takes) and self._is_little(node, axis):
                found[node] = axis, parts
        return found

    def _is_little(self, node: Node, axis: _Axis) -> bool:
        """True if few operations would be made for each component of ``node``."""
        reached = {node: None}
        stack = [node]
        while stack and len(reached) * axis.extent <= _STATEMENTS:
            later = (u for u in self.used[stack.pop()] if u.is_elementwise)
            alike = [u for u in later if u.shape == node.shape and u not in reached]
            stack += alike
            reached.update(dict.fromkeys(alike))
        return len(reached) * axis.extent <= _STATEMENTS

    def _updates(self, node: Node, axis: int) -> dict[int, Node]:
        """The last update of each component along ``axis`` that a chain of them ends with."""
        found: dict[int, Node] = {}
        version = node
        while version.op == "update" and is_of_box(version):
            others = (n == node.shape[a] or a == axis for a, n in enumerate(box(version)))
            if box(version)[axis] != 1 or not all(others):
                break
            found.setdefault(version.map.offsets[axis], version)
            version = version.operands[0]
            if len(self.used[version]) > 1 or version in self.outputs:
                break
        self.base[node] = version
        return found

    def _takes(self, user: Node, node: Node, axis: _Axis) -> bool:
        """True if ``user`` is computed of the components of ``node``."""
        if user.is_elementwise:
            return user.shape == node.shape
        if user.op == "index":
            return _component(user.map, axis) is not None
        reduction = user.reduction if user.op == "reduce" else None
        return (
            reduction is not None
            and reduction.axes == (axis.number,)
            and reduction.kind in COMBINE
            and axis.extent <= self.machine.short
        )

    def graph(self) -> Graph:
        """The graph, in which what is put together is stored where something needs it whole."""
        for node in self.old.nodes():
            self.new[node] = self._made(node)
        return self.old.with_outputs(tuple([self.new[o] for o in self.old.outputs]))

    def _made(self, node: Node) -> Node:
        axis = self._axis_of(node)
        if axis is not None:
            self.axis[node] = axis
            self.parts[node] = self._parts_of(node, axis)
            if node not in self.joined:
                return _together(node, self.parts[node], axis)
        elif node.operands and (of := node.operands[0]) in self.axis:
            if node.op == "index" and (k := _component(node.map, self.axis[of])) is not None:
                rest = _without(node.map, self.axis[of].number)
                return build.index(self.parts[of][k], rest, node.shape)
            if node.op == "reduce" and self._takes(node, of, self.axis[of]):
                return combined(node, self.parts[of], self.machine.group)
        return node.with_operands(tuple([self.new[o] for o in node.operands]))

    def _axis_of(self, node: Node) -> _Axis | None:
        """The axis along which ``node`` is made of components, if it is."""
        if node in self.joined:
            return self.joined[node][0]
        if not node.is_elementwise:
            return None
        found = {self.axis[o] for o in node.operands if o in self.axis}
        return found.pop() if len(found) == 1 else None

    def _parts_of(self, node: Node, axis: _Axis) -> list[Node]:
        if node not in self.joined:
            return [self._part(node, axis, k) for k in range(axis.extent)]
        found = []
        for k in range(axis.extent):
            part = self.joined[node][1].get(k)
            if part is None:
                found.append(_picked(self.new[self.base[node]], axis.number, k))
            elif node.op == "update":
                found.append(_picked(turned(part, self.new[part.operands[1]]), axis.number, 0))
            else:
                found.append(_picked(self.new[part], axis.number, 0))
        return found

    def _part(self, node: Node, axis: _Axis, k: int) -> Node:
        """Component ``k`` of an elementwise node."""
        operands = [
            self.new[o] if o.shape == () else
            self.parts[o][k] if o in self.parts else _picked(self.new[o], axis.number, k)
            for o in node.operands
        ]  # fmt: skip
        shape = _shape_without(node.shape, axis.number)
        return Node(node.op, tuple(operands), shape, node.dtype, node.attr, node.line)


def _together(node: Node, parts: Sequence[Node], axis: _Axis) -> Node:
    """``parts`` as an array like ``node``, into which each is written."""
    made = build.broadcast_to(build.constant(0, node.dtype), node.shape)
    for k, part in enumerate(parts):
        rows = _rows(len(node.shape), axis.number, k)
        place = axis_map(rows, len(node.shape) - 1)
        made = Node("update", (made, part), node.shape, node.dtype, place, node.line)
    return made


def _picked(node: Node, axis: int, k: int) -> Node:
    """Component ``k`` of ``node`` along ``axis``; of a broadcast one what is broadcast."""
    rank = len(node.shape)
    view = axis_map(_rows(rank, axis, k), rank - 1)
    return build.index(node, view, _shape_without(node.shape, axis))


def _rows(rank: int, axis: int, k: int) -> list[tuple[int, int, int | None]]:
    """The rows of a map that has no ``axis`` and stays at ``k`` along it."""
    others = iter(range(rank - 1))
    return [(k, 0, None) if a == axis else (0, 1, next(others)) for a in range(rank)]


def _shape_without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return tuple(n for a, n in enumerate(shape) if a != axis)


def _component(view: IndexMap, axis: _Axis) -> int | None:
    """The component that ``view`` reads, if it is a single one."""
    return None if any(view.coefs[axis.number]) else view.offsets[axis.number]


def _without(view: IndexMap, axis: int) -> IndexMap:
    """The map of one component for ``view``, which reads a single one along ``axis``."""
    kept = [a for a in range(len(view.offsets)) if a != axis]
    return IndexMap(view.rank, tuple(view.offsets[a] for a in kept),
                    tuple(view.coefs[a] for a in kept))  # fmt: skip
