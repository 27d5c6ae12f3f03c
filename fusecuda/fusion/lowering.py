"""Lowering: from a cluster of nodes to kernel IR, with the accesses that binding needs."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph.dtypes import BOOL, INT64
from ..graph.index_map import IndexMap, Shape, axis_map
from ..graph.node import Node
from ..graph.ops import OPS
from . import kernel_ir as ir
from .cluster import OUTER, Cluster
from .kernel_ir import ELEMENT, FINAL, ROW
from .region import Roots, concatenated, demands, padded, scalar

_RANK = {ROW: 0, ELEMENT: 1, FINAL: 2}


class Access(NamedTuple):
    """What a form walks: the buffer of ``node`` through ``at``, or, without node, index ``at``.

    ``at`` maps the kernel's axes, rows first, to an index of ``node``.
    """

    node: Node | None
    at: IndexMap
    store: bool = False


class Limit(NamedTuple):
    """An integer argument: the extent of ``node`` along ``axis``, or its stride there."""

    node: Node
    axis: int
    stride: bool


@dataclass(slots=True)
class Lowered:
    """A kernel's IR with all that `bind` needs to give it numbers."""

    ir: ir.KernelIR
    row_shape: Shape
    shape: Shape
    accesses: list[Access] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    scalars: list[Node] = field(default_factory=list)
    sites: list[Node] = field(default_factory=list)


class Key(NamedTuple):
    """A value of the kernel: ``node`` at index ``at``, or whether that index lies inside it.

    Inside a concatenate or pad a value is only read where ``guard`` holds.
    """

    node: Node
    at: IndexMap
    guard: Key | None = None
    inside: bool = False


@dataclass(slots=True)
class _Value:
    number: int
    level: str
    stage: int  # the first stage whose elements may use it
    operands: list[Key]


def lower(
    cluster: Cluster,
    roots: Roots,
    stored: Container[Node],
    overwriting: Container[Node],
    name: str,
    keep: bool = True,
) -> Lowered:
    """The kernel of ``cluster``, which writes those of its roots that are ``stored``.

    Those that are ``overwriting`` an earlier value of their memory are written in the last stage.
    Without ``keep`` no row stays resident: each stage reads and computes what it needs again.
    """
    return _Lowering(cluster, roots, overwriting, name, keep).run(stored)


