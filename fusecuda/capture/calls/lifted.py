"""Lifted blocks: the body of a ``with fused()`` block that is entered again becomes a function.

What a block would record one operation after the other, each time, a `FusedFunction` of its body
replays. The function is given the variables that the body uses, and what it returns is put where
the body would have left it; then the body is skipped. Where the function would be called as it is,
the block runs as it stands.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import types
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from ...options import Options
from ..arrays.array import Array
from ..record.rest import undisturbed
from .body import UNBOUND, Body, body_of
from .body_names import RefusedError
from .border import Border, RecordedError
from .callers import CODE, is_logging, is_namespace, looks_at_callers
from .entry import Entry
from .frames import put
from .function import FusedFunction
from .lent import LentMemory
from .passing import Passing
from .places import Place
from .reads import Reads
from .skip import is_possible, skip, watch
from .twins import twin_of

_SITES_LIMIT = 1024
_FIRST = 1  # entries of a block, before it is lifted
_VARIANTS_LIMIT = 4  # sets of names that have a value when a block is entered, options, modules
_OFTEN = 8  # times that it ran as it stands, after which the function is asked ever more rarely
_ASKED = 2e-3  # seconds that blocks run as they stand, after which it may be asked in any case
_PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, type(None)})
_COLD = (
    0.05  # seconds, below which the first time that a block is timed as it stands does not count
)
_TRIES = 4  # of seeing the first line of a body
_LOCALS = frozenset({"locals", "vars", "eval", "exec", "f_locals"})


class _Stopped(threading.local):
    """The error that a body has raised after it had an effect, and its variables then."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.variables: dict[str, Any] = {}


_stopped = _Stopped()


class InPlaceError(BaseException):
    """The block is to run as it stands."""


