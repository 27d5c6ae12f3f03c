"""Cuts: results of which a launch tells where they end, which are what a mask picks."""

from __future__ import annotations

from collections.abc import Sequence

from ..fusion.assembly import Assembly
from ..fusion.walk import Launch

COUNT, COUNT_BYTES = "count", 8  # the parameter of a launch that tells it, an int64
KEPT_BELOW, KEPT_SHARE = 1 << 16, 4  # bytes, and part of them, from which on memory is kept whole


def cuts(assembly: Assembly, counted: Sequence[int]) -> dict[int, int]:
    """For each output that is cut, which of the launches ``counted`` tells where."""
    steps = {
        access.node: number
        for number, step in enumerate(assembly.steps)
        if isinstance(step, Launch)
        for access in step.lowered.accesses
    }
    outputs = enumerate(assembly.plan.graph.outputs)
    return {i: counted.index(steps[o]) for i, o in outputs if o.op == "compact"}


def keeps(nbytes: int, count: int, rows: int) -> bool:
    """True if ``count`` of ``rows`` stay where they lie; few of many get memory of their own."""
    return count == rows or (nbytes >= KEPT_BELOW and KEPT_SHARE * count >= rows)
