"""Packed runs: bodies of which short runs are read one by one and computed together.

A function takes many times as long of one element as of one in a full vector. Runs of a few
elements, and elements that lie apart, fill none; so they are put side by side first.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import kernel_ir as ir
from .cost import FUNCTION_COST, computed_cost

_PLAIN = ir.Load | ir.Index | ir.InRange | ir.Select | ir.Argument | ir.Compute
_PACKABLE = _PLAIN | ir.Store | ir.Keep | ir.Recall


def is_packable(body: Sequence[ir.Statement]) -> bool:
    """True if ``body`` computes functions of elements that do not depend on each other."""
    if any(not isinstance(s, _PACKABLE) or ir.reports(s) for s in body):
        return False
    # Quotients are quick in any loop.
    computed = (s for s in body if isinstance(s, ir.Compute) and s.op not in ir.QUOTIENTS)
    costs = (computed_cost(s.op, s.operand_dtypes) for s in computed)
    return max(costs, default=0) >= FUNCTION_COST
