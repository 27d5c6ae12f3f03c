"""The memory plan: where each temporary of an assembly lies in the one block of a call."""

from __future__ import annotations

from dataclasses import dataclass

from ..fusion.assembly import Assembly
from ..fusion.walk import Launch
from .liveness import Interval, assign_offsets


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes and offsets; known before anything runs.

    ``peak_bytes`` counts what a call allocates: its results and its block of temporaries.
    """

    block_bytes: int
    result_bytes: int
    buffer_offsets: tuple[int, ...]  # in the block; 0 for arguments and results
    workspace_offsets: tuple[int, ...]  # for each step
    scratch_offsets: tuple[int, ...]  # for each step
    threads: int

    @property
    def peak_bytes(self) -> int:
        """The most memory that a call holds at once, arguments not counted."""
        return self.block_bytes + self.result_bytes


def plan_memory(assembly: Assembly, threads: int) -> MemoryPlan:
    """Offsets by liveness; each of ``threads`` threads has scratch of its own."""
    intervals: list[Interval] = []
    slots: list[tuple[str, int]] = []
    for number, buffer in enumerate(assembly.buffers):
        if buffer.argument is None and buffer.output is None:
            intervals.append(Interval(*assembly.lives[number], buffer.nbytes))
            slots.append(("buffer", number))
    for number, step in enumerate(assembly.steps):
        if isinstance(step, Launch):
            for kind, size in (("workspace", step.workspace), ("scratch", step.scratch * threads)):
                if size:
                    intervals.append(Interval(number, number, size))
                    slots.append((kind, number))
    found, size = assign_offsets(intervals)
    offsets = dict(zip(slots, found, strict=True))
    steps = range(len(assembly.steps))
    return MemoryPlan(
        size,
        sum(b.nbytes for b in assembly.buffers if b.output is not None),
        tuple(offsets.get(("buffer", n), 0) for n in range(len(assembly.buffers))),
        tuple(offsets.get(("workspace", n), 0) for n in steps),
        tuple(offsets.get(("scratch", n), 0) for n in steps),
        threads,
    )
