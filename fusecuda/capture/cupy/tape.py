"""Tape: a recording that goes as one before is followed step by step, and makes no nodes.

What a region records from one flush to the next is a path in a tree of steps. A step is known by
its key: the operation, and for each operand which storage of the recording it shows and how. After
the same steps the same key has the same effects, so a body that repeats is not recorded again: its
results are made from what the first time has shown, and at the flush the executable of then is run
on the arrays of now. Where a recording leaves the known steps, the nodes of its steps are made
after all; it goes on as it would without a tape, and what is new in it is learned.

Floating-point operands of operators are no part of a key: they are the tape's numbers, which an
executable takes as arguments or was built for.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import Executable
from ...graph import build
from ...graph.dtypes import DType
from ...graph.index_map import Shape
from ...graph.node import Node, topological
from ...options import fusion_enabled
from ..functions import raising
from ..plans import Leaf
from . import internals, ufuncs
from .internals import Pending, PendingMemory, ndarray
from .storages import CupyStorage, Unrecorded, storage_of, table

if TYPE_CHECKING:
    from .region import CupyRegion

Key = tuple[Any, ...]
OFF, FOLLOWING, LEARNING = "off", "following", "learning"
_STEPS_LIMIT = 1 << 15  # in all; then everything is forgotten
_BRANCHES = 16  # after one step: what differs more often is not learned
_BEGINNINGS = 1024
FLOATS = frozenset({float, np.float64})
_LITERALS = frozenset({int, bool, str, type(None), type(Ellipsis), type})
_steps = 0


class UntapedError(Exception):
    """Raised for an operand that no key can tell."""


class Slot(Node):
    """Stands for the memory of a storage from before the recording."""

    __slots__ = ("number",)

    def __init__(self, number: int, shape: Shape, dtype: DType) -> None:
        super().__init__("slot", (), shape, dtype)
        self.number = number


class Number(Node):
    """Stands for one of the tape's numbers, as a constant of a type."""

    __slots__ = ("number",)

    def __init__(self, number: int, dtype: DType) -> None:
        super().__init__("number", (), (), dtype)
        self.number = number


class Step:
    """What one operation does: to which storages, and what it gives."""

    __slots__ = (
        *("added", "cut", "flushes", "made", "next", "noted", "result", "sequence"),
        *("versions", "written"),
    )

    def __init__(self) -> None:
        self.noted: list[int] = []  # the storages with a new version, in order
        self.versions: list[Node] = []  # theirs; of slots and numbers, once the step is known
        self.written: list[int] = []  # those of them that were there before
        self.added: list[None] = []  # room for the others
        self.made: list[tuple[int, Shape, DType]] = []  # new storages that the result shows
        self.result: Any = None
        self.sequence: list[int] = []
        self.cut = 0
        self.flushes = False
        self.next = State()


class End:
    """What a flush does after certain steps, if certain storages are alive."""

    __slots__ = ("arguments", "bits", "executable", "free", "outputs")

    def __init__(self, outputs: tuple[int, ...], bits: bytes) -> None:
        self.outputs = outputs  # the storages that get a value
        self.bits = bits  # of the numbers
        self.free: frozenset[int] = frozenset()  # numbers that the executable takes as arguments
        self.executable: Executable | None = None
        self.arguments: list[Callable[[Tape], Any]] = []


class State:
    """Where a recording stands: the steps that are known from here, and what a flush would do."""

    __slots__ = ("ends", "steps")

    def __init__(self) -> None:
        self.steps: dict[Key, Step] = {}
        self.ends: dict[tuple[int, ...], End] = {}


_roots: dict[Key, State] = {}


def forget() -> None:
    """Learn everything anew from now on."""
    global _steps  # noqa: PLW0603
    _roots.clear()
    _steps = 0


