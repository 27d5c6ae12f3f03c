"""Calls: what is CuPy's in a call of a `fused` function.

The function works on its own arrays. Those that overlap are one memory, known by addresses; results
are found where they lie when all has been computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import FlushError
from ..arrays.values import as_float, as_type
from ..calls.binding import Binder
from ..calls.call import Call, Owner
from ..calls.effects import Effect
from ..calls.exchange import Exchange
from ..calls.guard import Guard
from ..calls.memory import layout
from ..calls.path import nothing
from ..calls.results import OddError
from ..record.block import Region
from ..record.flight import recording
from ..record.recorder import recorder_in_force
from ..record.storage import Storage
from ..record.structure import walk
from . import internals
from .internals import Pending, PendingMemory, ndarray
from .patches import attach
from .storages import CupyStorage, Unrecorded, complete, enter_together, table
from .trace import CupyPath, CupyTrace, array_at


@dataclass(slots=True)
class _Memory:
    """The memory of one array argument, or of several that overlap."""

    storage: CupyStorage
    members: list[int]  # arrays among the arguments, the lowest address first


class CupyCall(Call):
    """One call on CuPy's arrays; ``why``, if given, it is recorded without following it."""

    array_type = ndarray
    path_type = CupyPath
    trace: CupyTrace
    path: CupyPath

    def __init__(
        self,
        owner: Owner,
        args: tuple[Any, ...],
        path: CupyPath | None = None,
        why: str = "",
        growing: frozenset[str] | None = None,
    ) -> None:
        self.memories: list[_Memory] = []
        super().__init__(owner, args, path=path, growing=growing)
        self.arrays = self.lazies = [a for _, a in self.inputs.arrays]
        by_name = [a for _, a in self.reads.device_arrays.values()]
        self.by_name = [a if a.base is None else a.base for a in by_name]
        self._break(why or self._why_not())
        if not self.path.broken:
            self._enter()
        if self.path.broken and self.path.trail:
            raise FlushError(f"the call cannot go on after what it has run: {self.path.broken}")

    def _same_kind(self) -> Callable[..., Any]:
        return functools.partial(type(self), growing=self.inputs.growing)

    def _new_trace(self) -> CupyTrace:
        return CupyTrace(self.owner.options, self.owner.device_chosen, self.path)

    def _unfusable(self) -> str:
        return ""

    def _why_not(self) -> str:
        """Why the call cannot be followed, as far as what it is given tells."""
        reads, inputs = self.reads, self.inputs
        if any(type(v) is np.ndarray for _, v in reads.inputs.values()):
            return "it reads a NumPy array"
        if any(a.size == 0 for a in self.arrays):
            return "an argument is empty"
        replaced = [value for _, value in reads.replaced.values()]
        for value, name in ((id, "id"), (np.errstate, "np.errstate")):
            if any(v is value for v in replaced):
                return f"it calls {name}"
        if inputs.objects:
            return f"an argument is a {type(inputs.objects[0]).__name__}"
        return inputs.unfusable or reads.opaque or reads.volatile or reads.acts

    def _enter(self) -> None:
        """Enter the arrays given as storages, and in the environment."""
        with recording:
            complete(*self.by_name)
            for group in _overlapping(self.arrays):
                members = [self.arrays[i] for i in group]
                while _is_known(members):  # others may enter one while another is completed
                    complete(*members)
                try:
                    storage = enter_together(self.trace, members)
                except Unrecorded as error:
                    why = "the elements of arguments that overlap do not lie on one grid"
                    self._break(str(error) or why)
                    return
                self.memories.append(_Memory(storage, group))
                self.trace.memories.append(storage)
                self.path.enter(storage.buffer)
        for name, value in self.inputs.scalars:
            self.path.enter(value, name)
        for array in self.by_name:
            self.path.enter(array)

    def run(self) -> Any:
        attach(self.trace)
        try:
            self.trace.open()
            result = super().run()
        finally:
            try:
                self.trace.flush()
            finally:
                self.trace.close()
        if self.trace.faults:
            raise self.trace.faults[0]
        return result

    def _bound(self) -> tuple[Callable[..., Any], list[Any], Exchange]:
        if self.path.broken:
            return self.owner.function, list(self.inputs.args), Exchange()
        trace = self.trace
        binder = Binder(
            self.reads, self.inputs, {}, trace.used, self._observe, trace.attempt,
            {"float": _as_float, "type": _as_type}, is_lazy=False,
        )  # fmt: skip
        binder.asks = self._asks
        return (*binder.bound(self.owner.function), binder.exchange)

    # --- the end

    def _storages_in(self, *values: Any) -> list[Storage]:
        pending = [part for value in values for part in walk(value) if type(part) is Pending]
        memories = [internals.pointer_of(part).mem for part in pending]
        return [m.storage for m in memories if type(m) is PendingMemory]

    def _written(self) -> list[Storage]:
        return [s for s in self.trace.pending() if s.held]

    def _replayable(self, result: Any, effects: list[Effect], returned: list[Storage]) -> Any:
        self.trace.flush()
        if self.path.looked_at:
            self.path.ran(nothing, [], (), ())
        memory = CupyMemory()
        guard = self._guarded(memory)
        if self.trace.faults or self.path.broken:
            raise OddError("array that could not be computed")
        finish = self._finishing(guard, self._text(guard), result, effects)
        names = memory.names + [n for n, _ in self.inputs.scalars]
        self._grow(guard, finish, names + [guard.constant(a) for a in self.by_name])
        self.why = "replayed while its conditions hold"
        return self._complete()(result)

    def _text(self, guard: Guard) -> Callable[[Any], str | None]:
        """What gives the text for a CuPy array in the result, None for what is no such array."""
        of_the_caller = len(self.memories) + len(self.inputs.scalars) + len(self.by_name)

        def text(value: Any) -> str | None:
            if not isinstance(value, ndarray):
                return None
            for name, array in self.inputs.arrays:
                if array is value:
                    return name
            place = self.path.place_of(value)
            if place is None or place[0] < of_the_caller:
                raise OddError("view")  # of an argument, or an array from elsewhere
            slot, offset = place
            whole, shown = self.path.environment[slot], (value.shape, value.dtype, value.strides)
            if offset == 0 and shown == (whole.shape, whole.dtype, whole.strides):
                return f"env[{slot}]"
            rest = f"{offset}, {value.shape}, {guard.constant(value.dtype)}, {value.strides}"
            return f"array_at(pointer_of(env[{slot}]), {rest})"

        return text

    def _guarded(self, memory: CupyMemory) -> Guard:
        """The conditions of the path."""
        guard = memory.guard()
        guard.reads(self.reads)
        guard.inputs(self.inputs)
        given = ", ".join(name for name, _ in self.inputs.arrays)
        guard.lines.append(f"if table.exact: complete({given})")
        self._kept_distinct(guard)
        for place, array in self.reads.device_arrays.values():
            text, known = place.text(guard.constant), guard.constant(array)
            same = f"{known}.shape == {array.shape} and {known}.strides == {array.strides}"
            guard.demand(f"{text} is {known} and {same}")
        memory.identities(guard, self.inputs.arrays, [m.members for m in self.memories])
        memory.fixed += self.by_name
        fixed = [internals.span_of(a) for a in self.by_name]
        for i, m in enumerate(self.memories):
            memory.enter(guard, m.storage, [self.inputs.arrays[i] for i in m.members])
            if any(low < m.storage.span[1] and m.storage.span[0] < high for low, high in fixed):
                self._break("an argument overlaps an array that it reads by name")
            memory.apart_from(guard, i, fixed)
            for j in range(i):
                memory.apart(guard, i, j)
        return guard


