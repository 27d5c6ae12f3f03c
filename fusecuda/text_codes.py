"""Text codes: code of a script in which values of which texts are made go through a stand-in.

Formatting looks at what it shows by instructions, in whose place no other function can be put. So a
module is compiled a second time, from a tree in which each such value passes through a function.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator

Make = Callable[[], types.CodeType]

_lock = threading.Lock()
_modules: list[tuple[types.CodeType, Make]] = []  # that have not been compiled again
_codes: dict[int, tuple[types.CodeType, types.CodeType]] = {}  # by the identity of either
_copies: dict[int, tuple[types.CodeType, types.CodeType]] = {}  # and what they are copies of


def enter(code: types.CodeType, make: Make) -> None:
    """Let ``make`` give the code of a module that shows values, where ``code`` is as written."""
    _modules.append((code, make))


def enter_copy(copy: types.CodeType, code: types.CodeType) -> None:
    """Let ``copy`` be known as ``code`` is, of which it is one under another name."""
    _copies[id(copy)] = copy, code


def showing(code: types.CodeType) -> types.CodeType | None:
    """What shows values and does else what ``code`` does; None if that is not known."""
    copy = _copies.get(id(code))
    if copy is not None:
        found = showing(copy[1])
        return found and _as_copy(found, code)
    with _lock:
        for one in [m for m in _modules if m[0].co_filename == code.co_filename]:
            _modules.remove(one)
            _pair(one[0], one[1]())
    return _codes[id(code)][1] if id(code) in _codes else None


def as_written(code: types.CodeType) -> types.CodeType:
    """The code of which ``code`` is what shows values."""
    return _codes[id(code)][0] if id(code) in _codes else code


def _as_copy(found: types.CodeType, code: types.CodeType) -> types.CodeType:
    """Named as ``code`` is."""
    return found.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _pair(written: types.CodeType, shown: types.CodeType) -> None:
    """Enter the code of functions of a module, as they follow each other in both."""
    pairs = list(zip(_inside(written), _inside(shown), strict=True))
    for one, other in pairs:
        _codes[id(one)] = _codes[id(other)] = one, other


def _inside(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _inside(constant)
