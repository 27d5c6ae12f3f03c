"""Trace: one recorded call of a fused function, and what replays it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import Executable
from ...errors import NotFusedError
from ..arrays.array import Array
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar, argument_of
from ..record.plans import executable_for
from ..record.recorder import Recorder, recorder_in_force
from ..record.storage import Storage
from ..record.view import in_memory_order, view_in
from .arguments import Arguments, why_not
from .guard import DeviceReplayWriter, ReplayWriter
from .overlap import groups_of, mergeable, overlaps_of, union
from .reads import Reads, reads_of, rebound
from .results import finished, lazy_text, result_text, storages_in

if TYPE_CHECKING:
    from .fused import FusedFunction

NDArray = np.ndarray[Any, Any]


class Unfollowed(BaseException):
    """Raised in a trace that cannot go on and has had no effect yet: the call is made again."""


class Trace(Recorder):
    """The recorder of one call of a fused function; arguments are storages that it was given."""

    transparent = True
    may_restart = True  # the function, run a second time, does the same
    may_compute = True  # values may be observed
    wrote = False  # memory of the caller has been written to

    def _flush_at_period(self) -> None:
        """A trace is not cut: it becomes one plan, whatever its length."""
        self._sequence.clear()

    def look(self) -> None:
        """A value is looked at: the trace holds for this call only."""
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        self.observed = True

    def write_at_once(self, held: bool) -> None:
        """Memory is written to without being recorded; from now on there is no starting again."""
        self.look()
        self.wrote = self.wrote or held

    def hands_out(self) -> None:
        """Start again rather than give out memory of which we would not see the changes."""
        self.give_up("it takes an array's memory")

    def give_up(self, why: str) -> None:
        """Start the call again without recording, if that is still possible."""
        if self.may_restart and not self.wrote:
            self.may_compute = False
            self.failure = why
            raise Unfollowed(why)

    def flush(self, keep_observed: bool = False) -> None:
        if not self.may_compute:
            raise Unfollowed("it looks at a value while it is recorded")
        self.wrote = self.wrote or any(s.held for s in self.pending())
        super().flush(keep_observed)

    failure = ""


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
        self, owner: FusedFunction, args: tuple[Any, ...], reads: Reads, execute: bool = True
    ) -> None:
        self.owner = owner
        self.execute = execute
        self.arguments = Arguments(args)
        self.reads = reads
        if self.arguments.functions:
            self.reads = reads_of(owner.function, *self.arguments.functions)
        self.trace = Trace(owner.options)
        self.trace.may_restart = not self.reads.volatile
        self.trace.may_compute = execute
        self.why = ""
        self.unfusable = self._unfusable()
        self.executable: Executable | None = None
        self.replay: Callable[[tuple[Any, ...]], Any] | None = None
        self.observed: dict[str, Any] = {}
        self.shared: list[Shared] = []

    def _unfusable(self) -> str:
        if self.arguments.unfusable or self.reads.opaque:
            return self.arguments.unfusable or self.reads.opaque
        read = [(f"r{i}", a) for i, (_, a) in enumerate(self.reads.arrays.values())]
        self.names = [name for name, _ in self.arguments.arrays] + [name for name, _ in read]
        self.arrays = [a for _, a in self.arguments.arrays] + [a for _, a in read]
        if self.reads.device_arrays:
            return "it reads an array of CuPy's"
        for _, a in read:
            if why_not(a):
                return why_not(a)
        self.overlaps = overlaps_of(self.arrays)
        if any(not mergeable(self.arrays[i], self.arrays[j]) for i, j, _ in self.overlaps):
            return "arguments overlap in a way that is not followed"
        return ""

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
        except BaseException:
            if self.trace.failure:
                raise Unfollowed(self.trace.failure) from None
            if self.execute:
                self._complete()
            raise
        finally:
            recorder_in_force.reset(token)

    # --- arguments

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
            for i, view in zip(group, views, strict=True):
                found[i] = Array(storage, view)
        return [found[i] for i in range(len(self.arrays))]

    def _bound(self) -> tuple[Callable[..., Any], list[Any]]:
        """The function and its arguments, with lazy arrays for the arrays."""
        own = len(self.arguments.arrays)
        lazies = iter(self.lazies[:own])
        replace: dict[int, Any] = {}
        for (_, a), lazy in zip(self.reads.arrays.values(), self.lazies[own:], strict=True):
            replace.setdefault(id(a), lazy)
        done: dict[int, Any] = {}

        def follow(function: Any) -> Any:
            if not replace:
                return function
            return rebound(function, replace, self.reads.functions, done)

        def leaf(value: Any, name: str) -> Any:
            if type(value) is np.ndarray:
                return next(lazies)
            if any(name == n for n, _ in self.arguments.scalars):
                return TracedScalar(value, name, functools.partial(self._observe, name, value))
            return follow(value) if value in self.arguments.functions else value

        given = self.arguments.build(leaf)
        return follow(self.owner.function), given

    def _observe(self, name: str, value: Any) -> None:
        self.observed[name] = value

    # --- the end of a trace

    def _finish(self, result: Any) -> Any:
        returned = storages_in(result)
        written = [s for s in self.shared if s.storage.pending]
        reason = self._reason(returned, written)
        if not reason:
            try:
                return self._replayable(result, returned, written)
            except _Odd as odd:
                reason = f"it returns a {odd}"
        if not self.execute:
            raise NotFusedError(f"{self.owner.__name__} is no single graph: {reason}")
        if reason.startswith("it returns"):
            self.trace.give_up(reason)
        self.why = f"recorded anew at each call: {reason}"
        self._complete()
        return finished(result, self.arguments.given)

    def _reason(self, returned: list[Storage], written: list[Shared]) -> str:
        """Why the trace may not be replayed, or an empty string."""
        if self.reads.volatile:
            return self.reads.volatile
        if self.trace.observed:
            return "it looked at a value while it was recorded"
        if any(True for _ in self.arguments.changed()):
            return "it changes a list or dict that it is given"
        known = [*returned, *(w.storage for w in written)]
        if any(all(s is not k for k in known) for s in self.trace.pending()):
            return "it kept an array that it does not return"
        return ""

    def _replayable(self, result: Any, returned: list[Storage], written: list[Shared]) -> Any:
        """Make the replay function, and compute the result by it."""
        on_device = self.owner.options.device != "cpu"
        writer = DeviceReplayWriter() if on_device else ReplayWriter()
        names = self._guard(writer, written)
        outputs = [s for s in returned if all(s is not w.storage for w in self.shared)]
        nodes = [s.node for s in outputs] + [w.storage.node for w in written]
        own: list[Leaf | None] = [None] * len(outputs)
        own += [Leaf(w.memory, w.memory.shape, w.memory.dtype) for w in written]
        array_text = functools.partial(
            lazy_text,
            writer=writer,
            made={id(s): f"results[{i}]" for i, s in enumerate(outputs)},
            memory={id(s.storage): s.name for s in self.shared},
            whole={id(a): name for a, name in self._whole(names)},
        )
        text = result_text(result, writer, self.arguments.given, array_text)
        if text is None:
            raise _Odd(type(result).__name__)
        leaves, executable = executable_for(nodes, own, self.owner.options, self.owner.__name__)
        self.executable = executable
        values = [self._source(leaf, writer) for leaf in leaves]
        for name, value in self.observed.items():
            known = writer.constant(value)
            writer.demand(f"{name} is {known} or same({name}, {known})")
        count = len(self.arguments.args)
        self.replay = writer.function(count, executable.run, values, text)
        self.why = "replayed while its conditions hold"
        if not self.execute:
            return None
        results = executable.run([argument_of(leaf) for leaf in leaves])
        space = dict(writer.space, results=results)
        space |= {f"a{i}": a for i, a in enumerate(self.arguments.args)}
        space |= dict(zip(self.names, self.arrays, strict=True))
        space |= {s.name: s.memory for s in self.shared}
        return eval(text, space)

    def _guard(self, writer: ReplayWriter, written: list[Shared]) -> list[str]:
        """Write the conditions of the trace; the names of the arrays, as variables, are given."""
        for kind, name, value in self.arguments.conditions:
            writer.argument(kind, name, value)
        for place, seen in self.reads.values.values():
            writer.demand(place.condition(writer.constant, seen))
        for i, (place, a) in enumerate(self.reads.arrays.values()):
            if place.hidden_by is None:
                writer.lines.append(f"r{i} = {place.text(writer.constant)}")
                writer.array(f"r{i}", a)
        names = self.names
        first_of = {id(a): i for i, a in reversed(list(enumerate(self.arrays)))}
        for i, a in enumerate(self.arrays):
            if first_of[id(a)] != i:
                writer.demand(f"{names[i]} is {names[first_of[id(a)]]}")
        distinct = sorted(first_of.values())
        if any(i in distinct and j in distinct for i, j, _ in self.overlaps):
            writer.overlapping(names, self.overlaps)
        else:
            into = {w.members[0] for w in written}
            pairs = {(min(i, j), max(i, j)) for i in into for j in distinct if i != j}
            writer.disjoint(names, sorted(pairs))
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
            writer.lines.append(f"{s.name} = {text}")
        return names

    def _whole(self, names: Sequence[str]) -> list[tuple[Array, str]]:
        return list(zip(self.lazies, names, strict=True))

    def _source(self, leaf: Leaf, writer: ReplayWriter) -> str:
        """Text for what ``leaf`` stands for in a replay."""
        if type(leaf.array) is TracedScalar:
            return writer.cast_scalar(leaf.array, leaf.dtype)
        for s in self.shared:
            if leaf.array is s.memory:
                return s.name
        return writer.constant(leaf.array)

    def _complete(self) -> None:
        """Compute all that is pending, arguments included, and write changed containers back."""
        self.trace.flush()
        given = self.arguments.given
        self.arguments.write_back(lambda built: finished(built, given, inside=True))
        for shared in self.shared:
            if shared.storage.error is not None:
                raise shared.storage.error


class _Odd(Exception):  # noqa: N818 - not an error
    """The result holds something that cannot be put together again."""
