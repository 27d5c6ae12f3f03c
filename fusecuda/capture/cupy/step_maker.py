"""Learner: what a tape learns of the operations that are recorded, until the next flush.

A fresh step holds the nodes of its versions as they were made. When learning ends, symbols take the
place of arrays and numbers, so that what is known holds no memory and no values.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...fusion.cost import may_fail
from ...graph import build
from ...graph.dtypes import DType
from ...graph.node import LibraryCall, Node, topological
from ..record.leaf import Leaf
from ..record.numbers import argument_of
from . import internals, steps, ufuncs
from .internals import Pending, PendingMemory, ndarray
from .recording import Recording
from .steps import BEGINNINGS, BRANCHES, End, Key, Number, Slot, State, Step
from .storages import CupyStorage, table

if TYPE_CHECKING:
    from ...engine import Executable

FLOATS = frozenset({float, np.float64})


class UntapedError(Exception):
    """Raised for an operand or a result that no key can tell."""


class Taped(Protocol):
    """What a learner needs of the tape that it learns for."""

    region: Recording
    run: Any
    slots: list[Any]
    numbers: list[float]
    path: list[Step]
    state: State | None

    def bits(self) -> bytes: ...
    def alive(self) -> dict[int, CupyStorage]: ...


class Learner:
    """Learns for one tape, between two flushes."""

    def __init__(self, tape: Taped) -> None:
        self.tape = tape
        self.fresh: list[tuple[State, Key, Step]] = []  # steps that are not known to others yet
        self.noted: list[CupyStorage] = []  # by the operation at hand
        self.number_nodes: list[tuple[Node, int]] = []
        self.symbols: dict[Node, Node] = {}
        self._first = 0  # what the operation at hand adds to the region's sequence begins here
        self._planned = False

    def begin(self) -> None:
        """An operation is going to be recorded."""
        self.noted.clear()
        self._first = self.tape.region.recorded

    def constants(self, operands: Sequence[Any]) -> Callable[[Any, DType], Node]:
        """What makes nodes of the numbers among ``operands``, in turn."""
        count = len(self.tape.numbers)
        numbers = iter(range(count - sum(type(v) in FLOATS for v in operands), count))

        def node_of(value: Any, dtype: DType) -> Node:
            if type(value) not in FLOATS:
                return ufuncs.number(value, dtype)
            node = constant(value, dtype)  # of its own: equal numbers may part later
            self.number_nodes.append((node, next(numbers)))
            return node

        return node_of

    def learn(self, key: Key, result: Any) -> Step | None:
        """The step that has been recorded; None if it cannot be one."""
        tape = self.tape
        assert tape.state is not None
        known = tape.state.steps.get(key)
        step = self._step(result)
        if step is None:
            return None
        if known is not None:
            self.symbols.update(zip(step.versions, known.versions, strict=True))
            return known
        if not tape.path and len(tape.state.steps) >= BEGINNINGS:
            tape.state.steps.clear()
        elif tape.path and len(tape.state.steps) >= BRANCHES:
            return None
        self.fresh.append((tape.state, key, step))
        return step

    def _step(self, result: Any) -> Step | None:
        """What the operation at hand has done."""
        tape, step = self.tape, Step()
        before = len(tape.slots)
        for storage in dict.fromkeys(self.noted):
            if storage.run is not tape.run:
                if storage.buffer is not None:  # memory from before that no operand has shown
                    return None
                storage.run, storage.slot = tape.run, len(tape.slots)
                tape.slots.append(weakref.ref(storage))
                step.made.append((storage.slot, storage.shape, storage.dtype))
            step.noted.append(storage.slot)
            step.versions.append(storage.node)
        step.written = [n for n in step.noted if n < before]
        step.added = [None] * (len(tape.slots) - before)
        shown: set[int] = set()
        try:
            step.result = self._described_result(result, shown)
        except UntapedError:
            return None
        if len(step.made) == 1 and step.result == (*step.made[0][:2], None, 0):
            step.result = step.made[0][0]  # the usual case, by a shorter way
        step.made = [m for m in step.made if m[0] in shown]
        if [m[0] for m in step.made] == [step.result] and len(step.added) == 1 and not step.written:
            number, shape, dtype = step.made[0]
            step.single = number, shape, dtype, internals.nbytes_of(shape, dtype)
        step.sequence, step.cut = tape.region.sequence_from(self._first)
        step.flushes = tape.region.flush_after
        return step

    def _described_result(self, result: Any, shown: set[int]) -> Any:
        """What `Tape.take` makes the result of; the storages that it shows go to ``shown``."""
        if result is None or result is NotImplemented:
            return result
        if type(result) in (list, tuple):
            return (type(result), *[self._described_result(r, shown) for r in result])
        if type(result) is not Pending and type(result) is not ndarray:
            raise UntapedError
        pointer = internals.pointer_of(result)
        memory = pointer.mem
        if type(memory) is PendingMemory:
            storage, start = memory.storage, memory.ptr
        else:
            storage = table.at(pointer.ptr)
            if storage is None:
                raise UntapedError
            start = storage.span[0]
        if storage.run is not self.tape.run:
            raise UntapedError
        shown.add(storage.slot)
        strides = None if result._c_contiguous else result.strides
        return storage.slot, result.shape, strides, pointer.ptr - start

    def close(self) -> None:
        """Let others know the fresh steps, with symbols in the place of arrays and numbers."""
        fresh, self.fresh = self.fresh, []
        self.symbols.update((n, Number(i, n.dtype)) for n, i in self.number_nodes)
        slots = self.tape.slots
        leaves = {b: Slot(n, slots[n].shape, slots[n].dtype) for b, n in self._buffers()}
        self._find_symbols([v for _, _, step in fresh for v in step.versions], leaves)
        for count, (_, _, step) in enumerate(fresh):
            if not all(v in self.symbols for v in step.versions):
                del fresh[count:]
                break
            step.versions = [self.symbols[v] for v in step.versions]
        if fresh:
            steps.attach(fresh)

    def _buffers(self) -> Iterator[tuple[int, int]]:
        """The identity of each array from before the recording, and its number."""
        for number, storage in enumerate(self.tape.slots):
            if isinstance(storage, CupyStorage):
                yield id(storage.buffer), number

    def _find_symbols(self, versions: Iterable[Node], leaves: dict[int, Slot]) -> None:
        """The symbols of all nodes that depend on known arrays and numbers alone."""
        symbols = self.symbols
        for node in topological(versions):
            if node in symbols:
                continue
            if isinstance(node, Leaf):
                if id(node.array) in leaves:
                    symbols[node] = leaves[id(node.array)]
            elif not _tells_its_line(node) and all(o in symbols for o in node.operands):
                symbols[node] = node.with_operands(tuple([symbols[o] for o in node.operands]))

    def planned(
        self, waiting: Sequence[Any], leaves: Sequence[Leaf], executable: Executable | None
    ) -> None:
        """A flush is about to run ``executable`` on ``leaves`` to compute ``waiting``."""
        tape = self.tape
        if self._planned or tape.state is None:
            return
        self._planned = True  # later plans of a flush are for parts of it
        if not all(isinstance(s, CupyStorage) and s.run is tape.run for s in waiting):
            return
        end = End(tuple([s.slot for s in waiting]), tape.bits())
        end.executable = executable
        try:
            end.arguments = self._arguments(leaves, end)
        except UntapedError:
            return
        alive = tuple(tape.alive())
        if set(end.outputs) <= set(alive):  # no other thread has dropped one
            if len(tape.state.ends) >= BRANCHES:
                tape.state.ends.clear()
            tape.state.ends[alive] = end

    def _arguments(self, leaves: Sequence[Leaf], end: End) -> list[Callable[[Any], Any]]:
        """How the arguments of an executable are found anew."""
        buffers = {
            id(s.buffer): n for n, s in enumerate(self.tape.slots) if isinstance(s, CupyStorage)
        }
        numbers = dict(self.number_nodes)
        found: list[Callable[[Any], Any]] = []
        free = set()
        for leaf in leaves:
            if leaf.parameter.scalar:
                number = numbers.get(leaf.source)
                if number is None:
                    found.append(_always(argument_of(leaf)))
                else:
                    free.add(number)
                    found.append(_number(number, leaf.dtype))
                continue
            array, part = (leaf.array, None) if leaf.source is None else leaf.source
            slot = buffers.get(id(array))
            if slot is None:
                raise UntapedError
            found.append(_buffer(slot, part))
        end.free = frozenset(free)
        return found


def constant(value: float, dtype: DType) -> Node:
    """The node of one of a tape's numbers; one too large for ``dtype`` is infinite."""
    with np.errstate(all="ignore"):
        return build.constant(value, dtype)


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda tape: value


def _number(number: int, dtype: DType) -> Callable[[Any], Any]:
    return lambda tape: constant(tape.numbers[number], dtype).value


def _buffer(slot: int, part: tuple[slice, ...] | None) -> Callable[[Any], Any]:
    if part is None:
        return lambda tape: tape.slots[slot].buffer
    return lambda tape: tape.slots[slot].buffer[part]


def _tells_its_line(node: Node) -> bool:
    """True if an error of ``node`` would name the line that recorded it: it cannot be another's."""
    return node.line is not None and (may_fail(node) or isinstance(node.attr, LibraryCall))
