"""The planner: from a graph to ordered steps, each a kernel or a library call.

Planning is a fixed point. An attempt assumes that every update happens in place; where that turns
out to be impossible, a decision (a copy, a temporary) is added and the attempt repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from ..graph.node import Graph, Node, topological, users
from ..graph.structure import structure_of
from .cluster import Cluster
from .compactions import compacted
from .components import by_components
from .cone import Cone, Roots, domain, reached, runs_apart
from .cost import CPU, Machine, may_fail, price, recompute_pays
from .kernel_ir import ELEMENT, ROW
from .legalize import Decisions, Legal, legalize
from .narrowed import narrowed
from .order import Order
from .overwriting import can_wait, overlaps, place_of, versions_of
from .placed import never_seen, placed
from .plan import Plan, Refusal
from .read_back import read_back
from .read_later import read_later
from .roots import choose_roots, unshaped
from .scans import scanned
from .scatters import filled, scattered
from .sliding import by_lanes
from .unrolled import unrolled
from .verdict import verdict

_ATTEMPTS = 16
_READ = 2.0  # the price of an element that is read again


def make_plan(
    graph: Graph,
    strides: Mapping[int, Sequence[int]],
    fuse: bool = True,
    machine: Machine = CPU,
) -> Plan:
    """The plan of ``graph`` for ``machine``; without ``fuse`` each operation is a kernel.

    ``strides`` gives the strides, in elements, of the parameters that are not contiguous.
    """
    graph = prepared(graph, machine) if fuse else _unfused(graph, machine)
    return plan_prepared(graph, strides, fuse, machine)


def _unfused(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with what only kernels compute, or compute with bits of their own."""
    graph = compacted(graph, machine)
    return scanned(graph, machine) if machine.group > 1 else graph


def prepared(graph: Graph, machine: Machine) -> Graph:
    """``graph`` in the form in which its operations fuse best."""
    for preparation in preparations(machine):
        graph = preparation(graph)
    return graph


def preparations(machine: Machine) -> list[Callable[[Graph], Graph]]:
    """The passes that bring a graph into that form, in order."""
    found: list[Callable[[Graph], Graph]] = [partial(by_components, machine=machine)]
    found += [partial(unrolled, machine=machine), partial(by_lanes, machine=machine)]
    found += [read_later, placed]
    found += [read_back] if machine.waits else []
    found.append(partial(scanned, machine=machine))
    found += [scattered] if machine.ordered else []
    return [*found, partial(narrowed, machine=machine), partial(compacted, machine=machine)]


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
        decisions.commit, decisions.checked = why, _checked(graph)
    for _ in range(_ATTEMPTS):
        before = decisions.count()
        legal = legalize(graph, decisions, strides)
        attempt = _Attempt(legal, decisions, fuse, machine, apart)
        plan = attempt.run()
        if decisions.count() == before:
            assert plan is not None
            return plan
    raise AssertionError("planning did not converge")


