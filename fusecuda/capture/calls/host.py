"""HostCall: what is NumPy's, or a device's own, in a call of a `fused` function.

The function is given lazy arrays in the place of its arrays. Those that share memory are views of
one storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...interpreted import Interpreted
from ...streams.launches import is_counting
from ..arrays.array import Array
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar
from ..record.plans import executable_for
from ..record.storage import Storage
from ..record.view import in_memory_order, layout_in, union, view_in
from .binding import Binder
from .call import Call
from .effects import Effect
from .error_states import ErrorState
from .exchange import Exchange
from .guard import MISS, Guard
from .impure import is_impure
from .memory import DeviceMemory, HostMemory
from .outcomes import CACHED
from .overlap import groups_of, mergeable, overlaps_of
from .reach import held_by_opaque
from .results import Finisher, OddError, ResultWriter, read_only, storages_in
from .trace import Trace

if TYPE_CHECKING:
    from ...engine import Executable

NDArray = np.ndarray[Any, Any]


@dataclass(slots=True)
class Shared:
    """The memory of one array argument, or of several that share it."""

    storage: Storage
    memory: NDArray
    members: list[int]
    name: str = ""  # of the memory, in the replay


class HostCall(Call):
    """One call on NumPy's arrays."""

    array_type = np.ndarray

    def _new_trace(self) -> Trace:
        owner, execute = self.owner, self.execute
        self.shared: list[Shared] = []
        trace = Trace(owner.options, self.path, not self.reads.at_once, execute)
        asked = owner.options.strict or owner.options.check or is_counting()
        trace.budget = owner.budget if execute and not asked else None
        trace.failed = self._raise_later
        return trace

    def _unfusable(self) -> str:
        reads, inputs = self.reads, self.inputs
        if inputs.unfusable or reads.opaque:
            return inputs.unfusable or reads.opaque
        self.names = [name for name, _ in inputs.arrays]
        self.arrays = [a for _, a in inputs.arrays]
        if reads.device_arrays:
            return "it reads an array of CuPy's"
        self.overlaps = overlaps_of(self.arrays)
        if any(not mergeable(self.arrays[i], self.arrays[j]) for i, j, _ in self.overlaps):
            return "arguments overlap in a way that is not followed"
        opaque = [*inputs.objects, *(value for _, value in reads.stand_ins.values())]
        opaque = [v for v in opaque if type(v) is not CACHED and not is_impure(v)]  # see there
        return held_by_opaque(opaque, inputs.containers, self.arrays)

    def _lazy_arrays(self) -> list[Array]:
        """A lazy array for each array; those that share memory are views of one storage."""
        found: dict[int, Array] = {}
        for group in groups_of(len(self.arrays), self.overlaps):
            members = [self.arrays[i] for i in group]
            if all(m is members[0] for m in members):
                memory, view = in_memory_order(members[0])
                views = [view] * len(group)
            else:
                memory = union(*members)
                views = [view_in(m, memory) for m in members]
            storage = Storage.of_array(self.trace, memory)
            storage.held = True
            self.shared.append(Shared(storage, memory, group))
            self.path.enter(memory)
            made = {id(m): Array(storage, v) for m, v in zip(members, views, strict=True)}
            for i, member in zip(group, members, strict=True):
                found[i] = made[id(member)]
        for name, value in (*self.inputs.scalars, *self.inputs.impure):
            self.path.enter(value, name)
        return [found[i] for i in range(len(self.arrays))]

    def _bound(self) -> tuple[Callable[..., Any], list[Any], Exchange]:
        """The function and its arguments, with lazy arrays for the arrays."""
        self.lazies = self._lazy_arrays()
        lazies = dict(zip(self.names, self.lazies, strict=True))
        trace = self.trace
        trace.given, trace.originals = self.lazies, self.arrays
        binder = Binder(self.reads, self.inputs, lazies, trace.used, self._observe, trace.attempt)
        binder.all_lazy = self.all_lazy
        binder.looked, binder.conditions_grow = trace.breaks, trace.conditions_grow
        binder.impure, binder.asks = trace.impure, self._asks
        binder.slots = {name: self.path.slot_named(name) for name, _ in self.inputs.impure}
        binder.error_state = lambda **kinds: ErrorState(trace, kinds)
        return (*binder.bound(self.owner.function), binder.exchange)

    def _storages_in(self, *values: Any) -> list[Storage]:
        return storages_in(*values)

    def _written(self) -> list[Storage]:
        return [s.storage for s in self.shared if s.storage.pending]

    def _replayable(self, result: Any, effects: list[Effect], returned: list[Storage]) -> Any:
        """Make the replay, and compute the result by it."""
        written = [s for s in self.shared if s.storage.pending]
        self._copy_constants(returned)
        outputs = [
            s for s in returned if s.pending and all(s is not w.storage for w in self.shared)
        ]
        nodes = [s.node for s in outputs] + [w.storage.node for w in written]
        own: list[Leaf | None] = [None] * len(outputs)
        own += [Leaf(w.memory, w.memory.shape, w.memory.dtype) for w in written]
        options, name = self.owner.options, self.owner.__name__
        before = perf_counter()
        leaves, executable = executable_for(nodes, own, options, name, home=self.trace.home)
        self.trace.planned += perf_counter() - before
        executable = self.trace.affordable(executable, last=True)
        if isinstance(executable, Interpreted):
            raise OddError("plan that takes too long")
        self.executable = executable
        self.why = "replayed while its conditions hold"
        if self.path.fragments:
            return self._end_of_path(result, effects, leaves, executable, outputs, written)
        guard = self._guard(written)
        guard.attempted(self.trace.attempted)
        memory = {id(s.storage): s.name for s in self.shared}
        made = {id(s): f"results[{i}]" for i, s in enumerate(outputs)}
        writer = ResultWriter(guard, self.inputs.given, self._array_text(guard, {**memory, **made}))
        after = writer.effects(effects)
        text = writer.text(result)
        values = [self._source(leaf, guard) for leaf in leaves]
        self._observed(guard)
        seen = self._seen(values, leaves, executable)
        guard.let_run_look(seen, {values[i] for i in executable.written})
        if guard.let_driver_look(dict(zip(self.names, self.arrays, strict=True))):
            seen = set()
        guard.space["run"] = executable.run_checked if seen else executable.run
        inside = [f"values = ({''.join(v + ', ' for v in values)})"]
        ran = ["results = run(values)", *["if results is None: return MISS"] * bool(seen)]
        ran += writer.lines
        ending = [f"result = {text}", *after, "return result"] if effects else [f"return {text}"]
        self.replay = guard.function(len(self.inputs.args), inside, [*ran, *ending])
        if not self.execute:
            return None
        self.overwrites = bool(written)
        done = self.replay(tuple(self.inputs.args))
        if done is not MISS:
            return done
        self.overwrites = False
        self.replay, self.why = None, "recorded anew at each call: its conditions do not hold"
        return self._complete()(result)

    def _copy_constants(self, returned: Sequence[Storage]) -> None:
        """Let each replay make anew what is given back of arrays of plain data."""
        known = {id(shared.storage) for shared in self.shared}
        for storage in returned:
            found = id(storage) in known or self.path.slot_of(storage.buffer) is not None
            if not storage.pending and not found and storage.buffer is not None:
                storage.version = storage.node

    def _seen(
        self, values: Sequence[str], leaves: Sequence[Leaf], executable: Executable
    ) -> set[str]:
        """The names of arrays at whose layouts a run looks itself.

        Nothing that is computed of an array before the run may look at it, and a run looks at all
        or none: else the guard does. A run has no eye for what is read-only.
        """
        if any(s.name not in self.names for s in self.shared):
            return set()
        if not all(executable.sees(i, leaves[i].array) for i in executable.seen):
            return set()
        return {values[i] for i in executable.seen if values[i] in self.names}

    def _end_of_path(
        self, result: Any, effects: list[Effect], leaves: list[Leaf], executable: Executable,
        outputs: list[Storage], written: list[Shared],
    ) -> Any:  # fmt: skip
        """Run the last fragment, and make it known under what led to it."""
        path = self.path
        sources = [path.source(leaf) for leaf in leaves]
        guard = self._guard(written)
        start = len(path.environment)
        made = {id(s): f"env[{start + i}]" for i, s in enumerate(outputs)}
        for storage in storages_in(result, [e.value for e in effects]):
            slot = path.slot_of(storage.buffer)
            if slot is not None and not storage.pending:
                made[id(storage)] = f"env[{slot}]"
        for shared in self.shared:
            made[id(shared.storage)] = f"env[{path.slot_of(shared.memory)}]"
        finish = self._finishing(guard, self._array_text(guard, made), result, effects)
        given = [path.environment[s] if type(s) is int else s(path.environment) for s in sources]  # type: ignore[operator]
        self.overwrites = bool(written)
        results = list(executable.run(given))
        path.ran(executable.run, sources, results, [*outputs, *(w.storage for w in written)])
        names = [s.name for s in self.shared] + [n for n, _ in self.inputs.scalars]
        names += [n for n, _ in self.inputs.impure]
        guard.let_driver_look(dict(zip(self.names, self.arrays, strict=True)))
        self._grow(guard, finish, names)
        return finish(path.environment, tuple(self.inputs.args))

    def _array_text(self, guard: Guard, made: dict[int, str]) -> Callable[[Any], str | None]:
        """What gives the text for an array in a result; ``made`` names computed storages."""
        whole = {id(lazy): name for lazy, name in zip(self.lazies, self.names, strict=True)}
        first = {name: lazy for lazy, name in whole.items()}  # that shows what has the name whole
        for s in self.shared:  # which have other names at the end of a path
            if s.memory is self.arrays[s.members[0]]:
                first[made[id(s.storage)]] = id(self.lazies[s.members[0]])

        def text(value: Any) -> str | None:
            if type(value) is not Array:
                return None
            if id(value) in whole:
                return whole[id(value)]
            if value.is_loose:
                return f"env[{value.loose.slot}]"
            known = made.get(id(value.storage))
            if known is None:
                raise OddError("array from elsewhere")
            if not value.shows_all():
                storage = value.storage
                shown = layout_in(storage.shape, storage.dtype, value.shown_of)
                known = f"{guard.constant(shown)}({known})"
            elif first.setdefault(known, id(value)) != id(value) and not value.is_scalar:
                known = f"{known}.view()"
            if not value.writeable and not value.is_scalar and value.storage.writeable:
                known = f"{guard.constant(read_only)}({known})"
            return f"{known}[()]" if value.is_scalar else known

        return text

    def _guard(self, written: list[Shared]) -> Guard:
        """The conditions of the trace; each shared memory has its name from then on."""
        memory = HostMemory() if self.owner.options.on_host else DeviceMemory()
        guard = Guard(memory)
        guard.reads(self.reads)
        guard.inputs(self.inputs)
        self._kept_distinct(guard)
        names = self.names
        named = list(zip(names, self.arrays, strict=True))
        guard.identities(named)
        first_of = {id(a): i for i, a in reversed(list(enumerate(self.arrays)))}
        distinct = sorted(first_of.values())
        if self.reads.tells_apart:
            guard.distinct([names[i] for i in distinct])
        if any(i in distinct and j in distinct for i, j, _ in self.overlaps):
            guard.overlapping(names, self.overlaps)
        else:
            several = bool(self.path.fragments)  # any of them may have been written to
            into = set(distinct) if several else {w.members[0] for w in written}
            written_names = [names[i] for i in sorted(into)]
            others, start = [names[i] for i in distinct], len(guard.lines)
            memory.apart(guard, written_names, others)
            guard.kept_apart(start, written_names, others)
        for i, s in enumerate(self.shared):
            first = self.arrays[s.members[0]]
            if any(self.arrays[m] is not first for m in s.members):
                text = f"union({', '.join(names[m] for m in s.members)})"
            elif s.memory is first:
                s.name = names[s.members[0]]
                continue
            else:
                text = f"memory_of({names[s.members[0]]})"
            s.name = f"m{i}"
            guard.lines.append(f"{s.name} = {text}")
        return guard

    def _source(self, leaf: Leaf, guard: Guard) -> str:
        """Text for what ``leaf`` stands for in a replay."""
        if type(leaf.array) is TracedScalar:
            return guard.cast_scalar(leaf.array, leaf.dtype)
        for s in self.shared:
            if leaf.array is s.memory:
                return s.name
        return guard.constant(leaf.array)

    def _complete(self) -> Finisher:
        finisher = super()._complete()
        for shared in self.shared:
            if shared.storage.error is not None:
                raise shared.storage.error
        return finisher
