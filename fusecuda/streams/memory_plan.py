"""The memory plan: where each temporary of an assembly lies in the one block of a call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..fusion.assembly import Assembly
from ..fusion.memory import ALIGNMENT
from ..fusion.together import Company
from ..fusion.walk import Launch
from .graphs import Part, parts_of
from .liveness import Life, assign_offsets, life
from .timeline import Command, Timeline, one_lane


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes and offsets, which hold on ``timeline``; known before anything runs.

    ``peak_bytes`` counts what a call allocates: its results and its block of temporaries.
    """

    block_bytes: int
    result_bytes: int
    buffer_offsets: tuple[int, ...]  # in the block; 0 for arguments and results
    workspace_offsets: tuple[int, ...]  # for each step
    scratch_offsets: tuple[int, ...]  # for each step
    threads: int
    timeline: Timeline

    @property
    def commands(self) -> Sequence[tuple[str, int, int]]:
        """What is to be done, in the order in which it is issued: kind, lane, number."""
        return self.timeline.commands

    def parts(
        self, commands: Sequence[tuple[str, int, int]], kernels: Collection[int]
    ) -> list[Part]:
        """Those of the ``commands`` that are done, as `graphs.parts_of` parts them."""
        return parts_of([Command(*command) for command in commands], kernels)

    @property
    def companies(self) -> Sequence[Company]:
        """All steps, those in one company that one launch runs."""
        return self.timeline.together()

    @property
    def peak_bytes(self) -> int:
        """The most memory that a call holds at once, arguments not counted."""
        return self.block_bytes + self.result_bytes


def plan_memory(
    assembly: Assembly, threads: int, timeline: Timeline | None = None, alignment: int = ALIGNMENT
) -> MemoryPlan:
    """Offsets by liveness on ``timeline``, by default one lane.

    Each of ``threads`` threads has scratch of its own.
    """
    timeline = timeline or one_lane(len(assembly.steps), assembly.companies)
    lives, slots = temporaries(assembly, threads, timeline)
    found, size = assign_offsets(lives, alignment)
    offsets = dict(zip(slots, found, strict=True))
    steps = range(len(assembly.steps))
    return MemoryPlan(
        size,
        sum(b.nbytes for b in assembly.buffers if b.output is not None),
        tuple(offsets.get(("buffer", n), 0) for n in range(len(assembly.buffers))),
        tuple(offsets.get(("workspace", n), 0) for n in steps),
        tuple(offsets.get(("scratch", n), 0) for n in steps),
        threads,
        timeline,
    )


def temporaries(
    assembly: Assembly, threads: int, timeline: Timeline
) -> tuple[list[Life], list[tuple[str, int]]]:
    """The life of each piece of the block, and what it is: buffer, workspace or scratch."""
    before = timeline.before()
    uses: list[list[int]] = [[] for _ in assembly.buffers]
    for number, touch in enumerate(assembly.touches):
        for touched in touch.buffers:
            uses[touched].append(number)
    lives: list[Life] = []
    slots: list[tuple[str, int]] = []
    for number, buffer in enumerate(assembly.buffers):
        if buffer.argument is None and buffer.output is None:
            lives.append(life(uses[number], before, buffer.nbytes))
            slots.append(("buffer", number))
    for number, step in enumerate(assembly.steps):
        if isinstance(step, Launch):
            for kind, size in (("workspace", step.workspace), ("scratch", step.scratch * threads)):
                if size:
                    lives.append(life([number], before, size))
                    slots.append((kind, number))
    return lives, slots