def _checked(graph: Graph) -> Node | None:
    """The scatter that alone writes to an argument, when all else has been done, if there is one.

    Its kernel looks at all indices before it writes, so the argument needs no copy.
    """
    written = [(o, t) for i, o in enumerate(graph.outputs) if (t := graph.target(i)) is not None]
    (node, number), *others = written
    if others or node.op != "scatter" or node.operands[0].op != "parameter":
        return None
    if any(node in n.operands for n in graph.nodes()) or graph.outputs.count(node) > 1:
        return None  # what is read of it comes later, a copy that is a result of its own, too
    below = set(topological([node]))
    first = all(n in below for n in graph.nodes() if may_fail(n))
    return node if first and node.operands[0].parameter.number == number else None


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
        self.cones = {r: Cone(r, self.roots) for r in self.roots if not runs_apart(r)}
        self.readers: dict[Node, list[Cone]] = {}  # reduction -> what reads it
        for cone in self.cones.values():
            for source in cone.sources:
                if source.reduces:
                    self.readers.setdefault(source, []).append(cone)
        self.commits = legal.commits
        self.used = users(self.graph.nodes())
        self.order = Order(legal, self.roots, decisions, self.steps, self.place, self.touching)
        unseen, own = set[Node](), set[Node]()
        if fuse:
            unseen, own = never_seen(self.graph, self.roots), filled(self.graph, self.roots)
        self.filled = {root for root in own if self.order.home[root] is root}
        self.unseen = {root for root in unseen if self.order.home[root] is root} | self.filled

    def _choose_roots(self, legal: Legal) -> Roots:
        nodes = [n for n in legal.graph.nodes() if not structure_of(n).unstored]
        if not self.fuse:
            return Roots(dict.fromkeys(nodes, "fusion is off"))
        forced = dict(legal.forced)
        for node in nodes:
            if self._is_apart(node):
                buffers = (unshaped(o) for o in (node, *node.operands))
                kept = (b for b in buffers if not structure_of(b).unstored)
                forced.update(dict.fromkeys(kept, "fusion is off for it"))
        return choose_roots(legal.graph, forced, self.machine)

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
        steps = self.order.run()
        if steps is None:
            return None
        plan = Plan(self.graph, steps, self.roots, self.order.home, self.refusals)
        plan.unseen, plan.filled = self.unseen, self.filled
        plan.is_fused = self.fuse and not self.apart
        plan.commits = len({self.place[n] for n in self.commits})
        return plan

    def graph_order(self) -> list[Node]:
        return [n for n in self.graph.nodes() if n in self.roots]

    # --- forming clusters

    def _place(self, root: Node) -> None:
        cone = self.cones[root]
        self._check_own_hazard(root, cone)
        needed = list(cone.sources)
        if root.writes:
            needed.append(self.roots.source(root.operands[0]))
        if self.fuse and not self._is_apart(root):
            for number in self._candidates(root, cone):
                cluster = self.steps[number]
                assert isinstance(cluster, Cluster)
                commit = any(r in self.commits for r in cluster.roles)
                if commit != (root in self.commits) or self._cyclic(number, needed):
                    continue
                if root.writes and self._is_seen_between(root, cluster):
                    continue
                role, why = verdict(cluster, root, cone, self.roots)
                if role:
                    cluster.add(root, role, cone, self.roots)
                    self._depend(number, root, needed)
                    return
                self._refuse(cluster, root, cone, why)
        cluster = Cluster(len(self.steps), domain(root), machine=self.machine)
        cluster.add(root, ROW if root.reduces else ELEMENT, cone, self.roots)
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

    def _candidates(self, root: Node, cone: Cone) -> list[int]:
        """Clusters that compute or read what ``root`` reads, producers first, newest first.

        Then, for a reduction, those that compute what is read beside it: where a kernel passes over
        rows again, all that it needs of them is to be known.
        """
        made = [*cone.sources]
        if root.writes:
            made.append(self.roots.source(root.operands[0]))
        producers = {self.place[s] for s in made if s in self.place}
        sharing = {n for s in made for n in self.touching.get(s, ())[-4:]}
        ranked = sorted(producers, reverse=True)[:8]
        ranked += sorted(sharing - producers, reverse=True)[:4]
        beside = {s for r in self.readers.get(root, ()) for s in r.sources if s in self.place}
        others = {self.place[s] for s in beside}.difference(ranked)
        ranked += sorted(others, reverse=True)[:4]
        return [n for n in ranked if isinstance(self.steps[n], Cluster)]

    def _refuse(self, cluster: Cluster, root: Node, cone: Cone, why: str) -> None:
        shared = [s for s in cone.sources if s in cluster.roles]
        if shared:
            nbytes = sum(s.nbytes for s in shared)
            self.refusals.append(Refusal(_label(shared[0]), _label(root), why, nbytes, root.line))

    # --- decisions for the next attempt

    def _check_own_hazard(self, root: Node, cone: Cone) -> None:
        if not root.writes:
            return
        places = dict.fromkeys(versions_of(root, self.roots), (place_of(root),))
        waits = self.machine.waits and self.fuse and root.op == "update"
        fits = root.dtype.itemsize <= self.machine.late_bytes
        if waits and fits and can_wait(cone, places.get, self.roots, self.machine):
            return
        if overlaps(cone, places.get, self.roots):
            why = "it overwrites elements that it still reads, so its value is stored first"
            self.decisions.own_value.setdefault(self.original[root], why)

    def _keep_expensive(self) -> None:
        """Force a buffer for what several kernels would compute again at a higher price."""
        if not self.fuse:
            return
        seen: dict[Node, dict[int, int]] = {}  # times that each kernel computes all of it
        for cluster in self.clusters:
            for cone in cluster.cones.values():
                size = structure_of(cone.root).work(cone.root)
                for node, at in cone.inlined:
                    times = 1 if cluster.is_of_row(at) else size // max(1, node.size)
                    places = seen.setdefault(node, {})
                    places[cluster.number] = max(times, places.get(cluster.number, 1))
        for node, places in seen.items():
            if node.op == "index":
                continue  # what it shows costs, and has its turn: a broadcast has no more of it
            shared = len(places) > 1 and node in self.original and node.size > 1
            if shared and not self._is_slight(node) and self._costs_more(node, places):
                why = f"{len(places)} kernels use it, and it costs more than keeping it"
                self.decisions.forced.setdefault(self.original[node], why)

    def _is_slight(self, node: Node) -> bool:
        """True for what is as soon computed, of its place alone, as read."""
        if price(node, self.machine) > _READ or Cone(node, self.roots).sources:
            return False
        return max(_costs(node, self.roots, self.machine)) <= _READ

    def _costs_more(self, node: Node, places: Mapping[int, int]) -> bool:
        """True if computing ``node`` in all ``places``, so many times in each, costs more.

        What costs much is known to before all of it has been looked at.
        """
        cost, times, count = 0.0, max(places.values()), len(places)
        for cost in _costs(node, self.roots, self.machine):
            if not recompute_pays(node, cost * times, count, self.machine):
                return True
        if not self.machine.reads_again:
            return False
        read = self._read_for(Cone(node, self.roots), list(places))
        return not recompute_pays(node, cost * times, count, self.machine, read)

    def _read_for(self, cone: Cone, numbers: list[int]) -> float:
        """The bytes that all kernels but the first read for an element of ``cone`` alone."""
        own = 0
        for cluster in [c for c in self.clusters if c.number in numbers][1:]:
            otherwise = self._read_without(cone.root, cluster)
            own += sum(source.nbytes for source in cone.sources if source not in otherwise)
        return own / cone.root.size

    def _read_without(self, node: Node, cluster: Cluster) -> set[Node]:
        """The sources that ``cluster`` reads for anything but ``node``."""
        found: set[Node] = set()
        seen = {node}
        stack = [o for root in cluster.cones for o in root.operands]
        while stack:
            below = stack.pop()
            if below in seen:
                continue
            seen.add(below)
            if self.roots.is_leaf(below):
                found.add(self.roots.source(below))
            else:
                stack.extend(below.operands)
        return found


def _costs(node: Node, roots: Roots, machine: Machine) -> Iterator[float]:
    """The price of an element as it grows by what ``node`` is computed from; all of it is the last.

    What has fewer elements, as a row's value, costs less.
    """
    own, size, below = price(node, machine), node.size, 0.0
    yield own
    for (inside, _), is_read in reached(node, roots):
        if not is_read:
            below += price(inside, machine) * min(1, inside.size / size)
            yield own + below


def _label(node: Node) -> str:
    kind = node.reduction.kind if node.reduces else node.op
    return f"{kind} {node.dtype}{list(node.shape)}"
