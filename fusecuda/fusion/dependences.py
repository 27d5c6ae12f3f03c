"""Dependences: which step of a plan waits for which earlier one, and why, told from its memory.

Two steps depend on each other if both touch some element of a buffer and one of them writes it; so
any order that keeps the dependences computes what the order of the plan computes. Each edge of an
array is a place of its own: steps that write unlike edges need nothing of each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..graph.node import Node
from .kernel_ir import Compact, Gather, Scatter
from .memory import Memory
from .walk import Launch

TRUE = "it reads what that writes"
ANTI = "it overwrites what that reads"
OVER = "both write the same memory"
MANY = "many others read what that reads"
COMMIT = "arguments are overwritten when all else is done"

_PLACES = 4  # in a buffer that a step may touch; of more any may be meant
_STEPS = 24  # that are remembered for a buffer

Needs = Sequence[dict[int, str]]  # for each step, the earlier steps that it needs, and why


class Place(NamedTuple):
    """Elements of a buffer: ``size`` bytes at ``offset``, and on by each (extent, stride)."""

    offset: int
    walks: tuple[tuple[int, int], ...]
    size: int

    @property
    def low(self) -> int:
        """The first byte."""
        return self.offset + sum(min(0, (n - 1) * step) for n, step in self.walks)

    @property
    def high(self) -> int:
        """The byte behind the last one."""
        return self.offset + sum(max(0, (n - 1) * step) for n, step in self.walks) + self.size

    def within(self, period: int) -> tuple[int, int] | None:
        """The bytes of each ``period`` in which all elements lie, if they are in one piece."""
        others = [(n, step) for n, step in self.walks if step % period]
        span = sum((n - 1) * abs(step) for n, step in others) + self.size
        start = (self.offset + sum(min(0, (n - 1) * step) for n, step in others)) % period
        return (start, start + span) if start + span <= period else None

    def is_apart(self, other: Place) -> bool:
        """True if surely no byte is in both: they lie behind each other, or in unlike columns."""
        if self.high <= other.low or other.high <= self.low:
            return True
        for period in {abs(step) for n, step in (*self.walks, *other.walks) if step and n > 1}:
            mine, its = self.within(period), other.within(period)
            if mine and its and (mine[1] <= its[0] or its[1] <= mine[0]):
                return True
        return False


Places = frozenset[Place] | None  # None: any of a buffer


class Touch(NamedTuple):
    """The buffers that a step reads and those that it writes, with the places in them if known.

    ``read`` and ``written`` tell them by buffer; what is not there may be all of it.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    read: Mapping[int, Places] = MappingProxyType({})
    written: Mapping[int, Places] = MappingProxyType({})

    @property
    def buffers(self) -> frozenset[int]:
        """All that it touches."""
        return self.reads | self.writes


def touched(step: Launch | Node, memory: Callable[[Node], Memory]) -> Touch:
    """What ``step`` touches; ``memory`` tells where a node lies."""
    if isinstance(step, Node):
        reads = frozenset(memory(o).buffer for o in step.operands if o.op != "constant")
        return Touch(reads, frozenset((memory(step).buffer,)))
    lowered = step.lowered
    led = {s.form for s in lowered.ir.statements() if isinstance(s, Gather | Scatter | Compact)}
    extents = lowered.row_shape + lowered.shape
    found: tuple[dict[int, Places], dict[int, Places]] = {}, {}
    for number, (form, access) in enumerate(zip(lowered.ir.forms, lowered.accesses, strict=True)):
        if form.dtype is None or access.node is None:
            continue
        lies = memory(access.node)
        walks = zip(extents, access.at.strides(lies.strides), strict=True)
        offset = lies.offset + access.at.offset(lies.strides)
        place = Place(offset, tuple(walks), form.dtype.itemsize)
        known = found[form.store].setdefault(lies.buffer, frozenset())
        apart = step.shares_buffers and number not in led
        if not apart or known is None or len(known) == _PLACES:
            found[form.store][lies.buffer] = None
        else:
            found[form.store][lies.buffer] = known | {place}
    read, written = found
    return Touch(frozenset(read), frozenset(written), read, written)


class _Accesses:
    """Which steps have read, or written, a buffer, and where, since that was written last."""

    def __init__(self) -> None:
        self.found: list[tuple[int, Places]] = []

    def meeting(self, places: Places) -> list[int]:
        """The steps that have touched any of ``places``."""
        return [number for number, others in self.found if _meet(places, others)]

    def overwritten(self, places: Places) -> None:
        """Forget the steps of which nothing is left: who follows them follows the writer."""
        if places is None:
            self.found = []
        else:
            self.found = [f for f in self.found if f[1] is None or not f[1] <= places]

    def add(self, number: int, places: Places) -> list[int]:
        """Remember a step, in the place of all others if they are many: it has to follow those."""
        forgotten = [n for n, _ in self.found] if len(self.found) >= _STEPS else []
        self.found = [(number, None)] if forgotten else [*self.found, (number, places)]
        return forgotten


def _meet(places: Places, others: Places) -> bool:
    if places is None or others is None:
        return True
    return not all(one.is_apart(other) for one in places for other in others)


def dependences(touches: Sequence[Touch], commits: int) -> Needs:
    """The needs of each step; the last ``commits`` steps come after all others.

    What follows from other needs is left out where that is seen at once: a reader needs the last
    writer, a writer what has read since then.
    """
    writers: dict[int, _Accesses] = defaultdict(_Accesses)
    readers: dict[int, _Accesses] = defaultdict(_Accesses)
    needs: list[dict[int, str]] = []
    first_commit = len(touches) - commits
    for number, touch in enumerate(touches):
        found: dict[int, str] = {}
        for buffer in touch.writes:
            places = touch.written.get(buffer)
            found.update((r, ANTI) for r in readers[buffer].meeting(places))
            for earlier in writers[buffer].meeting(places):
                found.setdefault(earlier, OVER)
        for buffer in touch.reads:
            found.update((w, TRUE) for w in writers[buffer].meeting(touch.read.get(buffer)))
        if number >= first_commit:
            for earlier in range(first_commit):
                found.setdefault(earlier, COMMIT)
        for buffer in touch.writes:
            places = touch.written.get(buffer)
            readers[buffer].overwritten(places)
            writers[buffer].overwritten(places)
            for earlier in writers[buffer].add(number, places):
                found.setdefault(earlier, OVER)
        for buffer in touch.reads:
            for earlier in readers[buffer].add(number, touch.read.get(buffer)):
                found.setdefault(earlier, MANY)
        needs.append(found)
    return needs
