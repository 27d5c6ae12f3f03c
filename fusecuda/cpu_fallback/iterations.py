"""Iterations: what a body computes again and again, each time from what it was the last time.

Steps of an iteration that was recorded are alike, but for where they begin. Written out, they are
long texts, which compile slowly, and chains, in which each step of a vector waits for the one
before. As a loop over steps around the loop over elements the text is that of one step, and vectors
do not wait for each other; what a step leaves to the next one lies in buffers.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ..codegen import names, scans
from ..codegen.scalar import c_type
from ..codegen.writer import Writer
from ..fusion import kernel_ir as ir
from ..fusion.verify import operands
from ..graph.dtypes import BOOL

_FEWEST = 4  # steps
_SAVED = 96  # statements that are not written out, from which on loops of their own pay
_BUFFERS = 32  # of a chunk of elements, which are to stay near
_SHALLOW = 8  # statements below another one
_WIDE = 4  # bytes
_MOST = 1024  # statements that are compared
_PLAIN = ir.Load | ir.Index | ir.Argument | ir.Compute | ir.Store


@dataclass(frozen=True, slots=True)
class Iteration:
    """A body as what comes before ``count`` steps, the first of them, and what comes behind.

    A step begins with values that it leaves anew: ``carried`` has the former and the latter, as the
    first step names them. ``last`` are more of its values which are used when all is over. All
    these and the values ``kept`` of what comes before are what waits in buffers; what is read from
    memory is read again. ``numbers`` are those that are others in each step, by the first one's.
    """

    head: list[ir.Statement]
    step: list[ir.Statement]
    tail: list[ir.Statement]
    count: int
    carried: Mapping[int, int]
    last: Sequence[int]
    kept: Sequence[int]
    numbers: Mapping[int, Sequence[int]]


def pieces_of(iteration: Iteration, reduces: Sequence[ir.Reduce] = ()) -> list[scans.Piece]:
    """The loops of an iteration: the middle one runs several times, the last one ``reduces``.

    A truth in a buffer is no narrower than what it waits beside.
    """
    made = [s for s in (*iteration.head, *iteration.step) if not isinstance(s, ir.Effect)]
    dtypes = {s.out: s.dtype for s in made}
    waiting = {v: "int64_t" if d == BOOL else c_type(d) for v, d in dtypes.items()}
    begun = [v for v in (*iteration.kept, *iteration.carried) if v in dtypes]
    first = scans.Piece(iteration.head, left={v: waiting[v] for v in begun})
    last = {v: waiting[v] for v in iteration.last}
    step = scans.Piece(
        iteration.step, left=last, times=iteration.count, anew=dict(iteration.carried)
    )
    for s in iteration.step:
        if isinstance(s, ir.Compute):
            for value, dtype in zip(s.operands, s.operand_dtypes, strict=True):
                if value in iteration.numbers:
                    step.numbers[value] = c_type(dtype), iteration.numbers[value]
    rest = scans.Piece(iteration.tail, reduces=list(reduces))
    for piece in step, rest:
        used = {v for s in piece.body for v in operands(s)}.union(r.value for r in piece.reduces)
        own = () if piece is step else iteration.last
        piece.taken = {v: c_type(dtypes[v]) for v in (*begun, *own) if v in used}
    return [first, step, rest]


@contextmanager
def by_turns(piece: scans.Piece, writer: Writer) -> Iterator[None]:
    """What surrounds a loop over a run that is run several times, with numbers for each."""
    if piece.times == 1:
        yield
        return
    for value, (kind, each) in piece.numbers.items():
        writer.line(f"const {kind} each{value}[] = {{{', '.join(map(names.value, each))}}};")
    with writer.block(f"for (int step = 0; step < {piece.times}; ++step)"):
        for value, (kind, _) in piece.numbers.items():
            writer.line(f"const {kind} {names.value(value)} = each{value}[step];")
        yield


def iteration_of(body: Sequence[ir.Statement], used: Iterable[int] = ()) -> Iteration | None:
    """The longest iteration of ``body`` that is worth a loop, or None.

    Behind it, the values ``used`` have the names that they had.
    """
    if not all(isinstance(s, _PLAIN) and not _is_watched(s) for s in body):
        return None
    computed = [s for s in body if isinstance(s, ir.Compute)]
    kinds = Counter(map(_kind, computed))
    if not _SAVED < len(computed) <= _MOST or len(kinds) * _FEWEST > len(computed):
        return None
    read = [s for s in body if isinstance(s, ir.Load | ir.Index | ir.Argument)]
    stores = [s for s in body if isinstance(s, ir.Store)]
    search = _Search(read, _as_ready(computed), stores, frozenset(used))
    for period, first, length in sorted(search.runs(), key=lambda run: (-run[2], run[0])):
        found = search.best(period, first, length)
        if found is not None:
            return found
    return None


def _is_watched(statement: ir.Statement) -> bool:
    guarded = isinstance(statement, ir.Load) and statement.guard is not None
    return guarded or (isinstance(statement, ir.Reporting) and ir.reports(statement))


def _kind(statement: ir.Compute) -> tuple[object, ...]:
    return statement.op, statement.dtype, statement.operand_dtypes, statement.is_small


def _as_ready(computed: Sequence[ir.Compute]) -> list[ir.Compute]:
    """The statements in an order in which those of one step come together, alike in each.

    Of those that could be next, it is the one from which the way to the end is shortest: what is
    made of a step comes before the next step. But what is made of no step comes when it is needed.
    """
    made = {s.out: i for i, s in enumerate(computed)}
    needs = [{made[o] for o in s.operands if o in made} for s in computed]
    users: list[list[int]] = [[] for _ in computed]
    for i, needed in enumerate(needs):
        for j in needed:
            users[j].append(i)
    height = [0] * len(computed)
    for i in reversed(range(len(computed))):
        height[i] = 1 + max((height[j] for j in users[i]), default=0)
    late = _late(needs, users)
    missing = [sum(j not in late for j in needed) for needed in needs]
    kinds: dict[tuple[object, ...], int] = {}
    place: dict[int, int] = {}
    order: list[ir.Compute] = []

    def due(i: int) -> tuple[int, int, list[int], int]:
        """The lowest is next; of the same height those alike are in the order of operands."""
        kind = kinds.setdefault(_kind(computed[i]), len(kinds))
        return height[i], kind, [place.get(o, -1) for o in computed[i].operands], i

    def put(i: int) -> None:
        for o in computed[i].operands:
            if o in made and o not in place:
                put(made[o])
        place[computed[i].out] = len(order)
        order.append(computed[i])

    ready = [due(i) for i, count in enumerate(missing) if not count and i not in late]
    heapq.heapify(ready)
    while ready:
        *_, i = heapq.heappop(ready)
        if computed[i].out not in place:  # what came late may have needed it
            put(i)
        for j in users[i]:
            missing[j] -= 1
            if not missing[j] and j not in late:
                heapq.heappush(ready, due(j))
    return order


def _late(needs: Sequence[Collection[int]], users: Sequence[Sequence[int]]) -> set[int]:
    """What is made of little, and needed by what is made of much, with what only that needs."""
    depth: list[int] = []
    for needed in needs:
        depth.append(1 + max((depth[j] for j in needed), default=0))
    late: set[int] = set()
    for i in reversed(range(len(needs))):
        least = min((depth[j] for j in users[i]), default=0)
        if depth[i] <= _SHALLOW < least - depth[i] or (users[i] and late.issuperset(users[i])):
            late.add(i)
    return late


class _Search:
    """The statements of a body in order, and where in it each value is computed."""

    def __init__(
        self,
        read: Sequence[ir.Load | ir.Index | ir.Argument],
        order: Sequence[ir.Compute],
        stores: Sequence[ir.Statement],
        reduced: frozenset[int],
    ) -> None:
        self.read, self.order, self.stores = list(read), list(order), list(stores)
        self.reduced = reduced
        self.place = {s.out: i for i, s in enumerate(order)}
        self.inside = {s.out for s in (*read, *order)}
        numbers: dict[tuple[object, ...], int] = {}
        self.kinds = [numbers.setdefault(_kind(s), len(numbers)) for s in order]

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Statements each like the one a period before: period, the first one, how many."""
        kinds, count = np.array(self.kinds), len(self.order)
        for period in range(2, count // _FEWEST + 1):
            fewest = max(_SAVED, period * (_FEWEST - 1))
            same = kinds[period:] == kinds[:-period]
            if np.count_nonzero(same) < fewest:
                continue
            length, longest = 0, (0, 0)
            for i, like in enumerate(same.tolist(), period):
                length = length + 1 if like and self._alike(i, period) else 0
                longest = max(longest, (length, i))
            length, end = longest
            if length >= fewest:
                yield period, end + 1 - length - period, length

    def _alike(self, i: int, period: int) -> bool:
        pairs = zip(self.order[i].operands, self.order[i - period].operands, strict=True)
        place, inside = self.place, self.inside
        return all(
            a == b or place.get(a, -1) - place.get(b, i) == period or not {a, b} & inside
            for a, b in pairs
        )

    def best(self, period: int, first: int, length: int) -> Iteration | None:
        """The iteration that leaves least to the next step, wherever it begins; None if none is."""
        found: list[Iteration] = []
        for turned in range(2 * period):
            count = (length + period - turned) // period
            if count >= _FEWEST and (count - 1) * period >= _SAVED:
                start = first + turned
                iteration = self._iteration(start, period, count)
                late = () if iteration is None else self._late(iteration, start, period, turned)
                if late:
                    iteration = self._delayed(late, start, period, count) or iteration
                found += [] if iteration is None else [iteration]
        waiting = [len(r.carried) + len(r.last) + len(r.kept) for r in found]
        if not found or min(waiting) > min(period // 2, _BUFFERS):  # what waits is moved twice
            return None
        return found[waiting.index(min(waiting))]

    def _late(self, iteration: Iteration, start: int, period: int, turned: int) -> list[int]:
        """Where in a step values are computed that the next one may as well compute itself.

        It needs nothing for that but what is left to it anyway.
        """
        left, begun = set(iteration.carried.values()), set(iteration.carried)
        step = self.order[start : start + period]
        own, used = {s.out for s in step}, {o for s in step for o in s.operands}
        late: list[int] = []
        for i, s in enumerate(step):
            if i + turned < period or s.out in used or s.out not in left:
                continue
            if all(o in left or o not in own | begun for o in s.operands):
                late.append(i)
        return late

    def _delayed(
        self, late: Sequence[int], start: int, period: int, count: int
    ) -> Iteration | None:
        """The same one with the ``late`` statements of a step at the beginning of the next."""
        order = [s for i, s in enumerate(self.order[:start]) if i - start + period not in late]
        for begin in range(start, start + count * period, period):
            order += [self.order[begin - period + i] for i in late]
            order += [self.order[begin + i] for i in range(period) if i not in late]
        end = start + count * period
        order += [*(self.order[end - period + i] for i in late), *self.order[end:]]
        search = _Search(self.read, order, self.stores, self.reduced)
        if any(search.place.get(o, -1) >= i for i, s in enumerate(order) for o in s.operands):
            return None
        return search._iteration(start - len(late), period, count)

    def _iteration(self, start: int, period: int, count: int) -> Iteration | None:
        """The iteration of ``count`` steps from ``start`` on, if it can be written as a loop."""
        found = self._carried(start, period, count)
        if found is None:
            return None
        carried, numbers = found
        step = self.order[start : start + period]
        end = start + count * period
        head: list[ir.Statement] = [*self.read, *self.order[:start]]
        tail: list[ir.Statement] = [*self.order[end:], *self.stores]
        before = {s.out for s in (*self.read, *self.order[:start])}
        used = {o for s in tail for o in operands(s)} | self.reduced
        fixed = {o for s in step for o in s.operands if o not in carried}
        if used & carried.keys() or any(self.place.get(v, -1) < end for v in self.reduced):
            return None
        names: dict[int, int] = {}
        by_left = {left: begun for begun, left in carried.items()}
        last = []
        for value in used:
            at = self.place.get(value, -1) - (end - period)
            if -period * (count - 1) <= at < 0:
                return None  # of an earlier step
            if 0 <= at < period:
                own = step[at].out
                names[value] = by_left.get(own, own)
                last += [] if own in by_left else [own]
        tail = [_renamed(s, names) for s in tail]
        # Narrow elements would make long vectors of all others.
        again = {s.out: s for s in self.read if s.dtype.itemsize >= _WIDE}
        kept = sorted((used | fixed) & (before - again.keys()))
        return Iteration(
            head,
            [*(s for v, s in again.items() if v in fixed), *step],
            [*(s for v, s in again.items() if v in used), *tail],
            count,
            carried,
            sorted(set(last)),
            kept,
            numbers,
        )

    def _carried(
        self, start: int, period: int, count: int
    ) -> tuple[dict[int, int], dict[int, list[int]]] | None:
        """What the first step begins with and what it leaves for it; numbers of each step.

        None if steps differ otherwise.
        """
        carried: dict[int, int] = {}
        others: dict[int, list[int]] = {}  # what each step has for what the first has from outside
        for i in range(start, start + period):
            for slot, first in enumerate(self.order[i].operands):
                is_truth = self.order[i].operand_dtypes[slot] == BOOL  # with a mask of its own
                each = [s.operands[slot] for s in self.order[i : start + period * count : period]]
                back = start + period - self.place.get(each[1], -1)  # from the second step
                if back > period:
                    if others.setdefault(first, each) != each or (is_truth and {*each} != {first}):
                        return None
                elif any(
                    self.place.get(value, -1) != start + period * k - back
                    for k, value in enumerate(each)
                ):
                    return None
                elif back > 0:
                    left = self.order[start + period - back].out
                    if carried.setdefault(first, left) != left:
                        return None
        changing = {first: each for first, each in others.items() if {*each} != {first}}
        if others.keys() & carried.keys() or any(self.inside & {*e} for e in changing.values()):
            return None
        return carried, changing


def _renamed(statement: ir.Statement, names: Mapping[int, int]) -> ir.Statement:
    """``statement`` of values by the names they have behind the steps."""
    match statement:
        case ir.Compute(operands=used):
            return replace(statement, operands=tuple(names.get(o, o) for o in used))
        case ir.Store(value=value):
            return replace(statement, value=names.get(value, value))
    return statement
