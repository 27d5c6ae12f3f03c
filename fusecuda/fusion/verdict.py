"""Verdict: whether one more root may be computed by the kernel of a cluster, and in which role."""

from __future__ import annotations

import math
from collections.abc import Collection

from ..graph.index_map import IndexMap, identity
from ..graph.node import Node
from .cluster import CROSS, OUTER, Cluster, segments_of
from .cone import Cone, Roots, domain
from .cost import LARGEST, MAX_STAGED, MAX_STATEMENTS
from .kernel_ir import ELEMENT, FINAL, FOOT, ROW
from .overwriting import Chain, can_wait, overlaps, place_of, versions_of
from .tallies import has_tallies

_NOTHING = Chain()


def verdict(cluster: Cluster, root: Node, cone: Cone, roots: Roots) -> tuple[str, str]:
    """The role that ``root`` may take in ``cluster`` and ``""``, or ``""`` and why it may not."""
    inside = [(node, at) for node, at in cone.reads if roots.source(node) in cluster.roles]
    if any(s in cluster.roles for s in cone.gathers):
        return "", "a gather reads elements that other rows of this kernel compute"
    if any(node not in cluster.roles for node, _ in inside):
        return "", "a reshape regroups what the kernel computes"
    why = _another_kind(cluster, root)
    if why:
        return "", why
    new = sum(demand not in cluster.inlined for demand in cone.inlined)
    most = LARGEST if new < len(cone.inlined) else MAX_STATEMENTS  # it shares some of them
    if len(cluster.inlined) + len(cluster.roles) + new >= most:
        return "", f"a kernel holds at most {MAX_STATEMENTS} operations"
    if root.reduces and cluster.stage_of(cone) and cluster.staged() >= MAX_STAGED:
        return "", f"a kernel holds at most {MAX_STAGED} reductions that need others"
    role = _role(cluster, root, {node for node, _ in inside})
    if not role:
        return "", _shape_reason(cluster, root)
    reader = reading_level(root, role)
    for node, at in inside:
        why = _unreachable(cluster, reader, node, at)
        if why:
            return "", why
    why = _hazard(cluster, root, cone, role, roots)
    return ("", why) if why else (role, "")


def _another_kind(cluster: Cluster, root: Node) -> str:
    """Why ``root`` needs a kernel of another kind than ``cluster``, or an empty string."""
    first = next(iter(cluster.roles))  # which the others are like
    scatters = (first.op == "scatter", has_tallies(first))
    if scatters != (root.op == "scatter", has_tallies(root)):
        return "a scatter takes its elements one after the other"
    if _mask_of(first) is not _mask_of(root):
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


def _role(cluster: Cluster, root: Node, inside: Collection[Node]) -> str:
    """The role of ``root``, which reads what is ``inside`` the kernel, or none."""
    over, depends = domain(root), bool(inside)
    if root.op == "segment":
        same = over == cluster.shape and segments_of(root) == cluster.segments
        return ROW if same and not depends else ""
    if over == cluster.shape and cluster.segments is not None:
        return ""
    if root.op == "reduce":
        return _role_of_reduction(cluster, root, inside)
    if over == cluster.shape:
        fits = root.op != "scan" or cluster.reduced in (None, root.reduction.axes)
        return ELEMENT if fits else ""
    if not depends or cluster.reduced is None or root.writes or root.op == "scan":
        return ""
    if any(cluster.roles[node] in (CROSS, FOOT) for node in inside):
        return FOOT if over == cluster.places else ""
    if over == cluster.rows:
        return ROW
    outer = any(role == OUTER for role in cluster.roles.values())
    return FINAL if outer and over == () else ""


def _role_of_reduction(cluster: Cluster, root: Node, inside: Collection[Node]) -> str:
    over, axes = domain(root), root.reduction.axes
    if over == cluster.shape and cluster.reduced in (None, axes):
        return ROW
    if over == cluster.shape and axes == cluster.kept and _may_cross(cluster, root):
        if _are_crossed(cluster, cluster.reduced or ()):
            return CROSS
        return ROW if _may_turn(cluster, root, inside) else ""
    whole = bool(inside) and len(axes) == len(over)
    return OUTER if whole and cluster.reduced and cluster.kept and over == cluster.rows else ""


def _may_cross(cluster: Cluster, root: Node) -> bool:
    """True if ``cluster`` may reduce along its rows and, with ``root``, across them."""
    ops = {r.op for r in (root, *cluster.roles)}
    return ops.isdisjoint(_NOT_CROSSED) and not cluster.late and not _finds_place(root)


