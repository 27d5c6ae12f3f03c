"""Opaque: what we know nothing of is called as it is, on computed arguments.

A stand-in takes the place of a function or object that code of a `fused` function reads. It says so
before each use, gives the arrays among the arguments in their own memory, and stands in again for
opaque objects among the results. Arrays that come back may be somebody's own memory, so they are
shared: read and written at once.
"""

from __future__ import annotations

import array
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported
from ..record.flight import recording
from ..record.numbers import TracedScalar
from ..record.origin import attribute_of, module_of
from ..record.per_class import per_class
from ..record.structure import METHOD, TUPLE, kind_of, mapped
from .array import Array
from .as_user import as_user
from .memory import in_force
from .table import entry

NDArray = np.ndarray[Any, Any]
_FORWARDED = frozenset(
    f"__{name}__"
    for name in (
        *("call", "enter", "exit", "iter", "next", "len", "getitem", "setitem", "delitem"),
        *("contains", "bool", "int", "float", "index", "str", "repr", "format", "hash", "round"),
        *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"),
        *("bytes", "complex", "fspath", "floor", "ceil", "trunc", "reversed", "length_hint"),
        *("instancecheck", "subclasscheck"),
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
_IN_MEMORY = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")  # C code asks
_OF_CLASSES = ("__instancecheck__", "__subclasscheck__", "__or__", "__ror__")  # uses nothing
_BUFFERS = (memoryview, bytearray, array.array)
_DRAWING = ("numpy.random",)  # these keep no array that they are given, and give fresh ones
_FORGETTING = (  # and these keep no container
    *_DRAWING, "builtins", "random", "time", "datetime", "json", "pickle", "_pickle", "marshal",
    "pprint", "struct", "_struct", "zlib", "hashlib", "_hashlib", "textwrap", "logging", "warnings",
)  # fmt: skip
_SEEING = ("logging", "warnings")  # these name the line of their caller
_NONE: Mapping[int, Any] = types.MappingProxyType({})
_SIMPLE = (
    *(int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype, type),
    *(slice, range, type(...), type(NotImplemented)),
)


class StandIn:
    """Stands for an opaque object: what is done to it is done to that."""

    __slots__ = ("_before", "_method", "_value")

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, "_value")
        if name == "__class__":
            return type(value)
        method = object.__getattribute__(self, "_method")
        if method is not None and (found := method(name)) is not None:
            return found
        before = object.__getattribute__(self, "_before")
        before()
        held = getattr(value, name)
        return held if name in _IN_MEMORY else taken(held, before, fresh=False)

    def __setattr__(self, name: str, value: Any) -> None:
        originals = _handed_over(value)
        object.__getattribute__(self, "_before")()
        setattr(object.__getattribute__(self, "_value"), name, given(value, True, originals))


def stand_in(
    value: Any, before: Callable[[], None], method: Callable[[str], Any] | None = None
) -> Any:
    """What stands for ``value``; ``before`` is called each time that it is used.

    A ``method`` that is not None for a name stands for the one of that name. Memory stands for
    itself, and may be used at any time: others ask it for its buffer.
    """
    kind: Any = type(value)
    if issubclass(kind, _BUFFERS):
        before()
        return value
    made: Any = object.__new__(_class_for(kind))
    object.__setattr__(made, "_value", value)
    object.__setattr__(made, "_before", before)
    object.__setattr__(made, "_method", method)
    return made


@per_class
def _class_for(kind: Any) -> type:
    """A class of stand-ins with the operations that objects of ``kind`` have."""
    names = {n for n in _FORWARDED if _held(kind, n) is not None}
    space: dict[str, Any] = {n: _forwarded(n) for n in names}
    for name, method in _DISPATCHED.items():
        if any(name in vars(base) for base in kind.__mro__):
            space[name] = method if _held(kind, name) is not None else None
    return type("StandIn", (StandIn,), {"__slots__": (), **space})


def _held(kind: Any, name: str) -> Any:
    """What instances of ``kind`` find in it under ``name``; not what it finds in its own class."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _array_ufunc(self: Any, ufunc: Any, method: str, /, *args: Any, **kwargs: Any) -> Any:
    before = object.__getattribute__(self, "_before")
    return stand_in(getattr(ufunc, method), before)(*args, **kwargs)


def _array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    before = object.__getattribute__(self, "_before")
    return stand_in(function, before)(*args, **kwargs)


# What NumPy looks for in classes: objects that have it say themselves what its functions give.
_DISPATCHED = {"__array_ufunc__": _array_ufunc, "__array_function__": _array_function}


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        own = object.__getattribute__(self, "_method")
        if own is not None and (found := own(name)) is not None:
            return found(*args, **kwargs)
        value, before = original(self), object.__getattribute__(self, "_before")
        if name in _OF_CLASSES and type(value) is type:
            return getattr(value, name)(*map(original, args))
        keeps = not _is_of(value, _DRAWING)
        originals = {} if _is_of(value, _FORGETTING) else _handed_over((args, kwargs))
        before()
        own_args = (*args, *kwargs.values())
        args = tuple([given(a, keeps, originals) for a in args])
        kwargs = {k: given(v, keeps, originals) for k, v in kwargs.items()}
        if name == "__call__":
            seeing = _is_of(value, _SEEING)
            result = as_user()(value, args, kwargs) if seeing else value(*args, **kwargs)
        else:
            result = getattr(type(value), name)(value, *args, **kwargs)
        if keeps:
            _changes_seen(in_force().handed)
        pairs = zip(own_args, (*args, *kwargs.values()), strict=True)
        result = next((a for a, m in pairs if m is result and type(a) is Array), result)
        return self if result is value else taken(result, before, fresh=not keeps)

    return method


@entry
def as_opaque(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What ``function`` gives for arguments with a stand-in among them; NotImplemented without one.

    It is given what that stands for, and arrays in their memory, as opaque code is.
    """
    for value in (*args, *kwargs.values()):
        if issubclass(type(value), StandIn):
            before = object.__getattribute__(value, "_before")
            return stand_in(function, before)(*args, **kwargs)
    return NotImplemented


def _is_of(value: Any, modules: tuple[str, ...]) -> bool:
    """True for functions of ``modules``, for objects of their classes, and methods of these."""
    home = attribute_of(value, "__self__")
    if home is not None and not isinstance(home, types.ModuleType):
        return module_of(type(home)).startswith(modules)
    is_function = isinstance(value, types.FunctionType | types.BuiltinFunctionType)
    return module_of(value if is_function else type(value)).startswith(modules)


def _handed_over(value: Any) -> dict[int, Any]:
    """The originals of twins, if ``value``, which opaque code is about to get, has one in it."""
    handing = in_force().handing
    if handing is None:
        return {}
    handing.settle(lambda part, originals: given(part, True, originals))
    found: dict[int, Any] = handing.over(value, lambda part, known: given(part, True, known))
    return found


def original(value: Any) -> Any:
    """What a stand-in stands for; any other value itself."""
    return object.__getattribute__(value, "_value") if issubclass(type(value), StandIn) else value


def used(value: Any) -> Any:
    """What a stand-in stands for, which somebody is about to use."""
    object.__getattribute__(value, "_before")()
    return original(value)


def given(value: Any, keeps: bool = True, originals: Mapping[int, Any] = _NONE) -> Any:
    """``value`` as opaque code takes it: arrays in their memory, which it may ``keep``.

    In the place of twins, by their identity, are ``originals``.
    """

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
        return original(part)

    return mapped(value, leaf, dict(originals))


def _handed(lazy: Array, memory: NDArray) -> NDArray:
    """What opaque code gets for ``lazy`` each time: one object, the caller's own if it is that."""
    recorder = in_force()
    if id(lazy) not in recorder.handed:
        for given, own in zip(recorder.given, recorder.originals, strict=False):
            if given is lazy and own.flags.writeable == memory.flags.writeable:
                memory = own
        known_as(lazy, memory)
    known: NDArray = recorder.handed[id(lazy)][1]
    return known


def known_as(lazy: Array, memory: NDArray) -> Array:
    """``lazy``, which opaque code knows from now on as ``memory``."""
    handed, key = in_force().handed, id(lazy)
    known = weakref.ref(lazy, lambda reference: handed.pop(key, None))
    handed[key] = known, memory, memory.flags.writeable
    return lazy


def _of_memory(memory: NDArray) -> Array:
    """The lazy array that opaque code knows as ``memory``: the same one each time.

    Those that lie in its memory are read and written at once from then on, too.
    """
    recorder = in_force()
    known: list[tuple[Any, NDArray]] = []
    known += [(reference(), other) for reference, other, _ in recorder.handed.values()]
    known += list(zip(recorder.given, recorder.originals, strict=False))
    same: Array | None = next((a for a, other in known if other is memory and a is not None), None)
    if same is not None:
        return same
    made = shared(memory)
    near = [a for a, other in known if a is not None and np.may_share_memory(other, memory)]
    if near:
        recorder.flush()
    for lazy in near:
        lazy.storage.held = lazy.storage.escaped = lazy.storage.shared = True
    return known_as(made, memory)


def _changes_seen(handed: dict[int, Any]) -> None:
    """What opaque code has made read-only, or writeable, or given a shape, is so from now on."""
    for key, (reference, memory, before) in list(handed.items()):
        array, now = reference(), memory.flags.writeable
        if array is None:
            continue
        if now != before:
            array.let_go()
            array.writeable = now
            handed[key] = reference, memory, now
        if array.shape != memory.shape:
            array.shape = memory.shape


def taken(value: Any, before: Callable[[], None], fresh: bool) -> Any:
    """``value``, which opaque code has given, as the function takes it.

    Lazy arrays are the function's own: it has given them as a callback of that code.
    """
    if type(value) is np.ndarray:
        if not is_supported(value.dtype):
            return value
        if fresh and value.base is None:
            return Array.of_array(value, copy=False)
        return _of_memory(value)
    if isinstance(value, _SIMPLE) or issubclass(type(value), (Array, TracedScalar, StandIn)):
        return value
    kind = kind_of(value)
    if kind is TUPLE:
        return tuple([taken(part, before, fresh) for part in value])
    if isinstance(value, types.ModuleType):
        return value
    if kind not in (None, METHOD):
        if (handing := in_force().handing) is not None:
            handing.taken(value)
        return value
    return stand_in(value, before)


def shared(memory: NDArray) -> Array:
    """A lazy array over memory that others may read and write at any time."""
    result = Array.of_array(memory, copy=False)
    if not np.may_share_memory(result.storage.buffer, memory):  # elements that lie on no grid
        return result
    result.storage.held = result.storage.escaped = result.storage.shared = True
    return result
