"""Calls: one recorded call of a fused function, and what replays it.

What depends on the memory that arrays lie in is in `host` and in `capture.cupy.calls`.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import NotFusedError, is_before_effects
from ...options import Options, verify_enabled
from ..arrays.opaque import StandIn
from ..record.budget import Budget
from ..record.recorder import recorder_in_force
from ..record.storage import Storage
from .effects import Effect
from .endings import ASKS_BY_NAME, RaisedLater, Unfollowed
from .entry import Replay
from .exchange import Exchange
from .fragments import ignored
from .guard import Guard, unpacked
from .handing import Handing
from .inputs import Inputs
from .outliving import Outliving
from .path import ANEW, Path, Tree, key_of
from .reads import Reads
from .results import Finisher, OddError, ResultWriter, hides_arrays
from .scan import reads_of
from .trace import Trace

if TYPE_CHECKING:
    from ...engine import Executable

_NAMED = 16  # recordings of a function that note the lines of its operations


class Owner(Protocol):
    """The fused function that is called."""

    __name__: str
    function: Any
    options: Options
    device_chosen: bool  # by the user; else it is that of the arrays
    budget: Budget
    traces: int
    growing: set[str]  # lists that calls make longer and do not look at
    asked: set[str]  # names of attributes that it has computed
    keeps_arrays: bool  # which calls do not return

    def read(self, anew: bool = False) -> Reads:
        """What the function reads; ``anew`` if what it did may have changed."""

    def stopped(self, error: BaseException, finished: Callable[[Any], Any]) -> None:
        """A call ends with ``error``, after an effect; ``finished`` is what its values are."""

    def resume(self, kind: Any, tree: Tree, path: Path, args: tuple[Any, ...]) -> Any:
        """The result of a replay that has come to a value not seen before."""


class Call:
    """One recorded call. ``why`` says afterwards whether, and why, the trace is replayed."""

    array_type: type
    path_type = Path
    trace: Trace
    arrays: Sequence[Any]
    lazies: Sequence[Any]  # what the function is given for them

    def __init__(
        self,
        owner: Owner,
        args: tuple[Any, ...],
        execute: bool = True,
        path: Path | None = None,
        all_lazy: bool = False,
        follows_numbers: bool = True,
        growing: frozenset[str] | None = None,
    ) -> None:
        self.owner = owner
        growing = frozenset(owner.growing) if growing is None else growing
        self.all_lazy = all_lazy  # arrays are that the function makes of plain data
        self.follows_numbers = follows_numbers  # else they are conditions
        self.execute = execute
        reads = self.reads = self._read(args, growing)
        self.outliving = Outliving(reads)
        self.path = path or self.path_type()
        self.trace = self._new_trace()
        self.trace.handles = reads.catches
        self.trace.all_lazy = all_lazy
        self.trace.names_lines = owner.traces < _NAMED
        code = getattr(owner.function, "__code__", None)
        self.trace.home = code and (code.co_filename, code.co_firstlineno, 0)
        self.trace.effects = self.outliving.changed
        self.trace.handing = Handing(self.inputs, self.outliving, self.trace.give_up)
        self.why = self.reason = ""
        self.executable: Executable | None = None
        self.replay: Replay | None = None
        self.overwrites = False  # its last run, which may have begun, overwrites arguments
        self.unfusable = self._unfusable()

    def _read(self, args: tuple[Any, ...], growing: frozenset[str]) -> Reads:
        """What the function reads with ``args``, all of which are inputs then."""
        owner, anew = self.owner, False
        while True:
            inputs = self.inputs = Inputs(args, self.array_type, growing, self.follows_numbers)
            others = tuple(inputs.functions)
            roots = owner.function, *others
            reads = reads_of(*roots, names=owner.asked) if others else owner.read(anew)
            for place, value in reads.constants.values():
                inputs.read(place, value, follow=False)
            for place, value in reads.inputs.values():
                inputs.read(place, value, follow=True)
            if others or anew or reads.know(inputs.functions):
                return reads
            anew = True

    def reports(self) -> list[Executable]:
        """What the call has run, in order."""
        last = [self.executable] if self.executable is not None else []
        return [*self.trace.reports, *last]

    def run(self) -> Any:
        """The call's result; raises Unfollowed, without an effect, if it must run unfused."""
        before = recorder_in_force.get()
        try:
            recorder_in_force.set(self.trace)
            return self._run()
        except RaisedLater:
            self.outliving.restore()
            raise
        except Unfollowed:
            self.outliving.restore()
            self.trace.undoing.undo()
            raise
        finally:
            recorder_in_force.set(before)

    def _run(self) -> Any:
        """As `run`, but for what an ending without effect has to undo."""
        try:
            function, given, exchange = self._bound()
            with exchange:
                result = function(*given)
            if self.trace.failure:  # swallowed by the function
                raise Unfollowed(self.trace.failure)
            finished = self._finish(result)
            self._let_go()
            return finished
        except (RaisedLater, Unfollowed):
            raise
        except BaseException as error:
            if self.trace.failure:
                raise Unfollowed(self.trace.failure) from None
            if self.overwrites and not is_before_effects(error):
                self.trace.broken_off(error)
            if self.execute:
                if isinstance(error, Exception) and not verify_enabled():
                    self.trace.give_up(f"it raised {type(error).__name__}")
                    self.trace.failed(error)
                finisher = self._complete()
                finisher(error)  # which may hold arrays
                self.owner.stopped(error, finisher)
            raise

    def run_or_raise(self) -> Any:
        """As `run`; an error of an element comes from the operation of the program's."""
        try:
            return self.run()
        except RaisedLater as later:
            again = self._same_kind()(self.owner, self.inputs.args, path=later.path)
        again.trace.is_raising = True
        return again.run()

    def _raise_later(self, error: Exception) -> None:
        """Let the program raise ``error`` itself, if it is that of an element and that can be."""
        trace, path = self.trace, self.trace.path
        may = trace.may_resume and not (trace.is_raising or trace.handles or path.broken)
        if not may or not is_before_effects(error) or trace.effects():
            return
        if path.fragments:
            raise RaisedLater(path)
        trace.wrote = trace.had_written  # nothing of this first piece has been
        trace.give_up(f"it raised {type(error).__name__}")

    def _let_go(self) -> None:
        """End the cycles, which would hold what the call was given until they are collected."""
        trace = self.trace
        trace.handing, trace.effects, trace.failed = None, str, ignored
        trace.given = trace.originals = ()
        trace.undoing.end()
        del trace.impure, trace.calls

    def _asks(self, name: str) -> None:
        """What classes and functions hold under ``name`` is read, too, from the next time on."""
        self.owner.asked.add(name)
        self.trace.give_up(f"{ASKS_BY_NAME}: {name!r}")
        self._break(f"{ASKS_BY_NAME}: {name!r}")

    def _observe(self, name: str, value: Any) -> None:
        self.trace.observed_arguments[name] = value

    # --- what depends on the memory

    _new_trace: Callable[[], Trace]  # the recorder of the call
    _unfusable: Callable[[], str]  # why the call has to be made as it is, or an empty string
    # The function as it is called, its arguments, and what its methods are meanwhile.
    _bound: Callable[[], tuple[Callable[..., Any], list[Any], Exchange]]
    _storages_in: Callable[..., list[Storage]]  # those of the arrays in values, each once
    _written: Callable[[], list[Storage]]  # the pending storages that others hold, too
    # Of the result, the effects and what is returned the replay, and the result; or OddError.
    _replayable: Callable[[Any, list[Effect], list[Storage]], Any]

    # --- the end of a trace

    def _finish(self, result: Any) -> Any:
        effects = list(self.inputs.effects())
        self.inputs.settle_sets()
        longer, touched = self.inputs.grown()
        self.owner.growing -= touched
        if touched & self.inputs.growing:
            self.trace.give_up("it looks at a list that it made longer before")
            self._break("it looks at a list that it made longer before")
        changed = [e.value for e in effects]
        returned = self._storages_in(result, changed)
        reason = self._reason(returned)
        if not reason:
            if not self.reads.knows_objects():
                self.inputs.forget_objects()
            self.owner.growing |= longer
            try:
                return self._replayable(result, effects, returned)
            except OddError as odd:
                if str(odd) == StandIn.__name__:  # which no replay finds, but this call
                    reason = self._calls_objects()
                else:
                    reason = self.path.broken or f"it returns a {odd}"
                    self.trace.give_up(reason)
        if odd_part := hides_arrays(result, changed):
            self.trace.give_up(f"it returns a {odd_part}")
        if not self.execute:
            raise NotFusedError(f"{self.owner.__name__} is no single graph: {reason}")
        self.reason = reason
        self.why = f"{ANEW}: {reason}"
        return self._complete()(result)

    def _reason(self, returned: list[Storage]) -> str:
        """Why the trace may not be replayed, or an empty string."""
        if self.reads.volatile:
            return self.reads.volatile
        if self.inputs.uses_objects:
            return self._calls_objects()
        if self.path.broken:
            return self.path.broken
        if changed := self.outliving.changed():
            return changed
        if self._keeps_others({id(s) for s in (*returned, *self._written())}):
            return "it kept an array that it does not return"
        return ""

    def _calls_objects(self) -> str:
        kinds = sorted({type(o).__name__ for o in self.inputs.objects})
        return f"it is given a {', '.join(kinds)}, which is called as it is"

    def _keeps_others(self, known: set[int]) -> bool:
        """True if arrays other than ``known`` ones are pending, and not in cycles that are dead."""
        if all(id(s) in known for s in self.trace.pending()):
            return False
        if not self.owner.keeps_arrays:
            gc.collect()
            self.owner.keeps_arrays = any(id(s) not in known for s in self.trace.pending())
        return self.owner.keeps_arrays

    def _break(self, why: str) -> None:
        self.path.broken = self.path.broken or why

    def _finishing(
        self, guard: Guard, array_text: Callable[[Any], str | None], result: Any,
        effects: list[Effect],
    ) -> Callable[..., Any]:  # fmt: skip
        """What makes, of the environment and the arguments, the result and the effects."""
        writer = ResultWriter(guard, self.inputs.given, array_text)
        after = writer.effects(effects)
        text = writer.text(result)
        made = [*writer.lines, f"result = {text}"]
        lines = [*unpacked(len(self.inputs.args)), *guard.reading, *made]
        return guard.made("finish", "env, args", [*lines, *after, "return result"])

    def _grow(self, guard: Guard, finish: Callable[..., Any], names: list[str]) -> None:
        """Make the path known under what led to it, or from the beginning, with the replay.

        ``names`` are those of what the environment begins with.
        """
        path = self.path
        fragments = path.fragments
        fragments[-1].finish = finish
        first = max(len(path.trail) - 1, 0)
        known: dict[int, Any] = {}
        if path.trail:
            known = path.slots_of(self.trace.observed_arguments)
        for before_it, seen, fragment in zip(
            fragments[first:], path.seen[first:], fragments[first + 1 :], strict=False
        ):
            before_it.lead_to(key_of(seen), known, fragment)
            known = {}
        if not path.trail:
            guard.attempted(self.trace.attempted)
            self._observed(guard)
            resume = functools.partial(self.owner.resume, self._same_kind())
            guard.space["start"] = Tree(fragments[0], self.path_type, resume)
            inside = [f"env = [{', '.join(names)}]"]
            self.replay = guard.function(len(self.inputs.args), inside, ["return start(env, args)"])

    def _kept_distinct(self, guard: Guard) -> None:
        """Demand that no two containers are one of which the function may find that out."""
        if self.reads.tells_apart:
            guard.distinct(list(self.inputs.known.values()))
        elif any(True for _ in self.inputs.effects()):
            guard.distinct([t.name for t in self.inputs.twins if t.kind.changes])

    def _same_kind(self) -> Callable[..., Any]:
        """What makes a call that is recorded in the same manner, its inputs taken apart alike."""
        return functools.partial(
            type(self),
            all_lazy=self.all_lazy,
            follows_numbers=self.follows_numbers,
            growing=self.inputs.growing,
        )

    def _observed(self, guard: Guard) -> None:
        for name, value in self.trace.observed_arguments.items():
            guard.equal(name, value)

    def _finisher(self) -> Finisher:
        whole = {id(lazy): a for lazy, a in zip(self.lazies, self.arrays, strict=True)}
        return Finisher(self.inputs.given, whole)

    def _complete(self) -> Finisher:
        """Compute all that is pending, arguments included, and write changed containers back."""
        self.trace.flush()
        finisher = self._finisher()
        self.inputs.write_back(finisher)
        self.outliving.finish(finisher)
        return finisher
