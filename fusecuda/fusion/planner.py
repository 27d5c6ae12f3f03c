"""The planner: from a graph to ordered steps, each a kernel or a library call.

Planning is a fixed point. An attempt assumes that every update happens in place; where that turns
out to be impossible, a decision (a copy, a temporary) is added and the attempt repeated.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.index_map import identity
from ..graph.node import Graph, Node, users
from .cluster import Cluster, overlaps, verdict
from .cost import CPU, Machine, may_fail, op_cost, recompute_pays
from .kernel_ir import ELEMENT, ROW
from .legalize import Decisions, Legal, legalize
from .placed import never_seen, placed
from .region import Region, Roots, domain, runs_apart
from .roots import choose_roots, unshaped
from .scans import scanned
from .unrolled import unrolled

_ATTEMPTS = 16


@dataclass(frozen=True, slots=True)
class Refusal:
    """Two operations that could have shared a kernel, and why they do not."""

    producer: str
    consumer: str
    reason: str
    nbytes: int  # what fusing them would have saved
    line: str | None = None  # that recorded the consumer


@dataclass(slots=True)
class Plan:
    """Steps in execution order, where each root's value lives, and why things are as they are.

    ``home`` maps each root to the root or parameter whose buffer it is written into; a root with a
    buffer of its own maps to itself.
    """

    graph: Graph
    steps: list[Cluster | Node]
    roots: Roots
    home: dict[Node, Node]
    refusals: list[Refusal]
    stored: dict[Node, None] = field(default_factory=dict)
    commits: int = 0  # so many steps at the end overwrite arguments, once nothing can fail
    unseen: Collection[Node] = ()  # roots that are memory alone: others write all of it
    is_fused: bool = True  # False where each operation is to have a launch of its own

    def between(self) -> dict[Node, str]:
        """The values that are stored between kernels, and why."""
        why = self.roots.reasons
        kept = (r for r in why if r in self.stored and r not in self._passed_over())
        return {r: why[r] for r in kept if why[r] != "it is a result"}

    def _passed_over(self) -> set[Node]:
        """Values that a kernel overwrites before anybody reads that part of them."""
        found = set(self.unseen)
        for step in self.steps:
            roots = [] if isinstance(step, Node) else [r for r in step.roles if r.op == "update"]
            found.update(v for r in roots if (v := self.roots.source(r.operands[0])) in roots)
        return found


def make_plan(
    graph: Graph,
    strides: Mapping[int, Sequence[int]],
    fuse: bool = True,
    machine: Machine = CPU,
) -> Plan:
    """The plan of ``graph`` for ``machine``; without ``fuse`` each operation is a kernel.

    ``strides`` gives the strides, in elements, of the parameters that are not contiguous.
    """
    return plan_prepared(prepared(graph, machine) if fuse else graph, strides, fuse, machine)


def prepared(graph: Graph, machine: Machine) -> Graph:
    """``graph`` in the form in which its operations fuse best."""
    graph = placed(unrolled(graph, machine))
    return scanned(graph) if machine.scans else graph


def plan_prepared(
    graph: Graph,
    strides: Mapping[int, Sequence[int]],
    fuse: bool,
    machine: Machine,
    apart: Collection[Node] = (),
) -> Plan:
    """As `make_plan`; the nodes that are to be ``apart`` share no kernel with what they read."""
    decisions = Decisions()
    if any(t is not None for t in graph.targets) and any(map(may_fail, graph.nodes())):
        why = "an argument is overwritten only when no element has failed"
        decisions.commit = why
    for _ in range(_ATTEMPTS):
        before = decisions.count()
        legal = legalize(graph, decisions, strides)
        attempt = _Attempt(legal, decisions, fuse, machine, apart)
        plan = attempt.run()
        if decisions.count() == before:
            assert plan is not None
            return plan
    raise AssertionError("planning did not converge")


class _Attempt:
    """One attempt at a plan; what stands in its way is added to ``decisions``."""

    def __init__(
        self,
        legal: Legal,
        decisions: Decisions,
        fuse: bool,
        machine: Machine,
        apart: Collection[Node],
    ) -> None:
        self.machine = machine
        self.apart = apart
        self.graph = legal.graph
        self.original = legal.original
        self.decisions = decisions
        self.fuse = fuse
        self.roots = self._choose_roots(legal)
        self.clusters: list[Cluster] = []
        self.place: dict[Node, int] = {}  # root -> number of its step
        self.steps: list[Cluster | Node] = []
        self.ancestors: list[int] = []
        self.refusals: list[Refusal] = []
        self.touching: dict[Node, list[int]] = {}  # source -> steps that read it
        self.commits = legal.commits
        self.used = users(self.graph.nodes())
        self.home = self._homes()
        unseen = never_seen(self.graph, self.roots) if fuse else set[Node]()
        self.unseen = {root for root in unseen if self.home[root] is root}

    def _choose_roots(self, legal: Legal) -> Roots:
        skip = ("parameter", "constant", "reshape")
        nodes = [n for n in legal.graph.nodes() if n.op not in skip]
        if not self.fuse:
            return Roots(dict.fromkeys(nodes, "fusion is off"))
        forced = dict(legal.forced)
        for node in nodes:
            if self._is_apart(node):
                buffers = (unshaped(o) for o in (node, *node.operands))
                forced.update((b, "fusion is off for it") for b in buffers if b.op not in skip)
        return choose_roots(legal.graph, forced)

    def _is_apart(self, node: Node) -> bool:
        """True if ``node`` shares no kernel with what it reads."""
        return bool(self.apart) and self.original.get(node, node) in self.apart

    def run(self) -> Plan | None:
        known = self.decisions.count()
        for root in self.graph_order():
            if root in self.unseen:  # a buffer, of which others write all
                continue
            if runs_apart(root):
                self._new_step(root, root, [self.roots.source(o) for o in root.operands])
            else:
                self._place(root)
        self._keep_expensive()
        if self.decisions.count() > known:
            return None  # what they change may be what stands in the way of an order
        home = self.home
        order = self._schedule(home)
        if order is None:
            return None
        plan = Plan(self.graph, order, self.roots, home, self.refusals)
        plan.stored = _stored(plan)
        plan.unseen = self.unseen
        plan.is_fused = self.fuse and not self.apart
        plan.commits = len({self.place[n] for n in self.commits})
        return plan

    def graph_order(self) -> list[Node]:
        return [n for n in self.graph.nodes() if n in self.roots]

    # --- forming clusters

    def _place(self, root: Node) -> None:
        region = Region(root, self.roots)
        self._check_own_hazard(root, region)
        needed = list(region.sources)
        if root.op == "update":
            needed.append(self.roots.source(root.operands[0]))
        if self.fuse and not self._is_apart(root):
            for number in self._candidates(root, region):
                cluster = self.steps[number]
                assert isinstance(cluster, Cluster)
                commit = any(r in self.commits for r in cluster.roles)
                if commit != (root in self.commits) or self._cyclic(number, needed):
                    continue
                if root.op == "update" and self._is_seen_between(root, cluster):
                    continue
                role, why = verdict(cluster, root, region, self.roots)
                if role:
                    cluster.add(root, role, region, self.roots)
                    self._depend(number, root, needed)
                    return
                self._refuse(cluster, root, region, why)
        cluster = Cluster(len(self.steps), domain(root), machine=self.machine)
        cluster.add(root, ROW if root.op == "reduce" else ELEMENT, region, self.roots)
        self.clusters.append(cluster)
        self._new_step(cluster, root, needed)

    def _is_seen_between(self, root: Node, cluster: Cluster) -> bool:
        """True if others need the version of ``cluster`` that the update ``root`` goes on from."""
        version = self.roots.source(root.operands[0])
        if version not in cluster.roles:
            return False
        return self.used[version] != [root] or version in self.graph.outputs

    def _new_step(self, step: Cluster | Node, root: Node, needed: Sequence[Node]) -> None:
        self.steps.append(step)
        self.ancestors.append(0)
        self._depend(len(self.steps) - 1, root, needed)

    def _depend(self, number: int, root: Node, needed: Sequence[Node]) -> None:
        """Record that step ``number`` computes ``root`` after ``needed``."""
        self.place[root] = number
        mask = 0
        for node in needed:
            self.touching.setdefault(node, []).append(number)
            if node in self.place and self.place[node] != number:
                mask |= 1 << self.place[node] | self.ancestors[self.place[node]]
        if mask & ~self.ancestors[number]:
            own = 1 << number
            self.ancestors[number] |= mask
            for later, seen in enumerate(self.ancestors):
                if seen & own:
                    self.ancestors[later] |= mask

    def _cyclic(self, number: int, needed: Sequence[Node]) -> bool:
        """True if something ``needed`` is computed only after step ``number``."""
        own = 1 << number
        return any(
            node in self.place
            and self.place[node] != number
            and self.ancestors[self.place[node]] & own
            for node in needed
        )

    def _candidates(self, root: Node, region: Region) -> list[int]:
        """Clusters that compute or read what ``root`` reads, producers first, newest first."""
        made = [*region.sources]
        if root.op == "update":
            made.append(self.roots.source(root.operands[0]))
        producers = {self.place[s] for s in made if s in self.place}
        sharing = {n for s in made for n in self.touching.get(s, ())[-4:]}
        ranked = sorted(producers, reverse=True)[:8]
        ranked += sorted(sharing - producers, reverse=True)[:4]
        return [n for n in ranked if isinstance(self.steps[n], Cluster)]

    def _refuse(self, cluster: Cluster, root: Node, region: Region, why: str) -> None:
        shared = [s for s in region.sources if s in cluster.roles]
        if shared:
            nbytes = sum(s.nbytes for s in shared)
            self.refusals.append(Refusal(_label(shared[0]), _label(root), why, nbytes, root.line))

    # --- decisions for the next attempt

    def _check_own_hazard(self, root: Node, region: Region) -> None:
        if root.op != "update":
            return
        versions = [self.roots.source(root.operands[0])]
        while versions[-1].op == "update":
            versions.append(self.roots.source(versions[-1].operands[0]))
        places = dict.fromkeys(versions, ((root.map, domain(root)),))
        if overlaps(region, places.get, self.roots):
            why = "it overwrites elements that it still reads, so its value is stored first"
            self.decisions.own_value.setdefault(self.original[root], why)

    def _keep_expensive(self) -> None:
        """Force a buffer for what several kernels would compute again at a higher price."""
        if not self.fuse:
            return
        seen: dict[Node, set[int]] = {}
        for cluster in self.clusters:
            for region in cluster.regions.values():
                for node, _ in region.inlined:
                    seen.setdefault(node, set()).add(cluster.number)
        for node, places in seen.items():
            if len(places) > 1 and node in self.original and node.size > 1:
                cost = _region_cost(node, self.roots)
                if not recompute_pays(node, cost, len(places)):
                    why = f"{len(places)} kernels use it, and it costs more than keeping it"
                    self.decisions.forced.setdefault(self.original[node], why)

    # --- storage

    def _homes(self) -> dict[Node, Node]:
        home: dict[Node, Node] = {}
        parameters = {p.parameter.number: p for p in self.graph.parameters}
        for root in self.roots:
            home[root] = root
            if root.op == "update":
                old = self.roots.source(root.operands[0])
                home[root] = home.get(old, old)
        for i, output in enumerate(self.graph.outputs):
            target = self.graph.target(i)
            if target is not None and output in home and home[output] is not parameters[target]:
                own = home[output]
                for root in self.roots:
                    if home[root] is own:
                        home[root] = parameters[target]
        return home

    def _schedule(self, home: dict[Node, Node]) -> list[Cluster | Node] | None:
        """The steps in an order that respects reads before overwrites, or None to try again."""
        before = self._anti_dependencies(home)
        count = len(self.steps)
        after: list[list[int]] = [[] for _ in range(count)]
        waiting = [0] * count
        edges = set(before)
        for number in range(count):
            edges.update((p, number) for p in self._direct(number))
        commits = {self.place[n] for n in self.commits}
        edges.update((n, c) for c in commits for n in range(count) if n not in commits)
        for first, then in edges:
            after[first].append(then)
            waiting[then] += 1
        ready = [n for n in range(count) if not waiting[n]]
        heapq.heapify(ready)
        order = []
        while ready:
            number = heapq.heappop(ready)
            order.append(self.steps[number])
            for then in after[number]:
                waiting[then] -= 1
                if not waiting[then]:
                    heapq.heappush(ready, then)
        if len(order) < count:
            self._break_cycle(before, waiting)
            return None
        return order

    def _direct(self, number: int) -> set[int]:
        step = self.steps[number]
        roots = [step] if isinstance(step, Node) else list(step.roles)
        found = set()
        for root in roots:
            for node in self._needs(root):
                if node in self.place and self.place[node] != number:
                    found.add(self.place[node])
        return found

    def _needs(self, root: Node) -> list[Node]:
        step = self.steps[self.place[root]]
        if isinstance(step, Node):
            return [self.roots.source(o) for o in root.operands]
        needed = list(step.regions[root].sources)
        if root.op == "update":
            needed.append(self.roots.source(root.operands[0]))
        return needed

    def _anti_dependencies(self, home: dict[Node, Node]) -> dict[tuple[int, int], Node]:
        """(reader's step, writer's step) -> writer, for each overwritten version of a buffer."""
        writers = self._overwrites(home)
        found: dict[tuple[int, int], Node] = {}
        outputs = set(self.graph.outputs)
        for writer, version in writers:
            why = self._forbidden(writer, version, home, outputs)
            if why:
                self._copy_before(writer, why)
                continue
            mine = self.place[writer]
            for reader in self.touching.get(version, ()):
                if reader != mine:
                    found[reader, mine] = writer
                elif writer.op != "update" and not self._harmless(writer, version):
                    self._copy_before(writer, "it overwrites elements that it still reads")
        return found

    def _overwrites(self, home: dict[Node, Node]) -> list[tuple[Node, Node]]:
        """Each root that writes over an earlier version of a buffer, with that version."""
        found = []
        versions: dict[Node, list[Node]] = {}
        for root in self.roots:
            if home[root] is not root:
                versions.setdefault(home[root], []).append(root)
        for buffer, writers in versions.items():
            earlier = [w for w in writers if self._replaced(w)]
            for root in writers:
                if root.op == "update":
                    found.append((root, self.roots.source(root.operands[0])))
                else:  # it replaces all that was there, after every use of it
                    found += [(root, version) for version in (buffer, *earlier)]
        return found

    def _replaced(self, writer: Node) -> bool:
        """True if ``writer`` is a version made by updates of an argument alone."""
        while writer.op == "update":
            writer = self.roots.source(writer.operands[0])
        return writer.op == "parameter"

    def _forbidden(
        self, writer: Node, version: Node, home: dict[Node, Node], outputs: set[Node]
    ) -> str:
        """Why ``version`` may not be overwritten at all, or an empty string."""
        if version.op == "parameter":
            number = version.parameter.number
            if number not in self.graph.targets:
                return "an argument that is not the result must stay as it is"
        if version in outputs and writer.op == "update":
            return "the version before it is a result too"
        for output in outputs:
            if output.op == "reshape" and self.roots.source(output) is version:
                return "the version before it is a result too"
        return ""

    def _harmless(self, writer: Node, version: Node) -> bool:
        """True if the kernel of ``writer`` reads ``version`` only where it writes."""
        cluster = self.steps[self.place[writer]]
        if isinstance(cluster, Node):
            return True  # a library call reads all before its result is stored
        if cluster.roles[writer] != ELEMENT or version in cluster.roles:
            return False
        for region in cluster.regions.values():
            for node, at in region.reads:
                if self.roots.source(node) is version and (
                    node is not version
                    or not at.same_over(identity(len(node.shape)), cluster.shape)
                    or domain(region.root) != cluster.shape
                ):
                    return False
            if version in region.gathers:
                return False
        return True

    def _copy_before(self, writer: Node, why: str) -> None:
        """Let ``writer`` write elsewhere in the next attempt."""
        if writer.op == "update":
            self.decisions.copy_old.setdefault(self.original[writer], why)
        else:
            for i, output in enumerate(self.graph.outputs):
                chain = output is writer or self.home.get(output) is self.home[writer]
                if chain and self.graph.target(i) is not None:
                    self.decisions.copy_output.setdefault(i, why)

    def _break_cycle(self, before: dict[tuple[int, int], Node], waiting: list[int]) -> None:
        stuck = {writer for (_, then), writer in before.items() if waiting[then]}
        shared = users(self.graph.nodes())
        for writer in stuck:
            value = writer.operands[1] if writer.op == "update" else writer
            inlined = value.op != "constant" and not self.roots.is_leaf(value)
            if inlined and len(shared[value]) > 1:
                why = "it is written to an array and used after that"
                self.decisions.forced.setdefault(self.original[value], why)
            else:
                why = "something that comes later still reads what was there"
                self._copy_before(writer, why)


def _region_cost(node: Node, roots: Roots) -> int:
    return op_cost(node) + sum(op_cost(n) for n, _ in Region(node, roots).inlined)


def _label(node: Node) -> str:
    kind = node.reduction.kind if node.op == "reduce" else node.op
    return f"{kind} {node.dtype}{list(node.shape)}"


def _stored(plan: Plan) -> dict[Node, None]:
    """The roots that something outside their own kernel reads, and that are written to memory."""
    stored: dict[Node, None] = {}
    for output in plan.graph.outputs:
        stored[plan.roots.source(output)] = None
    for step in plan.steps:
        if isinstance(step, Node):
            stored.update(dict.fromkeys(plan.roots.source(o) for o in step.operands))
            stored[step] = None
            continue
        for root, region in step.regions.items():
            if root.op == "update":
                stored[root] = None
                stored[plan.roots.source(root.operands[0])] = None
            for node, _ in region.reads:
                if node not in step.roles:
                    stored[plan.roots.source(node)] = None
            stored.update(region.gathers)
    return {n: None for n in stored if n.op != "parameter"}
