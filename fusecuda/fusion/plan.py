"""Plan: the steps that compute a graph, where values live, and what was decided against."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ..graph.node import Graph, Node
from ..graph.structure import structure_of
from .cluster import Cluster
from .cone import Roots


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
    stored: dict[Node, None] = field(default_factory=dict)  # in an order that others count by
    commits: int = 0  # so many steps at the end overwrite arguments, once nothing can fail
    unseen: Collection[Node] = ()  # roots that are memory alone: others write all of it
    filled: Collection[Node] = ()  # those of them that scatters fill with one number first
    is_fused: bool = True  # False where each operation is to have a launch of its own

    def __post_init__(self) -> None:
        self.stored = self.stored or self._kept()

    def between(self) -> dict[Node, str]:
        """The values that are stored between kernels, and why."""
        why = self.roots.reasons
        kept = (r for r in why if r in self.stored and r not in self._passed_over())
        return {r: why[r] for r in kept if why[r] != "it is a result"}

    def _passed_over(self) -> set[Node]:
        """Values that a kernel overwrites before anybody reads that part of them."""
        found = set(self.unseen)
        for step in self.steps:
            roots = [] if isinstance(step, Node) else [r for r in step.roles if r.writes]
            found.update(v for r in roots if (v := self.roots.source(r.operands[0])) in roots)
        return found

    def _kept(self) -> dict[Node, None]:
        """The roots that are written to memory: something outside of their kernel reads them."""
        found: dict[Node, None] = {}
        for output in self.graph.outputs:
            found[self.roots.source(output)] = None
        for step in self.steps:
            if isinstance(step, Node):
                found.update(dict.fromkeys(self.roots.source(o) for o in step.operands))
                found[step] = None
                continue
            for root, cone in step.cones.items():
                if root.writes:
                    found[root] = None
                    found[self.roots.source(root.operands[0])] = None
                for node, _ in cone.reads:
                    if node not in step.roles:
                        found[self.roots.source(node)] = None
                found.update(cone.gathers)
        return {n: None for n in found if not structure_of(n).is_leaf}
