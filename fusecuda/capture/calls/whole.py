"""Whole: a function of small work is called as a whole, on NumPy's memory and with NumPy's names.

Operations on small arrays are NumPy's own work (`arrays/at_once.py`), but each passes through a
lazy array. Where a call has recorded nothing large, the next ones are made of a twin of the
function, whose name for the namespace of lazy arrays stands for NumPy: it is given what its arrays
show, and what it returns becomes lazy arrays again, views of what they are views of. Both ways are
timed, and the faster one stays. What is `tiny` is made so at once. What is not known to be the same
both ways is called as it is.
"""

from __future__ import annotations

import functools
import sys
import types
from time import thread_time
from typing import Any

from ..arrays.memory import in_force
from .border import Border, RecordedError, is_simple, size_of
from .bytecode import codes_of, strings
from .objects import PLAIN, is_given, kinds_of
from .places import Wrapper
from .running import raised
from .tiny import is_little
from .twins import FunctionTwin, twin_of

_ENTRIES_LIMIT = 256  # sizes of arguments, beyond which others are not looked at
_TWINS_LIMIT = 8  # times that what the function reads may change
_GIVEN_LIMIT = 8  # functions that it is given
_EVERY = 16  # calls, of which one is timed
_ROUND = 4  # calls that are compared, every other one a whole
_MARGIN = 1.2  # of the time of other calls, within which wholes are made
_SLOWER, _LONG, _LATE = 8.0, 1e-3, 3  # than at first; seconds; calls
_SHORT = 5e-6  # seconds: calls that take no more are not made as wholes
_IDLE = 64  # calls that were none, after which it is looked at whether there is need of us
_DEEP = 16  # calls within each other
_LITTLE = 50e-6  # seconds: a call that takes less would notice us


class Entry:
    """What is known of calls with arguments of one size.

    Both ways do the same work, so that wholes are made unless a few calls each way show that what
    crosses their border costs more; that is looked at again, ever more rarely.
    """

    __slots__ = ("as_whole", "calls", "late", "next", "small", "spent")

    def __init__(self) -> None:
        self.small = False  # nothing large was recorded
        self.as_whole = False  # as found out in the first round
        self.spent: dict[bool, list[float]] = {True: [], False: []}  # seconds, of wholes or not
        self.calls = 0
        self.next = 64  # calls, after which there is another round
        self.late = 0  # wholes in turn that took far longer than the first ones

    def took(self, seconds: float, whole: bool) -> None:
        """A call of a round took so long."""
        self.spent[whole].append(seconds)
        if self.calls >= _ROUND:
            other = min(self.spent[False])
            self.as_whole = other > _SHORT and min(self.spent[True]) < _MARGIN * other

    def is_late(self, seconds: float) -> bool:
        """True if wholes take far longer than they did: they do something else now."""
        far = seconds > _LONG and seconds > _SLOWER * min(self.spent[True])
        self.late = self.late + 1 if far else 0
        return self.late >= _LATE


def _of_function(name: str) -> Any:
    """What a function has under ``name``, where a whole stands for it."""

    def put(self: Any, value: Any) -> None:
        setattr(self.function, name, value)
        if name == "__code__":
            self._turning = None

    return property(lambda self: getattr(self.function, name), put)


