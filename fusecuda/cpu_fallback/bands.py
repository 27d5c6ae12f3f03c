"""Bands: loops that follow each other through one array after another, some rows at a time.

Where a loop reads what another has written, and all of it is too large for the caches, each array
between them would go to memory and back. Instead a *series* of such loops goes on together: each
advances by as many rows as the next one needs for a band of its own, from the last loop's back to
the first's. What only they read lies in a *strip* of rows that moves along with them, in memory
that stays in the caches. (Overlapped tiling, as in Halide's ``compute_at`` with folded storage.)

A loop's rows are its outermost axis. What its row r touches of a buffer lies between ``low + r *
step`` and ``high + r * step``; so which rows of one loop another needs, and where a strip begins
and ends, follows from rows that are done. All that is found when a program is laid out; the driver
only does what is written in the *score*. The series is cut into parts for threads, which compute
what both sides of a cut need twice: nothing that a loop reads is written by a later one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from ..codegen.layout import Layout
from ..fusion.assembly import Assembly
from ..fusion.binding import Bound
from ..fusion.kernel_ir import Compact, Fill, Gather, Scatter, Search
from ..fusion.memory import ALIGNMENT
from ..fusion.variants import LOOP
from ..fusion.walk import Launch
from ..graph.node import Node

LARGE = 1 << 21  # bytes between loops from which on they do not stay in the caches anyway
BAND = 1 << 18  # bytes that all loops of a series touch for one band
MOST_BANDS = 4096  # for each costs some words, and microseconds when a program is laid out
WIDEST = 1 << 20  # bytes of all strips of a thread
MOST, MOST_FORMS = 16, 96  # loops of a series, and pointers of all of them; as in abi.h
_PARTS = 4  # for each thread, so that none waits long for another
RUN, SET, MOVE, END = range(4)  # what a score says: its first word, as in abi.h


class Series(NamedTuple):
    """Loops that go on together: steps side by side, and what to do for each part.

    What the ``inner`` ones of them write is to stay in the caches. Each thread has ``room`` bytes
    for strips, the first one's at ``place`` of the block.
    """

    steps: tuple[int, ...]
    inner: tuple[int, ...]
    place: int
    room: int
    scores: tuple[tuple[int, ...], ...]


class Access(NamedTuple):
    """What a loop's row r touches by one form: bytes from ``low`` to ``high``, and r * ``step``."""

    form: int
    buffer: int
    store: bool
    low: int
    high: int
    step: int


@dataclass(frozen=True, slots=True)
class Loop:
    """One launch as a series sees it: ``rows`` of ``items`` each."""

    step: int
    rows: int
    items: int
    forms: int  # pointers that its kernel is given
    accesses: tuple[Access, ...]
    led: frozenset[int]  # buffers of which any element may be read

    def of(self, buffer: int, store: bool) -> list[Access]:
        """What it reads, or writes, of ``buffer``."""
        return [a for a in self.accesses if a.buffer == buffer and a.store is store]

    @property
    def written(self) -> set[int]:
        """The buffers that it writes."""
        return {a.buffer for a in self.accesses if a.store}

    @property
    def read(self) -> set[int]:
        """The buffers that it reads."""
        return {a.buffer for a in self.accesses if not a.store} | self.led


