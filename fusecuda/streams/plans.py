"""Plans on streams: the timeline and the memory of an assembly, and its chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..fusion.assembly import Assembly
from ..fusion.explain import recorded_lines, summarize
from ..fusion.walk import Launch
from ..graph.node import Node
from .costs import Speeds, costs
from .graphs import told
from .memory_plan import MemoryPlan, plan_memory
from .schedule import schedule
from .simulate import simulate
from .timeline import RUN
from .verify import verify_memory

if TYPE_CHECKING:
    from .chart import Chart


def memory_of(
    assembly: Assembly, threads: int, alignment: int, speeds: Speeds | None, streams: int
) -> MemoryPlan:
    """The memory of ``assembly`` on a timeline of as many lanes as are allowed and pay.

    Without ``speeds`` there is one lane.
    """
    timeline = None
    if speeds is not None and streams > 1:
        timeline = schedule(assembly.needs, costs(assembly, speeds), speeds, streams)
    return plan_memory(assembly, threads, timeline, alignment)


def verify_lanes(assembly: Assembly, memory: MemoryPlan) -> None:
    """Raise GraphError if on some timing several lanes go wrong; on one nothing can."""
    if memory.timeline.lanes > 1:
        verify_memory(assembly, memory)


def graphs_told(assembly: Assembly, memory: MemoryPlan) -> str:
    """Which kernels a CUDA graph replays, or why none does."""
    first = {company[0] for company in memory.companies}
    kernels = {n for n in first if isinstance(s := assembly.steps[n], Launch) and s.launched}
    calls = {n for n in first if isinstance(assembly.steps[n], Node)}
    done = [c for c in memory.commands if c[0] != RUN or c[2] in kernels | calls]
    names = [
        summarize(step, assembly).name + "".join(f" ({line})" for line in [*lines][-1:])
        if isinstance(step, Node)
        else ""
        for step, lines in zip(assembly.steps, recorded_lines(assembly), strict=True)
    ]
    return told(memory.parts(done, kernels), names)


def chart_of(
    assembly: Assembly,
    memory: MemoryPlan,
    speeds: Speeds | None,
    streams: int,
    marks: Sequence[float],
) -> Chart:
    """The chart of ``assembly``, with the times that ``speeds`` lets expect.

    Without them there is one lane, and times are those of ``marks``: seconds before the first step
    that ran and after each.
    """
    from .chart import chart  # noqa: PLC0415 - loaded where it is asked for

    found = [summarize(step, assembly) for step in assembly.steps]
    labels = [(s.name, s.kind) for s in found]
    if speeds is not None:
        times = simulate(memory.timeline, costs(assembly, speeds), speeds).times
        note = "times are estimates, not measured"
    else:
        times = _measured(assembly, marks)
        note = "times as last measured" if times else "times are known after a run in a profile"
        if streams > 1:
            note += f"; streams={streams} has no effect on the CPU"
    return chart(assembly.plan.graph.name, memory.timeline, labels, times, note)


def _measured(assembly: Assembly, marks: Sequence[float]) -> list[tuple[float, float]]:
    """When each step began and ended, in microseconds; empty if ``marks`` do not tell."""
    ran = [isinstance(step, Node) or step.launched for step in assembly.steps]
    if len(marks) != sum(ran) + 1:
        return []
    laps = iter([(1e6 * (a - marks[0]), 1e6 * (b - marks[0])) for a, b in pairwise(marks)])
    times: list[tuple[float, float]] = []
    for one in ran:
        last = times[-1][1] if times else 0.0
        times.append(next(laps) if one else (last, last))
    return times