class Lifted(FusedFunction[..., Any]):
    """The body of a block as a function, which is never called as it is."""

    def __init__(
        self, body: Body, names: tuple[str, ...], frame: types.FrameType, options: Options,
        device_chosen: bool, lazily: bool,
    ) -> None:  # fmt: skip
        space = frame.f_globals
        function = types.FunctionType(body.code("block", names), space)
        super().__init__(function, options, device_chosen)
        self.__name__ = self.__qualname__ = "block"
        self.names = names
        self.plain = self._in_place
        self.trial: tuple[Entry, tuple[Any, ...]] | None = None  # for which the block is timed
        self.remark: tuple[Entry, str] | None = None  # what holds if the block raises nothing
        self._doubted: Entry | None = None  # whose last recorded calls have raised errors
        self.makes_lazy = False  # arrays of NumPy's become lazy ones in it
        self._began = 0.0  # the thread's time when it began to be timed
        self.around = float("inf")  # seconds that an entry takes besides the call
        self.inside = 0.0  # seconds that the last call took, for which the body is skipped
        self._is_first = True  # time that is taken of the block as it stands
        self.lazily = lazily  # it is given the memory of lazy arrays
        self._written = body.written
        self.may_be_unbound = not body.certain.union(names).issuperset(body.written)
        of_module = frame.f_code.co_flags & inspect.CO_OPTIMIZED == 0
        self._variables = {*names, *body.stored, *body.bound} if of_module else set()
        self._looked_at: Reads | None = None
        self._refused = ""
        with contextlib.suppress(InPlaceError):
            self.read()

    def read(self, anew: bool = False) -> Reads:
        """What the body reads besides its variables; raises `InPlaceError`.

        A function that it calls may use a variable of the module, which is the body's meanwhile.
        """
        reads = super().read(anew)
        if reads is not self._looked_at:
            values = [value for _, value in reads.values.values()]
            self.makes_lazy = any(map(is_namespace, values))
            self._refused = self._looks_at_kinds() or looks_at_callers(reads)
            self._looked_at = reads
        if self._refused:
            self._why = f"runs in place: {self._refused}"
            raise InPlaceError
        if self._variables:
            every = (reads.values, reads.inputs, reads.constants, reads.stand_ins)
            places = [*reads.written.values(), *(p for part in every for p, _ in part.values())]
            outer = self.function.__globals__
            if any(_names(p, outer, self._variables) for p in places):
                raise InPlaceError
        return reads

    def stopped(self, error: BaseException, finished: Callable[[Any], Any]) -> None:
        """Keep the variables that the body has had when it raised ``error``."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self.function.__code__:
            trace = trace.tb_next
        if trace is not None:
            space = trace.tb_frame.f_locals
            made = {name: finished(space[name]) for name in self._written if name in space}
            _stopped.error, _stopped.variables = error, made

    def _looks_at_kinds(self) -> str:
        """How the body could tell lazy arrays from what it is given for them, if at all."""
        twin = twin_of(self.function) if self.lazily else ""
        return twin if isinstance(twin, str) else ""

    def _in_place(self, *args: Any) -> Any:
        raise InPlaceError

    def _timed(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        self.trial, self._began = (entry, args), thread_time()
        raise InPlaceError

    def _likely_raising(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        self._doubted = entry
        raise InPlaceError

    def _unfused(self, key: Any, why: str, args: tuple[Any, ...]) -> Any:
        if why.startswith("it raised"):
            self.remark = self._entry(key), why
        return super()._unfused(key, why, args)

    def ran_in_place(self, seconds: float, raised: bool) -> None:
        """The block ran as it stands."""
        trial, remark, self.trial, self.remark = self.trial, self.remark, None, None
        doubted, self._doubted = self._doubted, None
        if doubted is not None:
            doubted.has_been_plain(raised)
        if raised:
            return
        if trial is not None:
            seconds = undisturbed(seconds, thread_time() - self._began)
            is_cold, self._is_first = self._is_first and seconds < _COLD, False
            if not is_cold:
                self._took(*trial, max(seconds - self.around, 0.0))
        if remark is not None:
            remark[0].unfused = remark[1]

    @property
    def is_timed(self) -> bool:
        """True if the block is run as it stands to see how long that takes."""
        return self.trial is not None

    def surrounds(self, seconds: float) -> None:
        """So long it took to enter and to leave the block, its call included."""
        self.around = min(self.around, seconds - self.inside)

    @property
    def signatures(self) -> int:
        """How many shapes and types of variables are known."""
        return len(self._entries)

    @property
    def launches(self) -> int:
        """What the last recorded call has launched."""
        return sum(report.launches for report in self._reports)


def _names(place: Place, outer: dict[str, Any], variables: set[str]) -> bool:
    """True if ``place`` is one of the ``variables`` of a module, or leads through the module."""
    if place.root is outer and place.name in variables:
        return True
    return any(vars(module) is outer for module in place.modules())


class Site:
    """What is known of one ``with`` statement."""

    __slots__ = (
        "_alone", "_body", "_can_skip", "_candidates", "_code", "_entries", "_is_decided", "_last",
        "_rest",         "_variants", "passing", "why",
    )  # fmt: skip

    def __init__(self, code: types.CodeType) -> None:
        self._code = code  # kept, for its identity tells it
        self._entries = 0
        self._body: Body | None = None
        self._candidates: tuple[str, ...] = ()
        self._variants: dict[Any, Lifted] = {}
        self._last: Lifted | None = None
        self._can_skip = False
        self._alone = self._rest = 0
        self._is_decided = False  # by measurement, or for good: the function is of no use
        self.why = ""  # the block runs as it stands
        self.passing = Passing()

    def rest_of(self, entries: int) -> int:
        """How many of the next entries are no function's work, up to so many."""
        return entries if self.why else min(self._rest, entries)

    def pass_by(self, entries: int) -> None:
        """So many of these are not told."""
        self._rest = max(self._rest - entries, 0)

    def is_of(self, place: tuple[types.CodeType, int]) -> bool:
        """True if the statement stands at that ``place``, and is not that of an exit stack."""
        return place[0] is self._code

    def ask_again(self) -> None:
        """The block does other work than before."""
        self._rest = self._alone = 0

    def enter(
        self, frame: types.FrameType, options: Options, chosen: bool
    ) -> tuple[Lifted | None, bool]:
        """The function that was asked, if any, and true if it has done what the body would do.

        The body is skipped then. Raises what the body raises.
        """
        if self._rest:
            self._rest -= 1
            return None, False
        self._entries += 1
        if self.why or self._entries <= _FIRST or not is_possible():
            return None, False
        if self._body is None and self._is_odd(frame):
            return None, False
        space = frame.f_locals
        try:
            if self._body is None:
                self._begin(space, frame)
            if not self._can_skip:
                self._watch(frame)
                return None, False
            lifted = self._variant(space, frame, options, chosen)
            return lifted, lifted is not None and self._call(lifted, space, frame)
        finally:
            if sys.version_info < (3, 13) and space is not frame.f_globals:
                space.clear()  # else it keeps what the variables are no more

    def _is_odd(self, frame: types.FrameType) -> bool:
        """True if the variables in ``frame`` are not the block's alone."""
        if not self._code.co_flags & inspect.CO_OPTIMIZED:
            if frame.f_locals is not frame.f_globals:
                self.why = "it stands in a class"
        elif not _LOCALS.isdisjoint(self._code.co_names):  # up to 3.12 they are one dictionary
            self.why = "the function looks at its variables otherwise"
        return bool(self.why)

    def _begin(self, space: dict[str, Any], frame: types.FrameType) -> None:
        """Find the body, and see whether it could be skipped."""
        try:
            self._body = body = body_of(frame)
        except RefusedError as refused:
            line = refused.line or frame.f_lineno
            self.why = f"{refused} ({frame.f_code.co_filename}:{line})"
            return
        stored = body.stored
        in_function = space is not frame.f_globals
        variables = {*self._code.co_varnames, *self._code.co_cellvars, *self._code.co_freevars}
        self._candidates = tuple(
            n for n in body.read
            if (n in variables if in_function else n in stored or _is_data(space, n))
        )  # fmt: skip

    def _watch(self, frame: types.FrameType) -> None:
        """Look whether the first line of the body is seen."""
        if self._body is None:
            return
        if self._entries > _FIRST + _TRIES:
            self.why = "its first line is not seen"
            return
        watch(frame, self._body.first_line, self._seen)

    def _seen(self) -> None:
        self._can_skip = True

    def _variant(
        self, space: dict[str, Any], frame: types.FrameType, options: Options, chosen: bool
    ) -> Lifted | None:
        assert self._body is not None
        names = self._candidates
        if not all([n in space for n in names]):
            names = tuple([n for n in names if n in space])
        lazily = any([type(space[n]) is Array for n in names])
        lifted = self._last
        if (
            lifted is not None
            and lifted.names is names
            and lifted.options is options
            and lifted.device_chosen is chosen
            and lifted.lazily is lazily
            and lifted.function.__globals__ is frame.f_globals
        ):
            return lifted
        key = names, options, chosen, lazily, id(frame.f_globals)  # which the function keeps
        lifted = self._variants.get(key)
        if lifted is None:
            if len(self._variants) >= _VARIANTS_LIMIT:
                self.why = "its variables, options or modules are others again and again"
                return None
            lifted = self._variants[key] = Lifted(self._body, names, frame, options, chosen, lazily)
        self._last = lifted
        return lifted

    def _call(self, lifted: Lifted, space: dict[str, Any], frame: types.FrameType) -> bool:
        """True if the body has been done and is skipped, false if it is to run."""
        assert self._body is not None
        args = tuple([space[n] for n in lifted.names])
        border: Border | None = None
        kinds = {type(a) for a in args}
        if Array in kinds:
            border = LentMemory()
            try:
                args = tuple([border.given(a) for a in args])
            except RecordedError:  # such as for NumPy arrays: which results would be lazy?
                return self._left_alone()
        elif (np.ndarray in kinds and lifted.makes_lazy) or (
            not kinds <= _PLAIN and any([is_logging(a) for a in args])
        ):
            return self._left_alone()
        known, begin = lifted.signatures, perf_counter()
        try:
            results = lifted(*args)
        except InPlaceError:
            self._is_decided = not lifted.is_timed
            return self._left_alone(_OFTEN if self._is_decided else 0)
        except BaseException as error:
            put(frame, space, _taken(_left_by(error), border))
            raise
        lifted.inside = perf_counter() - begin
        if lifted.signatures > known:  # if that goes on, nothing is ever replayed
            self._left_alone()
        else:
            self._alone = 0
        made = dict(zip(self._body.written, results, strict=True))
        if lifted.may_be_unbound:
            made = {n: v for n, v in made.items() if type(v) is not str or v != UNBOUND}
        if border is not None:
            made = _taken(made, border)
        put(frame, space, made)
        skip(frame, self._body.first_line)
        return True

    def ran(self, seconds: float) -> None:
        """The block ran as it stands: to ask for its function again may cost some of that time."""
        if self._is_decided:
            self._rest = min(self._rest, int(_ASKED / seconds))

    def _left_alone(self, times: int = 1) -> bool:
        """The function was of no use; it is asked again, ever more rarely."""
        self._alone += times
        self._rest = (1 << min(self._alone // _OFTEN, 10)) - 1
        return False


def _left_by(error: BaseException) -> dict[str, Any]:
    """The variables of the body that has raised ``error``, if it got that far."""
    if _stopped.error is not error:
        return {}
    made, _stopped.error, _stopped.variables = _stopped.variables, None, {}
    return made


def _taken(made: dict[str, Any], border: Border | None) -> dict[str, Any]:
    """What was made in the memory of lazy arrays, as lazy arrays."""
    if border is None:
        return made
    border.write_back()
    return {name: border.taken(value) for name, value in made.items()}


def _is_data(space: dict[str, Any], name: str) -> bool:
    """True for a variable of a module that is no code."""
    return name in space and not isinstance(space[name], CODE)


def site_of(frame: types.FrameType) -> Site:
    """What is known of the ``with`` statement that ``frame`` is about to enter."""
    key = id(frame.f_code), frame.f_lasti
    site = sites.get(key)
    if site is None:
        if len(sites) >= _SITES_LIMIT:
            sites.clear()
        site = sites.setdefault(key, Site(frame.f_code))
    return site


sites: dict[tuple[int, int], Site] = {}
