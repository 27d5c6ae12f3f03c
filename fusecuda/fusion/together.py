"""Companies: kernels side by side in a plan that need nothing of each other, in one launch.

The updates of many arrays, or the statistics of many, cost one launch so: XLA calls it horizontal
fusion. Only small kernels are moved in the order of the plan to come together: what a large one has
written is read as soon as before, and its memory is free again as soon.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ..graph.node import Node
from .cluster import Cluster
from .cost import GRAIN_ELEMENTS
from .dependences import Needs
from .walk import Launch

MOST = 32  # kernels of one launch
ROOM = 32 << 10  # bytes of shared memory that all of them have together, on a device
_AHEAD = 128  # steps among which those are looked for that may share a launch
_WORDS = 400  # that they are given: a launch on a device takes 4,096 bytes

Company = tuple[int, ...]  # numbers of steps, side by side


def brought_together(
    steps: Sequence[Launch | Node], clusters: Sequence[Cluster | Node], needs: Needs, commits: int
) -> list[int]:
    """The steps in an order that keeps their needs, small ones that may share a launch in a row."""
    order: list[int] = []
    left = dict.fromkeys(range(len(steps) - commits))
    done: set[int] = set()
    small = [isinstance(c, Cluster) and c.work <= GRAIN_ELEMENTS for c in clusters]
    while left:
        first, *others = islice(left, _AHEAD)
        company = [first]
        for number in others if small[first] else ():
            moves = small[number] and _may_move(steps[number]) and needs[number].keys() <= done
            if moves and len(company) < MOST and _join([steps[n] for n in (*company, number)]):
                company.append(number)
        order += company
        done.update(company)
        for number in company:
            del left[number]
    return [*order, *range(len(order), len(steps))]


def _may_move(step: Launch | Node) -> bool:
    """True for kernels that cannot fail: the first error of a program is the one that is told."""
    return isinstance(step, Launch) and not step.lowered.sites


def companies(steps: Sequence[Launch | Node], needs: Needs, commits: int = 0) -> list[Company]:
    """All steps in order, those together that share a launch; the last ``commits`` stay apart."""
    found: list[list[int]] = []
    for number in range(len(steps)):
        last = found[-1] if found else []
        begins = not last or len(last) == MOST or number == len(steps) - commits
        begins = begins or not _join([steps[n] for n in (*last, number)])
        begins = begins or not needs[number].keys().isdisjoint(last)
        if begins:
            found.append([])
        found[-1].append(number)
    return [tuple(company) for company in found]


def parted(known: Sequence[Company], steps: Sequence[Launch | Node]) -> list[Company]:
    """The companies ``known`` of ``steps`` that are bound anew; apart what may not share now."""
    found: list[Company] = []
    for company in known:
        together = len(company) == 1 or _join([steps[n] for n in company])
        found += [company] if together else [(number,) for number in company]
    return found


def common(known: Sequence[Company], others: Sequence[Company]) -> list[Company]:
    """The companies ``known`` that are among ``others`` too; the steps of any other one apart."""
    both = set(others)
    return [c for k in known for c in ([k] if k in both else [(number,) for number in k])]


def _join(company: Sequence[Launch | Node]) -> bool:
    """True if kernels may share a launch as far as they themselves go."""
    launches = [step for step in company if isinstance(step, Launch) and step.shares_launches]
    if len(launches) < len(company) or any(s.geometry != launches[0].geometry for s in launches):
        return False
    room = sum(step.shared_bytes for step in launches)
    return room <= ROOM and sum(step.words for step in launches) <= _WORDS
