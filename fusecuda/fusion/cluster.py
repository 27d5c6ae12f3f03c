"""Cluster: the roots that share one kernel, and the legality of letting another one in."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from ..graph.index_map import IndexMap, Shape, axis_map, contiguous_strides, identity
from ..graph.node import Node
from ..graph.passes import are_disjoint
from ..graph.structural import Demand
from ..graph.structure import structure_of
from .cost import CPU, MAX_STATEMENTS, Machine
from .kernel_ir import ELEMENT, FINAL, ROW
from .positions import as_position, is_row_major, steps_apart
from .region import Region, Roots, domain

OUTER = "outer"  # the role of a reduction over row values


class Place(NamedTuple):
    """Elements of an array of ``shape`` that are written: a map, and the shape that it is over.

    If it is ``exact``, by the element at hand; else by any, at indices that depend on values.
    """

    at: IndexMap
    over: Shape
    shape: Shape
    exact: bool = True

    def is_beside(self, at: IndexMap, over: Shape, array: Node) -> bool:
        """True if none of them is among those of ``array`` that ``at`` gives over a shape.

        Of an array before it was regrouped that is not known.
        """
        return self.shape == array.shape and are_disjoint(at, over, self.at, self.over)


def place_of(root: Node) -> Place:
    """The elements that an update writes, or among which a scatter does."""
    if root.op == "scatter":
        return Place(root.scatter.map, root.scatter.shape, root.shape, exact=False)
    return Place(root.map, domain(root), root.shape)


def versions_of(root: Node, roots: Roots) -> list[Node]:
    """The versions of an array before the update ``root``, the last one first."""
    found = [roots.source(root.operands[0])]
    while found[-1].writes:
        found.append(roots.source(found[-1].operands[0]))
    return found


@dataclass(slots=True)
class Chain:
    """Updates of one array by one kernel: what each overwrites, and where; the places are apart."""

    versions: list[Node] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)


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
    rows, or final. Where its rows have ``segments``, these are all that is computed of them.
    """

    number: int
    shape: Shape
    reduced: tuple[int, ...] | None = None
    segments: Segments | None = None
    roles: dict[Node, str] = field(default_factory=dict)
    regions: dict[Node, Region] = field(default_factory=dict)
    chains: dict[Node, Chain] = field(default_factory=dict)  # an update: the one that it ends
    writes: dict[Node, tuple[Chain, int]] = field(default_factory=dict)  # where a version stands
    ancestors: int = 0  # bit mask of the numbers of the clusters that run before
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

    def is_of_row(self, at: IndexMap) -> bool:
        """True for what ``at`` maps to if one value of it is computed for all of a row."""
        if self.reduced is None or at.rank < len(self.shape):
            return self.reduced is not None
        return not any(row[a] for row in at.coefs for a in self.reduced)

    def projection(self) -> IndexMap:
        """The map from an element's index to its row's."""
        return axis_map([(0, 1, a) for a in self.kept], len(self.shape))

    def add(self, root: Node, role: str, region: Region, roots: Roots) -> None:
        """Let ``root`` in; `verdict` has allowed it."""
        if root.op == "scan" or (root.op == "reduce" and role == ROW):
            self.reduced = root.reduction.axes
        elif root.op == "segment":
            self.reduced, self.segments = (len(root.shape),), segments_of(root)
        elif root.op == "compact":
            lead, rank = len(root.operands[1].shape), len(self.shape)
            self.reduced = tuple(range(lead, rank)) or None
        self.roles[root] = role
        self.regions[root] = region
        self.inlined.update(region.inlined)
        if root.writes:
            version, *older = versions_of(root, roots)
            chain = self.chains[root] = self.chains.get(version) or Chain()
            self.writes[version] = chain, len(chain.places)
            for before in older:  # of which elements are read that were not written since
                self.writes.setdefault(before, (chain, 0))
            chain.versions.append(version)
            chain.places.append(place_of(root))
        if self.writes and not self.late:
            regions = self.regions.values()
            self.late = any(overlaps(r, self.overwritten, roots) for r in regions)

    def overwritten(self, version: Node) -> Iterable[Place]:
        """The elements of ``version`` that the kernel overwrites."""
        chain, first = self.writes.get(version, (_NOTHING, 0))
        return islice(chain.places, first, None)


