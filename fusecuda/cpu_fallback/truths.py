"""Truths in memory beside doubles: loops of many operations know them as numbers of eight bytes.

A compiler takes as many elements at a time as a vector has of the narrowest type that the loop
moves: with bytes there are eight vectors of doubles for each value, and no processor has registers
for all of them. So truths are made wide before the loop, and narrow behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..fusion import kernel_ir as ir
from ..fusion.cost import computed_cost
from ..graph.dtypes import BOOL

_WIDE = 8  # bytes
_MANY = 40  # additions of doubles an element, from which on two more loops pay
_PLAIN = (ir.Load, ir.Index, ir.Select, ir.Compute, ir.Gather, ir.Store)


def widened(steps: Sequence[int] | None, body: Sequence[ir.Statement]) -> dict[int, bool]:
    """The forms of truths that ``body`` had better know as wide numbers; True for what is stored.

    None if other narrow elements are moved or computed, which would keep vectors long.
    """
    if steps is None or not all(isinstance(s, _PLAIN) for s in body):
        return {}
    found: dict[int, bool] = {}
    cost = 0
    for s in body:
        if isinstance(s, ir.Compute):
            dtypes = [s.dtype, *s.operand_dtypes]
            if any(d.itemsize == 1 and d != BOOL for d in dtypes):
                return {}
            if any(d.itemsize >= _WIDE for d in dtypes):
                cost += computed_cost(s.op, s.operand_dtypes)
        elif isinstance(s, ir.Load | ir.Store):
            guarded = isinstance(s, ir.Load) and s.guard is not None
            if s.dtype == BOOL and steps[s.form] == 1 and not guarded:
                found[s.form] = isinstance(s, ir.Store)
            elif s.dtype.itemsize == 1 and (steps[s.form] or guarded):
                return {}
        elif isinstance(s, ir.Gather) and s.dtype.itemsize == 1:
            return {}
    return found if cost >= _MANY else {}
