"""Loops of a script, some turns at a time: as they are, or on NumPy's memory as wholes are.

A loop of a script has been made a function of its turns and its variables (`tools/own_loops.py`).
Its turns are called for both ways at first, one at a time. The way that took less makes the next
ones, ever more of them at once, and is compared with the other again from time to time. Where turns
record what is large they are left to themselves: fusing pays there.
"""

from __future__ import annotations

import itertools
import operator
import types
from time import thread_time
from typing import Any

from ...text_codes import enter_copy
from ..arrays.array import Array
from ..arrays.memory import in_force
from .border import Border, RecordedError
from .objects import PLAIN, is_bound, is_given, is_object, kinds_of
from .places import is_constant
from .running import raised
from .turns import Turns, turns_of
from .twins import FunctionTwin, twin_of
from .whole import looks_at_callers

UNBOUND = object()  # given for what needs no value; what comes back so has none
_CONTAINERS = (list, tuple, dict, range)
_TWINS_LIMIT = 16  # that are looked for
_TRIES = 2  # of each way, when the two are compared
_MARGIN = 1.1  # of the time of turns as they are, within which they are wholes
_LONGEST = 0.1  # seconds of turns at once
_TIMES = 8  # as long as coming and going takes, turns go on at once
_AGAIN = 8  # times as long as a comparison took, it is not made again
_FEWER = 64  # times fewer turns are made at once after a comparison than before it
_TICK = 1e-9  # seconds
_LARGE = float("inf")


def _is_known(value: Any) -> bool:
    """False for an iterator, a library's method or the like, which may hold arrays unseen."""
    kind = type(value)
    is_followed = kind is Array or kind in _CONTAINERS or is_given(value) or is_bound(value)
    return kind.__module__ != "builtins" or is_followed or is_constant(value)


class _Variables(Border):
    """Lets nothing through that is not known."""

    def given(self, value: Any) -> Any:
        if not _is_known(value):
            raise RecordedError
        return super().given(value)


class _Past:
    """What is known of a loop from when it was last gone through."""

    __slots__ = ("closure", "is_large", "named", "sought", "twin", "written")

    def __init__(self, written: types.CodeType, place: str) -> None:
        self.written = written
        self.named = written.replace(co_name=place, co_qualname=place)
        enter_copy(self.named, written)
        self.twin: FunctionTwin | None = None
        self.closure: tuple[types.CellType, ...] = ()  # of the function that it is the twin of
        self.sought = 0  # times that a twin was looked for
        self.is_large = False  # turns record what is large, or leave what is not known


_pasts: dict[int, _Past] = {}  # by the identity of the loops' code


