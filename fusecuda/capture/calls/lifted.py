"""Lifted blocks: the body of a ``with fused()`` block that is entered again becomes a function.

What a block would record one operation after the other, each time, a `FusedFunction` of its body
replays. The function is given the variables that the body uses, and what it returns is put where
the body would have left it; then the body is skipped (`block_sites`). Where the function would be
called as it is, the block runs as it stands.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import types
from collections.abc import Callable
from time import thread_time
from typing import Any

from ...options import Options
from ..record.rest import undisturbed
from .body import Body
from .callers import is_namespace, looks_at_callers
from .entry import Entry
from .function import FusedFunction
from .places import Place
from .reads import Reads
from .twins import twin_of

# Seconds, below which the first time that a block is timed as it stands does not count.
_COLD = 0.05


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
        twin = twin_of(self.function, shows=False) if self.lazily else ""
        if isinstance(twin, str):
            return twin
        return "it keeps data by name" if twin.keeps else ""

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


def left_by(error: BaseException) -> dict[str, Any]:
    """The variables of the body that has raised ``error``, if it got that far."""
    if _stopped.error is not error:
        return {}
    made, _stopped.error, _stopped.variables = _stopped.variables, None, {}
    return made
