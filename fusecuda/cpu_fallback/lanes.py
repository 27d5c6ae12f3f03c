"""Lanes: stages whose elements are combined as they are computed.

What costs little would spend as long in the buffer of a chunk as it takes to compute. Where nothing
cuts a chunk short, the lanes of its tree stay in registers instead, and each element meets its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen import reductions
from ..codegen.fission import TOGETHER
from ..fusion import kernel_ir as ir
from ..fusion.cost import FUNCTION_COST, computed_cost
from . import blocks

_LIGHT = 24  # additions that an element costs at most where several are computed at once
_MOST = 2 * TOGETHER  # reductions whose lanes registers and the first cache hold


def is_light(body: Sequence[ir.Statement]) -> bool:
    """True for what reads and adds up: such is written several times, for several elements."""
    statements = (ir.Load, ir.Compute, ir.Argument)
    plain = all(
        isinstance(s, statements)
        and getattr(s, "guard", None) is None
        and getattr(s, "site", -1) < 0
        for s in body
    )
    costs = [computed_cost(s.op, s.operand_dtypes) for s in body if isinstance(s, ir.Compute)]
    return plain and sum(costs) <= _LIGHT and max(costs, default=0) < FUNCTION_COST


def are_taken(kernel: ir.KernelIR, steps: Sequence[int] | None, stage: ir.Stage) -> bool:
    """True if the elements of ``stage`` meet the lanes of a chunk as they are computed."""
    if not 0 < len(stage.reduces) <= _MOST or stage.cross:
        return False
    own = [s for s in stage.body if not isinstance(s, ir.Keep | ir.Recall)]
    side_by_side = blocks.size_of(kernel, steps, stage.body) > 0
    return side_by_side and is_light(own) and all(map(reductions.has_lanes, stage.reduces))
