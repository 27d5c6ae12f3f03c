"""Fission: a pass that reduces many things which need nothing of each other becomes several."""

from __future__ import annotations

from dataclasses import replace

from ..fusion import kernel_ir as ir
from ..fusion.verify import operands

TOGETHER = 4  # reductions whose buffers and arrays the first cache holds beside each other


def parts_of(stage: ir.Stage) -> list[ir.Stage]:
    """The parts of ``stage`` that share no element's value, of a few reductions each.

    What writes to memory stays together: nothing may be overwritten before all is read.
    """
    count = len(stage.reduces) + len(stage.cross)
    bound = ir.Store | ir.Scatter | ir.Compact | ir.Scan
    if count <= TOGETHER or any(isinstance(s, bound) for s in stage.body):
        return [stage]
    group = _groups(stage)
    parts: list[ir.Stage] = []
    places: dict[int, ir.Stage] = {}
    for r in (*stage.reduces, *stage.cross):
        own = group.get(r.value, -1 - r.out)
        if own not in places:
            full = not parts or len(parts[-1].reduces) + len(parts[-1].cross) >= TOGETHER
            parts += [replace(stage, head=[], body=[], reduces=[], cross=[])] * full
            places[own] = parts[-1]
        (places[own].cross if r in stage.cross else places[own].reduces).append(r)
    for s in stage.body:
        number = (
            s.value if isinstance(s, ir.Keep) else s.out if not isinstance(s, ir.Effect) else -1
        )
        places.get(group[number], parts[-1]).body.append(s)
    return parts


def _groups(stage: ir.Stage) -> dict[int, int]:
    """For each value of an element one that stands for all that are computed with it."""
    above: dict[int, int] = {}

    def find(value: int) -> int:
        while above[value] != value:
            value = above[value]
        return value

    for s in stage.body:
        if not isinstance(s, ir.Effect):
            above[s.out] = s.out
            for value in operands(s):
                if value in above:
                    above[find(value)] = find(s.out)
    return {value: find(value) for value in above}
