"""Order: where values live, and steps in an order that reads what is overwritten before it is.

Where there is no such order, a decision is added, for the next attempt at a plan.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from ..graph.index_map import IndexMap, Shape, identity
from ..graph.node import Graph, Node, users
from .cluster import Cluster
from .cone import Roots, domain
from .legalize import Decisions, Legal
from .overwriting import place_of
from .verdict import reading_level


def homes(graph: Graph, roots: Roots) -> dict[Node, Node]:
    """For each root the root or parameter in whose buffer it is; itself if it has its own."""
    home: dict[Node, Node] = {}
    parameters = {p.parameter.number: p for p in graph.parameters}
    for root in roots:
        home[root] = root
        if root.writes:
            old = roots.source(root.operands[0])
            home[root] = home.get(old, old)
    for i, output in enumerate(graph.outputs):
        target = graph.target(i)
        if target is not None and output in home and home[output] is not parameters[target]:
            own = home[output]
            for root in roots:
                if home[root] is own:
                    home[root] = parameters[target]
    return home


_Read = tuple[list[tuple[IndexMap, Shape]] | None, set[Node]]


class Order:
    """The steps of one attempt, each with its number; ``place`` tells the step of each root.

    ``touching`` tells of each buffer the steps that read it.
    """

    def __init__(
        self,
        legal: Legal,
        roots: Roots,
        decisions: Decisions,
        steps: Sequence[Cluster | Node],
        place: Mapping[Node, int],
        touching: Mapping[Node, Sequence[int]],
    ) -> None:
        self.graph = legal.graph
        self.original = legal.original
        self.commits = legal.commits
        self.outputs = set(legal.graph.outputs)
        self.roots = roots
        self.decisions = decisions
        self.steps = steps
        self.place = place
        self.touching = touching
        self.home = homes(legal.graph, roots)
        self._read: dict[tuple[int, Node], _Read] = {}

    def run(self) -> list[Cluster | Node] | None:
        """The steps in such an order, or None to try again."""
        before = self._anti_dependencies()
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
        needed = list(step.cones[root].sources)
        if root.writes:
            needed.append(self.roots.source(root.operands[0]))
        return needed

    def _anti_dependencies(self) -> dict[tuple[int, int], Node]:
        """(reader's step, writer's step) -> writer, for each overwritten version of a buffer."""
        writers = self._overwrites()
        following = {version: writer for writer, version in writers if writer.writes}
        found: dict[tuple[int, int], Node] = {}
        for writer, version in writers:
            why = self._forbidden(writer, version)
            if why:
                self._copy_before(writer, why)
                continue
            for reader in self.touching.get(version, ()):
                met = self._met(reader, version, writer, following)
                if met is None:
                    continue
                if reader != self.place[met]:
                    found[reader, self.place[met]] = met
                elif not met.writes and not self._harmless(met, version):
                    self._copy_before(met, "it overwrites elements that it still reads")
        return found

    def _met(
        self, reader: int, version: Node, writer: Node, following: Mapping[Node, Node]
    ) -> Node | None:
        """The first writer, from ``writer`` of ``version`` on, of what step ``reader`` reads of it.

        Updates of other elements may come before: what is read of the version stays as it was.
        """
        met: Node | None = writer
        while met is not None and met.writes and self._is_beside(reader, version, met):
            met = following.get(met)
        return met

    def _is_beside(self, reader: int, version: Node, writer: Node) -> bool:
        """True if step ``reader`` reads no element of ``version`` that the update writes to."""
        read = self._read.get((reader, version))
        if read is None:
            read = self._read[reader, version] = self._what_is_read(reader, version)
        places, own = read
        if places is None or not own <= {writer}:
            return False
        place = place_of(writer)
        return all(place.is_beside(at, over, version) for at, over in places)

    def _what_is_read(self, reader: int, version: Node) -> _Read:
        """What step ``reader`` reads of ``version``, None if anything, and its own updates of it.

        A chain of updates asks for it once for each of them.
        """
        step = self.steps[reader]
        if isinstance(step, Node):
            return None, set()
        places: list[tuple[IndexMap, Shape]] = []
        own = set()
        for root, cone in step.cones.items():
            if root.writes and self.roots.source(root.operands[0]) is version:
                own.add(root)
            reads = [(n, at) for n, at in cone.reads if self.roots.source(n) is version]
            if version in cone.gathers or any(n is not version for n, _ in reads):
                return None, set()
            places += [(at, domain(root)) for _, at in reads]
        return places, own

    def _overwrites(self) -> list[tuple[Node, Node]]:
        """Each root that writes over an earlier version of a buffer, with that version."""
        found = []
        versions: dict[Node, list[Node]] = {}
        for root in self.roots:
            if self.home[root] is not root:
                versions.setdefault(self.home[root], []).append(root)
        for buffer, writers in versions.items():
            earlier = [w for w in writers if self._replaced(w)]
            for root in writers:
                if root.writes:
                    found.append((root, self.roots.source(root.operands[0])))
                else:  # it replaces all that was there, after every use of it
                    found += [(root, version) for version in (buffer, *earlier)]
        return found

    def _replaced(self, writer: Node) -> bool:
        """True if ``writer`` is a version made by updates of an argument alone."""
        while writer.writes:
            writer = self.roots.source(writer.operands[0])
        return writer.op == "parameter"

    def _forbidden(self, writer: Node, version: Node) -> str:
        """Why ``version`` may not be overwritten at all, or an empty string."""
        if version.op == "parameter":
            number = version.parameter.number
            if number not in self.graph.targets:
                return "an argument that is not the result must stay as it is"
        if version in self.outputs and writer.writes:
            return "the version before it is a result too"
        for output in self.outputs:
            if output.op == "reshape" and self.roots.source(output) is version:
                return "the version before it is a result too"
        return ""

    def _harmless(self, writer: Node, version: Node) -> bool:
        """True if the kernel of ``writer`` reads ``version`` only where, and when, it writes.

        What a row's value is combined with is read by who writes it, if no element needs it.
        """
        cluster = self.steps[self.place[writer]]
        if isinstance(cluster, Node):
            return True  # a library call reads all before its result is stored
        if version in cluster.roles:
            return False
        level, over = cluster.roles[writer], domain(writer)
        made = {version}  # with what is computed of it
        for root, cone in cluster.cones.items():
            if made.isdisjoint(cone.sources):
                continue
            if reading_level(root, cluster.roles[root]) != level or version in cone.gathers:
                return False
            for node, at in cone.reads:
                if self.roots.source(node) is version and (
                    node is not version
                    or domain(root) != over  # a row's value and its elements have other axes
                    or not at.same_over(identity(len(node.shape)), over)
                ):
                    return False
            if not root.reduces:
                made.add(root)
        return True

    def _copy_before(self, writer: Node, why: str) -> None:
        """Let ``writer`` write elsewhere in the next attempt."""
        if writer.writes:
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
            value = writer.operands[1] if writer.writes else writer
            inlined = value.op != "constant" and not self.roots.is_leaf(value)
            if inlined and len(shared[value]) > 1:
                why = "it is written to an array and used after that"
                self.decisions.forced.setdefault(self.original[value], why)
            else:
                why = "something that comes later still reads what was there"
                self._copy_before(writer, why)
