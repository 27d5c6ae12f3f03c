"""Lifted blocks: the body of a ``with fused()`` block that is entered again becomes a function.

What a block would record one operation after the other, each time, a `FusedFunction` of its body
replays. The function is given the variables that the body uses, and what it returns is put where
the body would have left it; then the body is skipped. Where the function would be called as it is,
the block runs as it stands.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import sys
import types
from typing import Any, ClassVar

import numpy as np

from ...options import Options
from ..arrays.array import Array
from ..record.origin import module_of
from .body import UNBOUND, Body, RefusedError, body_of
from .border import Border, RecordedError
from .entry import Entry
from .function import FusedFunction
from .places import Wrapper
from .reads import Reads
from .skip import is_possible, skip, watch

_SITES_LIMIT = 1024
_FIRST = 1  # entries of a block, before it is lifted
_VARIANTS_LIMIT = 4  # sets of names that have a value when the block is entered
_OFTEN = 8  # times that it ran as it stands, after which the function is asked ever more rarely
_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, Wrapper)
_TRIES = 4  # of seeing the first line of a body


class _NoTwin:
    """What `Border` asks of the twin of a function, where there is none."""

    kinds: ClassVar[dict[type, type]] = {}
    originals: ClassVar[dict[int, Any]] = {}


_NO_TWIN = _NoTwin()


class InPlaceError(BaseException):
    """The block is to run as it stands."""


class Lifted(FusedFunction[..., Any]):
    """The body of a block as a function, which is never called as it is."""

    def __init__(
        self, body: Body, names: tuple[str, ...], frame: types.FrameType, options: Options,
        device_chosen: bool,
    ) -> None:  # fmt: skip
        space = frame.f_globals
        function = types.FunctionType(body.code("block", names), space)
        super().__init__(function, options, device_chosen)
        self.__name__ = self.__qualname__ = "block"
        self.names = names
        self.plain = self._in_place
        self.trial: tuple[Entry, tuple[Any, ...]] | None = None  # for which the block is timed
        self.remark: tuple[Entry, str] | None = None  # what holds if the block raises nothing
        self.makes_lazy = False  # arrays of NumPy's become lazy ones in it
        of_module = frame.f_code.co_flags & inspect.CO_OPTIMIZED == 0
        self._variables = {*names, *body.stored} if of_module else set()
        self._looked_at: Reads | None = None
        with contextlib.suppress(InPlaceError):
            self.read()

    def read(self) -> Reads:
        """What the body reads besides its variables; raises `InPlaceError`.

        A function that it calls may use a variable of the module, which is the body's meanwhile.
        """
        reads = super().read()
        if reads is not self._looked_at:
            values = [value for _, value in reads.values.values()]
            self.makes_lazy = any(map(_is_namespace, values))
            self._looked_at = reads
        if self._variables:
            every = (reads.values, reads.inputs, reads.constants, reads.stand_ins)
            places = [*reads.written.values(), *(p for part in every for p, _ in part.values())]
            outer = self.function.__globals__
            if any(p.root is outer and p.name in self._variables for p in places):
                raise InPlaceError
        return reads

    def _in_place(self, *args: Any) -> Any:
        raise InPlaceError

    def _timed(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        self.trial = entry, args
        raise InPlaceError

    def _unfused(self, key: Any, why: str, args: tuple[Any, ...]) -> Any:
        if why.startswith("it raised"):
            self.remark = self._entry(key), why
        return super()._unfused(key, why, args)

    def ran_in_place(self, seconds: float, raised: bool) -> None:
        """The block ran as it stands."""
        trial, remark, self.trial, self.remark = self.trial, self.remark, None, None
        if raised:
            return
        if trial is not None:
            self._took(*trial, seconds)
        if remark is not None:
            remark[0].unfused = remark[1]

    @property
    def launches(self) -> int:
        """What the last recorded call has launched."""
        return sum(report.launches for report in self._reports)


def _is_namespace(value: Any) -> bool:
    """True for the namespace of lazy arrays and its functions."""
    name = value.__name__ if isinstance(value, types.ModuleType) else module_of(value)
    return bool(name.startswith("fusecuda."))


class Site:
    """What is known of one ``with`` statement."""

    __slots__ = (
        "_alone", "_body", "_can_skip", "_candidates", "_code", "_entries", "_last", "_rest",
        "_variants", "why",
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
        self.why = ""  # the block runs as it stands

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
        lifted = self._last
        if lifted is not None and lifted.names is names and lifted.options is options:
            return lifted
        key = names, options, chosen
        lifted = self._variants.get(key)
        if lifted is None:
            if len(self._variants) >= _VARIANTS_LIMIT:
                self.why = "its variables have values and have none"
                return None
            lifted = self._variants[key] = Lifted(self._body, names, frame, options, chosen)
        self._last = lifted
        return lifted

    def _call(self, lifted: Lifted, space: dict[str, Any], frame: types.FrameType) -> bool:
        """True if the body has been done and is skipped, false if it is to run."""
        assert self._body is not None
        args = tuple([space[n] for n in lifted.names])
        border: Border | None = None
        kinds = {type(a) for a in args}
        if Array in kinds:
            border = Border(_NO_TWIN)
            try:
                args = tuple([border.given(a) for a in args])
            except RecordedError:  # such as for NumPy arrays: which results would be lazy?
                return self._left_alone()
        elif np.ndarray in kinds and lifted.makes_lazy:
            return self._left_alone()
        try:
            results = lifted(*args)
        except InPlaceError:
            return self._left_alone()
        self._alone = 0
        made = {
            name: value if border is None else border.taken(value)
            for name, value in zip(self._body.written, results, strict=True)
            if type(value) is not str or value != UNBOUND
        }
        _put(frame, space, made)
        skip(frame, self._body.first_line)
        return True

    def _left_alone(self) -> bool:
        """The function was of no use; it is asked again, ever more rarely."""
        self._alone += 1
        self._rest = (1 << min(self._alone // _OFTEN, 10)) - 1
        return False


def _is_data(space: dict[str, Any], name: str) -> bool:
    """True for a variable of a module that is no code."""
    return name in space and not isinstance(space[name], _CODE)


def _put(frame: types.FrameType, space: dict[str, Any], made: dict[str, Any]) -> None:
    """Give variables of ``frame``, which ``space`` shows, new values."""
    if sys.version_info < (3, 13) and space is not frame.f_globals:
        space.clear()
        space.update(made)
        _to_fast(frame, 0)
    else:
        space.update(made)


if sys.version_info < (3, 13):
    _to_fast = ctypes.pythonapi.PyFrame_LocalsToFast
    _to_fast.argtypes, _to_fast.restype = [ctypes.py_object, ctypes.c_int], None


def site_of(frame: types.FrameType) -> Site:
    """What is known of the ``with`` statement that ``frame`` is about to enter."""
    key = id(frame.f_code), frame.f_lasti
    site = _sites.get(key)
    if site is None:
        if len(_sites) >= _SITES_LIMIT:
            _sites.clear()
        site = _sites.setdefault(key, Site(frame.f_code))
    return site


_sites: dict[tuple[int, int], Site] = {}
