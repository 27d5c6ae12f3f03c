"""Liveness: when each temporary is needed, and offsets that let dead memory be reused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..fusion.memory import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Life:
    """A temporary of ``nbytes``: the steps that touch it, and those that may come later.

    Both are sets as bits; what is not sure to be done when one of ``uses`` starts may come later,
    and so may each of them. What of two temporaries may be live at once depends on the order that
    steps must keep, not on the one that they happen to have.
    """

    uses: int
    later: int
    nbytes: int

    def meets(self, other: Life) -> bool:
        """True unless all that touches one of the two is done before the other is touched."""
        return bool(self.uses & other.later and other.uses & self.later)


def life(uses: Iterable[int], before: Sequence[int], nbytes: int) -> Life:
    """The life of what the steps ``uses`` touch; ``before`` is that of a timeline."""
    mask = later = 0
    every = (1 << len(before)) - 1
    for step in uses:
        mask |= 1 << step
        later |= every ^ before[step]
    return Life(mask, later, nbytes)


def assign_offsets(lives: Sequence[Life], alignment: int = ALIGNMENT) -> tuple[list[int], int]:
    """An offset for each life, and the size of the block that holds them all.

    Those that may be live at once do not overlap. Largest first, each at the lowest offset that is
    free for its whole life (the "greedy by size" scheme of Pisarchyk and Lee, 2020).
    """
    sizes = [aligned(one.nbytes, alignment) for one in lives]
    offsets = [0] * len(lives)
    placed: list[int] = []
    size = 0
    for i in sorted(range(len(lives)), key=lambda i: -lives[i].nbytes):
        taken = sorted(
            (offsets[j], offsets[j] + sizes[j]) for j in placed if lives[j].meets(lives[i])
        )
        at = 0
        for start, end in taken:
            if start - at >= sizes[i]:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append(i)
        size = max(size, at + sizes[i])
    return offsets, size


def aligned(nbytes: int, alignment: int = ALIGNMENT) -> int:
    """``nbytes`` rounded up to a multiple of ``alignment``."""
    return -(-nbytes // alignment) * alignment
