"""RecordedFunction: calls of a function of which no trace holds, recorded or called as they are.

A call is recorded where that can be right and there is time, and what replays it is kept; else the
reason is kept, and the function is called.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NotFusedError
from ...interpreted import Interpreted
from ...options import Options
from ...streams.launches import is_counting
from ...watch import log, span
from ..arrays.array import Array
from ..arrays.dispatch import raising
from ..record.block import Region
from ..record.budget import PROGRAM
from ..record.numbers import TracedScalar
from ..record.per_class import forget
from ..record.recorder import recorder_in_force
from ..record.structure import walk
from .call import Call
from .endings import (
    ASKS_BY_NAME,
    KERNELS_ARE_COMPILED,
    NO_TIME,
    RECORDING_IS_SLOW,
    TAKES_MEMORY,
    Unfollowed,
)
from .entry import Entries, Entry, Replay
from .guard import MISS, plain_until
from .host import HostCall
from .memory import provider
from .path import Path, Tree
from .places import Wrapper
from .purity import is_pure
from .reads import Reads
from .scan import reads_of
from .trace import Trace
from .why import History, line_of

if TYPE_CHECKING:
    from ...engine import Executable


class RecordedFunction(Wrapper):
    """A function of which calls are recorded, and what is known of them."""

    __name__: str
    device_chosen: bool
    plain: Callable[..., Any]

    def __init__(self, options: Options) -> None:
        self.options = options
        self.traces = 0  # how often the function has been recorded
        self._newest: Replay = never
        self._entries = Entries(options.strict or options.check > 0)
        self._entry = self._entries.at
        self._reads: Reads | None = None
        self._why = "not called yet"
        self._history = History()
        self._reports: Sequence[Executable] = ()
        self.growing: set[str] = set()
        self.asked: set[str] = set()
        self.keeps_arrays = False
        self.budget = PROGRAM
        self._follows_numbers = True  # those that it is given
        self._all_lazy = False  # arrays that it makes of plain data have to be lazy too

    def _record(self, key: Any, args: tuple[Any, ...]) -> Any:
        if "cupy" in sys.modules and (library := provider()) and library.holds_array(args):
            return self._on_cupy(library, key, args)
        asked = self.options.strict or self.options.check or is_counting()
        if not asked and not self.budget.allows():
            return self._without_time(args)
        if joins(args):
            return self.plain(*args)
        if raising():
            why = "numpy.errstate asks for errors or calls on floating-point faults"
            return self._unfused(None, why, args)
        self._history.missed(self.function, args, self.__name__, self._entries.get(key))
        while True:
            begin, meanwhile = perf_counter(), Interpreted.meanwhile
            tracer = HostCall(
                self, args, all_lazy=self._all_lazy, follows_numbers=self._follows_numbers
            )
            if tracer.unfusable:
                return self._unfused(key, tracer.unfusable, args)
            try:
                with span("record", self.__name__):
                    result = tracer.run_or_raise()
            except Unfollowed as unfollowed:
                why = str(unfollowed)
                if not self._can_otherwise(why, tracer):
                    break
            except Exception:
                self._raised(key)
                raise
            else:
                seconds = perf_counter() - begin
                self._recorded(key, tracer, seconds, meanwhile == Interpreted.meanwhile)
                return result
            finally:
                self.budget.spend(tracer.trace.seconds_of(perf_counter() - begin))
        if why == KERNELS_ARE_COMPILED:
            return self._while_compiled(key, tracer, args)
        return self._unfused(key, why, args)

    def _without_time(self, args: tuple[Any, ...]) -> Any:
        """The result by the function itself, as the next ones until there may be time."""
        self._why = f"ran unfused: {NO_TIME}"
        if not self._entries:  # else they may be replayed
            self._newest = plain_until(self.plain, self.budget.until_allowed())
        return self.plain(*args)

    def _can_otherwise(self, why: str, tracer: HostCall) -> bool:
        """True if the call, which was not followed, may be if it is recorded in another manner."""
        if why.startswith(ASKS_BY_NAME):
            return True
        if why.startswith(TAKES_MEMORY) and not tracer.all_lazy:
            self._all_lazy = True
            return True
        self._follows_numbers = why != "it raised TypeError" or not tracer.inputs.scalars
        return not self._follows_numbers  # code in C that takes an `int` and nothing like one

    def _while_compiled(self, key: Any, tracer: Call, args: tuple[Any, ...]) -> Any:
        """The result by the function itself, as the next ones until the kernels are there."""
        awaited = tracer.trace.awaited
        assert awaited is not None
        self._entry(key).awaited = awaited
        self._why, self._reports = f"ran unfused: {KERNELS_ARE_COMPILED}", [awaited]
        log("capture", "%s: %s", self.__name__, self._why)
        return self.plain(*args)

    def _recorded(self, key: Any, tracer: Call, seconds: float = 0.0, counts: bool = True) -> None:
        """A call has been recorded: from now on it is replayed, or its time ``counts``.

        That of a call without its kernels does only where they do not come.
        """
        self.traces += 1
        self._why = tracer.why
        self._reports = tracer.reports()
        log("capture", "%s: %s", self.__name__, tracer.why)
        entry = self._entry(key)
        if tracer.replay is not None:
            self._history.newest = tracer.replay
            self._entries.keep(entry, tracer.replay)
        elif self.options.strict and isinstance(tracer, HostCall):
            self._refuse(tracer.why)
        if entry.recorded and (counts or not entry.is_spoilt()):
            entry.trial.took(seconds, plain=False)
        entry.recorded = True
        entry.raised = 0

    def resume(self, kind: type[Call], tree: Tree, path: Path, args: tuple[Any, ...]) -> Any:
        """The result of a replay that has come to a value not seen before: the path goes on."""
        tracer = kind(self, args, path=path)
        assert not tracer.unfusable, tracer.unfusable
        before = perf_counter()
        try:
            result = tracer.run_or_raise()
        except Unfollowed as unfollowed:  # the first piece has failed: nothing is done yet
            return self._unfused(signature(args), str(unfollowed), args)
        except Exception:
            if isinstance(tracer, HostCall):  # CuPy's arrays may lie where CuPy cannot compute
                self._raised(signature(args), resumed=True)
            raise
        self.traces += 1
        if isinstance(tracer, HostCall):  # of others it is not known what they take
            self.budget.spend(tracer.trace.seconds_of(perf_counter() - before))
            if not (self.options.strict or self.budget.allows()):  # that is too much
                self._newest = never
                self._entry(signature(args)).postponed()
        self._why = tracer.why
        seen = repr(path.values[-1]) if path.values else "an error"
        self._history.note = f"it saw a value not seen before: {seen:.60}"
        log("capture", "%s is recorded again: %s", self.__name__, self._history.note)
        if tracer.path.broken:  # it will be so again
            self._newest = never
            self._entries.forget(tree, tracer.path.broken)
        return result

    def _raised(self, key: Any, resumed: bool = False) -> None:
        """A call that was recorded, or ``resumed``, has raised an error."""
        self._newest = never  # so that it is seen when one ends well
        if not self.options.strict:
            self._entry(key).has_raised(resumed)

    def _likely_raising(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        """What the function does, as the last calls that were recorded have raised errors."""
        try:
            result = self.plain(*args)
        except Exception:
            entry.has_been_plain(raised=True)
            raise
        entry.has_been_plain(raised=False)
        return result

    def _on_cupy(self, library: Any, key: Any, args: tuple[Any, ...]) -> Any:
        """CuPy arrays in, CuPy arrays out: the call is recorded as a block is."""
        if isinstance(recorder_in_force.get(), Region):
            return self.plain(*args)  # joins what is being recorded
        _SHAPED.add(library.ndarray)
        key = signature(args)
        self._history.missed(self.function, args, self.__name__, self._entries.get(key))
        entry = self._entry(key)
        entry.trial.plain = False  # what CuPy's kernels take is not seen from here
        known, forgone = entry.recorded, entry.followed()
        call = library.CupyCall(self, args, why=forgone)
        with span("record", self.__name__):
            result = call.run()
        self._recorded(key, call)
        if call.replay is not None:
            self._newest = call.replay
        elif known and not forgone:
            entry.forgo(call.reason)
        return result

    def read(self, anew: bool = False) -> Reads:
        """What the function reads, looked up ``anew`` only if some of it may have changed."""
        function = self.function
        if not isinstance(function, types.ModuleType) and is_pure(function):
            return Reads()
        if not isinstance(function, types.FunctionType):
            return Reads(opaque=f"a {type(function).__name__} is not a Python function")
        reads = self._reads
        if anew or reads is None or not (self.asked <= reads.names and reads.unchanged()):
            if reads is not None:
                forget()
            self._reads = reads = reads_of(function, names=self.asked)
        return reads

    def stopped(self, error: BaseException, finished: Callable[[Any], Any]) -> None:
        """A call ends with ``error``, after an effect."""

    def _unfused(self, key: Any, why: str, args: tuple[Any, ...]) -> Any:
        raised, may_later = why.startswith("it raised"), why.startswith("planning")
        if self.options.strict and raised:
            self.function(*args)  # raises, unless it was recording's own fault
            self._refuse(f"{why} when it was recorded, but not as it is, which has now been done")
        if self.options.strict:
            self._refuse(why)
        self._reports = ()
        log("capture", "%s runs unfused: %s", self.__name__, why)
        result = self._raising(key, args) if raised else None  # as above
        self._why = f"{'ran' if raised or may_later or key is None else 'runs'} unfused: {why}"
        if may_later:  # and goes on from there
            self._entry(key).postponed(why == RECORDING_IS_SLOW)
        elif key is not None:
            self._entry(key).unfused = why
        return result if raised else self.plain(*args)

    def _raising(self, key: Any, args: tuple[Any, ...]) -> Any:
        """What the function itself does, which has raised an error when it was recorded."""
        try:
            return self.plain(*args)
        except Exception:
            if key is not None:
                self._raised(key)
            raise

    def _refuse(self, why: str) -> None:
        raise NotFusedError(f"{self.__name__} ({self._where()}) cannot be fused: {why}")

    def _where(self) -> str:
        return line_of(self.function) or "no Python code"


_SHAPED: set[type] = {np.ndarray}  # types of arrays


def signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What calls have in common that may be replayed alike."""
    return tuple([a.shape if type(a) in _SHAPED else type(a) for a in args])


def joins(args: Any) -> bool:
    """True if a call is part of what is being recorded: it is given what stands for something."""
    if isinstance(recorder_in_force.get(), Trace):
        return True
    return any(type(part) is Array or type(part) is TracedScalar for part in walk(args))


def never(args: tuple[Any, ...]) -> Any:
    return MISS
