"""Online: a maximum and a sum of exponentials below it, found in one pass over a row.

A pass that sums exp(v - m), where m is the maximum of v that the pass before has found, is done
together with that one: whenever a larger maximum comes, the sum so far is scaled down to it
(Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). The sum is rounded
otherwise than in two passes, so this is for ``contract=True`` alone, and for rows that no block can
keep.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..fusion import kernel_ir as ir
from ..graph.dtypes import kind_of

KIND = "online"  # of a reduction with two results: `Reduce.second` is the sum


def merged(kernel: ir.KernelIR) -> ir.KernelIR:
    """``kernel`` with such passes merged, or ``kernel`` itself where there are none."""
    stages = list(kernel.stages)
    tail = list(kernel.tail)
    for number in range(len(stages) - 2, -1, -1):
        first, second = stages[number], stages[number + 1]
        found = _pair(first, second)
        if found is None:
            continue
        reduces = [_online(r, second.reduces[0]) if r is found else r for r in first.reduces]
        stages[number] = dataclasses.replace(first, reduces=reduces)
        del stages[number + 1]
        if number + 1 < len(stages):
            after = stages[number + 1]
            stages[number + 1] = dataclasses.replace(after, head=[*second.head, *after.head])
        else:
            tail = [*second.head, *tail]
    if len(stages) == len(kernel.stages):
        return kernel
    return dataclasses.replace(kernel, stages=stages, tail=tail)


def _pair(first: ir.Stage, second: ir.Stage) -> ir.Reduce | None:
    """The maximum in ``first`` below which ``second`` sums exponentials and does nothing else."""
    if len(second.reduces) != 1 or any(isinstance(s, ir.Effect) for s in second.body):
        return None
    (total,) = second.reduces
    exponential = _computed(second.body, total.value, "exp")
    if total.kind != "sum" or kind_of(total.dtype) != "f" or exponential is None:
        return None
    difference = _computed(second.body, exponential.operands[0], "subtract")
    if difference is None:
        return None
    value, most = difference.operands
    for r in first.reduces:
        if r.kind == "max" and (r.value, r.out) == (value, most) and r.dtype == total.dtype:
            return r
    return None


def _computed(body: Sequence[ir.Statement], value: int, op: str) -> ir.Compute | None:
    """What computes ``value``, if that is ``op`` on operands of the result's own type."""
    for s in body:
        if isinstance(s, ir.Compute) and s.out == value and s.op == op:
            return s if all(d == s.dtype for d in s.operand_dtypes) else None
    return None


def _online(most: ir.Reduce, total: ir.Reduce) -> ir.Reduce:
    return dataclasses.replace(most, kind=KIND, second=total.out)
