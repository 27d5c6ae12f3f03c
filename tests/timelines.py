"""Timelines for tests: random plans of steps over buffers, and memory that tells who wrote it.

`happens` runs a timeline with given durations on cells of memory. A step holds what it writes from
its start to its end, and looks at what it reads at both; so whatever it sees then it may see.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from fusecuda.fusion.dependences import Needs, Touch, dependences
from fusecuda.streams.costs import Cost, Speeds
from fusecuda.streams.liveness import Life, aligned, assign_offsets, life
from fusecuda.streams.simulate import simulate
from fusecuda.streams.timeline import Timeline

CELL = 64


def lived(first: int, last: int, nbytes: int) -> Life:
    """The life of a temporary that steps ``first`` to ``last`` of one lane touch."""
    before = [(1 << step) - 1 for step in range(last + 1)]
    return life(range(first, last + 1), before, nbytes)


@dataclass(frozen=True)
class Steps:
    """Steps over buffers: a temporary has bytes, an argument or a result has none."""

    touches: list[Touch]
    sizes: list[int | None]
    commits: int
    costs: list[Cost]

    @property
    def needs(self) -> Needs:
        """What each step waits for."""
        return dependences(self.touches, self.commits)

    def lives(self, timeline: Timeline) -> tuple[list[Life], list[int]]:
        """The lives of the temporaries on ``timeline``, and their numbers."""
        before = timeline.before()
        temporaries = [b for b, size in enumerate(self.sizes) if size is not None]
        found = []
        for b in temporaries:
            users = [s for s, touch in enumerate(self.touches) if b in touch.buffers]
            found.append(life(users, before, self.sizes[b] or 0))
        return found, temporaries


def random_steps(seed: int) -> Steps:
    """Steps that read and write a few buffers: chains, forks, joins, overwrites, lone ones."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 19))
    local = rng.random()  # how near what a step reads has been written
    sizes: list[int | None] = [None] * int(rng.integers(1, 4))
    inputs = len(sizes)
    touches = []
    written: list[int] = []
    for _ in range(count):
        known = [*range(inputs), *written]
        reads = set()
        for _ in range(int(rng.integers(0, 4))):
            near = known[-3:] if rng.random() < local else known
            reads.add(int(rng.choice(near)))
        if known and rng.random() < 0.2:
            writes = {int(rng.choice(known))}
        else:
            sizes.append(None if rng.random() < 0.15 else int(rng.integers(0, 8)) * CELL // 2)
            writes = {len(sizes) - 1}
            if rng.random() < 0.15:
                sizes.append(int(rng.integers(1, 8)) * CELL)
                writes.add(len(sizes) - 1)
        written += [b for b in writes if b not in written]
        touches.append(Touch(frozenset(reads), frozenset(writes)))
    commits = int(rng.integers(0, 3)) if rng.random() < 0.2 else 0
    scale = rng.choice([3.0, 20.0])
    costs = [Cost(float(rng.exponential(scale)), float(rng.choice([0.05, 0.3, 0.6, 1.0])))
             for _ in range(count)]  # fmt: skip
    return Steps(touches, sizes, min(commits, count), costs)


Cell = tuple[str, int]  # one of a buffer's own, or of the block


class Memory:
    """Cells that hold the number of the step that wrote them last, or that it writes them now."""

    def __init__(self, steps: Steps, offsets: dict[int, int] | None) -> None:
        self.steps = steps
        self.offsets = offsets
        self.cells: dict[Cell, object] = {}

    def of(self, buffer: int) -> list[Cell]:
        """The cells of ``buffer``: those of the block if it has an offset there."""
        size = self.steps.sizes[buffer]
        if size is None or self.offsets is None:
            return [(f"buffer {buffer}", 0)]
        first = self.offsets[buffer] // CELL
        return [("block", first + i) for i in range(aligned(size) // CELL)]

    def seen(self, step: int) -> list[object]:
        """What ``step`` would see now of what it reads."""
        reads = sorted(self.steps.touches[step].reads)
        return [self.cells.get(c) for c in chain.from_iterable(map(self.of, reads))]

    def write(self, step: int, what: object) -> None:
        """Put ``what`` into the memory that ``step`` writes."""
        for cell in chain.from_iterable(map(self.of, self.steps.touches[step].writes)):
            self.cells[cell] = what

    def left(self) -> list[object]:
        """What is in arguments and results."""
        kept = [b for b, size in enumerate(self.steps.sizes) if size is None]
        return [self.cells.get(c) for c in chain.from_iterable(map(self.of, kept))]


def expected(steps: Steps, offsets: dict[int, int] | None = None) -> list[list[object]]:
    """What each step sees if all run in their order, each temporary on its own; then what is left.

    With ``offsets`` only for the number of cells that each buffer has.
    """
    memory = Memory(steps, None)
    found: list[list[object]] = []
    for step, touch in enumerate(steps.touches):
        seen: list[object] = []
        for buffer in sorted(touch.reads):
            cells = Memory(steps, offsets).of(buffer)
            seen += [memory.cells.get(memory.of(buffer)[0])] * len(cells)
        found.append(seen)
        memory.write(step, step)
    return [*found, memory.left()]


def happens(
    steps: Steps, timeline: Timeline, offsets: dict[int, int], durations: list[float]
) -> str:
    """What goes wrong on ``timeline`` with such ``durations``, or an empty string."""
    times = simulate(timeline, [Cost(d, 0.0) for d in durations]).times
    memory = Memory(steps, offsets)
    right = expected(steps, offsets)
    moments = sorted(  # what ends at a time is seen by what starts then: that is what an order is
        (time, start, step)
        for step, (begin, end) in enumerate(times)
        for start, time in ((False, end), (True, begin))
    )
    for _, start, step in moments:
        own = steps.touches[step].reads & steps.touches[step].writes
        if (start or not own) and memory.seen(step) != right[step]:
            return f"step {step} sees {memory.seen(step)}, not {right[step]}"
        if start:
            if not own:
                memory.write(step, f"{step} writes")
        else:
            memory.write(step, step)
    if memory.left() != right[-1]:
        return f"{memory.left()} is left, not {right[-1]}"
    return ""


def planned(steps: Steps, timeline: Timeline) -> tuple[list[Life], list[int], dict[int, int]]:
    """The lives of temporaries on ``timeline``, their offsets, and those by buffer."""
    lives, temporaries = steps.lives(timeline)
    offsets, _ = assign_offsets(lives)
    return lives, offsets, dict(zip(temporaries, offsets, strict=True))


QUICK = Speeds(launch=0.0, event=0.0, handover=0.1, fork=0.5)  # so that many plans fork