def loop_of(number: int, step: Launch | Node) -> Loop | None:
    """What a series may have of ``step``; None where its elements have to wait for others'."""
    if not isinstance(step, Bound) or step.variant.skeleton != LOOP or step.variant.inside:
        return None
    kernel = step.lowered.ir
    statements = list(kernel.statements())
    ordered = any(isinstance(s, Scatter | Compact | Fill) for s in statements)
    simple = step.phases == 1 and step.again and not (step.workspace or step.scratch)
    if ordered or kernel.is_ordered or step.lowered.sites or not simple or step.work <= 0:
        return None
    rank = max(1, kernel.rank)
    at = 2 + rank
    extents = step.dims[2:at]
    axis = next((a for a in range(rank) if extents[a] > 1), rank - 1)
    led = {s.form for s in statements if isinstance(s, Gather | Search)}
    found, anywhere = [], set()
    pointers = iter(zip(step.buffers, step.offsets, strict=True))
    number_of = 0
    for f, form in enumerate(kernel.forms):
        strides = step.dims[at : at + rank]
        at += rank + (form.dtype is None)
        if form.dtype is None:
            continue
        buffer, offset = next(pointers)
        if f in led:
            anywhere.add(buffer)
        else:
            spans = [(extents[a] - 1) * strides[a] for a in range(axis + 1, rank)]
            low = offset + sum(min(0, s) for s in spans)
            high = offset + sum(max(0, s) for s in spans) + form.dtype.itemsize
            found.append(Access(number_of, buffer, form.store, low, high, strides[axis]))
        number_of += 1
    rows = max(1, extents[axis])
    items, forms = step.work // rows, len(step.buffers)
    return Loop(number, rows, items, forms, tuple(found), frozenset(anywhere))


def may_follow(loops: Sequence[Loop], loop: Loop) -> bool:
    """True if ``loop`` reads row by row what ``loops`` write, and overwrites nothing of theirs."""
    written = set[int]().union(*(other.written for other in loops))
    touched = written.union(*(other.read for other in loops))
    common = written & loop.read
    if loop.written & (touched | loop.read) or common & loop.led:
        return False
    for buffer in common:
        stores = [a for other in loops for a in other.of(buffer, store=True)]
        if len(stores) != 1 or any(a.step <= 0 for a in (*stores, *loop.of(buffer, store=False))):
            return False
    return True


def chain(steps: Sequence[Launch | Node], at: int, commits: int) -> list[Loop]:
    """The loops from step ``at`` on that may go on together: the first is read, the last reads."""
    loops: list[Loop] = []
    for number in range(at, min(commits, at + MOST)):
        loop = loop_of(number, steps[number])
        if loop is None or not may_follow(loops, loop):
            break
        loops.append(loop)
    while loops and not any(loops[-1].read & other.written for other in loops):
        loops.pop()
    is_read = any(loops[0].written & other.read for other in loops[1:])
    return loops if is_read else []


def series_of(assembly: Assembly, layout: Layout) -> Iterator[Series]:
    """The series of ``assembly`` that are worth it, for memory laid out so."""
    steps = assembly.steps
    at = 0
    while at < len(steps):
        loops = chain(steps, at, len(steps) - assembly.plan.commits)
        made = _Maker(assembly, layout, loops).made() if loops else None
        if made is not None:
            yield made
        at += len(loops) if made is not None else 1


def together(
    companies: Sequence[tuple[int, ...]], series: Iterable[Series]
) -> Iterator[tuple[int, ...]]:
    """The ``companies``, those of a series as one."""
    begun = {one.steps[0]: one.steps for one in series}
    within = {number for steps in begun.values() for number in steps}
    for company in companies:
        if apart := tuple(number for number in company if number not in within):
            yield apart
        yield from (begun[number] for number in company if number in begun)


@dataclass(slots=True)
class Strip:
    """Where rows of one buffer are: bytes of it from ``base`` on lie at ``place``, of a thread's.

    It has ``size`` bytes; ``top`` is the end of what has been written.
    """

    writer: int
    store: Access
    readers: list[tuple[int, Access]]
    place: int = 0
    size: int = 0
    base: int = 0
    top: int = 0


