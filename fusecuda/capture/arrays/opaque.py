"""Opaque: what we know nothing of is called as it is, on computed arguments.

A stand-in takes the place of a function or object that code of a `fused` function reads. It says so
before each use, gives the arrays among the arguments in their own memory, and stands in again for
opaque objects among the results. Arrays that come back may be somebody's own memory, so they are
shared: read and written at once.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported
from ..record.flight import recording
from ..record.numbers import TracedScalar
from ..record.origin import module_of
from ..record.structure import METHOD, TUPLE, kind_of, mapped
from .array import Array
from .memory import in_force

_FORWARDED = frozenset(
    f"__{name}__"
    for name in (
        *("call", "enter", "exit", "iter", "next", "len", "getitem", "setitem", "delitem"),
        *("contains", "bool", "int", "float", "index", "str", "repr", "format", "hash", "round"),
        *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
        *(
            prefix + name
            for prefix in ("", "r", "i")
            for name in (
                *("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow"),
                *("lshift", "rshift", "and", "or", "xor"),
            )
        ),
    )
)
_DRAWING = ("numpy.random",)  # these keep no array that they are given, and give fresh ones
_SIMPLE = (
    *(int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, type),
    *(slice, range, type(...), type(NotImplemented)),
)


class StandIn:
    """Stands for an opaque object: what is done to it is done to that."""

    __slots__ = ("_before", "_value")

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, "_value")
        if name == "__class__":
            return type(value)
        before = object.__getattribute__(self, "_before")
        before()
        return _taken(getattr(value, name), before, fresh=False)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "_before")()
        setattr(object.__getattribute__(self, "_value"), name, given(value))


def stand_in(value: Any, before: Callable[[], None]) -> Any:
    """What stands for ``value``; ``before`` is called each time that it is used."""
    kind: Any = type(value)
    made: Any = object.__new__(_class_for(kind))
    object.__setattr__(made, "_value", value)
    object.__setattr__(made, "_before", before)
    return made


@functools.lru_cache(maxsize=1024)
def _class_for(kind: Any) -> type:
    """A class of stand-ins with the operations that objects of ``kind`` have."""
    names = {n for n in _FORWARDED if getattr(kind, n, None) is not None}
    space: dict[str, Any] = {n: _forwarded(n) for n in names}
    return type("StandIn", (StandIn,), {"__slots__": (), **space})


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        value, before = original(self), object.__getattribute__(self, "_before")
        before()
        keeps = not _is_drawing(value)
        args = tuple([given(a, keeps) for a in args])
        kwargs = {k: given(v, keeps) for k, v in kwargs.items()}
        if name == "__call__":
            result = value(*args, **kwargs)
        else:
            result = getattr(type(value), name)(value, *args, **kwargs)
        if keeps:
            _flags_seen(in_force().handed)
        return self if result is value else _taken(result, before, fresh=not keeps)

    return method


def _is_drawing(value: Any) -> bool:
    """True for random generators and their methods."""
    home = getattr(value, "__self__", None)
    kind = type(value) if home is None or isinstance(home, types.ModuleType) else type(home)
    return module_of(kind).startswith(_DRAWING)


def original(value: Any) -> Any:
    """What a stand-in stands for; any other value itself."""
    return object.__getattribute__(value, "_value") if issubclass(type(value), StandIn) else value


def given(value: Any, keeps: bool = True) -> Any:
    """``value`` as opaque code takes it: arrays in their memory, which it may ``keep``."""

    def leaf(part: Any) -> Any:
        kind = type(part)
        if kind is Array:
            with recording:
                memory = part.at_once()
                if keeps:
                    storage = part.storage
                    storage.held = storage.escaped = storage.shared = True
                    if not part.is_scalar:
                        memory = _handed(part, memory)
            return memory[()] if part.is_scalar else memory
        if kind is TracedScalar:
            return part.seen()
        if kind is slice:
            return slice(*map(leaf, (part.start, part.stop, part.step)))
        return original(part)

    return mapped(value, leaf)


def _handed(array: Array, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What opaque code gets for ``array`` each time: one object, the caller's own if it is that."""
    recorder = in_force()
    key = id(array)
    if key not in recorder.handed:
        for lazy, own in zip(recorder.given, recorder.originals, strict=False):
            if lazy is array and own.flags.writeable == memory.flags.writeable:
                memory = own
        handed = recorder.handed
        known = weakref.ref(array, lambda reference: handed.pop(key, None))
        recorder.handed[key] = known, memory, memory.flags.writeable
    known_as: np.ndarray[Any, Any] = recorder.handed[key][1]
    return known_as


def _flags_seen(handed: dict[int, Any]) -> None:
    """What opaque code has made read-only, or writeable, is so from now on."""
    for key, (reference, memory, before) in list(handed.items()):
        array, now = reference(), memory.flags.writeable
        if array is not None and now != before:
            array.let_go()
            array.writeable = now
            handed[key] = reference, memory, now


def _taken(value: Any, before: Callable[[], None], fresh: bool) -> Any:
    """``value``, which opaque code has given, as the function takes it."""
    if type(value) is np.ndarray:
        if not is_supported(value.dtype):
            return value
        if fresh and value.base is None:
            return Array.of_array(value, copy=False)
        return shared(value)
    if isinstance(value, _SIMPLE) or issubclass(type(value), StandIn):
        return value
    kind = kind_of(value)
    if kind is TUPLE:
        return tuple([_taken(part, before, fresh) for part in value])
    if isinstance(value, types.ModuleType) or kind not in (None, METHOD):
        return value
    return stand_in(value, before)


def shared(array: np.ndarray[Any, Any]) -> Array:
    """A lazy array over memory that others may read and write at any time."""
    result = Array.of_array(array, copy=False)
    if not np.may_share_memory(result.storage.buffer, array):  # elements that lie on no grid
        return result
    result.storage.held = result.storage.escaped = result.storage.shared = True
    return result
