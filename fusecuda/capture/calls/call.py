"""Calls: one recorded call of a fused function, and what replays it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...engine import Executable
from ...errors import NotFusedError
from ...options import Options, verify_enabled
from ..arrays.array import Array
from ..record.budget import Budget
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar
from ..record.plans import executable_for
from ..record.recorder import recorder_in_force
from ..record.storage import Storage
from ..record.view import in_memory_order, view_in
from .binding import Binder
from .guard import MISS, Guard, unpacked
from .inputs import Effect, Inputs
from .memory import DeviceMemory, HostMemory
from .outliving import Outliving
from .overlap import groups_of, mergeable, overlaps_of, union
from .path import Environment, Path, Segment, Tree, key_of
from .reach import held_by_opaque
from .reads import Reads
from .results import Finisher, OddError, ResultWriter, hides_arrays, storages_in
from .scan import reads_of
from .trace import Trace, Unfollowed

NDArray = np.ndarray[Any, Any]
Replay = Callable[[tuple[Any, ...]], Any]
_NAMED = 16  # recordings of a function that note the lines of its operations


class Owner(Protocol):
    """The fused function that is called."""

    __name__: str
    function: Any
    options: Options
    budget: Budget
    traces: int
    growing: set[str]  # lists that calls make longer and do not look at

    def resume(
        self, tree: Tree, trail: list[Segment], values: list[Any], environment: Environment,
        args: tuple[Any, ...],
    ) -> Any:  # fmt: skip
        """The result of a replay that has come to a value not seen before."""


@dataclass(slots=True)
class Shared:
    """The memory of one array argument, or of several that share it."""

    storage: Storage
    memory: NDArray
    members: list[int]
    name: str = ""  # of the memory, in the replay


class Tracer:
    """One recorded call. ``why`` says afterwards whether, and why, the trace is replayed."""

    def __init__(
        self,
        owner: Owner,
        args: tuple[Any, ...],
        reads: Reads,
        execute: bool = True,
        path: Path | None = None,
    ) -> None:
        self.owner = owner
        self.execute = execute
        self.inputs = Inputs(args, growing=owner.growing)
        if self.inputs.functions:
            reads = reads_of(owner.function, *self.inputs.functions)
        self.reads = reads
        for place, value in reads.constants.values():
            self.inputs.read(place, value, follow=False)
        for place, value in reads.inputs.values():
            self.inputs.read(place, value, follow=True)
        self.outliving = Outliving(reads)
        self.path = path or Path()
        self.trace = Trace(owner.options, self.path, not reads.at_once, execute)
        self.trace.catches = reads.catches
        self.trace.names_lines = owner.traces < _NAMED
        self.trace.effects = self.outliving.changed
        self.trace.budget = owner.budget if execute else None
        self.why = ""
        self.executable: Executable | None = None
        self.replay: Replay | None = None
        self.shared: list[Shared] = []
        self.unfusable = self._unfusable()

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
        return held_by_opaque(opaque, inputs.containers(), self.arrays)

    def reports(self) -> list[Executable]:
        """What the call has run, in order."""
        last = [self.executable] if self.executable is not None else []
        return [*self.trace.reports, *last]

    def run(self) -> Any:
        """The call's result; raises Unfollowed, without an effect, if it must run unfused."""
        token = recorder_in_force.set(self.trace)
        try:
            self.lazies = self._lazy_arrays()
            function, given = self._bound()
            result = function(*given)
            if self.trace.failure:  # swallowed by the function
                raise Unfollowed(self.trace.failure)
            return self._finish(result)
        except Unfollowed:
            raise
        except BaseException as error:
            if self.trace.failure:
                raise Unfollowed(self.trace.failure) from None
            if self.execute:
                if isinstance(error, Exception) and not verify_enabled():
                    self.trace.give_up(f"it raised {type(error).__name__}")
                self._complete()
            raise
        finally:
            recorder_in_force.reset(token)

    # --- what the function is given

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
        for name, value in self.inputs.scalars:
            self.path.enter(value, name)
        return [found[i] for i in range(len(self.arrays))]

    def _bound(self) -> tuple[Callable[..., Any], list[Any]]:
        """The function and its arguments, with lazy arrays for the arrays."""
        lazies = dict(zip(self.names, self.lazies, strict=True))
        self.binder = Binder(self.reads, self.inputs, lazies, self.trace.used, self._observe)
        return self.binder.bound(self.owner.function)

    def _observe(self, name: str, value: Any) -> None:
        self.trace.observed_arguments[name] = value

    # --- the end of a trace

    def _finish(self, result: Any) -> Any:
        effects = list(self.inputs.effects())
        longer, touched = self.inputs.grown()
        if touched & self.owner.growing:
            self.owner.growing -= touched
            self.trace.give_up("it looks at a list that it made longer before")
        changed = [e.value for e in effects]
        returned = storages_in(result, changed)
        written = [s for s in self.shared if s.storage.pending]
        reason = self._reason(returned, written)
        if not reason:
            self.owner.growing |= longer
            try:
                return self._replayable(result, effects, returned, written)
            except OddError as odd:
                reason = f"it returns a {odd}"
                self.trace.give_up(reason)
        if odd_part := hides_arrays(result, changed):
            self.trace.give_up(f"it returns a {odd_part}")
        if not self.execute:
            raise NotFusedError(f"{self.owner.__name__} is no single graph: {reason}")
        self.why = f"recorded anew at each call: {reason}"
        self._complete()
        return self._finisher()(result)

    def _reason(self, returned: list[Storage], written: list[Shared]) -> str:
        """Why the trace may not be replayed, or an empty string."""
        if self.reads.volatile:
            return self.reads.volatile
        if self.inputs.objects:
            kinds = sorted({type(o).__name__ for o in self.inputs.objects})
            return f"it is given a {', '.join(kinds)}, which is called as it is"
        if self.path.broken:
            return self.path.broken
        if changed := self.outliving.changed():
            return changed
        known = {id(s) for s in (*returned, *(w.storage for w in written))}
        if any(id(s) not in known for s in self.trace.pending()):
            return "it kept an array that it does not return"
        return ""

    def _replayable(
        self, result: Any, effects: list[Effect], returned: list[Storage], written: list[Shared]
    ) -> Any:
        """Make the replay, and compute the result by it."""
        outputs = [
            s for s in returned if s.pending and all(s is not w.storage for w in self.shared)
        ]
        nodes = [s.node for s in outputs] + [w.storage.node for w in written]
        own: list[Leaf | None] = [None] * len(outputs)
        own += [Leaf(w.memory, w.memory.shape, w.memory.dtype) for w in written]
        options, name = self.owner.options, self.owner.__name__
        leaves, executable = executable_for(nodes, own, options, name)
        executable = self.trace.affordable(executable, last=True)
        if not isinstance(executable, Executable):
            raise OddError("plan that takes too long")
        self.executable = executable
        self.why = "replayed while its conditions hold"
        if self.path.segments:
            return self._end_of_path(result, effects, leaves, executable, outputs, written)
        guard = self._guard(written)
        memory = {id(s.storage): s.name for s in self.shared}
        made = {id(s): f"results[{i}]" for i, s in enumerate(outputs)}
        writer = ResultWriter(guard, self.inputs.given, self._array_text(guard, {**memory, **made}))
        text = writer.text(result)
        before, after = writer.effects(effects)
        values = [self._source(leaf, guard) for leaf in leaves]
        self._observed(guard)
        guard.space["run"] = executable.run
        inside = [f"values = ({''.join(v + ', ' for v in values)})"]
        ending = ["results = run(values)", *before, f"result = {text}", *after, "return result"]
        count = len(self.inputs.args)
        self.replay = guard.function(
            count, inside, ending if effects else [ending[0], f"return {text}"]
        )
        if not self.execute:
            return None
        done = self.replay(tuple(self.inputs.args))
        if done is not MISS:
            return done
        self.replay, self.why = None, "recorded anew at each call: its conditions do not hold"
        self._complete()
        return self._finisher()(result)

    def _end_of_path(
        self, result: Any, effects: list[Effect], leaves: list[Leaf], executable: Executable,
        outputs: list[Storage], written: list[Shared],
    ) -> Any:  # fmt: skip
        """Run the last segment, and make it known under what led to it."""
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
        writer = ResultWriter(guard, self.inputs.given, self._array_text(guard, made))
        text = writer.text(result)
        before, after = writer.effects(effects)
        count = len(self.inputs.args)
        lines = [*unpacked(count), *guard.reading, *before, f"result = {text}", *after]
        finish = guard.made("finish", "env, args", [*lines, "return result"])
        given = [path.environment[s] if type(s) is int else s(path.environment) for s in sources]  # type: ignore[operator]
        results = list(executable.run(given))
        path.ran(executable.run, sources, results, [*outputs, *(w.storage for w in written)])
        segments = path.segments
        segments[-1].finish = finish
        first = max(len(path.trail) - 1, 0)
        known: dict[int, Any] = {}
        if path.trail:
            known = path.slots_of(self.trace.observed_arguments)
        for before_it, seen, segment in zip(
            segments[first:], path.seen[first:], segments[first + 1 :], strict=False
        ):
            before_it.lead_to(key_of(seen), known, segment)
            known = {}
        if not path.trail:
            self._observed(guard)
            names = [s.name for s in self.shared] + [n for n, _ in self.inputs.scalars]
            guard.space["start"] = Tree(segments[0], self.owner.resume)
            inside = [f"env = [{', '.join(names)}]"]
            self.replay = guard.function(count, inside, ["return start(env, args)"])
        return finish(path.environment, tuple(self.inputs.args))

    def _observed(self, guard: Guard) -> None:
        for name, value in self.trace.observed_arguments.items():
            guard.equal(name, value)

    def _array_text(self, guard: Guard, made: dict[int, str]) -> Callable[[Any], str | None]:
        """What gives the text for an array in a result; ``made`` names computed storages."""
        whole = {id(lazy): name for lazy, name in zip(self.lazies, self.names, strict=True)}

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
                known = f"{guard.constant(value.shown_of)}({known})"
            return f"{known}[()]" if value.is_scalar else known

        return text

    def _guard(self, written: list[Shared]) -> Guard:
        """The conditions of the trace; each shared memory has its name from then on."""
        on_device = self.owner.options.device != "cpu"
        guard = Guard(DeviceMemory() if on_device else HostMemory())
        guard.reads(self.reads)
        guard.inputs(self.inputs)
        if any(True for _ in self.inputs.effects()):
            guard.distinct(self.inputs.changing())
        names = self.names
        named = list(zip(names, self.arrays, strict=True))
        guard.identities(named)
        first_of = {id(a): i for i, a in reversed(list(enumerate(self.arrays)))}
        distinct = sorted(first_of.values())
        if any(i in distinct and j in distinct for i, j, _ in self.overlaps):
            guard.overlapping(names, self.overlaps)
        else:
            several = bool(self.path.segments)  # any of them may have been written to
            into = set(distinct) if several else {w.members[0] for w in written}
            pairs = {(min(i, j), max(i, j)) for i in into for j in distinct if i != j}
            for i, j in sorted(pairs):
                guard.memory.apart(guard, names, i, j)
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

    def _finisher(self) -> Finisher:
        whole = {id(lazy): a for lazy, a in zip(self.lazies, self.arrays, strict=True)}
        return Finisher(self.inputs.given, whole)

    def _complete(self) -> None:
        """Compute all that is pending, arguments included, and write changed containers back."""
        self.trace.flush()
        finisher = self._finisher()
        self.inputs.write_back(finisher)
        self.outliving.finish(finisher)
        for shared in self.shared:
            if shared.storage.error is not None:
                raise shared.storage.error
