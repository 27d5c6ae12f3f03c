"""Compactions: what is picked is computed of, and where results end, in both dialects.

A kernel tells how many rows a mask has picked; its result is cut off there when it has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fusion import kernel_ir as ir
from ..fusion.assembly import Assembly
from ..fusion.verify import operands
from ..fusion.walk import Launch


def needed(statements: Sequence[ir.Statement], values: Iterable[int]) -> list[ir.Valued]:
    """Those of ``statements`` that ``values`` are computed from, in their order."""
    wanted = set(values)
    found: list[ir.Valued] = []
    for s in reversed(statements):
        if not isinstance(s, ir.Effect) and s.out in wanted:
            wanted.update(operands(s))
            found.append(s)
    return found[::-1]


def cuts(assembly: Assembly) -> dict[int, int]:
    """For each output that is cut off, the step that tells where."""
    steps = {
        access.node: number
        for number, step in enumerate(assembly.steps)
        if isinstance(step, Launch)
        for access in step.lowered.accesses
    }
    outputs = enumerate(assembly.plan.graph.outputs)
    return {i: steps[output] for i, output in outputs if output.op == "compact"}
