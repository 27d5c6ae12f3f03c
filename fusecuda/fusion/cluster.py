"""Cluster: the roots that share one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from ..graph.index_map import IndexMap, Shape, axis_map
from ..graph.node import Node
from ..graph.structural import Demand
from ..graph.structure import structure_of
from .cone import Cone, Roots
from .cost import CPU, Machine
from .kernel_ir import FOOT, ROW
from .overwriting import Chain, Place, overlaps, place_of, versions_of

OUTER = "outer"  # the role of a reduction over row values
CROSS = "cross"  # the role of one over all rows, at each place in them

_NOTHING = Chain()


class Segments(NamedTuple):
    """Which elements a row has: the ends of segments, and the axis along which these are."""

    first: Node
    last: Node
    axis: int


def segments_of(root: Node) -> Segments | None:
    """The segments that ``root`` reduces, if it does not reduce whole rows."""
    if root.op != "segment":
        return None
    _, first, last = root.operands
    return Segments(first, last, root.reduction.axes[0])


@dataclass(eq=False, slots=True)
class Cluster:
    """Roots computed by one kernel over ``shape``, whose ``reduced`` axes are the row's.

    ``roles`` tells for each root whether it is an element of a row, a row value, a reduction over
    row values or across rows, final, or at the foot of what was reduced across. Where its rows have
    ``segments``, these are all that is computed of them.
    """

    number: int
    shape: Shape
    reduced: tuple[int, ...] | None = None
    segments: Segments | None = None
    roles: dict[Node, str] = field(default_factory=dict)
    cones: dict[Node, Cone] = field(default_factory=dict)
    chains: dict[Node, Chain] = field(default_factory=dict)  # an update: the one that it ends
    writes: dict[Node, tuple[Chain, int]] = field(default_factory=dict)  # where a version stands
    ancestors: int = 0  # bit mask of the numbers of the clusters that run before
    stages: dict[Node, int] = field(default_factory=dict)  # by root: reductions before it, in turn
    inlined: set[Demand] = field(default_factory=set)  # what is computed on the way to its roots
    late: bool = False  # what it overwrites waits until all of it has been read
    machine: Machine = CPU

    @property
    def kept(self) -> tuple[int, ...]:
        """The axes that count rows."""
        reduced = self.reduced or ()
        return tuple(a for a in range(len(self.shape)) if a not in reduced)

    @property
    def work(self) -> int:
        """How many elements are computed."""
        return max(structure_of(root).work(root) for root in self.roles)

    @property
    def rows(self) -> Shape:
        """The extents that count rows."""
        return tuple(self.shape[a] for a in self.kept)

    @property
    def places(self) -> Shape:
        """The extents of the places in a row."""
        return tuple(self.shape[a] for a in self.reduced or ())

    def is_of_row(self, at: IndexMap) -> bool:
        """True for what ``at`` maps to if one value of it is computed for all of a row."""
        if self.reduced is None or at.rank < len(self.shape):
            return self.reduced is not None
        return not any(row[a] for row in at.coefs for a in self.reduced)

    def projection(self) -> IndexMap:
        """The map from an element's index to its row's."""
        return axis_map([(0, 1, a) for a in self.kept], len(self.shape))

    def add(self, root: Node, role: str, cone: Cone, roots: Roots) -> None:
        """Let ``root`` in; `verdict` has allowed it."""
        if root.op == "scan" or (root.op == "reduce" and role == ROW):
            if self.reduced not in (None, root.reduction.axes):
                self._turn()
            self.reduced = root.reduction.axes
        elif root.op == "segment":
            self.reduced, self.segments = (len(root.shape),), segments_of(root)
        elif root.op == "compact":
            lead, rank = len(root.operands[1].shape), len(self.shape)
            self.reduced = tuple(range(lead, rank)) or None
        self.stages[root] = self.stage_of(cone)
        self.roles[root] = role
        self.cones[root] = cone
        self.inlined.update(cone.inlined)
        written: dict[Node, Sequence[Place]] = {}  # now, of what was there before
        if root.writes:
            version, *older = versions_of(root, roots)
            chain = self.chains[root] = self.chains.get(version) or Chain()
            self.writes[version] = chain, len(chain.places)
            for before in older:  # of which elements are read that were not written since
                self.writes.setdefault(before, (chain, 0))
            chain.versions.append(version)
            chain.places.append(place_of(root))
            written = {v: chain.places[-1:] for v, (c, _) in self.writes.items() if c is chain}
        if self.writes and not self.late:
            cones = self.cones.values() if written else ()
            self.late = overlaps(cone, self.overwritten, roots) or any(
                overlaps(r, written.get, roots) for r in cones
            )

    def stage_of(self, cone: Cone) -> int:
        """How many reductions of the kernel are made one after the other before ``cone``."""
        found = [self.stages[s] + s.reduces for s in cone.sources if s in self.roles]
        return max(found, default=0)

    def staged(self) -> int:
        """How many reductions need others of the kernel."""
        return sum(root.reduces and stage > 0 for root, stage in self.stages.items())

    def _turn(self) -> None:
        """Let rows be what was reduced across: their values stand at the foot of the others."""
        for root, role in self.roles.items():
            if role == ROW:
                self.roles[root] = CROSS if root.reduces else FOOT

    def overwritten(self, version: Node) -> Iterable[Place]:
        """The elements of ``version`` that the kernel overwrites."""
        chain, first = self.writes.get(version, (_NOTHING, 0))
        return islice(chain.places, first, None)
