"""Calls: a `fused` function on CuPy arrays, recorded once and replayed under a guard.

The arrays given are storages of their own, arrays that overlap are one; numbers are followed. A
call is replayed if nothing was looked at or run by CuPy itself while it was recorded, and the
arrays that it made are those that it returned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...graph.index_map import contiguous_strides
from ..calls.arguments import Arguments
from ..calls.guard import ReplayWriter
from ..calls.reads import Reads, reads_of
from ..calls.results import finished, result_text
from ..record.block import Region
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar
from ..record.recorder import _in_place, _recording, recorder_in_force
from . import internals
from .internals import Pending, PendingMemory, ndarray
from .region import CupyRegion
from .storages import CupyStorage, Unrecorded, complete, enter_together, table

Replay = Callable[[tuple[Any, ...]], Any]


@dataclass(slots=True)
class _Memory:
    """The memory of one array argument, or of several that overlap."""

    storage: CupyStorage
    members: list[int]  # arrays among the arguments, the lowest address first
    name: str = ""  # of the memory, in the replay


class Call:
    """One call that ``region`` records; ``why`` it is not replayed, or an empty string."""

    def __init__(
        self, region: CupyRegion, function: Any, args: tuple[Any, ...], reads: Reads
    ) -> None:
        self.region = region
        self.function = function
        self.arguments = Arguments(args, ndarray)
        self.reads = reads
        if self.arguments.functions and not reads.opaque:
            self.reads = reads_of(function, *self.arguments.functions)
        self.arrays = [a for _, a in self.arguments.arrays]
        self.observed: dict[str, Any] = {}
        self.memories: list[_Memory] = []
        self.why = self.arguments.unfusable or self.reads.opaque or self.reads.volatile
        if self.reads.arrays:
            self.why = "it reads a NumPy array"
        if any(a.size == 0 for a in self.arrays):
            self.why = "an argument is empty"
        if not self.why:
            self._enter()

    def _enter(self) -> None:
        """Enter the arrays given as storages."""
        complete(*self.arrays)
        with _recording:
            for group in _overlapping(self.arrays):
                try:
                    storage = enter_together(self.region, [self.arrays[i] for i in group])
                except Unrecorded:
                    self.why = "the elements of arguments that overlap do not lie on one grid"
                    return
                self.memories.append(_Memory(storage, group))

    def run(self) -> Any:
        """What the function returns, its arrays pending."""
        if self.why:
            return self.function(*self.arguments.args)
        scalars = {name for name, _ in self.arguments.scalars}

        def leaf(value: Any, name: str) -> Any:
            if name in scalars:
                return TracedScalar(value, name, functools.partial(self._observe, name, value))
            return value

        result = self.function(*self.arguments.build(leaf))
        if any(True for _ in self.arguments.changed()):
            self.why = "it changes a list or dict that it is given"
        return result

    def _observe(self, name: str, value: Any) -> None:
        self.observed[name] = value

    def write_back(self) -> None:
        """Let the lists and dicts that were given hold what the function has put there."""
        self.arguments.write_back(lambda built: finished(built, self.arguments.given, inside=True))

    def finished(self, result: Any) -> Any:
        """The result as the user gets it."""
        return finished(result, self.arguments.given) if self.memories else result

    # --- the replay

    def replay(self, result: Any) -> Replay | None:
        """What replays the call, recorded but not yet computed; None if ``why`` says so."""
        with _recording:  # another thread may flush what it waits for
            return self._replay(result)

    def _replay(self, result: Any) -> Replay | None:
        region = self.region
        if not self.why and region.natives:
            self.why = "CuPy ran some of it"
        if not self.why and region.flushes:
            self.why = "it looked at a value while it was recorded"
        if self.why or region.space is None:
            return None
        waiting = region.pending()
        writer = _CallWriter(region.device)
        numbers = {id(s): n for n, s in enumerate(waiting)}
        kept = set(numbers) - {id(m.storage) for m in self.memories}
        shown: set[int] = set()
        text = result_text(
            result, writer, self.arguments.given, lambda v: self._text(v, writer, numbers, shown)
        )
        if text is None or kept - shown - self._fixed(waiting):
            self.why = "it keeps or returns something that cannot be put together again"
            return None
        leaves, executable = region.executable_for_cupy(waiting, [_in_place(s) for s in waiting])
        written = {id(s) for s in waiting}
        if not self._guard(writer, leaves, written):
            self.why = "an argument overlaps an array that it reads by name"
            return None
        values = [self._source(leaf, writer) for leaf in leaves]
        run = functools.partial(region.space.run, executable, device=region.device)
        return writer.function(len(self.arguments.args), run, values, text)

    def _text(
        self, value: Any, writer: _CallWriter, numbers: dict[int, int], shown: set[int]
    ) -> str | None:
        """Text for a CuPy array in the result; None for what is no such array."""
        if type(value) is Pending:
            memory = internals.pointer_of(value).mem
            number = numbers.get(id(memory.storage)) if type(memory) is PendingMemory else None
            if number is None:
                raise TypeError
            shown.add(id(memory.storage))
            return writer.view(f"results[{number}]", value, memory)
        if isinstance(value, ndarray):
            for name, array in self.arguments.arrays:
                if array is value:
                    return name
            raise TypeError  # a view of an argument, or an array from elsewhere
        return None

    def _fixed(self, waiting: Sequence[Any]) -> set[int]:
        """Storages that are neither made by the call nor among its arguments: read by name."""
        return {id(s) for s in waiting if s.held}

    def _guard(self, writer: _CallWriter, leaves: Sequence[Leaf], written: set[int]) -> bool:
        """Write the conditions of the replay; False if they cannot be."""
        arguments = self.arguments
        for kind, name, value in arguments.conditions:
            writer.argument(kind, name, value)
        for place, seen in self.reads.values.values():
            writer.demand(place.condition(writer.constant, seen))
        for place, array in self.reads.device_arrays.values():
            text, known = place.text(writer.constant), writer.constant(array)
            layout = f"{known}.shape == {array.shape} and {known}.strides == {array.strides}"
            writer.demand(f"{text} is {known} and {layout}")
        for name, value in self.observed.items():
            known = writer.constant(value)
            writer.demand(f"{name} is {known} or same({name}, {known})")
        writer.identities([(name, array) for name, array in arguments.arrays])
        for m in self.memories:
            m.name = writer.memory(m.storage, [arguments.arrays[i] for i in m.members])
        ours = {id(m.storage.buffer) for m in self.memories}
        others = [leaf.array for leaf in leaves if isinstance(leaf.array, ndarray)]
        writer.fixed += [array for _, array in self.reads.device_arrays.values()]
        fixed = [internals.span_of(a) for a in others if id(a) not in ours]
        for i, m in enumerate(self.memories):
            if any(_meet(m.storage.span, span) for span in fixed):
                return False
            writer.apart_from(i, fixed)
            for j in range(i):
                if id(m.storage) in written or id(self.memories[j].storage) in written:
                    writer.apart(i, j)
        return True

    def _source(self, leaf: Leaf, writer: _CallWriter) -> str:
        """Text for what ``leaf`` stands for in a replay."""
        if type(leaf.array) is TracedScalar:
            return writer.cast_scalar(leaf.array, leaf.dtype)
        for m in self.memories:
            if leaf.array is m.storage.buffer:
                return m.name
        return writer.constant(leaf.array)


class _CallWriter(ReplayWriter):
    """A replay whose arrays are CuPy's."""

    def __init__(self, device: int) -> None:
        super().__init__()
        self.device = device
        self.spans: list[tuple[str, int, int]] = []  # of memories: address, and bytes around it
        self.fixed: list[Any] = []  # arrays read by name
        self.space |= {
            "cupy_array": ndarray,
            "pointer_of": internals.pointer_of,
            "array_at": _array_at,
            "complete": complete,
            "fixed": self.fixed,
            "table": table,
            "recorder": recorder_in_force.get,
            "Region": Region,
        }
        self.demand("not isinstance(recorder(), Region)")
        self.lines.append("if len(table): complete(args, fixed)")
        self._pointers: dict[str, str] = {}

    def array(self, name: str, a: Any) -> None:
        owner = f"({name}.base is None) is {a.base is None}"
        self.demand(f"type({name}) is cupy_array and {self.layout(name, a)} and {owner}")
        pointer = self._pointers[name] = f"p{len(self._pointers)}"
        self.lines.append(f"{pointer} = pointer_of({name})")
        self.demand(f"{pointer}.device_id == {self.device}")

    def identities(self, arrays: Sequence[tuple[str, Any]]) -> None:
        """Demand that the same of the arguments are one array."""
        first = {id(array): name for name, array in reversed(arrays)}
        for name, array in arrays:
            if first[id(array)] != name:
                self.demand(f"{name} is {first[id(array)]}")
        if len(first) > 1:
            every = ", ".join(f"id({name})" for name in first.values())
            self.demand(f"len({{{every}}}) == {len(first)}")

    def memory(self, storage: CupyStorage, members: Sequence[tuple[str, Any]]) -> str:
        """A name for the memory of arguments, which lie in it as they did."""
        (name, first), *others = members
        pointer, address = self._pointers[name], f"q{len(self.spans)}"
        self.lines.append(f"{address} = {pointer}.ptr")
        start = internals.pointer_of(first).ptr
        for other, array in others:
            offset = internals.pointer_of(array).ptr - start
            self.demand(f"{self._pointers[other]}.ptr - {address} == {offset}")
        low, high = storage.span
        self.spans.append((address, low - start, high - start))
        if storage.buffer is first:
            return name
        made = f"m{len(self.spans)}"
        shape, dtype = storage.shape, self.constant(storage.dtype)
        self.lines.append(f"{made} = array_at({pointer}, {low - start}, {shape}, {dtype})")
        return made

    def apart(self, i: int, j: int) -> None:
        """Demand that two memories share nothing."""
        (a, a_low, a_high), (b, b_low, b_high) = self.spans[i], self.spans[j]
        self.demand(f"{a} + {a_high} <= {b} + {b_low} or {b} + {b_high} <= {a} + {a_low}")

    def apart_from(self, i: int, fixed: Sequence[tuple[int, int]]) -> None:
        """Demand that a memory shares nothing with the spans given."""
        a, a_low, a_high = self.spans[i]
        for low, high in fixed:
            self.demand(f"{a} + {a_high} <= {low} or {high} <= {a} + {a_low}")

    def view(self, made: str, array: Any, memory: PendingMemory) -> str:
        """Text for what the pending ``array`` shows of the result ``made``."""
        offset = internals.pointer_of(array).ptr - memory.ptr
        plain = contiguous_strides(array.shape, array.dtype.itemsize)
        storage = memory.storage
        whole = array.shape == storage.shape and array.dtype == storage.dtype
        if offset == 0 and whole and array.strides == plain:
            return made
        rest = f"{offset}, {array.shape}, {self.constant(array.dtype)}, {array.strides}"
        return f"array_at(pointer_of({made}), {rest})"


def _array_at(pointer: Any, offset: int, shape: Any, dtype: Any, strides: Any = None) -> Any:
    """An array over the memory ``offset`` bytes from ``pointer``."""
    return internals.array_over(pointer + offset, shape, dtype, strides)


def _overlapping(arrays: Sequence[Any]) -> list[list[int]]:
    """The numbers of the arrays in groups that share memory, lowest address first, each once."""
    spans = [internals.span_of(a) for a in arrays]
    groups: list[list[int]] = []
    end = 0
    for i in sorted(range(len(arrays)), key=lambda i: spans[i]):
        if groups and spans[i][0] < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, spans[i][1]) if len(groups[-1]) > 1 else spans[i][1]
    return groups


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[1] and b[0] < a[1]
