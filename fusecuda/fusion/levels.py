"""Levels: every value of a kernel, with where it is computed: its level and its stage."""

from __future__ import annotations

from collections.abc import Collection

from ..graph.index_map import IndexMap, axis_map
from ..graph.node import Node
from ..graph.structure import structure_of
from .cluster import CROSS, OUTER, Cluster
from .cone import Roots, demands, root_demands
from .kernel_ir import ELEMENT, FINAL, FOOT, ROW
from .scatters import number_of
from .stages import Key, Value

_RANK = {ROW: 0, ELEMENT: 1, FINAL: 2, FOOT: 2}


class Levels:
    """The values that the roots of ``cluster`` need; scatters go on in what is ``filled``."""

    def __init__(self, cluster: Cluster, roots: Roots, filled: Collection[Node]) -> None:
        self.cluster = cluster
        self.roots = roots
        self.filled = filled
        rank = len(cluster.shape)
        loop = cluster.reduced is None
        kept = () if loop else cluster.kept
        reduced = tuple(range(rank)) if loop else cluster.reduced or ()
        self.row_rank = len(kept)
        self.order = kept + reduced  # axes are renumbered: those that count rows come first
        self.whole = axis_map([(0, 1, self.order.index(a)) for a in range(rank)], rank)
        self.row = axis_map([(0, 1, j) for j in range(len(kept))], rank)
        self.foot = axis_map([(0, 1, j) for j in range(len(kept), rank)], rank)
        self.values: dict[Key, Value] = {}
        self.numbers: dict[Key, int] = {}

    def key_of(self, root: Node) -> Key:
        """The value of ``root`` where its role has it."""
        if root.writes:
            return self.canonical(Key(root.operands[1], self.whole))
        if root.op == "compact":
            return self.canonical(Key(root.operands[0], self.whole))
        return self.canonical(Key(root, self.place_of(root)))

    def indices_of(self, root: Node) -> list[Key]:
        """The indices at which a scatter writes, or the mask by which a compaction does."""
        if root.op not in ("scatter", "compact"):
            return []
        _, *demanded = root_demands(root)
        return [self.canonical(Key(node, self.whole.then(at))) for node, at in demanded]

    def start_of(self, root: Node) -> IndexMap:
        """The map to the first element of ``root``, whichever is at hand."""
        return axis_map([(0, 0, None)] * len(root.shape), len(self.cluster.shape))

    def filled_by(self, root: Node) -> Key | None:
        """The number that the memory of a scatter is filled with before, if it is."""
        if root.op != "scatter" or self.roots.source(root.operands[0]) not in self.filled:
            return None
        return Key(number_of(root.operands[0]), self.whole.leading(0))

    def place_of(self, root: Node) -> IndexMap:
        """The map from the kernel's axes to the index at which ``root`` is computed."""
        role = self.cluster.roles[root]
        if role in (OUTER, FINAL):
            return self.whole.leading(0)
        return {ROW: self.row, CROSS: self.foot, FOOT: self.foot}.get(role, self.whole)

    def canonical(self, key: Key) -> Key:
        """``key`` with inlined views resolved: a view's value is its operand's elsewhere."""
        node, at, guard, inside = key
        while node.op == "index" and not inside:
            if self.roots.is_leaf(node) and node not in self.cluster.roles:
                break
            node, at = node.operands[0], at.then(node.map)
        if node in self.cluster.roles and not inside and node.op != "index":
            # Legality has shown that it is read there; no memory is read, so no guard is needed.
            at, guard = self.place_of(node), None
        return Key(node, at, guard, inside)

    def operands(self, key: Key) -> list[Key]:
        return [self.canonical(k) for k in self._operands(key)]

    def _operands(self, key: Key) -> list[Key]:
        node, at, guard, inside = key
        if inside:
            return [guard] if guard else []
        role = self.cluster.roles.get(node)
        if node.op == "reduce" and role:
            return [Key(node.operands[0], self.row if role == OUTER else self.whole)]
        if node.op == "segment" and role:
            return [Key(operand, where) for operand, where in demands(node, self.whole)]
        if role is None and self.roots.is_leaf(node):
            return [guard] if guard else []
        found = []
        for operand, where in demands(node, at):
            if structure_of(node).is_choice and operand.shape:  # a 0-d one has every index
                within = Key(operand, where, guard, inside=True)
                found += [within, Key(operand, where, within)]
            else:
                found.append(Key(operand, where, guard))
        return found

    def analyse(self, sink: Key) -> Value:
        stack = [sink]
        while stack:
            key = stack[-1]
            if key in self.values:
                stack.pop()
                continue
            operands = self.operands(key)
            missing = [o for o in operands if o not in self.values]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            level, stage = self._level(key, [self.values[o] for o in operands])
            self.values[key] = Value(level, stage, operands)
        return self.values[sink]

    def number(self, key: Key) -> int:
        """Its number: they count as statements do, so that equal kernels are equal texts."""
        return self.numbers.setdefault(key, len(self.numbers))

    def _level(self, key: Key, operands: list[Value]) -> tuple[str, int]:
        stage = max((v.stage for v in operands), default=0)
        role = self.cluster.roles.get(key.node)
        if key.node.reduces and role and not key.inside:
            return {OUTER: (FINAL, stage), CROSS: (FOOT, stage)}.get(role, (ROW, stage + 1))
        level = max((v.level for v in operands), key=_RANK.__getitem__, default=ROW)
        touches = not operands or key.inside or key.guard or key.node.op == "gather"
        if key.node.op == "scan" and role and not key.inside:
            level = ELEMENT
        if touches and level not in (FINAL, FOOT) and self._walks_row(key.at):
            level = ELEMENT
        return level, stage

    def _walks_row(self, at: IndexMap) -> bool:
        return any(at.uses_axis(j) for j in range(self.row_rank, at.rank))
