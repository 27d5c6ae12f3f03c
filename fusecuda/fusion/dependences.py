"""Dependences: which step of a plan waits for which earlier one, and why, told from its memory.

Two steps depend on each other if both touch a buffer and one of them writes it; so any order that
keeps the dependences computes what the order of the plan computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..graph.node import Node
from .walk import Launch, Memory

TRUE = "it reads what that writes"
ANTI = "it overwrites what that reads"
OVER = "both write the same memory"
COMMIT = "arguments are overwritten when all else is done"

Needs = Sequence[dict[int, str]]  # for each step, the earlier steps that it needs, and why


class Touch(NamedTuple):
    """The buffers that a step reads and those that it writes."""

    reads: frozenset[int]
    writes: frozenset[int]

    @property
    def buffers(self) -> frozenset[int]:
        """All that it touches."""
        return self.reads | self.writes


def touched(step: Launch | Node, memory: Callable[[Node], Memory]) -> Touch:
    """What ``step`` touches; ``memory`` tells where a node lies."""
    if isinstance(step, Node):
        reads = frozenset(memory(o).buffer for o in step.operands if o.op != "constant")
        return Touch(reads, frozenset((memory(step).buffer,)))
    stores = [f.store for f in step.lowered.ir.forms if f.dtype is not None]
    ways: tuple[set[int], set[int]] = set(), set()
    for buffer, store in zip(step.buffers, stores, strict=True):
        ways[store].add(buffer)
    return Touch(frozenset(ways[False]), frozenset(ways[True]))


def dependences(touches: Sequence[Touch], commits: int = 0) -> Needs:
    """The needs of each step; the last ``commits`` steps come after all others.

    What follows from other needs is left out where that is seen at once: a reader needs the last
    writer, a writer what has read since then.
    """
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    needs: list[dict[int, str]] = []
    first_commit = len(touches) - commits
    for number, touch in enumerate(touches):
        found: dict[int, str] = {}
        for buffer in touch.writes:
            found.update((r, ANTI) for r in readers.pop(buffer, ()))
            if buffer in writer:
                found.setdefault(writer[buffer], OVER)
        found.update((writer[b], TRUE) for b in touch.reads if b in writer)
        if number >= first_commit:
            for earlier in range(first_commit):
                found.setdefault(earlier, COMMIT)
        for buffer in touch.reads:
            readers.setdefault(buffer, []).append(number)
        for buffer in touch.writes:
            writer[buffer] = number
            readers[buffer] = []
        needs.append(found)
    return needs
