"""Block sites: what is known of each ``with fused()`` statement.

Where it is entered again its body is called as a function, and skipped.
"""

from __future__ import annotations

import inspect
import sys
import types
from time import perf_counter
from typing import Any

import numpy as np

from ...options import Options
from ..arrays.array import Array
from .body import UNBOUND, Body, body_of
from .body_names import RefusedError
from .border import Border, RecordedError
from .callers import CODE, is_logging
from .frames import put
from .lent import LentMemory
from .lifted import InPlaceError, Lifted, left_by
from .passing import Passing
from .skip import is_possible, skip, watch

_SITES_LIMIT = 1024
_FIRST = 1  # entries of a block, before it is lifted
_VARIANTS_LIMIT = 4  # sets of names that have a value when a block is entered, options, modules
_OFTEN = 8  # times that it ran as it stands, after which the function is asked ever more rarely
_ASKED = 2e-3  # seconds that blocks run as they stand, after which it may be asked in any case
_PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, type(None)})
_TRIES = 4  # of seeing the first line of a body
_LOCALS = frozenset({"locals", "vars", "eval", "exec", "f_locals"})


class Site:
    """What is known of one ``with`` statement."""

    __slots__ = (
        "_alone", "_body", "_can_skip", "_candidates", "_code", "_entries", "_is_decided", "_last",
        "_rest", "_variants", "passing", "why",
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
            if not set(self._code.co_freevars).isdisjoint(set(self._candidates).difference(names)):
                self._left_alone()  # the error tells that another function has the variable
                return None
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
            put(frame, space, _taken(left_by(error), border))
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