class _Loop:
    """The variables of one loop, and how its turns are run."""

    def __init__(
        self, function: types.FunctionType, past: _Past, changed: tuple[str, ...],
        needed: tuple[str, ...], space: dict[str, Any], turns: Turns,
    ) -> None:  # fmt: skip
        code = function.__code__ = past.named
        self.function, self.past, self.space, self.turns = function, past, space, turns
        self.names = code.co_varnames[1 : code.co_argcount]
        self.changed = changed
        self.needed = frozenset(needed)
        self.is_whole = False
        self.returned: tuple[Any, ...] = ()  # by a turn, from the function that the loop stands in
        self.inside = 0.0  # seconds of the last turns on memory, but for coming and going

    def values(self) -> list[Any]:
        """What the variables are now that a turn may read before it sets them."""
        return [self.space.get(n, UNBOUND) if n in self.needed else UNBOUND for n in self.names]

    def keep(self, result: tuple[Any, ...]) -> bool:
        """Set the variables; True if there may be more turns."""
        more, *values = result
        if more is None:
            self.returned = (values.pop(0),)
        self.space.update(
            (n, v) for n, v in zip(self.changed, values, strict=True) if v is not UNBOUND
        )
        return bool(more)

    def is_known(self) -> bool:
        """True if the variables hold nothing in which arrays could lie unseen."""
        return all(_is_known(self.space[n]) for n in self.changed if n in self.space)

    def find_twin(self) -> bool:
        """Whether there is a twin now, which reads what the function reads."""
        kinds = dict.fromkeys(kinds_of((*self.values(), *self.turns.containers)))
        past = self.past
        closure = self.function.__closure__ or ()
        twin = past.twin if all(map(operator.is_, closure, past.closure)) else None
        if twin is None or not kinds.keys() <= twin.kinds.keys() or not twin.holds():
            past.twin, past.sought = None, past.sought + 1
            if past.sought > _TWINS_LIMIT:
                return False
            kinds.update(
                dict.fromkeys(k for k in twin.kinds if isinstance(k, type)) if twin else {}
            )
            objects = [n for n in self.needed.difference(self.changed) if is_object(self.space[n])]
            made = twin_of(self.function, kinds, objects=objects)
            past.twin, past.closure = None if isinstance(made, str) else made, closure
        return past.twin is not None

    def as_it_is(self, count: int | None = None) -> bool:
        """So many turns on lazy arrays, or all; True if there may be more."""
        try:
            result = self.function(itertools.islice(self.turns.on(_itself), count), *self.values())
        except BaseException as error:
            self.leave(self.function, error, None)
            raise
        return self.keep(result)

    def leave(
        self, function: types.FunctionType, error: BaseException, border: Border | None
    ) -> None:
        """Set the variables to what they were in ``function`` when ``error`` left it."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not function.__code__:
            trace = trace.tb_next
        if trace is None:
            return
        found = trace.tb_frame.f_locals
        for name in self.changed:
            value = found.get(name, UNBOUND)
            if value is not UNBOUND:
                self.space[name] = value if border is None else border.taken(value)

    def whole(self, count: int) -> bool:
        """So many turns on the memory of lazy arrays; raises `RecordedError` before the first."""
        twin = self.past.twin
        assert twin is not None, "a loop runs on memory only where it has a twin"
        border = _Variables(twin.kinds, twin.originals)
        given = [v if type(v) in PLAIN or v is UNBOUND else border.given(v) for v in self.values()]
        for space, name, value in twin.named:
            space[name] = border.given(value)
        turns = itertools.islice(self.turns.on(border.given), count)
        entered = thread_time()
        try:
            result = twin.function(turns, *given)
            self.inside = thread_time() - entered
        except BaseException as error:
            raised(error, border.taken)
            self.leave(twin.function, error, border)
            raise
        finally:
            border.write_back()
        return self.keep(tuple([v if v is UNBOUND else border.taken(v) for v in result]))


def run(
    function: types.FunctionType, iterable: Any, maker: str, place: str,
    changed: tuple[str, ...], needed: tuple[str, ...], space: dict[str, Any],
) -> bool | tuple[Any, ...]:  # fmt: skip
    """True if all turns of a loop have been run; else none has. A tuple of what one returned.

    ``function`` is given an iterator of turns and the loop's variables, of which it returns those
    that are ``changed``, behind whether it has gone through all turns; None says that it returns
    what follows from the function that the loop stands in. The variables are in ``space``; the
    ``needed`` have to have a value, but for those that a function changes: `UNBOUND` is given for
    them. ``iterable`` is what a `for` goes through, or what ``maker`` is given that makes it, None
    for a `while`; ``place`` is the module or function that a traceback names.
    """
    past = _past(function.__code__, place)
    turns = turns_of(iterable, maker, function.__globals__)
    if turns is None or not in_force().at_once_below or looks_at_callers(function):
        return False
    if past.is_large or past.sought > _TWINS_LIMIT:
        return False
    loop = _Loop(function, past, changed, needed, space, turns)
    missing = loop.needed - space.keys()
    if not missing <= (set() if place == "<module>" else set(changed)) or not loop.find_twin():
        return False
    _run(loop)
    return loop.returned or True


def _past(code: types.CodeType, place: str) -> _Past:
    if id(code) not in _pasts:
        _pasts[id(code)] = _Past(code, place)
    return _pasts[id(code)]


def _run(loop: _Loop) -> None:
    """All turns, by the way that is faster.

    What comes and goes may grow from turn to turn, as a list does that they fill: so the turns that
    are made at once grow with it, and all of them together take as long as they are many.
    """
    count = 1
    while True:
        begin = thread_time()
        seconds = _compared(loop)
        if seconds is None:
            return
        if seconds == _LARGE:
            loop.past.is_large = True
            loop.as_it_is()
            return
        until = thread_time() + max(_AGAIN * (thread_time() - begin), _LONGEST)
        longest, count = _LONGEST, max(count // _FEWER, 1)
        while (before := thread_time()) < until:
            count = min(4 * count, int(longest / seconds) + 1)
            loop.inside = 0.0
            if not _some(loop, count):
                return
            taken = thread_time() - before
            inside = loop.inside or taken
            seconds = inside / count + _TICK
            longest = max(_LONGEST, _TIMES * (taken - inside))


def _compared(loop: _Loop) -> float | None:
    """The seconds of a turn by the faster way, as a few turns tell; None if there are no more.

    Turns are `_LARGE` that record more than is done at once, and such that leave what is not known.
    """
    recorder = in_force()
    spent: dict[bool, list[float]] = {True: [], False: []}
    for way in (False, True) * _TRIES:
        loop.is_whole, loop.inside = way, 0.0
        recorder.flush()
        outer, recorder.touched = recorder.touched, 0
        begin = thread_time()
        try:
            more = _some(loop, 1)
            recorder.flush()
        finally:
            largest = recorder.touched
            recorder.touched = None if outer is None else max(outer, largest or 0)
        if not more:
            return None
        seconds = thread_time() - begin
        if way:  # turns that take so long at once come and go once
            inside = loop.inside or seconds
            beside = seconds - inside
            seconds = inside + beside * min(inside / max(_LONGEST, _TIMES * beside), 1.0)
        spent[way].append(seconds)
        is_large = largest is None or largest > recorder.at_once_below
        if not way and (is_large or not loop.is_known()):
            return _LARGE
    loop.is_whole = min(spent[True]) < _MARGIN * min(spent[False])
    return min(spent[loop.is_whole]) + _TICK


def _some(loop: _Loop, count: int) -> bool:
    """At most ``count`` turns; False if the loop is over."""
    if loop.turns.is_over():
        return False
    if loop.is_whole and loop.find_twin():
        try:
            return loop.whole(count)
        except RecordedError:
            pass
    return loop.as_it_is(count)


def _itself(value: Any) -> Any:
    return value
