"""Dead ends: functions that no trace can follow, known from one scan to the next.

A library's functions lead to each other, so that a scan of any of them reads nearly all. Where one
has been found that cannot be followed, the scans of its callers end as soon as they come to it, or
to a function whose names have led there.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

from .bytecode import codes_of

Read = tuple[types.FunctionType, bool]  # the function is ``bound`` if it is called as it is


class DeadEnd(NamedTuple):
    """Why a function cannot be followed, and what its names led to when that was found."""

    why: str
    found: tuple[int, ...]
    towards: tuple[ReferenceType[types.FunctionType], bool] | None  # what is the cause, if another


_known: tuple[WeakKeyDictionary[types.FunctionType, DeadEnd], ...] = (
    WeakKeyDictionary(),
    WeakKeyDictionary(),  # of those that are bound
)


def dead_end(function: types.FunctionType, bound: bool) -> str:
    """Why ``function`` cannot be followed if that is known, else an empty string."""
    known = _known[bound].get(function)
    if known is None or known.found != _leads_to(function):
        return ""
    if known.towards is None:
        return known.why
    further, bound = known.towards[0](), known.towards[1]
    return dead_end(further, bound) if further is not None else ""


def ends_at(path: Sequence[Read], why: str) -> None:
    """Remember that the first function of ``path`` cannot be followed, and that others lead there.

    That is so for as long as the names of all on the way mean the same.
    """
    towards = None
    for function, bound in path:
        if not dead_end(function, bound):
            _known[bound][function] = DeadEnd(why, _leads_to(function), towards)
        towards = ref(function), bound


def _leads_to(function: types.FunctionType) -> tuple[int, ...]:
    """The identities of what the names of ``function`` lead to, none of which is kept alive.

    One that another object takes over leaves a function unfused for longer, and nothing worse.
    """
    space, cells = function.__globals__, function.__closure__ or ()
    return (
        id(function.__code__),
        id(function.__defaults__),
        id(function.__kwdefaults__),
        *(id(space.get(name)) for name in _names_of(function.__code__)),
        *(_held_by(cell) for cell in cells),
    )


@functools.lru_cache(maxsize=2048)
def _names_of(code: types.CodeType) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for one in codes_of(code) for name in one.co_names))


def _held_by(cell: types.CellType) -> int:
    try:
        return id(cell.cell_contents)
    except ValueError:  # nothing yet
        return 0
