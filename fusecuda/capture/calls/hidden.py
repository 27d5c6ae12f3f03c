"""Hidden: real arrays for lazy ones in what nobody takes apart, and a call gives away.

Errors, subclasses of native types, functions and their variables, iterators, objects of libraries:
a trace that gives one away is not replayed, and what lies in it is put right where it lies.
"""

from __future__ import annotations

import collections
import gc
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.flat import Flat
from ..record.origin import attribute_of
from ..record.structure import slots_of
from .effects import plain_step

Finished = Callable[[Any], Any]
_CLOSED = (
    *(type, types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.FrameType),
    *(types.TracebackType, np.ndarray, np.generic, np.dtype, np.ufunc),
)
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})


def settled(value: Any, finished: Finished) -> Any:
    """``value``, or one made anew if it cannot be changed, with ``finished`` parts."""
    if type(value) in _PLAIN or isinstance(value, _CLOSED):
        return value
    if type(value) is Flat:
        return value.over(finished(value.base))
    if isinstance(value, types.FunctionType):
        _of_function(value, finished)
    elif isinstance(value, types.CellType):
        _of_cell(value, finished)
    elif isinstance(value, BaseException):
        _of_error(value, finished)
    elif isinstance(value, tuple):
        value = _of_tuple(value, finished)
    elif isinstance(value, dict | list | collections.deque):
        _of_container(value, finished)
    elif not _attributes(value):  # an iterator, a view of a dict
        for part in gc.get_referents(value):
            finished(part)
    for name, part in _attributes(value).items():
        made = finished(part)
        if made is not part:
            _set(value, name, made)
    return value


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes that the object itself holds."""
    kind: Any = type(value)
    held = [(name, attribute_of(value, name)) for name in slots_of(kind)]
    own = attribute_of(value, "__dict__")
    return {**{n: v for n, v in held if v is not None}, **(own if type(own) is dict else {})}


def _set(value: Any, name: str, part: Any) -> None:
    own = attribute_of(value, "__dict__") or {}
    if name in own:
        own[name] = part
    else:
        object.__setattr__(value, name, part)


def _of_function(function: types.FunctionType, finished: Finished) -> None:
    for cell in function.__closure__ or ():
        _of_cell(cell, finished)
    if function.__defaults__:
        function.__defaults__ = finished(function.__defaults__)
    finished(function.__kwdefaults__)


def _of_cell(cell: types.CellType, finished: Finished) -> None:
    try:
        part = cell.cell_contents
    except ValueError:  # it is empty
        return
    made = finished(part)
    if made is not part:
        cell.cell_contents = made


def _of_error(error: BaseException, finished: Finished) -> None:
    args = tuple([finished(part) for part in error.args])
    if any(a is not b for a, b in zip(args, error.args, strict=True)):
        error.args = args
    finished(error.__cause__)
    finished(error.__context__)
    for one in getattr(error, "exceptions", ()):  # of a group
        finished(one)


def _of_tuple(value: tuple[Any, ...], finished: Finished) -> Any:
    parts = [finished(part) for part in value]
    if all(a is b for a, b in zip(parts, value, strict=True)):
        return value
    made = tuple.__new__(type(value), parts)
    for name, part in (attribute_of(value, "__dict__") or {}).items():
        object.__setattr__(made, name, part)
    return made


def _of_container(value: Any, finished: Finished) -> None:
    """Subclasses may have ways of their own to change, which are not asked."""
    if isinstance(value, dict):
        items = [(plain_step(("item", k))[1], finished(v)) for k, v in dict.items(value)]
        dict.clear(value)
        dict.update(value, items)
    elif isinstance(value, list):
        list.__setitem__(value, slice(None), [finished(v) for v in list.__iter__(value)])
    else:
        for i, part in enumerate(list(value)):
            value[i] = finished(part)
