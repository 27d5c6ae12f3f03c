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

import numpy as np

from ...graph.index_map import contiguous_strides
from ..calls.guard import Guard
from ..calls.inputs import Inputs
from ..calls.memory import Writer, layout
from ..calls.reads import Reads
from ..calls.results import Finisher, OddError, ResultWriter
from ..calls.scan import reads_of
from ..record.block import Region
from ..record.flight import recording
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar
from ..record.recorder import recorder_in_force
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
        self.inputs = Inputs(args, ndarray)
        self.reads = reads
        if self.inputs.functions and not reads.opaque:
            self.reads = reads = reads_of(function, *self.inputs.functions)
        for place, value in (*reads.inputs.values(), *reads.constants.values()):
            self.inputs.read(place, value, follow=False)
        self.arrays = [a for _, a in self.inputs.arrays]
        self.observed: dict[str, Any] = {}
        self.memories: list[_Memory] = []
        self.why = self._why_not()
        if not self.why:
            self._enter()

    def _why_not(self) -> str:
        """Why the call cannot be replayed, as far as its arguments tell."""
        reads, inputs = self.reads, self.inputs
        if any(type(v) is np.ndarray for _, v in reads.inputs.values()):
            return "it reads a NumPy array"
        if any(not name.startswith("a") for name, _ in inputs.arrays):
            return "it reads an array that a container holds"
        if any(a.size == 0 for a in self.arrays):
            return "an argument is empty"
        if inputs.objects:
            return f"an argument is a {type(inputs.objects[0]).__name__}"
        return inputs.unfusable or reads.opaque or reads.volatile

    def _enter(self) -> None:
        """Enter the arrays given as storages."""
        complete(*self.arrays)
        with recording:
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
            return self.function(*self.inputs.args)
        scalars = {name for name, _ in self.inputs.scalars}

        def leaf(value: Any, name: str) -> Any:
            if name in scalars:
                return TracedScalar(value, name, functools.partial(self._observe, name, value))
            return value

        given, _ = self.inputs.build(leaf)
        result = self.function(*given)
        if any(True for _ in self.inputs.effects()):
            self.why = "it changes a container that it is given"
        return result

    def _observe(self, name: str, value: Any) -> None:
        self.observed[name] = value

    def write_back(self) -> None:
        """Let the containers that were given hold what the function has put there."""
        self.inputs.write_back(Finisher(self.inputs.given, {}))

    def finished(self, result: Any) -> Any:
        """The result as the user gets it."""
        return Finisher(self.inputs.given, {})(result) if self.memories else result

    # --- the replay

    def replay(self, result: Any) -> Replay | None:
        """What replays the call, recorded but not yet computed; None if ``why`` says so."""
        with recording:  # another thread may flush what it waits for
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
        memory = CupyMemory(region.device)
        guard = memory.guard()
        numbers = {id(s): n for n, s in enumerate(waiting)}
        kept = set(numbers) - {id(m.storage) for m in self.memories}
        shown: set[int] = set()
        writer = ResultWriter(
            guard, self.inputs.given, lambda v: self._text(v, memory, guard, numbers, shown)
        )
        try:
            text = writer.text(result)
        except OddError:
            text = ""
        if not text or kept - shown - self._fixed(waiting):
            self.why = "it keeps or returns something that cannot be put together again"
            return None
        planned = region.executable_for_cupy(waiting)
        if planned is None:
            self.why = "another thread needed what was being recorded"
            return None
        leaves, executable = planned
        written = {id(s) for s in waiting}
        if not self._guard(memory, guard, leaves, written):
            self.why = "an argument overlaps an array that it reads by name"
            return None
        values = [self._source(leaf, guard) for leaf in leaves]
        run = functools.partial(region.space.run, executable, device=region.device)
        guard.space["run"] = run
        inside = [f"values = ({''.join(v + ', ' for v in values)})"]
        ending = ["results = run(values)", f"return {text}"]
        return guard.function(len(self.inputs.args), inside, ending)

    def _text(
        self, value: Any, memory: CupyMemory, guard: Guard, numbers: dict[int, int],
        shown: set[int],
    ) -> str | None:  # fmt: skip
        """Text for a CuPy array in the result; None for what is no such array."""
        if type(value) is Pending:
            lies_in = internals.pointer_of(value).mem
            number = numbers.get(id(lies_in.storage)) if type(lies_in) is PendingMemory else None
            if number is None:
                raise OddError("array from elsewhere")
            shown.add(id(lies_in.storage))
            return memory.view(guard, f"results[{number}]", value, lies_in)
        if isinstance(value, ndarray):
            for name, array in self.inputs.arrays:
                if array is value:
                    return name
            raise OddError("view")  # of an argument, or an array from elsewhere
        return None

    def _fixed(self, waiting: Sequence[Any]) -> set[int]:
        """Storages that are neither made by the call nor among its arguments: read by name."""
        return {id(s) for s in waiting if s.held}

    def _guard(
        self, memory: CupyMemory, guard: Guard, leaves: Sequence[Leaf], written: set[int]
    ) -> bool:
        """Write the conditions of the replay; False if they cannot be."""
        guard.reads(self.reads)
        guard.inputs(self.inputs)
        for place, array in self.reads.device_arrays.values():
            text, known = place.text(guard.constant), guard.constant(array)
            same = f"{known}.shape == {array.shape} and {known}.strides == {array.strides}"
            guard.demand(f"{text} is {known} and {same}")
        for name, value in self.observed.items():
            guard.equal(name, value)
        memory.identities(guard, self.inputs.arrays)
        for m in self.memories:
            m.name = memory.name(guard, m.storage, [self.inputs.arrays[i] for i in m.members])
        ours = {id(m.storage.buffer) for m in self.memories}
        others = [leaf.array for leaf in leaves if isinstance(leaf.array, ndarray)]
        memory.fixed += [array for _, array in self.reads.device_arrays.values()]
        fixed = [internals.span_of(a) for a in others if id(a) not in ours]
        for i, m in enumerate(self.memories):
            if any(_meet(m.storage.span, span) for span in fixed):
                return False
            memory.apart_from(guard, i, fixed)
            for j in range(i):
                if id(m.storage) in written or id(self.memories[j].storage) in written:
                    memory.apart(guard, (), i, j)
        return True

    def _source(self, leaf: Leaf, guard: Guard) -> str:
        """Text for what ``leaf`` stands for in a replay."""
        if type(leaf.array) is TracedScalar:
            return guard.cast_scalar(leaf.array, leaf.dtype)
        for m in self.memories:
            if leaf.array is m.storage.buffer:
                return m.name
        return guard.constant(leaf.array)


