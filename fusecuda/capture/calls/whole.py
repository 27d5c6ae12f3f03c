"""Whole: a function of small work is called as a whole, on NumPy's memory and with NumPy's names.

Operations on small arrays are NumPy's own work (`arrays/at_once.py`), but each passes through a
lazy array. Where a call has recorded nothing large, the next ones are made of a twin of the
function, whose name for the namespace of lazy arrays stands for NumPy: it is given what its arrays
show, and what it returns becomes lazy arrays again, views of what they are views of. Both ways are
timed, and the faster one stays. What is not known to be the same both ways is called as it is.
"""

from __future__ import annotations

import functools
import types
from time import perf_counter
from typing import Any

from ..arrays.array import Array
from ..arrays.memory import in_force
from ..record.rest import Trial
from .border import Border, RecordedError, is_simple, size_of
from .places import Wrapper
from .twins import Twin, twin_of

_ENTRIES_LIMIT = 64  # sizes of arguments, beyond which a function is called as it is
_TWINS_LIMIT = 8  # times that what the function reads may change
_EVERY = 16  # calls, of which one is timed
_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))
_SLOWER, _LONG = 8.0, 1e-3  # than at first, and seconds: it does something else now


class Entry:
    """What is known of calls with arguments of one size."""

    __slots__ = ("calls", "quickest", "small", "trial")

    def __init__(self) -> None:
        self.small: bool | None = None  # nothing large was recorded
        self.trial = Trial()
        self.calls = 0
        self.quickest = float("inf")


class Whole(Wrapper):
    """A function of a script, whose calls are made as wholes where that is the same and faster."""

    is_whole = True
    __name__: str
    __qualname__: str

    def __init__(self, function: types.FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._entries: dict[Any, Entry] = {}
        self._twin: Twin | None = None
        self._twins = 0
        self.refused = ""  # why its calls are made as they are

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        recorder = in_force()
        if self.refused or not recorder.at_once_below:
            return self.function(*args, **kwargs)
        size = size_of((*args, *kwargs.values()) if kwargs else args)
        if size is None:
            return self.function(*args, **kwargs)
        twin = self._twin
        if twin is None or not twin.holds():
            twin = self._twin_anew()
            if twin is None:
                return self.function(*args, **kwargs)
        entry = self._entries.get(size)
        if entry is None:
            return self._first(size, args, kwargs)
        trial = entry.trial
        if not entry.small or trial.plain is False:
            return self.function(*args, **kwargs)
        if trial.plain:
            entry.calls += 1
            if entry.calls % _EVERY:
                return self._as_whole(twin, args, kwargs)
        return self._timed(size, entry, twin, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """By reference, as a function."""
        return self.__qualname__

    def __repr__(self) -> str:
        return repr(self.function)

    # --- which way

    def _twin_anew(self) -> Twin | None:
        """A twin that reads what the function reads now, if there is one that is the same."""
        self._twins += 1
        if self._twins > _TWINS_LIMIT:
            self.refused = "what it reads changes again and again"
            return None
        made = twin_of(self.function)
        if isinstance(made, str):
            self.refused = made
            return None
        self._twin = made
        return made

    def _first(self, size: Any, args: Any, kwargs: Any) -> Any:
        """The call as it is, which tells whether its work is small."""
        if len(self._entries) >= _ENTRIES_LIMIT:
            self.refused = "its arguments have many sizes"
            return self.function(*args, **kwargs)
        recorder = in_force()
        recorder.flush()
        outer, recorder.largest = recorder.largest, 0
        begin = perf_counter()
        try:
            result = self.function(*args, **kwargs)
        finally:
            largest = recorder.largest
            recorder.largest = None if outer is None else max(outer, largest or 0)
        entry = self._entries.setdefault(size, Entry())
        entry.small = (
            largest is not None and largest <= recorder.at_once_below and is_simple(result)
        )
        if entry.small:
            recorder.flush()
            entry.trial.took(perf_counter() - begin, plain=False)
        return result

    def _timed(self, size: Any, entry: Entry, twin: Twin, args: Any, kwargs: Any) -> Any:
        """The result, by the way that is to be timed next."""
        trial = entry.trial
        plain = trial.wants_plain
        recorder = in_force()
        if not plain:
            recorder.flush()
        begin = perf_counter()
        if plain:
            result = self._as_whole(twin, args, kwargs)
        else:
            result = self.function(*args, **kwargs)
            recorder.flush()
        seconds = perf_counter() - begin
        if trial.plain is None:
            trial.took(seconds, plain)
        elif seconds > _SLOWER * entry.quickest and seconds > _LONG:
            self._entries.pop(size, None)  # which is found out again
        if plain:
            entry.quickest = min(entry.quickest, seconds)
        return result

    # --- a call as a whole

    def _as_whole(self, twin: Twin, args: Any, kwargs: Any) -> Any:
        """What the twin returns on the memory of the arrays, with lazy arrays in its place."""
        border = Border()
        try:
            given = [border.shown(v) if type(v) is Array else v for v in args]
            named = {k: border.shown(v) if type(v) is Array else v for k, v in kwargs.items()}
            for space, name, array in twin.arrays:
                space[name] = border.shown(array)
        except RecordedError:
            return self.function(*args, **kwargs)
        filled = [v for v in (*args, *kwargs.values()) if type(v) in (list, dict)]
        try:
            result = twin.function(*given, **named)
        finally:
            for container in filled:
                border.taken(container)
        if type(result) not in _PLAIN:
            result = border.taken(result)
            if border.odd:
                self.refused = f"it returns a {border.odd}"
        return result


def whole(function: Any) -> Any:
    """``function``, called as a whole where that is the same and faster: a decorator."""
    return Whole(function) if type(function) is types.FunctionType else function