@dataclass(slots=True)
class _Maker:
    """Makes the series of ``loops``: ``edges`` are the reads of what each of them writes."""

    assembly: Assembly
    layout: Layout
    loops: list[Loop]
    strips: dict[int, Strip] = field(default_factory=dict)
    kept: dict[int, Strip] = field(default_factory=dict)  # those of buffers that others see, too
    edges: list[list[tuple[int, Access, Access]]] = field(default_factory=list)

    def made(self) -> Series | None:
        """The series, if it is worth it and there is room for its strips."""
        self._find()
        held = self._place()
        if held is None or sum(loop.forms for loop in self.loops) > MOST_FORMS:
            return None
        place, size = held
        band, parts = self._band(), self._parts()
        if band * parts > self.loops[-1].rows or not self._measured(band, parts):
            return None
        room = sum(strip.size for strip in self.strips.values())
        if room > WIDEST or room * self.layout.threads > size:
            return None
        scores = tuple(tuple(self._score(part, parts, band)) for part in range(parts))
        inner = tuple(loop.step for loop, read in zip(self.loops, self.edges, strict=True) if read)
        return Series(tuple(loop.step for loop in self.loops), inner, place, room, scores)

    def _find(self) -> None:
        """Find who reads what, and the temporaries that nobody else touches."""
        own = {loop.step for loop in self.loops}
        touches = enumerate(self.assembly.touches)
        others = {b for number, touch in touches if number not in own for b in touch.buffers}
        self.edges = [[] for _ in self.loops]
        for w, writer in enumerate(self.loops):
            for store in [access for access in writer.accesses if access.store]:
                buffer = store.buffer
                readers = [
                    (r, access)
                    for r in range(w + 1, len(self.loops))
                    for access in self.loops[r].of(buffer, store=False)
                ]
                self.edges[w] += [(r, store, access) for r, access in readers]
                if readers and buffer not in others and self._is_temporary(buffer):
                    self.strips[buffer] = Strip(w, store, readers)
                elif readers:
                    self.kept[buffer] = Strip(w, store, readers)

    def _is_temporary(self, buffer: int) -> bool:
        known = self.assembly.buffers[buffer]
        return known.argument is None and known.output is None

    def _place(self) -> tuple[int, int] | None:
        """Where in the block there is room for strips, and how much: in place of the largest.

        What else the loops touch may lie there, or over each other, where it would be needed one
        after the other.
        """
        buffers, offsets = self.assembly.buffers, self.layout.buffer_offsets
        if sum(buffers[b].nbytes for b in (*self.strips, *self.kept)) < LARGE:
            return None
        others = {b for loop in self.loops for b in loop.read | loop.written} - {*self.strips}
        kept = filter(self._is_temporary, others)
        spans = sorted((offsets[b], offsets[b] + buffers[b].nbytes) for b in kept)
        if any(end > start for (_, end), (start, _) in pairwise(spans)):
            return None
        if not self.strips:
            return 0, 0
        largest = max(self.strips, key=lambda b: buffers[b].nbytes)
        start, size = offsets[largest], buffers[largest].nbytes
        if any(low < start + size and start < high for low, high in spans):
            return None
        return start, size

    def _band(self) -> int:
        """How many rows of the last loop are a band."""
        touched = {b for loop in self.loops for b in loop.read | loop.written}
        total = sum(self.assembly.buffers[b].nbytes for b in touched)
        rows = self.loops[-1].rows
        return max(1, BAND * rows // max(total, 1), rows // MOST_BANDS)

    def _parts(self) -> int:
        """How many parts threads take."""
        steps = [self.assembly.steps[loop.step] for loop in self.loops]
        worth = sum(s.work // s.grain for s in steps if isinstance(s, Bound))
        threads = min(self.layout.threads, worth)
        return threads * _PARTS if threads > 1 else 1

    # --- rows

    def _begin(self, part: int, parts: int) -> list[int]:
        """The first rows of a part."""
        begin = [loop.rows * part // parts for loop in self.loops]
        for w in range(len(self.loops) - 2, -1, -1):
            needed = [
                max(0, (access.low + begin[r] * access.step - store.high) // store.step + 1)
                for r, store, access in self.edges[w]
            ]
            if needed and self._is_inner(w):
                begin[w] = min(self.loops[w].rows, *needed)
            else:
                begin[w] = min(begin[w], *needed)
        return begin

    def _end(self, done: Sequence[int], last: int) -> list[int]:
        """The rows behind those that are due where ``last`` is that of the last loop."""
        rows = self.loops[-1].rows
        end = [-(-loop.rows * last // rows) for loop in self.loops]
        for w in range(len(self.loops) - 2, -1, -1):
            needed = [
                -(-(access.high + (end[r] - 1) * access.step - store.low) // store.step)
                for r, store, access in self.edges[w]
                if end[r] > done[r]
            ]
            due = max(needed, default=0) if self._is_inner(w) else max([end[w], *needed])
            end[w] = max(done[w], min(self.loops[w].rows, due))
        return end

    def _is_inner(self, number: int) -> bool:
        """True for a loop of which nobody else sees anything."""
        return self.loops[number].written <= self.strips.keys()

    def _bands(self, part: int, parts: int, band: int) -> Iterator[tuple[list[int], list[int]]]:
        """For each band of a part the rows of each loop that are done, and those that are due."""
        done = self._begin(part, parts)
        at, end = done[-1], self.loops[-1].rows * (part + 1) // parts
        while at < end:
            at = min(at + band, end)
            due = self._end(done, at)
            yield done, due
            done = due

    # --- strips

    def _span(self, strip: Strip, done: Sequence[int], due: Sequence[int]) -> tuple[int, int]:
        """The bytes of a buffer that a band needs: from the first that is read or written."""
        store, w = strip.store, strip.writer
        low = min(a.low + done[r] * a.step for r, a in strip.readers)
        if due[w] == done[w]:
            return low, strip.top
        low = min(low, store.low + done[w] * store.step)
        return low, max(strip.top, store.high + (due[w] - 1) * store.step)

    def _measured(self, band: int, parts: int) -> bool:
        """Find how large each strip has to be; twice that, so that it seldom moves.

        False where loops are so far apart that one writes more than the caches hold for another.
        """
        at = 0
        for buffer, strip in (self.strips | self.kept).items():
            most = 0
            for part in {0, parts // 2, parts - 1}:
                strip.top = 0
                for done, due in self._bands(part, parts, band):
                    low, strip.top = self._span(strip, done, due)
                    most = max(most, strip.top - _line(low))
                    if most > WIDEST:
                        return False
            if buffer in self.strips:
                strip.place, strip.size = at, 2 * -(-most // ALIGNMENT) * ALIGNMENT
                at += strip.size
        return True

    def _score(self, part: int, parts: int, band: int) -> Iterator[int]:
        """What is done for a part."""
        is_first = True
        for strip in self.strips.values():
            strip.top = 0
        for done, due in self._bands(part, parts, band):
            for strip in self.strips.values():
                yield from self._moved(strip, done, due, is_first)
            is_first = False
            for number, loop in enumerate(self.loops):
                if due[number] > done[number]:
                    yield from (RUN, number, done[number] * loop.items, due[number] * loop.items)
        yield END

    def _moved(
        self, strip: Strip, done: Sequence[int], due: Sequence[int], is_first: bool
    ) -> Iterator[int]:
        """The strip with room for what a band needs."""
        low, top = self._span(strip, done, due)
        if is_first or top - strip.base > strip.size:
            base = _line(low)
            if strip.top > low and not is_first:
                yield from (MOVE, strip.place + low - base, strip.place + low - strip.base)
                yield strip.top - low
            strip.base = base
            for number, access in ((strip.writer, strip.store), *strip.readers):
                step = self.assembly.steps[self.loops[number].step]
                assert isinstance(step, Bound)
                offset = step.offsets[access.form]
                yield from (SET, number, access.form, strip.place + offset - base)
            assert top - base <= strip.size
        strip.top = top


def _line(byte: int) -> int:
    """Where the cache line of a byte begins."""
    return byte // ALIGNMENT * ALIGNMENT