class CupyMemory:
    """What a guard demands of CuPy's arrays."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.spans: list[tuple[str, int, int]] = []  # of memories: address, and bytes around it
        self.fixed: list[Any] = []  # arrays read by name
        self._pointers: dict[str, str] = {}

    def guard(self) -> Guard:
        """A guard that writes by this."""
        guard = Guard(self)
        guard.space |= {
            "cupy_array": ndarray,
            "pointer_of": internals.pointer_of,
            "array_at": _array_at,
            "complete": complete,
            "fixed": self.fixed,
            "table": table,
            "recorder": recorder_in_force.get,
            "Region": Region,
        }
        guard.demand("not isinstance(recorder(), Region)")
        guard.lines.append("if len(table): complete(args, fixed)")
        return guard

    def array(self, guard: Any, name: str, a: Any) -> None:
        owner = f"({name}.base is None) is {a.base is None}"
        guard.demand(f"type({name}) is cupy_array and {layout(guard, name, a)} and {owner}")
        pointer = self._pointers[name] = f"p{len(self._pointers)}"
        guard.lines.append(f"{pointer} = pointer_of({name})")
        guard.demand(f"{pointer}.device_id == {self.device}")

    def identities(self, guard: Guard, arrays: Sequence[tuple[str, Any]]) -> None:
        """Demand that the same of the arguments are one array."""
        guard.identities(arrays)
        first = {id(array): name for name, array in reversed(arrays)}
        if len(first) > 1:
            every = ", ".join(f"id({name})" for name in first.values())
            guard.demand(f"len({{{every}}}) == {len(first)}")

    def name(self, guard: Guard, storage: CupyStorage, members: Sequence[tuple[str, Any]]) -> str:
        """A name for the memory of arguments, which lie in it as they did."""
        (name, first), *others = members
        pointer, address = self._pointers[name], f"q{len(self.spans)}"
        guard.lines.append(f"{address} = {pointer}.ptr")
        start = internals.pointer_of(first).ptr
        for other, array in others:
            offset = internals.pointer_of(array).ptr - start
            guard.demand(f"{self._pointers[other]}.ptr - {address} == {offset}")
        low, high = storage.span
        self.spans.append((address, low - start, high - start))
        if storage.buffer is first:
            return name
        made = f"m{len(self.spans)}"
        shape, dtype = storage.shape, guard.constant(storage.dtype)
        guard.lines.append(f"{made} = array_at({pointer}, {low - start}, {shape}, {dtype})")
        return made

    def apart(self, guard: Writer, names: Sequence[str], i: int, j: int) -> None:
        """Demand that two memories share nothing."""
        (a, a_low, a_high), (b, b_low, b_high) = self.spans[i], self.spans[j]
        guard.demand(f"{a} + {a_high} <= {b} + {b_low} or {b} + {b_high} <= {a} + {a_low}")

    def apart_from(self, guard: Guard, i: int, fixed: Sequence[tuple[int, int]]) -> None:
        """Demand that a memory shares nothing with the spans given."""
        a, a_low, a_high = self.spans[i]
        for low, high in fixed:
            guard.demand(f"{a} + {a_high} <= {low} or {high} <= {a} + {a_low}")

    def view(self, guard: Guard, made: str, array: Any, memory: PendingMemory) -> str:
        """Text for what the pending ``array`` shows of the result ``made``."""
        offset = internals.pointer_of(array).ptr - memory.ptr
        plain = contiguous_strides(array.shape, array.dtype.itemsize)
        storage = memory.storage
        whole = array.shape == storage.shape and array.dtype == storage.dtype
        if offset == 0 and whole and array.strides == plain:
            return made
        rest = f"{offset}, {array.shape}, {guard.constant(array.dtype)}, {array.strides}"
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
