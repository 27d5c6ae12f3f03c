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
from collections.abc import Callable, Iterator
from time import perf_counter, thread_time
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ...interpreted import Interpreted
from ...options import Options
from ...streams.launches import is_counting
from ..record.rest import Trial, undisturbed
from ..record.summary import summary
from .entry import Entry
from .guard import MISS, direct_call, plain_call, while_it_has_turns
from .keywords import Orders
from .path import ANEW
from .places import Wrapper
from .recorded import RecordedFunction, joins, signature
from .why import line_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


def _of_given(name: str) -> Any:
    """What the function that was given has under ``name``: programs ask, and `inspect`."""
    return property(
        lambda self: getattr(self._given, name),
        lambda self, value: setattr(self._given, name, value),
    )


class _Callable:
    """What holds the function that calls go to where nothing else is to be done."""

    __slots__ = ("direct",)
    direct: Any


class FusedFunction(_Callable, RecordedFunction, Generic[P, R]):
    """A function whose array operations are recorded once and replayed as fused kernels.

    A trace is replayed only if shapes, dtypes, layouts, overlap of written arguments, and all that
    the function read besides (globals, closures, attributes, what it looked at) are as they were;
    otherwise it is recorded anew. `explain` tells what happened in the last call that was not a
    replay.
    """

    __name__: str
    __code__, __defaults__ = _of_given("__code__"), _of_given("__defaults__")
    __kwdefaults__, __closure__ = _of_given("__kwdefaults__"), _of_given("__closure__")
    __globals__ = _of_given("__globals__")

    def __init__(
        self, function: Callable[P, R], options: Options, device_chosen: bool = True
    ) -> None:
        self.device_chosen = device_chosen
        whole = _whole(function)
        self.__name__ = getattr(whole, "__name__", type(whole).__name__)
        functools.update_wrapper(self, function)
        super().__init__(options)
        self._given = function
        self.head: tuple[Any, ...] = ()
        self.function: Any = self._plain_function(function)
        self.plain: Callable[..., Any] = self.function  # what is called where nothing is recorded
        self._orders = Orders()
        self._inner: dict[Any, FusedFunction[..., Any]] = {}

    def _plain_function(self, function: Any) -> Any:
        """The function to be recorded, of what is called; `head` is what it is given first."""
        if isinstance(function, Wrapper) and function.is_whole:
            function = function.function
        while isinstance(function, FusedFunction):
            self.head, function = function.head, function.function
        if isinstance(function, types.MethodType):
            self.head = (function.__self__,)
            return function.__func__
        if isinstance(function, functools.partial):
            self.head = (function,)
            return _called
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

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
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
        key = signature(args)
        entry = self._entries.get(key)
        if entry is None:
            return self._record(key, args)
        if entry.rests(self.budget):
            return self.plain(*args)
        entry.trial.look_again()
        if entry.unfused or (entry.trial.wants_plain and not is_counting()):
            tells_no_time = entry.unfused or entry.trial.plain or joins(args)
            return self.plain(*args) if tells_no_time else self._timed(entry, args)
        begin, before, meanwhile = perf_counter(), self.traces, Interpreted.meanwhile
        for replay in entry.replays:
            result = replay(args)
            if result is not MISS:
                seconds, is_usual = perf_counter() - begin, entry.has_ended_well()
                if meanwhile == Interpreted.meanwhile:
                    entry.trial.took(seconds, plain=False, replayed=self.traces == before)
                if is_usual and entry.trial.plain is False and not entry.rest:  # no look-up then
                    self._newest = while_it_has_turns(replay, entry.trial.turns)
                    if type(self) is PassedThrough:
                        self.__class__ = FusedFunction  # type: ignore[assignment]
                return result
        is_doubted = entry.raised > 1 and not is_counting()
        return self._likely_raising(entry, args) if is_doubted else self._record(key, args)

    def _timed(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        """What the function itself returns, for the trial."""
        begin, before, spent = perf_counter(), thread_time(), self.budget.spent
        measured = Trial.measured
        result = self.plain(*args)
        seconds = undisturbed(perf_counter() - begin, thread_time() - before)
        if self.budget.spent != spent and entry.is_spoilt():
            return result
        if entry.measures_others(measured):
            return result
        self._took(entry, args, seconds)
        if entry.trial.has_passed:
            self._pass_through(args, entry.trial.turns)
        return result

    def _took(self, entry: Entry, args: tuple[Any, ...], seconds: float) -> None:
        """A plain call has taken so long."""
        entry.trial.took(seconds, plain=True)
        if entry.trial.has_passed:
            self._newest = plain_call(self.plain, args, entry.trial.turns)
            _, anew, cause = self._why.partition(ANEW)  # which is why it takes so long
            measured = f"runs unfused: fusing does not pay, as measured: {entry.trial.text()}"
            self._why = "; ".join([measured, *([anew + cause] if anew else [])])

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

            def call_first(given: Any, *values: Any) -> Any:
                named = dict(zip(names, values[count - 1 :], strict=True))
                return given(*values[: count - 1], **named)

            made = call_first if function is _called else call
            inner = FusedFunction(made, self.options, self.device_chosen)
            inner.__name__ = self.__name__
            self._inner[count, names] = inner
        result = inner(*args, *kwargs.values())
        self._why, self._reports, self._history = inner._why, inner._reports, inner._history
        return result

    def _where(self) -> str:
        return super()._where() if self.function is not _called else line_of(_whole(self._given))

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
            key = signature(given)
            return self.__name__ + self._history.would(self.function, given, self._entries.get(key))
        return f"{self.__name__}{self._history.told(self.function)}; {self._why}"

    def __repr__(self) -> str:
        return f"<fused function {getattr(self, '__qualname__', self.__name__)} at {id(self):#x}>"

    # --- copies

    def __deepcopy__(self, memo: Any = None) -> FusedFunction[P, R]:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        """By reference, as a function; one without a name of its own by what it was made of.

        So for cloudpickle (joblib, Dask) one of the script that runs, as others do not find it.
        """
        name = getattr(self, "__qualname__", self.__name__)
        found: Any = sys.modules.get(self.__module__)
        pickler = str(sys._getframe(1).f_globals.get("__name__"))
        if self.__module__ == "__main__" and pickler.endswith("cloudpickle"):
            found = None
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return FusedFunction, (self._given, self.options, self.device_chosen)


def _whole(function: Any) -> Any:
    """What ``function`` is a part of, if it is a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _called(given: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What ``given`` returns: a partial is taken apart as any argument is."""
    return given(*args, **kwargs)


class PassedThrough(FusedFunction[P, R]):
    """A function of which the last shapes are passed through: its calls are those of `direct`."""

    __call__ = vars(_Callable)["direct"]  # a descriptor, so that no frame is made


PassedThrough.__name__ = PassedThrough.__qualname__ = FusedFunction.__name__