class Whole(Wrapper):
    """A function of a script, whose calls are made as wholes where that is the same and faster."""

    is_whole = True
    __name__: str
    __qualname__: str
    __code__, __defaults__ = _of_function("__code__"), _of_function("__defaults__")
    __kwdefaults__, __closure__ = _of_function("__kwdefaults__"), _of_function("__closure__")
    __globals__ = _of_function("__globals__")

    def __init__(
        self, function: types.FunctionType, turning: types.FunctionType | None = None
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, function)
        self.function = function
        self._turning = turning  # does the same, and runs loops by turns, while calls take long
        self._entries: dict[Any, Entry] = {}
        self._twin: FunctionTwin | None = None
        self._twins = 0
        self._given: dict[Any, None] = {}  # as arguments, and the twin knows them
        self._idle = 0  # calls as they are, since that was looked at
        self._depth = 0  # of calls as they are, within each other
        self.owner: type | None = None  # whose method it is
        self.aside = False  # the function itself has taken our place
        self.refused = ""  # why its calls are made as they are

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        if self.aside:
            return self.function(*args, **kwargs)
        if not self.refused and in_force().at_once_below:
            size = size_of((*args, *kwargs.values()) if kwargs else args)
            if size is not None:
                twin = self._twin
                if twin is None or not twin.holds():
                    twin = self._twin_anew((*args, *kwargs.values()))
                if twin is not None:
                    return self._search(size, twin, args, kwargs)
        return self._as_it_is(args, kwargs)

    def _search(self, size: Any, twin: FunctionTwin, args: Any, kwargs: Any) -> Any:
        """The result by what is known of calls of a size."""
        entry = self._entries.get(size)
        if entry is None:
            few = len(self._given) < _GIVEN_LIMIT // 2
            if few and twin.is_tiny and is_little(size) and self._knows(twin, args, kwargs):
                return self._at_once(size, args, kwargs)
            return self._first(size, args, kwargs)
        if not entry.calls and entry.small:  # which no function does that is made each time
            entry.small = self._knows(twin, args, kwargs)
        if entry.small and self._twin is not None:
            twin = self._twin
            entry.calls += 1
            if entry.calls <= _ROUND:
                return self._compared(entry, twin, args, kwargs)
            if entry.as_whole:
                if entry.calls % _EVERY:
                    return self._as_whole(twin, args, kwargs)
                return self._watched(size, entry, twin, args, kwargs)
            if entry.calls >= entry.next:
                entry.calls, entry.next = 0, 2 * entry.next  # the ways are compared again
                entry.spent = {True: [], False: []}
        return self._as_it_is(args, kwargs)

    def _by_itself(self, args: Any, kwargs: Any) -> Any:
        """What the function returns; it takes our place where each of its calls makes others."""
        self._depth += 1
        if self._depth > _DEEP:  # Python bounds the depth of calls, and we are between
            self._step_aside()
        try:
            if self._turning is not None and self._depth == 1:
                return self._by_turns(self._turning, args, kwargs)
            return self.function(*args, **kwargs)
        finally:
            self._depth -= 1

    def _by_turns(self, turning: types.FunctionType, args: Any, kwargs: Any) -> Any:
        """What the function returns, its loops run by turns; never again if that is short."""
        function = self.function
        turning.__defaults__, turning.__kwdefaults__ = (
            function.__defaults__,
            function.__kwdefaults__,
        )
        begin = thread_time()
        try:
            return turning(*args, **kwargs)
        finally:
            if thread_time() - begin < _LONG:
                self._turning = None

    def _as_it_is(self, args: Any, kwargs: Any) -> Any:
        """What the function returns; where we are of no use and in the way, it takes our place."""
        self._idle += 1
        if self._idle < _IDLE and not self.refused:
            return self._by_itself(args, kwargs)
        self._idle = 0
        begin = thread_time()
        result = self._by_itself(args, kwargs)
        is_little = thread_time() - begin < _LITTLE
        if self._turning is not None:
            return result
        if self.refused or (is_little and not any([e.as_whole for e in self._entries.values()])):
            self._step_aside()
        return result

    def _step_aside(self) -> None:
        """Let the function have its name again."""
        name, space = self.__name__, self.function.__globals__
        if self.owner is not None:
            if vars(self.owner).get(name) is self:
                setattr(self.owner, name, self.function)
        elif space.get(name) is self:
            space[name] = self.function
        self.aside = True

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """By reference, as a function."""
        return (_itself, (self.function,)) if self.aside else self.__qualname__

    def __repr__(self) -> str:
        return repr(self.function)

    # --- which way

    def _twin_anew(self, given: Any) -> FunctionTwin | None:
        """A twin that reads what the function reads now, if there is one that is the same."""
        self._twins += 1
        if self._twins > _TWINS_LIMIT:
            self.refused = "what it reads changes again and again"
            return None
        kinds = [kind for kind in kinds_of(given) if isinstance(kind, type)]
        made = twin_of(self.function, [*kinds, *self._given])
        if isinstance(made, str):
            self.refused = made
            return None
        self._twin = made
        return made

    def _knows(self, twin: FunctionTwin, args: Any, kwargs: Any) -> bool:
        """True if the twin knows the functions that are given; it is made anew for a few."""
        kinds = dict.fromkeys(kinds_of((*args, *kwargs.values())))
        if kinds.keys() <= twin.kinds.keys():
            return True
        every = self._given | {k: None for k in kinds if is_given(k)}
        if len(every) > _GIVEN_LIMIT:
            return False
        made = twin_of(self.function, [*twin.kinds, *kinds, *every])
        if isinstance(made, str):
            return False
        self._twin, self._given = made, every
        return True

    def _first(self, size: Any, args: Any, kwargs: Any) -> Any:
        """The call as it is, which tells whether its work is small."""
        if len(self._entries) >= _ENTRIES_LIMIT:
            self._entries = {s: e for s, e in self._entries.items() if e.calls or not e.small}
        if len(self._entries) >= _ENTRIES_LIMIT:
            return self._as_it_is(args, kwargs)
        recorder = in_force()
        recorder.flush()
        outer, recorder.touched = recorder.touched, 0
        begin = thread_time()
        try:
            result = self._by_itself(args, kwargs)
        finally:
            largest = recorder.touched
            recorder.touched = None if outer is None else max(outer, largest or 0)
        entry = self._entries.setdefault(size, Entry())
        entry.small = (
            largest is not None and largest <= recorder.at_once_below and is_simple(result)
        )
        if entry.small:
            recorder.flush()
            entry.took(thread_time() - begin, whole=False)
        return result

    def _at_once(self, size: Any, args: Any, kwargs: Any) -> Any:
        """As a whole; where that takes its time the ways are not compared."""
        twin = self._twin
        if twin is None or not twin.is_tiny or not is_little(size_of(v for *_, v in twin.named)):
            return self._first(size, args, kwargs)
        begin = thread_time()
        result = self._as_whole(twin, args, kwargs)
        seconds = thread_time() - begin
        if len(self._entries) < _ENTRIES_LIMIT:
            entry = self._entries[size] = Entry()
            entry.small, entry.as_whole = True, seconds > _LONG
            if entry.as_whole:
                entry.calls = _ROUND
                entry.spent[True].append(seconds)
        return result

    def _compared(self, entry: Entry, twin: FunctionTwin, args: Any, kwargs: Any) -> Any:
        """The result, by the way that is to be timed next."""
        whole = entry.calls % 2 == 1
        recorder = in_force()
        recorder.flush()
        begin = thread_time()
        try:
            if whole:
                return self._as_whole(twin, args, kwargs)
            result = self._by_itself(args, kwargs)
            recorder.flush()
            return result
        finally:
            entry.took(thread_time() - begin, whole)

    def _watched(self, size: Any, entry: Entry, twin: FunctionTwin, args: Any, kwargs: Any) -> Any:
        """As a whole; what does something else now is found out again."""
        begin = thread_time()
        result = self._as_whole(twin, args, kwargs)
        if entry.is_late(thread_time() - begin):
            self._entries.pop(size, None)
        return result

    # --- a call as a whole

    def _as_whole(self, twin: FunctionTwin, args: Any, kwargs: Any) -> Any:
        """What the twin returns on the memory of the arrays, with lazy arrays in its place."""
        border = Border(twin.kinds, twin.originals)
        try:
            given = [v if type(v) in PLAIN else border.given(v) for v in args]
            named = {name: border.given(v) for name, v in kwargs.items()}
            for space, name, value in twin.named:
                space[name] = border.read(value)
        except RecordedError:
            return self.function(*args, **kwargs)
        try:
            result = twin.function(*given, **named)
        except BaseException as error:
            raised(error, border.taken)
            raise
        finally:
            border.write_back()
        if type(result) not in PLAIN:
            result = border.taken(result)
            if border.odd:
                self.refused = f"it returns a {border.odd}"
        return result


