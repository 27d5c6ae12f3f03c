"""FusedFunction: a function that is recorded once and replayed, or called as it is.

Each call has one of three outcomes: it is *replayed*; it is *recorded anew*, in fused kernels whose
plan is known; or it runs *unfused*, where recording cannot be right or, as measured, does not pay.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

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
from ..record.recorder import recorder_in_force
from ..record.rest import undisturbed
from ..record.structure import walk
from ..record.summary import summary
from .call import Call
from .entry import Entries, Entry, Replay
from .guard import MISS, direct_call, plain_call, while_it_has_turns
from .host import HostCall
from .keywords import Orders
from .memory import provider
from .path import Path, Tree
from .places import Wrapper
from .purity import is_pure
from .reads import Reads
from .scan import reads_of
from .trace import (
    KERNELS_ARE_COMPILED,
    NO_TIME,
    RECORDING_IS_SLOW,
    TAKES_MEMORY,
    Trace,
    Unfollowed,
)
from .why import History, line_of

if TYPE_CHECKING:
    from ...engine import Executable

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class _Callable:
    """What holds the function that calls go to where nothing else is to be done."""

    __slots__ = ("direct",)
    direct: Any


class FusedFunction(_Callable, Wrapper, Generic[P, R]):
    """A function whose array operations are recorded once and replayed as fused kernels.

    A trace is replayed only if shapes, dtypes, layouts, overlap of written arguments, and all that
    the function read besides (globals, closures, attributes, what it looked at) are as they were;
    otherwise it is recorded anew. `explain` tells what happened in the last call that was not a
    replay.
    """

    __name__: str

    def __init__(
        self, function: Callable[P, R], options: Options, device_chosen: bool = True
    ) -> None:
        self.device_chosen = device_chosen
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function)
        self._given = function
        self.head: tuple[Any, ...] = ()
        self.function: Any = self._plain_function(function)
        self.plain: Callable[..., Any] = self.function  # what is called where nothing is recorded
        self.options = options
        self.traces = 0  # how often the function has been recorded
        self._newest: Replay = _never
        self._entries = Entries(options.strict or options.check > 0)
        self._entry = self._entries.at
        self._orders = Orders()
        self._inner: dict[Any, FusedFunction[..., Any]] = {}
        self._reads: Reads | None = None
        self._why = "not called yet"
        self._history = History()
        self._reports: Sequence[Executable] = ()
        self.growing: set[str] = set()
        self.keeps_arrays = False
        self.budget = PROGRAM
        self._follows_numbers = True  # those that it is given
        self._all_lazy = False  # arrays that it makes of plain data have to be lazy too

    def _plain_function(self, function: Any) -> Any:
        """The function to be recorded; of a method or an object that is called, with its self."""
        if isinstance(function, Wrapper) and function.is_whole:
            function = function.function
        while isinstance(function, FusedFunction):
            self.head, function = function.head, function.function
        if isinstance(function, types.MethodType):
            self.head = (function.__self__,)
            return function.__func__
        call = inspect.getattr_static(type(function), "__call__", None)
        if isinstance(call, types.FunctionType):
            self.head = (function,)
            return call
        return function

    @overload
    def __get__(self, instance: None, owner: Any = None) -> FusedFunction[P, R]: ...
    @overload
    def __get__(
        self: FusedFunction[Concatenate[S, Q], R], instance: S, owner: Any = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns."""
        given: tuple[Any, ...] = args
        if self.head:
            given = self.head + args
        if kwargs:
            return self._keywords(given, kwargs)  # type: ignore[no-any-return]
        result = self._newest(given)
        return self._search(given) if result is MISS else result  # type: ignore[no-any-return]

    # --- which way

    def _search(self, args: tuple[Any, ...]) -> Any:
        """The result by a trace that holds, or else by recording, or plainly."""
        key = _signature(args)
        entry = self._entries.get(key)
        if entry is None:
            return self._record(key, args)
        if entry.rests(self.budget):
            return self.plain(*args)
        entry.trial.look_again()
        if entry.unfused or (entry.trial.wants_plain and not is_counting()):
            tells_no_time = entry.unfused or entry.trial.plain or _joins(args)
            return self.plain(*args) if tells_no_time else self._timed(entry, args)
        begin, before, meanwhile = perf_counter(), self.traces, Interpreted.meanwhile
        for replay in entry.replays:
            result = replay(args)
            if result is not MISS:
                entry.raised = 0
                seconds = perf_counter() - begin
                if meanwhile == Interpreted.meanwhile:
                    entry.trial.took(seconds, plain=False, replayed=self.traces == before)
                if entry.trial.plain is False and not entry.rest:  # no look-up from now on
                    self._newest = while_it_has_turns(replay, entry.trial.turns)
                    if type(self) is PassedThrough:
                        self.__class__ = FusedFunction  # type: ignore[assignment]
                return result
        return self._record(key, args)

    def _timed(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        """What the function itself returns, for the trial."""
        begin, before = perf_counter(), thread_time()
        result = self.plain(*args)
        seconds = undisturbed(perf_counter() - begin, thread_time() - before)
        self._took(entry, args, seconds)
        if entry.trial.has_passed:
            self._pass_through(args, entry.trial.turns)
        return result

    def _took(self, entry: Entry, args: tuple[Any, ...], seconds: float) -> None:
        """A plain call has taken so long."""
        entry.trial.took(seconds, plain=True)
        if entry.trial.has_passed:
            self._newest = plain_call(self.plain, args, entry.trial.turns)
            self._why = f"runs unfused: fusing does not pay, as measured: {entry.trial.text()}"

    def _pass_through(self, args: tuple[Any, ...], turns: Iterator[bool]) -> None:
        """Calls with such arguments reach the plain function with as little around it as can be."""
        reference = weakref.ref(self)

        def otherwise(*given: Any) -> Any:
            owner: Any = reference()
            return FusedFunction.__call__(owner, *given)

        direct = None if self.head else direct_call(self.function, args, turns, otherwise)
        if direct is not None:
            self.direct = direct
            self.__class__ = PassedThrough

    def _record(self, key: Any, args: tuple[Any, ...]) -> Any:
        if "cupy" in sys.modules and (library := provider()) and library.holds_array(args):
            return self._on_cupy(library, key, args)
        if _joins(args):
            return self.plain(*args)
        if raising():
            why = "numpy.errstate asks for errors or calls on floating-point faults"
            return self._unfused(None, why, args)
        asked = self.options.strict or self.options.check or is_counting()
        if not asked and not self.budget.allows():
            self._why = f"ran unfused: {NO_TIME}"
            return self.plain(*args)
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
                    result = tracer.run()
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

    def _can_otherwise(self, why: str, tracer: HostCall) -> bool:
        """True if the call, which was not followed, may be if it is recorded in another manner."""
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
        """A call has been recorded: from now on it is replayed, or its time ``counts``."""
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
        if entry.recorded and counts:
            entry.trial.took(seconds, plain=False)
        entry.recorded = True
        entry.raised = 0

    def resume(self, kind: type[Call], tree: Tree, path: Path, args: tuple[Any, ...]) -> Any:
        """The result of a replay that has come to a value not seen before: the path goes on."""
        tracer = kind(self, args, path=path)
        assert not tracer.unfusable, tracer.unfusable
        before = perf_counter()
        try:
            result = tracer.run()
        except Unfollowed as unfollowed:  # the first piece has failed: nothing is done yet
            return self._unfused(_signature(args), str(unfollowed), args)
        except Exception:
            if isinstance(tracer, HostCall):  # CuPy's arrays may lie where CuPy cannot compute
                self._raised(_signature(args))
            raise
        self.traces += 1
        if isinstance(tracer, HostCall):  # of others it is not known what they take
            self.budget.spend(tracer.trace.seconds_of(perf_counter() - before))
            if not (self.options.strict or self.budget.allows()):  # that is too much
                self._newest = _never
                self._entry(_signature(args)).postponed()
        self._why = tracer.why
        seen = repr(path.values[-1]) if path.values else "an error"
        self._history.note = f"it saw a value not seen before: {seen:.60}"
        log("capture", "%s is recorded again: %s", self.__name__, self._history.note)
        if tracer.path.broken:  # it will be so again
            self._newest = _never
            self._entries.forget(tree, tracer.path.broken)
        return result

    def _raised(self, key: Any) -> None:
        """A call that was recorded has raised an error: if the next one does, too, calls rest."""
        entry = self._entry(key)
        entry.raised += 1
        self._newest = _never  # so that it is seen when one ends well
        if entry.raised > 1 and not self.options.strict:
            entry.postponed()

    def _on_cupy(self, library: Any, key: Any, args: tuple[Any, ...]) -> Any:
        """CuPy arrays in, CuPy arrays out: the call is recorded as a block is."""
        if isinstance(recorder_in_force.get(), Region):
            return self.plain(*args)  # joins what is being recorded
        _SHAPED.add(library.ndarray)
        key = _signature(args)
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

    def read(self) -> Reads:
        """What the function reads, looked up again only if some of it has changed."""
        function = self.function
        if not isinstance(function, types.ModuleType) and is_pure(function):
            return Reads()
        if not isinstance(function, types.FunctionType):
            return Reads(opaque=f"a {type(function).__name__} is not a Python function")
        reads = self._reads
        if reads is None or not reads.unchanged():
            self._reads = reads = reads_of(function)
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
        result = self.plain(*args) if raised else None  # as above
        self._why = f"{'ran' if raised or may_later or key is None else 'runs'} unfused: {why}"
        if may_later:  # and goes on from there
            self._entry(key).postponed(why == RECORDING_IS_SLOW)
        elif key is not None:
            self._entry(key).unfused = why
        return result if raised else self.plain(*args)

    def _refuse(self, why: str) -> None:
        raise NotFusedError(f"{self.__name__} ({self._where()}) cannot be fused: {why}")

    def _where(self) -> str:
        return line_of(self.function) or "no Python code"

    # --- keyword arguments

    def _keywords(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Keyword arguments are turned into positional ones."""
        values = self._orders.positional(self.function, args, kwargs)
        if values is None:
            return self._by_name(args, kwargs)
        result = self._newest(values)
        return self._search(values) if result is MISS else result

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of positional arguments that passes the last ones on by name."""
        names, count, function = tuple(kwargs), len(args), self.function
        inner = self._inner.get((count, names))
        if inner is None:

            def call(*values: Any) -> Any:
                return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

            inner = FusedFunction(call, self.options, self.device_chosen)
            inner.__name__ = self.__name__
            self._inner[count, names] = inner
        result = inner(*args, *kwargs.values())
        self._why, self._reports, self._history = inner._why, inner._reports, inner._history
        return result

    def explain(self, full: bool = False) -> str:
        """Text on the last recorded call: its outcome and why, and its plans, hottest first.

        One screen, unless it is to be ``full``: then each step and each reason, with bytes.
        """
        plan = summary(self._reports, full) if self._reports else ""
        where = "" if self._why.startswith("replayed") or ".py:" in self._why else self._where()
        return f"{self.__name__}: {self._why}{f' ({where})' if where else ''}\n{plan}"

    def why(self, *args: Any) -> str:
        """Text: why the last call that was not replayed was not; or what ``args`` would lead to.

        It names the condition that failed, the value that was and the one that is, and the line
        that reads it. Nothing runs.
        """
        if args:
            given = self.head + args
            key = _signature(given)
            return self.__name__ + self._history.would(self.function, given, self._entries.get(key))
        return f"{self.__name__}{self._history.told(self.function)}; {self._why}"

    # --- copies

    def __deepcopy__(self, memo: Any = None) -> FusedFunction[P, R]:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        """By reference, as a function; one without a name of its own by what it was made of."""
        name = getattr(self, "__qualname__", self.__name__)
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return FusedFunction, (self._given, self.options, self.device_chosen)


class PassedThrough(FusedFunction[P, R]):
    """A function of which the last shapes are passed through: its calls are those of `direct`."""

    __call__ = vars(_Callable)["direct"]  # a descriptor, so that no frame is made


PassedThrough.__name__ = PassedThrough.__qualname__ = FusedFunction.__name__


_SHAPED: set[type] = {np.ndarray}  # types of arrays


def _signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What calls have in common that may be replayed alike."""
    return tuple([a.shape if type(a) in _SHAPED else type(a) for a in args])


def _joins(args: Any) -> bool:
    """True if a call is part of what is being recorded: it is given what stands for something."""
    if isinstance(recorder_in_force.get(), Trace):
        return True
    return any(type(part) is Array or type(part) is TracedScalar for part in walk(args))


def _never(args: tuple[Any, ...]) -> Any:
    return MISS
