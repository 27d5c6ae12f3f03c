"""Plain values: functions and classes of libraries that take numbers and nothing like them.

They are written in C, or ask for the very type. What stands for one gives it the values of followed
numbers and of lazy scalars, which are looked at then, and what only reads, the objects behind
stand-ins, such as dates and time zones; anything else it gets as it is. Python itself takes such
values of methods that say what an object is as a number.
"""

from __future__ import annotations

import collections
import datetime
import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.opaque import StandIn, used
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.structure import SEQUENCES, plain_kind

_READING = (json.dumps, np.datetime_as_string, np.is_busday, np.busday_count, np.busday_offset)
_TAKING = (*_READING, datetime.timedelta, np.datetime64, np.timedelta64, collections.deque)
AS_NUMBERS = frozenset(
    f"__{name}__" for name in ("float", "int", "index", "bool", "complex", "hash", "length_hint")
)  # methods of which Python takes numbers and nothing like them


class TypeLike(type):
    """The class of what stands for a type: called in another way, it is that in all others."""

    called: Callable[..., Any]
    found: Callable[[Any], Any]  # what stands for its attributes
    stands_for: type

    def __call__(cls, /, *args: Any, **kwargs: Any) -> Any:
        return cls.called(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.stands_for)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, cls.stands_for)

    def __getattr__(cls, name: str) -> Any:
        return cls.found(getattr(type.__getattribute__(cls, "stands_for"), name))

    def __repr__(cls) -> str:
        return repr(cls.stands_for)

    def __eq__(cls, other: object) -> bool:
        return other is cls.stands_for or other is cls

    def __hash__(cls) -> int:
        return hash(cls.stands_for)


def calling(
    function: Any, called: Callable[..., Any], found: Callable[[Any], Any] = lambda value: value
) -> Any:
    """What stands for ``function``, or for a type; ``called`` is what its calls do.

    What the type has as an attribute is ``found`` for that.
    """
    if not isinstance(function, type):
        return called
    space = {name: getattr(function, name, None) for name in ("__module__", "__doc__")}
    space |= {"called": staticmethod(called), "found": staticmethod(found), "stands_for": function}
    return TypeLike(function.__name__, (), space)


def type_meant(value: Any) -> Any:
    """The type that ``value`` stands for; any other value itself."""
    return value.stands_for if type(value) is TypeLike else value


def takes_plain_values(value: Any) -> bool:
    """True for what takes numbers and nothing like them."""
    return any(value is taking for taking in _TAKING)


def given_plain_values(function: Any) -> Any:
    """What stands for ``function``, which takes numbers and nothing like them."""
    plain = _all_plain if any(function is reading for reading in _READING) else _plain

    @functools.wraps(function, updated=())
    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})

    return calling(function, called)


def giving_plain_values(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method``, of which numbers and nothing like them are taken."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _plain(method(*args, **kwargs))

    return call


def _plain(value: Any) -> Any:
    """The number that ``value`` stands for; anything else itself."""
    if type(value) is TracedScalar:
        return value.seen()
    if type(value) is Array and value.is_scalar:
        return current_recorder().seen(value, _itself)
    return value


def _all_plain(value: Any) -> Any:
    """As `_plain`, also of objects, with what is in it, keys too: for what only reads it."""
    if issubclass(type(value), StandIn):
        return used(value)
    if type(value) in SEQUENCES:
        return plain_kind(type(value))(map(_all_plain, value))
    if type(value) is dict:
        return {_plain(k): _all_plain(v) for k, v in value.items()}
    return _plain(value)


def _itself(value: Any) -> Any:
    return value
