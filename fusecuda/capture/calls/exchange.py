"""Exchange: while a function is recorded, methods of classes are what they are bound to.

An instance that the function makes finds its methods in its class, where other threads find theirs.
So the class holds *switches* meanwhile: functions that call what the code around them has chosen,
and the method itself where nothing is chosen. One that is kept for longer does no harm.
"""

from __future__ import annotations

import enum
import functools
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar, Token
from typing import Any

import numpy as np

from ..record.origin import is_standard, is_users, module_of
from ..record.structure import kind_of, walk
from .places import MISSING, is_constant
from .purity import is_pure

Member = tuple[type, str, Any]  # a class, a name, and what stands there
Chosen = Mapping[int, Any]  # what stands for methods and arrays, by their identity

# What Python itself looks up while it makes a class, or for each attribute.
_LEFT_ALONE = frozenset(
    f"__{name}__"
    for name in (
        *("getattribute", "getattr", "setattr", "delattr", "del", "class_getitem", "set_name"),
        *("init_subclass", "prepare", "instancecheck", "subclasscheck", "annotate_func"),
    )
)
_PARTS_LIMIT = 500  # that are looked at for arrays
_chosen: ContextVar[Chosen] = ContextVar("chosen", default={})  # noqa: B039 - nobody writes to it
_installed: dict[tuple[int, str], list[Any]] = {}  # how many exchanges, what was there, what is
_lock = threading.RLock()  # of the table and the classes, while switches come and go


def parts_of(kind: type, name: str, value: Any) -> list[Any]:
    """What can be exchanged of what ``kind`` holds under ``name``.

    That is functions, what has arrays, and objects that are called as they are.
    """
    if name in _LEFT_ALONE or not is_users(module_of(kind)):
        return []
    found: list[Any] = []
    _with(value, lambda f: found.append(f) or f)  # type: ignore[func-returns-value]
    return found


def held(kind: type, name: str) -> Any:
    """What ``kind`` holds under ``name``, as the user knows it."""
    with _lock:
        return known(kind, name, vars(kind).get(name, MISSING))


def known(kind: type, name: str, value: Any) -> Any:
    """``value``, which ``kind`` holds, or what a switch stands for."""
    entry = _installed.get((id(kind), name))
    return entry[1] if entry is not None and entry[2] is value else value


def contents(kind: type) -> dict[str, Any]:
    """All that ``kind`` holds, as the user knows it."""
    with _lock:
        return {name: known(kind, name, value) for name, value in vars(kind).items()}


def original(method: types.MethodType) -> types.MethodType:
    """A method of the user's, where a switch has been taken of an instance."""
    function: Any = method.__func__
    if getattr(function, "__code__", None) is not _SWITCH:
        return method
    return types.MethodType(function.__wrapped__, method.__self__)


class Exchange:
    """For as long as it is entered, ``members`` are what is ``chosen`` for their functions."""

    def __init__(self, members: Iterable[Member] = (), chosen: Chosen | None = None) -> None:
        self._members = list(members)
        self._choice = chosen or {}
        self._token: Token[Chosen] | None = None

    def __enter__(self) -> None:
        if not self._members:
            return
        with _lock:
            for kind, name, value in self._members:
                entry = _installed.setdefault((id(kind), name), [0, value, None])
                entry[0] += 1
                if entry[2] is None:
                    entry[2] = _with(value, _switch)
                    type.__setattr__(kind, name, entry[2])
        self._token = _chosen.set({**_chosen.get(), **self._choice})

    def __exit__(self, *exc: object) -> None:
        if self._token is None:
            return
        _chosen.reset(self._token)
        self._token = None
        with _lock:
            for kind, name, _ in self._members:
                entry = _installed[id(kind), name]
                entry[0] -= 1
                if entry[0] == 0:
                    if vars(kind).get(name) is entry[2]:  # nobody has written another
                        type.__setattr__(kind, name, entry[1])
                    del _installed[id(kind), name]


class _Shown:
    """What is found in a class instead of what has arrays: that, or what has been chosen for it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return _chosen.get().get(id(self.value), self.value)


def _switch(function: Any) -> Any:
    """A function that is ``function``, or what has been chosen for it; as well for arrays."""
    key = id(function)
    if not isinstance(function, types.FunctionType):
        return _Shown(function)

    @functools.wraps(function)
    def switch(*args: Any, **kwargs: Any) -> Any:
        return _chosen.get().get(key, function)(*args, **kwargs)

    return switch


_SWITCH = _switch(lambda: None).__code__


def _with(value: Any, other: Callable[[Any], Any]) -> Any:
    """What a class holds, made again with ``other`` of the user's functions and arrays in it."""
    kind = type(value)
    holder = kind_of(value)
    holds = holder is not None and (holder.mutable or kind is tuple)
    inside = walk(value, _PARTS_LIMIT) if holds else iter((value,))
    if any(type(part) is np.ndarray for part in inside):
        return other(value)
    if kind is types.FunctionType:
        if not is_standard(value.__code__.co_filename):
            return other(value)
        inner = getattr(value, "__wrapped__", None)  # around which the standard library's stands
        return value if type(inner) is not types.FunctionType else _around(value, inner, other)
    if kind is staticmethod or kind is classmethod:
        return kind(_with(value.__func__, other))
    if kind is functools.cached_property:
        made: Any = functools.cached_property(_with(value.func, other))
        made.attrname = value.attrname
        return made
    if kind is property:
        parts = [_with(part, other) for part in (value.fget, value.fset, value.fdel)]
        return property(parts[0], parts[1], parts[2], value.__doc__)
    return other(value) if is_called_as_it_is(value) else value


def is_called_as_it_is(value: Any) -> bool:
    """True for an object that is neither a value nor followed nor known to do no harm."""
    if hasattr(type(value), "__get__") or is_constant(value) or kind_of(value) is not None:
        return False
    return not (
        isinstance(value, type | types.ModuleType | np.ndarray | enum.Enum) or is_pure(value)
    )


def _around(
    value: types.FunctionType, inner: types.FunctionType,
    other: Callable[[types.FunctionType], types.FunctionType],
) -> types.FunctionType:  # fmt: skip
    """``value``, which is a function around ``inner``, around what stands for that."""
    ours = types.CellType(inner)
    if ours not in (value.__closure__ or ()):  # cells are alike if what they hold is
        return value
    made = types.CellType(other(inner))
    cells = tuple([made if cell == ours else cell for cell in value.__closure__ or ()])
    copy = types.FunctionType(
        value.__code__, value.__globals__, value.__name__, value.__defaults__, cells
    )
    copy.__kwdefaults__ = value.__kwdefaults__
    functools.update_wrapper(copy, value)
    return copy