class Tape:
    """The path of one region since its last flush."""

    def __init__(self, region: CupyRegion) -> None:
        self.region = region
        self._reset()

    def end(self) -> None:
        """A flush has computed all that was recorded."""
        if self.mode is FOLLOWING and not self.slots and not self.path:
            return
        self._close()
        self._reset()

    def _reset(self) -> None:
        self.run = object()  # the storages met since the last flush carry it
        self.slots: list[Any] = []  # storages from before, weak references to new ones, None
        self.numbers: list[float] = []
        self.path: list[Step] = []
        self.state: State | None = None
        self.mode = FOLLOWING
        # while learning
        self.fresh: list[tuple[State, Key, Step]] = []  # steps that are not known to others yet
        self.noted: list[CupyStorage] = []  # by the operation at hand
        self.number_nodes: list[tuple[Node, int]] = []
        self._first = 0  # what the operation at hand adds to the region's sequence begins here
        self._planned = False
        self._symbol: dict[Node, Node] = {}

    # --- keys

    def key(self, function: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> Key | None:
        """What tells the call from others after the same steps; None if the tape has ended."""

        def parts() -> Key:
            named = [(name, self._describe(value)) for name, value in kwargs.items()]
            return function, raising(), *[self._describe(v) for v in args], *named

        return self._key(parts)

    def numbered_key(self, function: Any, args: Sequence[Any]) -> Key | None:
        """As `key`, with floats among the tape's numbers."""
        if self.mode is OFF:
            return None
        run = self.run
        try:
            key = function, *[self._operand_or_number(v) for v in args]
        except (UntapedError, Unrecorded):
            self.leave()
            return None
        if self.run is run:
            return key
        self.numbers.clear()
        return self._key(lambda: (function, *[self._operand_or_number(v) for v in args]))

    def _key(self, parts: Callable[[], Key]) -> Key | None:
        if self.mode is OFF:
            return None
        for _ in range(3):
            run = self.run
            try:
                key = parts()
            except (UntapedError, Unrecorded):
                break
            if self.run is run:
                return key
            self.numbers.clear()  # what an operand was entered for has flushed the region
        self.leave()
        return None

    def drop_numbers(self, args: Iterable[Any]) -> None:
        """The numbers that a key has found among ``args`` are not needed."""
        del self.numbers[len(self.numbers) - sum(type(a) in FLOATS for a in args) :]

    def _operand_or_number(self, value: Any) -> Any:
        kind = type(value)
        if kind is Pending or kind is ndarray:
            return self.operand(value)
        if kind in FLOATS:
            self.numbers.append(value)
            return kind
        return self._describe(value)

    def _describe(self, value: Any) -> Any:
        kind = type(value)
        if kind is Pending or kind is ndarray:
            return self.operand(value)
        if kind in _LITERALS or issubclass(kind, np.dtype):
            return kind, value
        if kind is float:
            return kind, struct.pack("d", value)
        if kind is tuple or kind is list:
            return kind, *[self._describe(v) for v in value]
        if kind is slice:
            return kind, *[self._describe(v) for v in (value.start, value.stop, value.step)]
        if issubclass(kind, np.generic):
            return kind, value.tobytes()
        raise UntapedError

    def operand(self, array: Any) -> Any:
        """Which storage ``array`` shows, and how: the number of a whole one, else a tuple."""
        region = self.region
        pointer = internals.pointer_of(array)
        memory, address = pointer.mem, pointer.ptr
        if type(memory) is PendingMemory:
            storage, offset = memory.storage, address - memory.ptr
        else:
            storage = table.exact.get(address)
            if storage is None and array.base is not None:
                storage = table.exact.get(internals.pointer_of(array.base).ptr)
            if storage is None:
                storage, offset = storage_of(region, array)
            else:
                offset = address - storage.span[0]
        dtype = array.dtype
        if dtype is not storage.dtype and dtype != storage.dtype:
            raise UntapedError
        slot = storage.slot if storage.run is self.run else self._enter(storage)
        shape = array.shape
        if not array._c_contiguous:
            return slot, offset, shape, array.strides
        return slot if not offset and shape == storage.shape else (slot, offset, shape)

    def _enter(self, storage: CupyStorage) -> Any:
        """Give a storage that comes into play its number; later it is told by that alone."""
        region = self.region
        if storage.device != region.device and not self.slots:
            region.device = storage.device
        if storage.recorder is not region or storage.device != region.device or storage.error:
            raise UntapedError
        if storage.span == (0, 0) or region.has_escaped:
            raise UntapedError
        storage.run, storage.slot = self.run, len(self.slots)
        self.slots.append(storage)
        return len(self.slots) - 1, storage.shape, storage.dtype.num, storage.device

    # --- following

    def step(self, key: Key | None) -> Step | None:
        """The known step for ``key``; without one the nodes are made, to go on by."""
        if self.mode is not FOLLOWING or key is None:
            return None
        if self.state is None:
            if self.region.tally is not None:  # every operation is to be told
                self.leave()
                return None
            root = self.region.cupy_options, fusion_enabled()
            self.state = _roots.get(root) or _roots.setdefault(root, State())
        found = self.state.steps.get(key)
        if found is not None and (not found.written or self._may_write(found)):
            return found
        self._make_nodes()
        return None

    def _may_write(self, step: Step) -> bool:
        """False for memory that another region has read, which is then to be told."""
        for number in step.written:
            storage = self._storage(number)
            if storage is None or not storage.readers <= {self.region}:
                return False
        return True

    def take(self, step: Step) -> Any:
        """The result of ``step``, which has now been taken."""
        self.path.append(step)
        self.state = step.next
        slots = self.slots
        for number in step.written:
            storage = self._storage(number)
            assert storage is not None, "an operand is alive"
            storage.postpone()
        slots.extend(step.added)
        made = []  # alive until an array shows them
        for number, shape, dtype in step.made:
            new = CupyStorage.postponed(self.region, shape, dtype)
            new.run, new.slot = self.run, number
            slots[number] = weakref.ref(new)
            if step.result == number:
                return new.array(shape)
            made.append(new)
        return self._built(step.result)

    def _built(self, result: Any) -> Any:
        """The arrays that ``result`` describes."""
        if result is None or result is NotImplemented:
            return result
        if result[0] in (list, tuple):
            return result[0]([self._built(r) for r in result[1:]])
        number, shape, strides, offset = result
        storage = self._storage(number)
        assert storage is not None
        return storage.array(shape, strides, offset)

    def _storage(self, number: int) -> CupyStorage | None:
        found = self.slots[number]
        return found() if type(found) is weakref.ref else found

    def _alive(self) -> list[int]:
        """The storages that the path has given a new version and somebody still holds."""
        noted = dict.fromkeys(number for step in self.path for number in step.noted)
        alive = []
        for number in noted:
            storage = self._storage(number)
            if storage is not None and storage.error is None:
                alive.append(number)
        return alive

    def flush(self) -> bool:
        """Do what the flush did when the recording last went like this; False if it never did."""
        if self.mode is not FOLLOWING or self.state is None:
            return self.mode is FOLLOWING
        alive = self._alive()
        end = self.state.ends.get(tuple(alive))
        if end is None or not self._fits(end):
            self.materialize()
            return False
        if end.executable is None:
            return True
        try:
            self.rerun(end)
        except Exception:
            self.materialize()
            return False
        return True

    def rerun(self, end: End) -> None:
        """Compute what ``end`` computes, of the arrays of now."""
        assert end.executable is not None
        storages = [s for number in end.outputs if (s := self._storage(number)) is not None]
        self.region.rerun(end.executable, [get(self) for get in end.arguments], storages)

    def _fits(self, end: End) -> bool:
        """True if the numbers are those that the executable was built for, or its arguments."""
        bits = self._bits()
        if bits == end.bits:
            return True
        return all(
            number in end.free or bits[8 * number :][:8] == end.bits[8 * number :][:8]
            for number in range(len(self.numbers))
        )

    def _bits(self) -> bytes:
        return struct.pack(f"{len(self.numbers)}d", *self.numbers)

    # --- making nodes of what was followed

    def materialize(self) -> None:
        """Make the nodes of all steps; from here on the recording is an ordinary one."""
        if self.mode is FOLLOWING and self.path:
            self._make_nodes()

    def _make_nodes(self) -> None:
        self.mode = LEARNING
        versions: dict[int, Node] = {}
        for step in self.path:
            versions.update(zip(step.noted, step.versions, strict=True))
        alive = [(n, s) for n in versions if (s := self._storage(n)) is not None]
        made: dict[Node, Node] = {}
        for node in topological([versions[n] for n, _ in alive]):
            made[node] = self._real(node, made)
        for number, storage in alive:
            storage.node = made[versions[number]]
        self._symbol = {real: node for node, real in made.items()}
        sequence = [n for step in self.path for n in step.sequence]
        cut = self.path[-1].cut if self.path else 0
        self.region.resume([s for _, s in alive], sequence, cut)

    def _real(self, node: Node, made: dict[Node, Node]) -> Node:
        if type(node) is Slot:
            storage = self._storage(node.number)
            assert storage is not None and storage.buffer is not None
            return Leaf(storage.buffer, storage.shape, storage.dtype)
        if type(node) is Number:
            real = build.constant(self.numbers[node.number], node.dtype)
            self.number_nodes.append((real, node.number))
            return real
        return node.with_operands(tuple(made[o] for o in node.operands))

    def leave(self) -> None:
        """What comes is not to be learned, up to the next flush."""
        self.materialize()
        self._close()
        self.mode = OFF

    # --- learning

    def begin(self) -> object:
        """An operation is going to be recorded; `learn` takes what is given here."""
        self.noted.clear()
        self._first = self.region.recorded
        return self.run

    def constants(self, operands: Sequence[Any]) -> Callable[[Any, DType], Node]:
        """What makes nodes of the numbers among ``operands``, in turn."""
        if self.mode is not LEARNING:
            return ufuncs.number
        count = len(self.numbers)
        numbers = iter(range(count - sum(type(v) in FLOATS for v in operands), count))

        def node_of(value: Any, dtype: DType) -> Node:
            if type(value) not in FLOATS:
                return ufuncs.number(value, dtype)
            node = build.constant(value, dtype)  # of its own: equal numbers may part later
            self.number_nodes.append((node, next(numbers)))
            return node

        return node_of

    def note(self, storage: CupyStorage) -> None:
        """The operation at hand has given ``storage`` a new version."""
        self.noted.append(storage)

    def learn(self, run: object, key: Key | None, result: Any) -> None:
        """An operation has been recorded, with ``result``; NotImplemented if it has not been."""
        if self.mode is OFF or (key is None and not self.noted):
            return
        if run is not self.run or key is None or (result is NotImplemented and self.noted):
            self.leave()
            return
        assert self.mode is LEARNING and self.state is not None
        known = self.state.steps.get(key)
        step = Step()
        before = len(self.slots)
        for storage in dict.fromkeys(self.noted):
            if storage.run is not self.run:
                if storage.buffer is not None:  # memory from before that no operand has shown
                    self.leave()
                    return
                storage.run, storage.slot = self.run, len(self.slots)
                self.slots.append(weakref.ref(storage))
                step.made.append((storage.slot, storage.shape, storage.dtype))
            step.noted.append(storage.slot)
            step.versions.append(storage.node)
        step.written = [n for n in step.noted if n < before]
        step.added = [None] * (len(self.slots) - before)
        try:
            shown: set[int] = set()
            step.result = self._described_result(result, shown)
            if len(step.made) == 1 and step.result == (step.made[0][0], step.made[0][1], None, 0):
                step.result = step.made[0][0]  # the usual case, by a shorter way
        except UntapedError:
            self.leave()
            return
        step.made = [m for m in step.made if m[0] in shown]
        step.sequence, step.cut = self.region.sequence_from(self._first)
        step.flushes = self.region.flush_after
        if known is not None:
            self._symbol.update(zip(step.versions, known.versions, strict=True))
            step = known
        elif len(self.state.steps) >= (_BRANCHES if self.path else _BEGINNINGS):
            self.leave()
            return
        else:
            self.fresh.append((self.state, key, step))
        self.path.append(step)
        self.state = step.next
        self.noted.clear()

    def _described_result(self, result: Any, shown: set[int]) -> Any:
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
        if storage.run is not self.run:
            raise UntapedError
        shown.add(storage.slot)
        strides = None if result._c_contiguous else result.strides
        return storage.slot, result.shape, strides, pointer.ptr - start

    def _close(self) -> None:
        """Let others know the fresh steps, with symbols in the place of arrays and numbers."""
        global _steps  # noqa: PLW0603
        fresh, self.fresh = self.fresh, []
        if not fresh:
            return
        self._symbol.update((n, Number(i, n.dtype)) for n, i in self.number_nodes)
        leaves = {}
        for number, storage in enumerate(self.slots):
            if isinstance(storage, CupyStorage):
                leaves[id(storage.buffer)] = Slot(number, storage.shape, storage.dtype)
        self._find_symbols([v for _, _, step in fresh for v in step.versions], leaves)
        state, key, _ = fresh[0]
        if key in state.steps:
            return
        if _steps > _STEPS_LIMIT:
            forget()
        _steps += len(fresh)
        for state, key, step in fresh:
            if not all(v in self._symbol for v in step.versions):
                break
            step.versions = [self._symbol[v] for v in step.versions]
            state.steps[key] = step

    def _find_symbols(self, versions: Iterable[Node], leaves: dict[int, Slot]) -> None:
        """The symbols of all nodes that depend on known arrays and numbers alone."""
        symbol = self._symbol
        for node in topological(versions):
            if node in symbol:
                continue
            if isinstance(node, Leaf):
                if id(node.array) in leaves:
                    symbol[node] = leaves[id(node.array)]
            elif node.line is None and all(o in symbol for o in node.operands):
                symbol[node] = node.with_operands(tuple([symbol[o] for o in node.operands]))

    def planned(
        self, waiting: Sequence[Any], leaves: Sequence[Leaf], executable: Executable | None
    ) -> None:
        """A flush is about to run ``executable`` on ``leaves`` to compute ``waiting``."""
        if self.mode is not LEARNING or self.state is None or self._planned:
            return
        self._planned = True  # later plans of a flush are for parts of it
        alive = tuple(self._alive())
        outputs = tuple([s.slot for s in waiting if isinstance(s, CupyStorage)])
        if len(outputs) < len(waiting) or any(s.run is not self.run for s in waiting):
            return
        end = End(outputs, self._bits())
        end.executable = executable
        try:
            end.arguments = self._arguments(leaves, end)
        except UntapedError:
            return
        self.state.ends[alive] = end

    def _arguments(self, leaves: Sequence[Leaf], end: End) -> list[Callable[[Tape], Any]]:
        """How the arguments of an executable are found anew."""
        buffers = {id(s.buffer): n for n, s in enumerate(self.slots) if isinstance(s, CupyStorage)}
        numbers = dict(self.number_nodes)
        found: list[Callable[[Tape], Any]] = []
        free = set()
        for leaf in leaves:
            if leaf.parameter.scalar:
                number = numbers.get(leaf.source)
                if number is None:
                    found.append(_always(leaf.argument))
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


def _always(value: Any) -> Callable[[Tape], Any]:
    return lambda tape: value


def _number(number: int, dtype: DType) -> Callable[[Tape], Any]:
    return lambda tape: build.constant(tape.numbers[number], dtype).value


def _buffer(slot: int, part: tuple[slice, ...] | None) -> Callable[[Tape], Any]:
    if part is None:
        return lambda tape: tape.slots[slot].buffer
    return lambda tape: tape.slots[slot].buffer[part]
