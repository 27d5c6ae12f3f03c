"""Companies: loops that stand side by side in a plan and need nothing of each other, in one launch.

The updates of many arrays, each a loop of its own, cost one launch so: XLA calls it horizontal
fusion. Nothing is moved in the order of the plan, so what one kernel has written is read as soon
as before.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.node import Node
from .dependences import Needs
from .walk import Launch

MOST = 32  # kernels of one launch
_WORDS = 400  # that they are given: a launch on a device takes 4,096 bytes

Company = tuple[int, ...]  # numbers of steps, side by side


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


def _join(company: Sequence[Launch | Node]) -> bool:
    """True if kernels may share a launch as far as they themselves go."""
    launches = [step for step in company if isinstance(step, Launch) and step.shares_launches]
    return len(launches) == len(company) and sum(step.words for step in launches) <= _WORDS
