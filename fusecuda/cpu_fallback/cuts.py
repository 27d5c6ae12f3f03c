"""Cuts: results of which a kernel tells where they end, which are what a mask picks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fusion.assembly import Assembly
from ..fusion.walk import Launch
from .pool import SMALLEST, pool

Array = np.ndarray[Any, Any]


def compactions(assembly: Assembly) -> list[tuple[int, int]]:
    """The outputs that are compactions, each with the step that writes it."""
    steps = {
        access.node: number
        for number, step in enumerate(assembly.steps)
        if isinstance(step, Launch)
        for access in step.lowered.accesses
    }
    outputs = enumerate(assembly.plan.graph.outputs)
    return [(i, steps[output]) for i, output in outputs if output.op == "compact"]


def cut(array: Array, count: int) -> Array:
    """The first ``count`` rows of ``array``, which nobody else has.

    If they are many, where they lie; fewer than a quarter have memory of their own, so that not
    much is kept for what is not there.
    """
    if count == len(array):
        return array
    rows = array[:count]
    if array.nbytes >= SMALLEST and 4 * count >= len(array):
        return rows
    own = pool.empty(rows.shape, array.dtype)
    own[...] = rows
    return own
