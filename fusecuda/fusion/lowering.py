"""Lowering: from a cluster of nodes to kernel IR, with the accesses that binding needs."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph.bounds import are_inside, bounds
from ..graph.dtypes import BOOL, INT64
from ..graph.index_map import IndexMap, Shape
from ..graph.node import Node
from ..graph.ops import OPS
from ..graph.structure import structure_of
from . import kernel_ir as ir
from .cluster import CROSS, OUTER, Cluster
from .cone import Roots
from .cost import may_fail
from .kernel_ir import ELEMENT, FINAL, FOOT, ROW
from .levels import Levels
from .stages import ALL, Key, Schedule

_ENDS = {Schedule.TAIL: (ROW,), Schedule.FINAL: (OUTER, FINAL), Schedule.FOOT: (CROSS, FOOT)}


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
    work: int  # elements that it computes
    accesses: list[Access] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    scalars: list[Node] = field(default_factory=list)
    sites: list[Node] = field(default_factory=list)


def lower(
    cluster: Cluster,
    roots: Roots,
    stored: Container[Node],
    overwriting: Container[Node],
    name: str,
    last: bool = False,
    filled: Collection[Node] = (),
    keep: str = ALL,
) -> Lowered:
    """The kernel of ``cluster``, which writes those of its roots that are ``stored``.

    Those that are ``overwriting`` an earlier value of their memory are written in the last stage.
    If it comes ``last``, to overwrite arguments, all that can fail in it does so before. What is
    ``filled`` with one number is so by the scatter that goes on in its memory. ``keep`` says what
    stays resident between the passes over a row; each pass reads and computes the rest that it
    needs again.
    """
    lowered = _Lowering(cluster, roots, overwriting, name, keep, filled).run(stored)
    lowered.ir.checks_first = last and lowered.ir.is_ordered
    return lowered


class _Lowering(Levels):
    """The statements of a kernel, written into its stages."""

    def __init__(
        self,
        cluster: Cluster,
        roots: Roots,
        overwriting: Container[Node],
        name: str,
        keep: str,
        filled: Collection[Node],
    ) -> None:
        super().__init__(cluster, roots, filled)
        self.keep = keep
        self.overwriting = overwriting
        rows, rank = self.row_rank, len(self.order)
        kind = "loop" if cluster.reduced is None else "reduction"
        kernel = ir.KernelIR(name, kind, rows, rank - rows)
        shape = tuple(cluster.shape[a] for a in self.order)
        self.out = Lowered(kernel, shape[:rows], shape[rows:], cluster.work)
        self.forms: dict[Access, int] = {}
        self.arguments: dict[Node, int] = {}
        self.limits: dict[Limit, int] = {}

    def run(self, stored: Container[Node]) -> Lowered:
        kernel = self.out.ir
        sinks = {root: self.key_of(root) for root in self.cluster.roles}
        for root, key in sinks.items():
            for needed in (key, *self.indices_of(root), self.filled_by(root)):
                if needed is not None:
                    self.analyse(needed)
        reduces = [r for r, role in self.cluster.roles.items() if r.reduces]
        inner = [r for r in reduces if self.cluster.roles[r] == ROW]
        cross = [r for r in reduces if self.cluster.roles[r] == CROSS]
        written = [r for r in self.cluster.roles if r in stored]
        elements = [r for r in written if self.cluster.roles[r] == ELEMENT]
        last = [self.values[sinks[r]].stage - 1 for r in inner]
        last += [self.values[sinks[r]].stage for r in (*elements, *cross)]
        kernel.stages = [ir.Stage() for _ in range(max(last, default=0) + 1)]
        schedule = Schedule(
            kernel, self.values, self.number, self.statements, self.cluster.roles, self.roots,
            self.keep,
        )  # fmt: skip
        for number, stage in enumerate(kernel.stages):
            for root in inner:
                if self.values[sinks[root]].stage - 1 == number:
                    stage.reduces.append(self._reduce(root, schedule, number))
            for root in cross:
                if self.values[sinks[root]].stage == number:
                    stage.cross.append(self._reduce(root, schedule, number))
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

    def _finish_rows(self, written: list[Node], reduces: list[Node], schedule: Schedule) -> None:
        roles = self.cluster.roles
        for stage, levels in _ENDS.items():
            ending = [r for r in written if roles[r] in levels]
            for root in ending:  # all is read before anything may be overwritten
                schedule.need(self.key_of(root), stage)
            for root in reduces:
                if stage == Schedule.TAIL and roles[root] == OUTER:
                    self.out.ir.outer.append(self._reduce(root, schedule, stage))
            for root in ending:
                self._store(root, schedule, stage)

    def _reduce(self, root: Node, schedule: Schedule, stage: int) -> ir.Reduce:
        key = self.key_of(root)
        operand, *ends = self.values[key].operands
        if ends:
            self._segment(root, ends, schedule, stage)
        schedule.need(operand, stage)
        value, kind = self.number(operand), root.reduction.kind
        number, whole = self.number(key), not ends
        return ir.Reduce(number, root.dtype, kind, value, operand.node.dtype, from_zero=whole)

    def _segment(self, root: Node, ends: list[Key], schedule: Schedule, stage: int) -> None:
        """The ends of each row's segment are known before its elements are computed."""
        for end in ends:
            schedule.need(end, stage)
        if self.out.ir.segment is None:
            first, last = (self.number(end) for end in ends)
            self.out.ir.segment = ir.Segment(first, last, self._site(root))

    def _store(self, root: Node, schedule: Schedule, stage: int) -> None:
        key, at = self.key_of(root), self.place_of(root)
        schedule.need(key, stage)
        if root.op == "scatter":
            return self._store_scattered(root, schedule, stage)
        if root.op == "compact":
            return self._store_compacted(root, schedule, stage)
        if root.op == "update":
            at = at.then(root.map)
        form = self.form(root, at, store=True)
        value = self.number(key)
        late = self.cluster.late and root.op == "update"
        schedule.place(stage).append(ir.Store(form, value, root.dtype, late))

    def _store_scattered(self, root: Node, schedule: Schedule, stage: int) -> None:
        indices = self.indices_of(root)
        for index in indices:
            schedule.need(index, stage)
        target = Node("index", (root,), root.scatter.shape, root.dtype, root.scatter.map)
        lead = len(root.operands[2].shape)
        form, limits = self._displaced(target, self.place_of(root), lead, len(indices), store=True)
        numbers = tuple(self.number(index) for index in indices)
        kind = root.scatter.kind
        value = self.number(self.key_of(root))
        op = None if kind == "set" else kind
        site = -1 if are_inside(root) else self._site(root)
        schedule.place(stage).append(ir.Scatter(form, numbers, limits, value, root.dtype, op, site))
        number = self.filled_by(root)
        if number is not None:
            schedule.need(number, stage)
            extents = tuple(self.limit(root, axis) for axis in range(len(root.shape)))
            filled = self.form(root, self.start_of(root), store=True)
            value = self.number(number)
            self.out.ir.fills.append(ir.Fill(filled, extents, value, root.dtype))

    def _store_compacted(self, root: Node, schedule: Schedule, stage: int) -> None:
        (mask,) = self.indices_of(root)
        schedule.need(mask, stage)
        form = self.form(root, self.start_of(root), store=True)
        value = self.number(self.key_of(root))
        picks = self.number(mask)
        schedule.place(stage).append(ir.Compact(form, picks, value, root.dtype))

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
        number = [self.number(o) for o in self.values[key].operands]
        out = self.number(key)
        if inside:
            return [self._inside(key, out)]
        if node.op == "constant" or (node.op == "parameter" and node.parameter.scalar):
            if node not in self.arguments:
                self.arguments[node] = len(self.out.scalars)
                self.out.scalars.append(node)
                self.out.ir.scalars.append(node.dtype)
            return [ir.Argument(out, node.dtype, self.arguments[node])]
        if node not in self.cluster.roles and self.roots.is_leaf(node):
            guarded = self.number(guard) if guard else None
            return [ir.Load(out, node.dtype, self.form(node, at), guarded)]
        if node.op == "iota":
            return [ir.Index(out, INT64, self.form(None, at.along(node.axis)))]
        if structure_of(node).looks_up:
            return [self._looked_up(node, at, out, number)]
        if structure_of(node).is_choice:
            return [_select(node, out, number)]
        if node.op == "scan":
            return [ir.Scan(out, node.dtype, node.reduction.kind, number[0])]
        return [self._compute(node, out, number)]

    def _compute(self, node: Node, out: int, operands: list[int]) -> ir.Compute:
        site = self._site(node) if OPS[node.op].may_fail else -1
        dtypes = tuple(o.dtype for o in node.operands)
        is_small = node.op in ir.QUOTIENTS and all(map(_is_small, node.operands))
        return ir.Compute(out, node.dtype, node.op, tuple(operands), dtypes, site, is_small)

    def _inside(self, key: Key, out: int) -> ir.InRange:
        """Whether the index lies inside: one test for each axis on which it may not."""
        domain = self.out.row_shape + self.out.shape
        tests = []
        for axis, extent in enumerate(key.node.shape):
            row = key.at.along(axis)
            if not row.fits(domain, (extent,)):
                tests.append((self.form(None, row), self.limit(key.node, axis)))
        guard = None if key.guard is None else self.number(key.guard)
        return ir.InRange(out, BOOL, tuple(tests), guard)

    def _looked_up(self, node: Node, at: IndexMap, out: int, values: list[int]) -> ir.LookUp:
        table, *places = node.operands
        form, limits = self._displaced(table, at, len(places[0].shape), len(places))
        if node.op == "search":
            return ir.Search(out, node.dtype, form, values[0], places[0].dtype, limits, node.side)
        site = self._site(node) if may_fail(node) else -1
        return ir.Gather(out, node.dtype, form, tuple(values[: len(places)]), limits, site)

    def _displaced(
        self, node: Node, at: IndexMap, lead: int, axes: int, store: bool = False
    ) -> tuple[int, tuple[tuple[int, int], ...]]:
        """The form that walks ``node`` from where its first ``axes`` are zero, and their limits.

        ``at`` gives the place of the indices, along ``lead`` axes, and then the other axes' index.
        """
        rest = IndexMap(
            at.rank,
            (0,) * axes + at.offsets[lead:],
            ((0,) * at.rank,) * axes + at.coefs[lead:],
        )
        limits = tuple((self.limit(node, a), self.limit(node, a, True)) for a in range(axes))
        return self.form(node, rest, store), limits

    def _site(self, node: Node) -> int:
        """The number by which a kernel says that ``node`` could not be computed."""
        self.out.sites.append(node)
        return len(self.out.sites) - 1


def _is_small(node: Node) -> bool:
    """True for integers that are surely below `ir.SMALL` in size."""
    known = bounds(node) if node.dtype.itemsize > 2 else None  # narrower ones are as they are
    return known is not None and known[0] > -ir.SMALL and known[1] < ir.SMALL


def _select(node: Node, out: int, numbers: list[int]) -> ir.Select:
    """The first operand whose test holds; ``numbers`` has tests before operands.

    The last needs no test, for an element is in one of them.
    """
    *pairs, otherwise = numbers
    values = tuple(pairs[1::2])
    return ir.Select(out, node.dtype, tuple(pairs[0::2][: len(values)]), values, otherwise)
