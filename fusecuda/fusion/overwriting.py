"""What updates overwrite, and whether others would read it afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..graph.index_map import IndexMap, Shape, contiguous_strides
from ..graph.node import Node
from ..graph.passes import are_disjoint
from .cone import Cone, Roots, domain
from .cost import Machine
from .positions import as_position, is_row_major, steps_apart


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


def can_wait(
    cone: Cone,
    overwritten: Callable[[Node], Iterable[Place] | None],
    roots: Roots,
    machine: Machine,
) -> bool:
    """True if few elements of ``cone`` lie between a read of an element and its overwriting.

    Where `overlaps` holds, all reads are to be like the writes, some elements away.
    """
    if any(True for source in cone.gathers for _ in overwritten(source) or ()):
        return False
    over = domain(cone.root)
    for node, at in cone.reads:
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
    cone: Cone, overwritten: Callable[[Node], Iterable[Place] | None], roots: Roots
) -> bool:
    """True if ``cone`` may read elements of an array that another index overwrites.

    Reading at the very index that is written is harmless: each element is read before its own
    write. ``overwritten`` gives the places of an array, over the kernel's domain.
    """
    if any(True for source in cone.gathers for _ in overwritten(source) or ()):
        return True
    over = domain(cone.root)
    for node, at in cone.reads:
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