def _as_float(value: Any) -> Any:
    """``float(value)``, which of an array's number need not be looked at."""
    is_number = isinstance(value, ndarray) and value.size == 1 and value.dtype.kind == "f"
    return value.item() if is_number else as_float(value)


def _as_type(*args: Any, **named: Any) -> Any:
    """``type(value)``, which of a pending array is what it will be of."""
    kind = as_type(*args, **named)
    return ndarray if kind is Pending and len(args) == 1 else kind


class CupyMemory:
    """What a guard demands of CuPy's arrays."""

    def __init__(self) -> None:
        self.names: list[str] = []  # of memories
        self.spans: list[tuple[str, int, int]] = []  # their addresses, and bytes around those
        self.fixed: list[Any] = []  # arrays read by name
        self._pointers: dict[str, str] = {}

    def guard(self) -> Guard:
        """A guard that writes by this."""
        guard = Guard(self)
        guard.space |= {
            "cupy_array": ndarray,
            "pointer_of": internals.pointer_of,
            "array_at": array_at,
            "complete": complete,
            "fixed": self.fixed,
            "table": table,
            "recorder": recorder_in_force.get,
            "Region": Region,
        }
        guard.demand("not isinstance(recorder(), Region)")
        guard.lines.append("if table.exact: complete(args, fixed)")
        return guard

    def array(self, guard: Any, name: str, a: Any) -> None:
        owner = f"{name}.base is {'' if a.base is None else 'not '}None"
        guard.demand(f"type({name}) is cupy_array and {_laid_out(guard, name, a)} and {owner}")
        pointer = self._pointers[name] = f"p{len(self._pointers)}"
        guard.lines.append(f"{pointer} = pointer_of({name})")
        guard.demand(f"{pointer}.device_id == {internals.pointer_of(a).device_id}")

    def identities(
        self, guard: Guard, arrays: Sequence[tuple[str, Any]], groups: Sequence[Sequence[int]]
    ) -> None:
        """Demand that the same of the arguments are one array.

        Those of different ``groups`` lie apart, so that only within one an array may be another.
        """
        guard.identities(arrays)
        for group in groups:
            names = {id(arrays[i][1]): arrays[i][0] for i in group}
            if len(names) > 1:
                guard.distinct(list(names.values()))

    def enter(self, guard: Guard, storage: CupyStorage, members: Sequence[tuple[str, Any]]) -> None:
        """Name the memory of arguments, which lie in it as they did."""
        (name, first), *others = members
        pointer, address = self._pointers[name], f"q{len(self.spans)}"
        guard.lines.append(f"{address} = {pointer}.ptr")
        start = internals.pointer_of(first).ptr
        for other, array in others:
            offset = internals.pointer_of(array).ptr - start
            guard.demand(f"{self._pointers[other]}.ptr - {address} == {offset}")
        low, high = storage.span
        self.spans.append((address, low - start, high - start))
        if storage.buffer is not first:
            name = f"m{len(self.spans)}"
            shape, dtype = storage.shape, guard.constant(storage.dtype)
            guard.lines.append(f"{name} = array_at({pointer}, {low - start}, {shape}, {dtype})")
        self.names.append(name)

    def apart(self, guard: Guard, i: int, j: int) -> None:
        """Demand that two memories share nothing."""
        (a, a_low, a_high), (b, b_low, b_high) = self.spans[i], self.spans[j]
        guard.demand(f"{a} + {a_high} <= {b} + {b_low} or {b} + {b_high} <= {a} + {a_low}")

    def apart_from(self, guard: Guard, i: int, fixed: Sequence[tuple[int, int]]) -> None:
        """Demand that a memory shares nothing with the spans given."""
        a, a_low, a_high = self.spans[i]
        for low, high in fixed:
            guard.demand(f"{a} + {a_high} <= {low} or {high} <= {a} + {a_low}")


def _laid_out(guard: Any, name: str, a: Any) -> str:
    """As `layout`; where strides follow from the order, CuPy's flag is asked, which is quick."""
    if not a._c_contiguous or min(a.shape, default=2) < 2:
        return layout(guard, name, a)
    dtype = guard.constant(a.dtype)
    is_dtype = f"({name}.dtype is {dtype} or {name}.dtype == {dtype})"
    return f"{name}._c_contiguous and {name}.shape == {a.shape} and {is_dtype}"


def _is_known(arrays: Sequence[Any]) -> bool:
    """True if something is pending of ``arrays``, or recorded in their memory."""
    if any(type(internals.pointer_of(a).mem) is PendingMemory for a in arrays):
        return True
    spans = [internals.span_of(a) for a in arrays]
    return bool(table.overlapping(min(s[0] for s in spans), max(s[1] for s in spans)))


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
    return sorted(groups, key=min)  # in an order that does not depend on where they lie
