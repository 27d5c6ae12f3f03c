"""Liveness: when each temporary is needed, and offsets that let dead memory be reused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """A temporary of ``nbytes``, live from step ``first`` to step ``last``, both included."""

    first: int
    last: int
    nbytes: int

    def meets(self, other: Interval) -> bool:
        """True if the two are ever live at once."""
        return self.first <= other.last and other.first <= self.last


def assign_offsets(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """An offset for each interval, and the size of the block that holds them all.

    Intervals that are live at once do not overlap. Largest first, each at the lowest offset that is
    free for its whole life (the "greedy by size" scheme of Pisarchyk and Lee, 2020).
    """
    offsets = [0] * len(intervals)
    placed: list[int] = []
    size = 0
    for i in sorted(range(len(intervals)), key=lambda i: -intervals[i].nbytes):
        want = aligned(intervals[i].nbytes)
        taken = sorted(
            (offsets[j], offsets[j] + aligned(intervals[j].nbytes))
            for j in placed
            if intervals[j].meets(intervals[i])
        )
        at = 0
        for start, end in taken:
            if start - at >= want:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append(i)
        size = max(size, at + want)
    return offsets, size


def aligned(nbytes: int) -> int:
    """``nbytes`` rounded up to the alignment of temporaries."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
