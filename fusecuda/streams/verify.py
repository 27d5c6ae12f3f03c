"""The verifier of timelines: whatever steps take, needs and reused memory are kept apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..errors import GraphError
from ..fusion.assembly import Assembly
from ..fusion.dependences import Needs
from .costs import Cost
from .liveness import Life
from .memory_plan import MemoryPlan, temporaries
from .simulate import simulate
from .timeline import Timeline


def verify_memory(assembly: Assembly, memory: MemoryPlan) -> None:
    """Raise GraphError if on some timing ``memory``, or the order on its timeline, is wrong."""
    lives, slots = temporaries(assembly, memory.threads, memory.timeline)
    found = {
        "buffer": memory.buffer_offsets,
        "workspace": memory.workspace_offsets,
        "scratch": memory.scratch_offsets,
    }
    offsets = [found[kind][number] for kind, number in slots]
    verify_timeline(memory.timeline, assembly.needs, lives, offsets)


def verify_timeline(
    timeline: Timeline, needs: Needs, lives: Sequence[Life], offsets: Sequence[int]
) -> None:
    """Raise GraphError if some durations let ``timeline`` break a need or mix up memory.

    The worst durations are tried: one step takes for ever while all others take no time. What
    starts then may start, on a device, before that step is done.
    """
    count = len(needs)
    if sorted(c.number for c in timeline.steps) != list(range(count)):
        raise GraphError("a timeline must run each step once")
    if any(start < math.inf for start, _ in _simulated(timeline, count, None, held=True)[0]):
        raise GraphError("a lane does not wait for what came before the call")
    overtakes = []
    for step in range(count):
        times, end = _simulated(timeline, count, step)
        if end < math.inf:
            raise GraphError(f"the call may end before step {step} does")
        overtakes.append(sum(1 << s for s, (start, _) in enumerate(times) if start < math.inf))
    for step, needed in enumerate(needs):
        for earlier, why in needed.items():
            if overtakes[earlier] >> step & 1:
                raise GraphError(f"step {step} may start before {earlier} is done, but {why}")
    _verify_memory(lives, offsets, overtakes)


def _simulated(
    timeline: Timeline, count: int, stuck: int | None, held: bool = False
) -> tuple[list[tuple[float, float]], float]:
    steps = [Cost(math.inf if s == stuck else 0.0, 0.0) for s in range(count)]
    done = simulate(timeline, steps, held=held)
    return done.times, done.end


def _verify_memory(lives: Sequence[Life], offsets: Sequence[int], overtakes: list[int]) -> None:
    """Raise GraphError if two lives share bytes and some steps of both may run at once."""
    spans = [(at, at + one.nbytes) for at, one in zip(offsets, lives, strict=True)]
    for i, (start, end) in enumerate(spans):
        for j in range(i):
            if start < spans[j][1] and spans[j][0] < end and start < end:
                first, then = lives[i].uses, lives[j].uses
                if _overtaken(first, then, overtakes) and _overtaken(then, first, overtakes):
                    raise GraphError(f"temporaries {j} and {i} share memory and may meet")


def _overtaken(first: int, then: int, overtakes: list[int]) -> bool:
    """True if some step of ``then`` may start before all of ``first`` are done."""
    return any(mask & then for step, mask in enumerate(overtakes) if first >> step & 1)
