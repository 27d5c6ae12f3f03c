"""Quotients and remainders by a divisor that elements share: without a division, to the same bits.

Such a loop is written twice, as quotients.h has it: first by products alone, noting what these are
not surely right for; where anything was, again by divisions. What overwrites the elements that it
reads is divided at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from ..fusion import kernel_ir as ir
from ..graph.dtypes import ELEMENT_TYPES, FLOAT32, FLOAT64, INT64, DType
from ..graph.ops import OPS

_LONGEST = 80  # statements of a loop that is worth being written twice
_DIVIDED = {
    "divide": (FLOAT32, FLOAT64),
    **dict.fromkeys(("floor_divide", "remainder", "fmod"), (INT64,)),
}
_DEAREST = 10  # times a division that its elements may cost for each one that is saved


def is_quotient(s: ir.Statement) -> TypeGuard[ir.Compute]:
    """True for a division, of floats or of whole numbers of 64 bits, that can do without one."""
    return isinstance(s, ir.Compute) and s.dtype in _DIVIDED.get(s.op, ()) and not s.is_small


def divides(body: Sequence[ir.Statement]) -> bool:
    """True if a loop over some of ``body`` may have such divisors: its runs are to be short."""
    return any(map(is_quotient, body))


def divisors_of(body: Sequence[ir.Statement], varying: Iterable[int] = ()) -> dict[int, DType]:
    """The values that ``body`` divides by and that are the same for all of a loop over it.

    ``varying`` values come from elsewhere and are not. Empty where nothing is gained by it, or
    where the loop changes what it reads.
    """
    of_elements = {s.out for s in body if not isinstance(s, ir.Effect)}.union(varying)
    counted = {  # of these, with what is noted, gcc makes no vectors
        s.out
        for s in body
        if isinstance(s, ir.Compute) and s.op == "convert" and s.operand_dtypes[0].kind in "biu"
    }
    quotients = [
        s
        for s in body
        if is_quotient(s)
        and s.operands[0] in of_elements - counted
        and s.operands[1] not in of_elements
    ]
    cost = sum(OPS[s.op].cost for s in body if isinstance(s, ir.Compute))
    if len(body) > _LONGEST or cost > _DEAREST * sum(OPS[s.op].cost for s in quotients):
        return {}
    kept = {s.slot for s in body if isinstance(s, ir.Keep)}
    if any(isinstance(s, ir.Recall) and s.slot in kept for s in body):
        return {}
    return {s.operands[1]: s.dtype for s in quotients}


def declared(number: int, dtype: DType, value: str) -> list[str]:
    """The declarations of a divisor and of what has been far from it."""
    name, kind = ELEMENT_TYPES[dtype].hlo, "int32_t" if dtype == FLOAT32 else "int64_t"
    return [
        f"const fc_divisor_{name} by{number} = fc_divisor_of_{name}({value});",
        f"{kind} far{number} = by{number}.far;",
    ]


def quotient(op: str, dtype: DType, value: str, number: int) -> tuple[str, str]:
    """The expression of ``value`` by a divisor, and the statement that notes if it may be wrong."""
    name = ELEMENT_TYPES[dtype].hlo
    given = f"({value}, by{number})"
    return f"fc_{op}_by_{name}{given}", f"far{number} |= fc_is_far_{name}{given};"