_NOT_CROSSED = frozenset({"segment", "scan", "scatter", "compact"})


def _finds_place(root: Node) -> bool:
    """True if ``root`` tells where in a row an element stands, which nobody counts across rows."""
    return root.op == "reduce" and root.reduction.kind in ("argmax", "argmin")


def _are_crossed(cluster: Cluster, axes: tuple[int, ...]) -> bool:
    """True if rows along ``axes`` lie in one piece, neither short nor long, and are many."""
    machine, last = cluster.machine, len(cluster.shape) - 1
    length = math.prod(cluster.shape[a] for a in axes)
    rows = math.prod(cluster.shape) // max(1, length)
    shortest, longest = machine.crossed
    return last in axes and shortest <= length <= longest and rows >= _FEWEST_CROSSED


_FEWEST_CROSSED = 64  # rows across which a row's kernel reduces: what they leave is to be little


def _may_turn(cluster: Cluster, root: Node, inside: Collection[Node]) -> bool:
    """True if the rows of ``cluster`` may be those that ``root`` reduces, and it across them.

    None of its row values are read beside elements then, for they are known when all rows are done.
    """
    rows = {r for r, role in cluster.roles.items() if role == ROW}
    if OUTER in cluster.roles.values() or not rows.isdisjoint(inside):
        return False
    if any(map(_finds_place, rows)):
        return False
    readers = (g for r, g in cluster.cones.items() if r.reduces or r not in rows)
    apart = all(rows.isdisjoint(cone.sources) for cone in readers)
    return apart and _are_crossed(cluster, root.reduction.axes)


def reading_level(root: Node, role: str) -> str:
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
    if theirs in (CROSS, FOOT):
        at_hand = at.same_over(identity(len(node.shape)), node.shape)
        return "" if reader == FOOT and at_hand else _ALL_ROWS
    if theirs == ROW:
        element = reader == ELEMENT
        own = cluster.projection() if element else identity(len(cluster.rows))
        over = cluster.shape if element else cluster.rows
        if reader in (FINAL, FOOT) or not at.same_over(own, over):
            return "it reads the values of other rows"
        return _too_long(cluster) if reader == ELEMENT else ""
    return "" if reader == FINAL else _ALL_ROWS


_ALL_ROWS = "a reduction over rows is known when all rows are done"


def _too_long(cluster: Cluster) -> str:
    """Few long rows are arrays: passing over them twice is two kernels, each in parallel."""
    length = math.prod(cluster.shape[a] for a in cluster.reduced or ())
    rows, machine = math.prod(cluster.rows), cluster.machine
    across = 1 if len(cluster.shape) - 1 in (cluster.reduced or ()) else machine.across
    at_once, fits = rows // across, rows // across >= machine.rows
    if not fits and length <= machine.longest:
        item = max(root.dtype.itemsize for root in cluster.roles)
        fits = length * across * item <= machine.row_bytes
        if 2 * at_once * machine.row_blocks >= machine.rows:  # blocks keep no more of narrow ones
            nbytes = length * across * max(item, 4)
            fits = fits or nbytes <= machine.row_bytes * machine.row_blocks
    if fits and length <= machine.longest:
        return ""
    what = "one row" if rows == 1 else f"{rows} rows"
    return f"{what} of {length} elements: a second pass is a second kernel, as wide as the machine"


def _hazard(cluster: Cluster, root: Node, cone: Cone, role: str, roots: Roots) -> str:
    """Why reads and writes of one storage would meet in the kernel, or an empty string."""
    if root.writes:
        place, (version, *older) = place_of(root), versions_of(root, roots)
        chain = cluster.chains.get(version, _NOTHING)
        if version in cluster.writes or (version in cluster.roles and not chain.places):
            return "the kernel writes that storage already"
        if not all(other.is_beside(place.at, place.over, root) for other in chain.places):
            return "the kernel writes some of these elements already"
        written = dict.fromkeys((version, *chain.versions, *older), (place,)).get
        cones = (cone, *cluster.cones.values())
        if any(overlaps(r, written, roots) for r in cones) and not (
            may_be_late(cluster, root)
            and all(can_wait(r, written, roots, cluster.machine) for r in cones)
        ):
            return "it overwrites elements that the kernel reads elsewhere"
    below = role != ELEMENT and any(source in cluster.writes for source in cone.sources)
    if below or (
        overlaps(cone, cluster.overwritten, roots)
        and not (
            may_be_late(cluster, root)
            and can_wait(cone, cluster.overwritten, roots, cluster.machine)
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