class _Lowering:
    def __init__(
        self, cluster: Cluster, roots: Roots, overwriting: Container[Node], name: str, keep: bool
    ) -> None:
        self.keep = keep
        self.overwriting = overwriting
        self.cluster = cluster
        self.roots = roots
        rank = len(cluster.shape)
        loop = cluster.reduced is None
        kept = () if loop else cluster.kept
        reduced = tuple(range(rank)) if loop else cluster.reduced or ()
        self.row_rank = len(kept)
        # Axes are renumbered: those that count rows first, then those within a row.
        order = kept + reduced
        self.whole = axis_map([(0, 1, order.index(a)) for a in range(rank)], rank)
        self.row = axis_map([(0, 1, j) for j in range(len(kept))], rank)
        kind = "loop" if loop else "reduction"
        kernel = ir.KernelIR(name, kind, len(kept), rank - len(kept))
        shape = tuple(cluster.shape[a] for a in order)
        self.out = Lowered(kernel, shape[: len(kept)], shape[len(kept) :])
        self.values: dict[Key, _Value] = {}
        self.forms: dict[Access, int] = {}
        self.arguments: dict[Node, int] = {}
        self.limits: dict[Limit, int] = {}

    # --- analysis: every value with its level and stage

    def key_of(self, root: Node) -> Key:
        """The value of ``root`` where its role has it."""
        if root.op == "update":
            return self.canonical(Key(root.operands[1], self.whole))
        return self.canonical(Key(root, self.place_of(root)))

    def place_of(self, root: Node) -> IndexMap:
        """The map from the kernel's axes to the index at which ``root`` is computed."""
        role = self.cluster.roles[root]
        if role in (OUTER, FINAL):
            return scalar(self.whole)
        return self.row if role == ROW else self.whole

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
        if role is None and self.roots.is_leaf(node):
            return [guard] if guard else []
        if node.op == "concatenate":
            found = []
            for part, part_at in concatenated(node, at):
                within = Key(part, part_at, guard, inside=True)
                found += [within, Key(part, part_at, within)]
            return found
        if node.op == "pad":
            framed = node.operands[0]
            within = Key(framed, padded(node, at), guard, inside=True)
            fill = Key(node.operands[1], scalar(at), guard)
            return [within, Key(framed, within.at, within), fill]
        return [Key(operand, where, guard) for operand, where in demands(node, at)]

    def analyse(self, sink: Key) -> _Value:
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
            self.values[key] = _Value(len(self.values), level, stage, operands)
        return self.values[sink]

    def _level(self, key: Key, operands: list[_Value]) -> tuple[str, int]:
        stage = max((v.stage for v in operands), default=0)
        role = self.cluster.roles.get(key.node)
        if key.node.op == "reduce" and role and not key.inside:
            return (FINAL, stage) if role == OUTER else (ROW, stage + 1)
        level = max((v.level for v in operands), key=_RANK.__getitem__, default=ROW)
        touches = not operands or key.inside or key.guard or key.node.op == "gather"
        if key.node.op == "scan" and role and not key.inside:
            level = ELEMENT
        if touches and level != FINAL and self._walks_row(key.at):
            level = ELEMENT
        return level, stage

    def _walks_row(self, at: IndexMap) -> bool:
        return any(at.uses_axis(j) for j in range(self.row_rank, at.rank))

    # --- emission of statements into stages

    def run(self, stored: Container[Node]) -> Lowered:
        kernel = self.out.ir
        sinks = {root: self.key_of(root) for root in self.cluster.roles}
        for key in sinks.values():
            self.analyse(key)
        reduces = [r for r, role in self.cluster.roles.items() if r.op == "reduce"]
        inner = [r for r in reduces if self.cluster.roles[r] == ROW]
        written = [r for r in self.cluster.roles if r in stored]
        elements = [r for r in written if self.cluster.roles[r] == ELEMENT]
        last = [self.values[sinks[r]].stage - 1 for r in inner]
        last += [self.values[sinks[r]].stage for r in elements]
        kernel.stages = [ir.Stage() for _ in range(max(last, default=0) + 1)]
        schedule = _Schedule(self)
        for number, stage in enumerate(kernel.stages):
            for root in inner:
                if self.values[sinks[root]].stage - 1 == number:
                    stage.reduces.append(self._reduce(root, schedule, number))
            stored_here = [r for r in elements if self._store_stage(r, sinks[r]) == number]
            for root in stored_here:  # all is read before anything may be overwritten
                schedule.need(sinks[root], number)
            for root in stored_here:
                self._store(root, schedule, number)
        self._finish_rows(written, reduces, schedule)
        return self.out

    def _store_stage(self, root: Node, key: Key) -> int:
        """The stage that stores an element: what it overwrites may be read until the last."""
        last = len(self.out.ir.stages) - 1
        return last if root in self.overwriting else self.values[key].stage

    def _finish_rows(self, written: list[Node], reduces: list[Node], schedule: _Schedule) -> None:
        roles = self.cluster.roles
        for root in written:
            if roles[root] == ROW:
                self._store(root, schedule, _Schedule.TAIL)
        for root in reduces:
            if roles[root] == OUTER:
                self.out.ir.outer.append(self._reduce(root, schedule, _Schedule.TAIL))
        for root in written:
            if roles[root] in (OUTER, FINAL):
                self._store(root, schedule, _Schedule.FINAL)

    def _reduce(self, root: Node, schedule: _Schedule, stage: int) -> ir.Reduce:
        key = self.key_of(root)
        (operand,) = self.values[key].operands
        schedule.need(operand, stage)
        number = self.values[key].number
        kind = root.reduction.kind
        return ir.Reduce(number, root.dtype, kind, self.values[operand].number, operand.node.dtype)

    def _store(self, root: Node, schedule: _Schedule, stage: int) -> None:
        key, at = self.key_of(root), self.place_of(root)
        if root.op == "update":
            at = at.then(root.map)
        schedule.need(key, stage)
        form = self.form(root, at, store=True)
        value = self.values[key].number
        schedule.place(stage).append(ir.Store(form, value, root.dtype))

    def form(self, node: Node | None, at: IndexMap, store: bool = False) -> int:
        """The number of the form that walks ``node`` (or counts) along ``at``."""
        key = Access(node, at, store)
        if key not in self.forms:
            self.forms[key] = len(self.out.accesses)
            self.out.accesses.append(key)
            self.out.ir.forms.append(ir.Form(None if node is None else node.dtype, store))
        return self.forms[key]

    def limit(self, node: Node, axis: int, stride: bool = False) -> int:
        """The number of the integer argument that holds an extent or stride of ``node``."""
        key = Limit(node, axis, stride)
        if key not in self.limits:
            self.limits[key] = len(self.out.limits)
            self.out.limits.append(key)
            self.out.ir.limits += 1
        return self.limits[key]

    def statements(self, key: Key) -> list[ir.Statement]:
        """The statements that compute ``key`` from its operands."""
        node, at, guard, inside = key
        out = self.values[key].number
        number = [self.values[o].number for o in self.values[key].operands]
        if inside:
            return [self._inside(key, out)]
        if node.op == "constant" or (node.op == "parameter" and node.parameter.scalar):
            if node not in self.arguments:
                self.arguments[node] = len(self.out.scalars)
                self.out.scalars.append(node)
                self.out.ir.scalars.append(node.dtype)
            return [ir.Argument(out, node.dtype, self.arguments[node])]
        if node not in self.cluster.roles and self.roots.is_leaf(node):
            guarded = self.values[guard].number if guard else None
            return [ir.Load(out, node.dtype, self.form(node, at), guarded)]
        if node.op == "iota":
            row = IndexMap(at.rank, (at.offsets[node.axis],), (at.coefs[node.axis],))
            return [ir.Index(out, INT64, self.form(None, row))]
        if node.op == "gather":
            return [self._gather(node, at, out, number)]
        if node.op in ("concatenate", "pad"):
            return [self._select(node, out, number)]
        if node.op == "scan":
            return [ir.Scan(out, node.dtype, node.reduction.kind, number[0])]
        return [self._compute(node, out, number)]

    def _compute(self, node: Node, out: int, operands: list[int]) -> ir.Compute:
        site = -1
        if OPS[node.op].may_fail:
            site = len(self.out.sites)
            self.out.sites.append(node)
        dtypes = tuple(o.dtype for o in node.operands)
        return ir.Compute(out, node.dtype, node.op, tuple(operands), dtypes, site)

    def _inside(self, key: Key, out: int) -> ir.InRange:
        """Whether the index lies inside: one test for each axis on which it may not."""
        domain = self.out.row_shape + self.out.shape
        tests = []
        for axis, extent in enumerate(key.node.shape):
            row = IndexMap(key.at.rank, (key.at.offsets[axis],), (key.at.coefs[axis],))
            if not row.fits(domain, (extent,)):
                tests.append((self.form(None, row), self.limit(key.node, axis)))
        guard = None if key.guard is None else self.values[key.guard].number
        return ir.InRange(out, BOOL, tuple(tests), guard)

    def _select(self, node: Node, out: int, number: list[int]) -> ir.Select:
        if node.op == "pad":
            test, value, fill = number
            return ir.Select(out, node.dtype, (test,), (value,), fill)
        tests, parts = number[0::2], number[1::2]
        return ir.Select(out, node.dtype, tuple(tests[:-1]), tuple(parts[:-1]), parts[-1])

    def _gather(self, node: Node, at: IndexMap, out: int, indices: list[int]) -> ir.Gather:
        operand = node.operands[0]
        lead = len(node.operands[1].shape)
        axes = len(node.operands) - 1
        # The axes that are not indexed are walked as they are; the indexed ones start at zero.
        rest = IndexMap(
            at.rank,
            (0,) * axes + at.offsets[lead:],
            ((0,) * at.rank,) * axes + at.coefs[lead:],
        )
        site = len(self.out.sites)
        self.out.sites.append(node)
        limits = tuple((self.limit(operand, a), self.limit(operand, a, True)) for a in range(axes))
        indices = indices[:axes]
        return ir.Gather(out, node.dtype, self.form(operand, rest), tuple(indices), limits, site)