def _itself(function: Any) -> Any:
    return function


_CALLERS = frozenset(
    ("_getframe", "currentframe", "f_back", "extract_stack", "walk_stack", "stacklevel")
)


def whole(function: Any, turning: types.FunctionType | None = None) -> Any:
    """``function``, called as a whole where that is the same and faster: a decorator.

    ``turning`` does the same, and runs loops by turns. One that looks at its callers stays itself.
    """
    if type(function) is not types.FunctionType or looks_at_callers(function):
        return function
    if turning is not None:
        named = turning.__code__.replace(
            co_name=function.__name__, co_qualname=function.__qualname__
        )
        turning.__code__, turning.__name__ = named, function.__name__
        turning.__qualname__ = function.__qualname__
    return Whole(function, turning)


def looks_at_callers(function: types.FunctionType) -> bool:
    """True if ``function`` could see who calls it."""
    for code in codes_of(function.__code__):
        names = {*code.co_names, *strings(code.co_consts)}
        if names & _CALLERS or _asks_inspect(names, function.__globals__):
            return True
    return False


def _asks_inspect(names: set[str], space: dict[str, Any]) -> bool:
    """True if one of ``names`` means `inspect.stack`: arrays are stacked under that name, too."""
    module = sys.modules.get("inspect")
    asked = getattr(module, "stack", module)
    found = [space[name] for name in names if name in space]
    if asked is not None and any([value is asked for value in found]):
        return True
    return "stack" in names and ("inspect" in names or any([v is module for v in found]))
