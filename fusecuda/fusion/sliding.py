"""Long windows that slide by one element: what a lane of the tree combines of one is another's.

The tree is that of any reduction. Lane 3 of a window combines elements 3, 35, 67, …, which lane 2
of the next window combines, too, for it begins one further. So all that lanes combine is one array,
in which each window reads 32 neighbours, and a window of 200 costs some fifty operations.
"""

from __future__ import annotations

from ..graph import build
from ..graph.dtypes import computed_in
from ..graph.index_map import axis_map, identity
from ..graph.node import Graph, Node, users
from ..graph.passes import RULES, rewrite
from ..graph.tree import CHUNK, LANES
from .cost import Machine
from .overlapping import alone, views_below
from .unrolled import finished, folded, is_combined, met, picked, taken

_LONGEST = 32  # chunks of a window: for longer ones it does not matter what neighbours share


def by_lanes(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with reductions of long windows that slide by one made of what lanes combine."""
    if not machine.window:
        return graph
    nodes = graph.nodes()
    axes = {n: axis for n in nodes if is_combined(n) and (axis := _slides_along(n)) is not None}
    chosen = alone(set(axes), users(nodes), set(graph.outputs)) if axes else set()
    if not chosen:
        return graph
    new: dict[Node, Node] = {}
    for node in nodes:
        fresh = node.with_operands(tuple([new[o] for o in node.operands]))
        new[node] = Windows(fresh, axes[node], machine.group).reduced() if node in chosen else fresh
    return rewrite(graph.with_outputs(tuple([new[o] for o in graph.outputs])), RULES)


def _slides_along(node: Node) -> int | None:
    """The axis whose steps lead where those along the window lead; None for other reductions."""
    (row,) = node.operands
    if len(node.reduction.axes) != 1:
        return None
    (window,) = node.reduction.axes
    if not LANES < row.shape[window] <= _LONGEST * CHUNK:
        return None
    views = views_below(row)
    if any(view.op != "index" for view in views):
        return None
    rows = [coefs for view in views for coefs in view.map.coefs if any(coefs)]
    for axis, extent in enumerate(row.shape):
        alike = all(coefs[axis] == coefs[window] for coefs in rows)
        if axis != window and extent >= LANES and alike and any(coefs[axis] for coefs in rows):
            return axis
    return None


class Windows:
    """The windows that a reduction ``node`` is of, which slide along an axis of their operand.

    What they are made of is a row of elements along that axis, as long as all windows together.
    """

    def __init__(self, node: Node, axis: int, group: int) -> None:
        (self.row,) = node.operands
        (self.window,) = node.reduction.axes
        self.node, self.group = node, group
        self.kept = [a for a in range(len(self.row.shape)) if a != self.window]
        self.along = self.kept.index(axis)
        self.count = self.row.shape[self.window]  # elements of a window
        self.extent = self.row.shape[axis]  # windows
        self.lanes: dict[tuple[int, ...], Node] = {}

    def reduced(self) -> Node:
        """The reductions of all windows."""
        whole, rest = divmod(self.count, CHUNK)
        parts: list[Node] = []
        if whole:
            reach = self.extent + CHUNK * (whole - 1)
            chunk = self._chunk(0, CHUNK, reach)
            parts = [self._moved(chunk, CHUNK * i, self.extent) for i in range(whole)]
        if rest:
            parts.append(self._chunk(CHUNK * whole, rest, self.extent))
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [met(self.node, pair) for pair in pairs]
        return finished(self.node, parts[0])

    def _chunk(self, first: int, count: int, extent: int) -> Node:
        """Of ``extent`` windows that begin ``first`` elements further ``count`` elements."""
        starts = range(0, min(count, LANES * self.group), self.group)
        taken_by = {s: [i - s for i in taken(s, count, self.group)] for s in starts}
        fewest = min(taken_by.values(), key=len)
        common = self._common(tuple(fewest))
        lanes = []
        for start, own in taken_by.items():
            more = [self._element(first + start + i, extent) for i in own[len(fewest) :]]
            lanes.append(met(self.node, [self._moved(common, first + start, extent), *more]))
        return folded(self.node, lanes)

    def _common(self, own: tuple[int, ...]) -> Node:
        """What lanes combine that take the elements ``own``, counted from their first."""
        extent = self.extent + self.count - 1 - own[-1]
        if own not in self.lanes:
            self.lanes[own] = met(self.node, [self._element(i, extent) for i in own])
        return self.lanes[own]

    def _element(self, first: int, extent: int) -> Node:
        """The elements from ``first`` on."""
        rows = [
            (first, 0, None) if a == self.window else (0, 1, self.kept.index(a))
            for a in range(len(self.row.shape))
        ]
        at = axis_map(rows, len(self.kept))
        found = picked(self.row, at, self._shape(extent))
        return build.convert(found, computed_in(self.node.dtype))

    def _moved(self, node: Node, by: int, extent: int) -> Node:
        """What ``node`` has ``by`` elements further along the axis."""
        steps = [by * (a == self.along) for a in range(len(self.kept))]
        return build.index(node, identity(len(self.kept)).moved(steps), self._shape(extent))

    def _shape(self, extent: int) -> tuple[int, ...]:
        shape = [self.row.shape[a] for a in self.kept]
        shape[self.along] = extent
        return tuple(shape)