def verdict(cluster: Cluster, root: Node, region: Region, roots: Roots) -> tuple[str, str]:
    """The role that ``root`` may take in ``cluster`` and ``""``, or ``""`` and why it may not."""
    inside = [(node, at) for node, at in region.reads if roots.source(node) in cluster.roles]
    if any(s in cluster.roles for s in region.gathers):
        return "", "a gather reads elements that other rows of this kernel compute"
    if any(node not in cluster.roles for node, _ in inside):
        return "", "a reshape regroups what the kernel computes"
    why = _another_kind(cluster, root)
    if why:
        return "", why
    new = sum(demand not in cluster.inlined for demand in region.inlined)
    if len(cluster.inlined) + len(cluster.roles) + new >= MAX_STATEMENTS:
        return "", f"a kernel holds at most {MAX_STATEMENTS} operations"
    role = _role(cluster, root, bool(inside))
    if not role:
        return "", _shape_reason(cluster, root)
    reader = _reading_level(root, role)
    for node, at in inside:
        why = _unreachable(cluster, reader, node, at)
        if why:
            return "", why
    why = _hazard(cluster, root, region, role, roots)
    return ("", why) if why else (role, "")


def _another_kind(cluster: Cluster, root: Node) -> str:
    """Why ``root`` needs a kernel of another kind than ``cluster``, or an empty string."""
    if any((r.op == "scatter") != (root.op == "scatter") for r in cluster.roles):
        return "a scatter takes its elements one after the other"
    if any(_mask_of(r) is not _mask_of(root) for r in cluster.roles):
        return "a compaction writes what one mask picks, and nothing else"
    if _shares_scanned_rows(cluster, root):
        return "its rows are long, and in them something runs on: no block has all of one to reduce"
    if cluster.late and (domain(root) != cluster.shape or root.op in _NOT_LATE):
        return "its elements are written late, when others have read what stands there"
    if cluster.late and _late_bytes(cluster, root) > cluster.machine.late_bytes:
        return "more of each element would wait than a block has room for"
    return ""


def _shares_scanned_rows(cluster: Cluster, root: Node) -> bool:
    """True if there are scans of long rows, which blocks share, and reductions, too."""
    roots = (root, *cluster.roles)
    scans = [r for r in roots if r.op == "scan"]
    longest = max((r.shape[a] for r in scans for a in r.reduction.axes), default=0)
    reduces = any(r.reduces for r in roots if r.op != "scan")
    return longest > cluster.machine.scanned_row and reduces


def _mask_of(root: Node) -> Node | None:
    """The mask by which ``root`` picks, if it is a compaction."""
    return root.operands[1] if root.op == "compact" else None


def _role(cluster: Cluster, root: Node, depends: bool) -> str:
    over = domain(root)
    if root.op == "segment":
        same = over == cluster.shape and segments_of(root) == cluster.segments
        return ROW if same and not depends else ""
    if over == cluster.shape and cluster.segments is not None:
        return ""
    if root.op == "reduce":
        axes = root.reduction.axes
        if over == cluster.shape and cluster.reduced in (None, axes):
            return ROW
        whole = depends and len(axes) == len(over)
        return OUTER if whole and cluster.reduced and cluster.kept and over == cluster.rows else ""
    if over == cluster.shape:
        fits = root.op != "scan" or cluster.reduced in (None, root.reduction.axes)
        return ELEMENT if fits else ""
    if not depends or cluster.reduced is None or root.writes or root.op == "scan":
        return ""
    if over == cluster.rows:
        return ROW
    outer = any(role == OUTER for role in cluster.roles.values())
    return FINAL if outer and over == () else ""


def _reading_level(root: Node, role: str) -> str:
    """The level at which ``root`` reads: a reduction reads one level below its result."""
    if not root.reduces:
        return role
    return ROW if role == OUTER else ELEMENT


def _shape_reason(cluster: Cluster, root: Node) -> str:
    if domain(root) == cluster.shape and segments_of(root) != cluster.segments:
        return "one takes segments of rows that the other does not"
    if root.op in ("reduce", "scan") and domain(root) == cluster.shape:
        return f"it goes along axes {root.reduction.axes}, the kernel {cluster.reduced}"
    return f"it runs over {list(domain(root))}, the kernel over {list(cluster.shape)}"


def _unreachable(cluster: Cluster, reader: str, node: Node, at: IndexMap) -> str:
    """Why level ``reader`` cannot read ``node``, computed in the same kernel, at ``at``."""
    theirs = cluster.roles[node]
    if node.writes:
        return "it reads an array that the kernel is still writing"
    if theirs == ELEMENT:
        if reader != ELEMENT or not at.same_over(identity(len(node.shape)), cluster.shape):
            return "it reads other elements than the one at hand"
        return ""
    if theirs == ROW:
        element = reader == ELEMENT
        own = cluster.projection() if element else identity(len(cluster.rows))
        over = cluster.shape if element else cluster.rows
        if reader == FINAL or not at.same_over(own, over):
            return "it reads the values of other rows"
        return _too_long(cluster) if reader == ELEMENT else ""
    return "" if reader == FINAL else "a reduction over rows is known when all rows are done"