class _Schedule:
    """Where each value is computed: once for each stage that needs it, or kept from an earlier."""

    TAIL, FINAL = -1, -2

    def __init__(self, lowering: _Lowering) -> None:
        self.low = lowering
        self.kernel = lowering.out.ir
        self.done: dict[int, set[Key]] = {}
        self.first: dict[Key, int] = {}  # the stage whose body first computed an element value
        self.slots: dict[Key, int] = {}

    def place(self, stage: int) -> list[ir.Statement]:
        """The statement list of a stage's body, of the row's tail, or of the final part."""
        if stage == self.TAIL:
            return self.kernel.tail
        return self.kernel.final if stage == self.FINAL else self.kernel.stages[stage].body

    def need(self, sink: Key, stage: int) -> None:
        """Make ``sink`` available in ``stage``, with everything it is computed from."""
        stack = [sink]
        while stack:
            key = stack[-1]
            context, target = self._where(key, stage)
            done = self.done.setdefault(context, set())
            if key in done or self._is_reduced(key):
                stack.pop()
                continue
            if self._recall(key, stage, target, done):
                stack.pop()
                continue
            missing = [o for o in self.low.values[key].operands if not self._available(o, stage)]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            done.add(key)
            if self.low.values[key].level == ELEMENT:
                self.first.setdefault(key, stage)
            target.extend(self.low.statements(key))

    def _available(self, key: Key, stage: int) -> bool:
        if self._is_reduced(key):
            return True
        context, _ = self._where(key, stage)
        return key in self.done.get(context, ())

    def _is_reduced(self, key: Key) -> bool:
        return key.node.op == "reduce" and key.node in self.low.cluster.roles and not key.inside

    def _where(self, key: Key, stage: int) -> tuple[int, list[ir.Statement]]:
        """The scope and the list in which ``key`` is computed when ``stage`` needs it."""
        value = self.low.values[key]
        if stage == self.FINAL:
            return self.FINAL, self.kernel.final
        if value.level == ELEMENT:
            return stage, self.place(stage)
        if stage == self.TAIL and self.kernel.splittable:
            return self.TAIL, self.kernel.tail
        if value.stage < len(self.kernel.stages):
            return 1000 + value.stage, self.kernel.stages[value.stage].head
        return self.TAIL, self.kernel.tail

    def _recall(self, key: Key, stage: int, target: list[ir.Statement], done: set[Key]) -> bool:
        """Take ``key`` from an earlier stage if that is better than computing it again."""
        value = self.low.values[key]
        first = self.first.get(key, stage)
        if value.level != ELEMENT or first == stage or not self.low.keep:
            return False
        if not self._worth_keeping(key):
            return False
        dtype = BOOL if key.inside else key.node.dtype
        if key not in self.slots:
            self.slots[key] = len(self.kernel.resident)
            self.kernel.resident.append(dtype)
            keep = ir.Keep(self.slots[key], value.number, dtype)
            self.kernel.stages[first].body.append(keep)
        target.append(ir.Recall(value.number, dtype, self.slots[key]))
        done.add(key)
        return True

    def _worth_keeping(self, key: Key) -> bool:
        """True for what is read from memory once an element, and for what is costly to compute."""
        row = OPS.get(key.node.op)
        if row is not None:
            return row.is_expensive or bool(row.may_fail)
        if key.node.op in ("gather", "scan"):
            return True
        whole = all(key.at.uses_axis(j) for j in range(key.at.rank))
        return self.low.roots.is_leaf(key.node) and whole