def _too_long(cluster: Cluster) -> str:
    """Few long rows are arrays: passing over them twice is two kernels, each in parallel."""
    length = math.prod(cluster.shape[a] for a in cluster.reduced or ())
    rows, machine = math.prod(cluster.rows), cluster.machine
    item = max(root.dtype.itemsize for root in cluster.roles)
    fits = rows >= machine.rows or length * item <= machine.row_bytes
    if fits and length <= machine.longest:
        return ""
    what = "one row" if rows == 1 else f"{rows} rows"
    return f"{what} of {length} elements: a second pass is a second kernel, as wide as the machine"


def _hazard(cluster: Cluster, root: Node, region: Region, role: str, roots: Roots) -> str:
    """Why reads and writes of one storage would meet in the kernel, or an empty string."""
    if root.writes:
        place, (version, *older) = place_of(root), versions_of(root, roots)
        chain = cluster.chains.get(version, _NOTHING)
        if version in cluster.writes or (version in cluster.roles and not chain.places):
            return "the kernel writes that storage already"
        if not all(other.is_beside(place.at, place.over, root) for other in chain.places):
            return "the kernel writes some of these elements already"
        written = dict.fromkeys((version, *chain.versions, *older), (place,)).get
        regions = (region, *cluster.regions.values())
        if any(overlaps(r, written, roots) for r in regions) and not (
            may_be_late(cluster, root)
            and all(can_wait(r, written, roots, cluster.machine) for r in regions)
        ):
            return "it overwrites elements that the kernel reads elsewhere"
    below = role != ELEMENT and any(source in cluster.writes for source in region.sources)
    if below or (
        overlaps(region, cluster.overwritten, roots)
        and not (
            may_be_late(cluster, root)
            and can_wait(region, cluster.overwritten, roots, cluster.machine)
        )
    ):
        return "it reads elements that the kernel overwrites"
    return ""


_NOT_LATE = frozenset({"reduce", "segment", "scan", "scatter", "compact"})  # kinds of kernels


def may_be_late(cluster: Cluster, root: Node) -> bool:
    """True if stores of ``cluster`` may wait for reads when ``root`` is in it."""
    kinds = {r.op for r in (root, *cluster.roles)}
    alike = cluster.reduced is None and domain(root) == cluster.shape
    fits = _late_bytes(cluster, root) <= cluster.machine.late_bytes
    return cluster.machine.waits > 0 and alike and kinds.isdisjoint(_NOT_LATE) and fits


def _late_bytes(cluster: Cluster, root: Node) -> int:
    """The bytes of an element that wait if ``root`` is in ``cluster``."""
    return sum(r.dtype.itemsize for r in {root, *cluster.roles} if r.op == "update")


def can_wait(
    region: Region,
    overwritten: Callable[[Node], Iterable[Place] | None],
    roots: Roots,
    machine: Machine,
) -> bool:
    """True if few elements of ``region`` lie between a read of an element and its overwriting.

    Where `overlaps` holds, all reads are to be like the writes, some elements away.
    """
    if any(True for source in region.gathers for _ in overwritten(source) or ()):
        return False
    over = domain(region.root)
    for node, at in region.reads:
        source = roots.source(node)
        for place in overwritten(source) or ():
            if not place.is_beside(at, over, source) and (
                node is not source or over != place.over or not _is_near(at, place, source, machine)
            ):
                return False
    return True


def _is_near(at: IndexMap, place: Place, source: Node, machine: Machine) -> bool:
    """True for the elements of ``place`` moved along by a small part of them."""
    if place.shape != source.shape:
        return False
    strides = contiguous_strides(source.shape)
    own, theirs = place.at.strides(strides), at.strides(strides)
    axes = [j for j, n in enumerate(place.over) if n > 1]
    axes.sort(key=lambda j: -abs(own[j]))
    extents, steps = [place.over[j] for j in axes], [abs(own[j]) for j in axes]
    if not place.exact or any(own[j] != theirs[j] for j in axes):
        return False
    if not is_row_major(extents, steps):
        return False
    apart = steps_apart(extents, steps, at.offset(strides) - place.at.offset(strides))
    if apart is None:
        return True
    is_near = _NEAR * abs(as_position(extents, apart)) <= math.prod(extents)
    return is_near and all(abs(by) <= machine.waits for by in apart)


_NEAR = 8  # times as many elements are overwritten as wait


def overlaps(
    region: Region, overwritten: Callable[[Node], Iterable[Place] | None], roots: Roots
) -> bool:
    """True if ``region`` may read elements of an array that another index overwrites.

    Reading at the very index that is written is harmless: each element is read before its own
    write. ``overwritten`` gives the places of an array, over the kernel's domain.
    """
    if any(True for source in region.gathers for _ in overwritten(source) or ()):
        return True
    over = domain(region.root)
    for node, at in region.reads:
        source = roots.source(node)
        for place in overwritten(source) or ():
            if node is not source:
                return True
            same = over == place.over and source.shape == place.shape
            if place.exact and same and at.same_over(place.at, over):
                continue
            if not place.is_beside(at, over, source):
                return True
    return False
