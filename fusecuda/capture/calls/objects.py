"""Objects: instances of a script's own classes, and what stands for them in a whole.

A class has a twin if its instances are nothing but their attributes: no slots, no special methods
that are reached without a name, no bases but such classes.
"""

from __future__ import annotations

import abc
import functools
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.wrapping import Drawing, Unbound
from ..record.origin import is_users
from ..record.per_class import per_class
from .places import Wrapper, is_constant, unwrapped
from .printed import of_dataclass as represented_by

_SPECIAL = frozenset((
    "__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__",
    "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__init__", "__repr__", "__str__", "__post_init__", "__call__",
))  # fmt: skip
_OF_DATACLASSES = frozenset((
    "__dataclass_fields__", "__dataclass_params__", "__match_args__", "__replace__", "__eq__",
    "__hash__",
))  # fmt: skip
_OF_ABSTRACT_CLASSES = frozenset((
    "__abstractmethods__", "__parameters__", "__orig_bases__", "__subclasshook__",
    "__protocol_attrs__", "__callable_proto_members_only__", "__non_callable_proto_members__",
))  # fmt: skip
_ABSTRACT: tuple[Any, ...] = (abc.ABC, typing.Protocol, typing.Generic)  # which add nothing
_METACLASSES = (type, abc.ABCMeta, type(typing.Protocol))
_KNOWN_KINDS = (
    np.ndarray, np.generic, np.float64, np.int64, np.dtype, np.ufunc, Array, str, bytes, list, dict,
    set, frozenset, tuple, int, float, complex, type, property, types.FunctionType, Unbound,
    types.ModuleType, types.GeneratorType, types.MethodType, types.BuiltinFunctionType,
    types.CodeType, BaseException,
)  # fmt: skip
OF_NAMED = ("_fields", "_field_defaults", "_make", "_replace", "_asdict")
PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None)))
ORIGINAL = "_original"  # a slot, which is none of the attributes
_OF_TEXTS = {"__repr__", "__str__"}
_MAKE_TEXTS = {"repr", "str", "ascii", "format", "print"}
_DEPTH_LIMIT = 4


@per_class
def is_own(kind: Any) -> bool:
    """True for classes whose instances are nothing but their attributes."""
    if kind.__mro__[-1] is not object or not getattr(kind, "__dictoffset__", 0):
        return False
    if type(kind) not in _METACLASSES:
        return False
    for base in kind.__mro__[:-1]:
        names = vars(base)
        known = _SPECIAL | (_OF_DATACLASSES if "__dataclass_fields__" in names else frozenset())
        if type(kind) is not type:
            known |= _OF_ABSTRACT_CLASSES
        special = {n for n in names if n.startswith("__") and n.endswith("__")}
        if base not in _ABSTRACT and (not is_users(base.__module__) or special - known):
            return False
    return len(kind.__mro__) > 1


@per_class
def is_named(kind: Any) -> bool:
    """True for classes of named tuples that have nothing but their fields."""
    if kind.__bases__ != (tuple,) or kind.__dictoffset__ or not is_users(kind.__module__):
        return False
    fields, defaults = getattr(kind, "_fields", None), getattr(kind, "_field_defaults", {})
    if type(fields) is not tuple or not all(map(is_constant, defaults.values())):
        return False
    makers = ("collections", "typing", f"namedtuple_{kind.__name__}")
    return all(
        name.startswith("__annot") or _comes_from(makers, value)
        for name, value in vars(kind).items()
    )


def _comes_from(makers: Collection[str], value: Any) -> bool:
    """False for a function of another module, and what calls one."""
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if isinstance(function, types.FunctionType):
        return function.__globals__.get("__name__") in makers
    return not isinstance(function, property)


def is_object(value: Any) -> bool:
    """True for an instance of a class of the script's, which may have a twin."""
    return is_own(type(value))


def is_given(value: Any) -> bool:
    """True for functions that may have a twin where they are given to others."""
    is_function = type(value) in (types.FunctionType, Unbound)
    return is_function or (isinstance(value, Wrapper) and value.is_whole)


def is_bound(value: Any) -> bool:
    """True for a method together with its object, of which both may have twins."""
    is_method = type(value) is types.MethodType and is_given(value.__func__)
    return is_method and is_own(type(value.__self__))


def kinds_of(values: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """The classes of objects and generators among ``values`` and their attributes; functions."""
    for value in values if depth <= _DEPTH_LIMIT else ():
        kind: Any = type(value)
        if kind in PLAIN:
            continue
        if is_given(value):
            yield value
        elif kind is types.MethodType:
            if is_bound(value):
                yield value.__func__
                yield from kinds_of((value.__self__,), depth)
        elif kind in (list, tuple):
            yield from kinds_of(value, depth + 1)
        elif is_named(kind):
            yield kind
            yield from kinds_of(value, depth + 1)
        elif kind is dict:
            yield from kinds_of(value.values(), depth + 1)
        elif issubclass(kind, Drawing):
            yield kind
        elif kind.__module__ != "builtins" and kind is not Array and is_own(kind):
            yield kind
            yield from kinds_of(vars(value).values(), depth + 1)


@functools.lru_cache(maxsize=4096)
def is_only_of_objects(name: str) -> bool:
    """True for an attribute that neither arrays have nor anything else that is known."""
    return not any(hasattr(kind, name) for kind in _KNOWN_KINDS)


def members(kind: type, names: set[str]) -> dict[str, Any]:
    """What instances of ``kind`` find in their classes under ``names``; wholes as functions.

    So do texts that are made of them.
    """
    found: dict[str, Any] = {}
    known = names | {"__call__"} | (_OF_TEXTS if names & _MAKE_TEXTS else set())
    for base in reversed(kind.__mro__[:-1]):
        for name in vars(base).keys() & known:
            value = vars(base)[name]
            found[name] = unwrapped(value)
    return found


def is_of_dataclass(member: Any) -> bool:
    """True for a `__repr__` that a dataclass has been given."""
    wrapped = getattr(member, "__wrapped__", None)
    is_made = isinstance(wrapped, types.FunctionType) and wrapped.__code__.co_filename == "<string>"
    return is_made and member.__name__ == "__repr__"


def functions_of(member: Any) -> Iterator[types.FunctionType] | None:
    """The functions that a member of a class calls; None if it is not known what it does."""
    if is_of_dataclass(member):
        return iter(())
    if type(member) is types.FunctionType:
        return iter((member,))
    if type(member) is staticmethod and type(member.__func__) is types.FunctionType:
        return iter((member.__func__,))
    if type(member) is property and member.fdel is None:
        parts = [part for part in (member.fget, member.fset) if part is not None]
        functions = [part for part in parts if isinstance(part, types.FunctionType)]
        return iter(functions) if len(functions) == len(parts) else None
    return iter(()) if is_constant(member) else None


def twin_class(kind: Any, found: dict[str, Any], copied: Callable[[Any], Any]) -> type:
    """A class with the members ``found`` of ``kind``, whose functions are ``copied``."""
    space: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    if kind.__repr__ is object.__repr__:  # which tells an object by its place
        space |= {"__slots__": (ORIGINAL, "__dict__"), "__repr__": _as_the_original}
    for name, value in found.items():
        if is_of_dataclass(value):
            owner = next(base for base in kind.__mro__ if vars(base).get(name) is value)
            space[name] = represented_by(owner)
        elif type(value) is property:
            space[name] = property(copied(value.fget), copied(value.fset))
        elif type(value) is staticmethod:
            space[name] = staticmethod(copied(value.__func__))
        else:
            space[name] = copied(value)
    for name in ("__eq__", "__hash__"):
        if "__dataclass_fields__" in vars(kind) and name in vars(kind):
            space[name] = vars(kind)[name]
    return type(kind.__name__, (), space)


def _as_the_original(twin: Any) -> str:
    return object.__repr__(getattr(twin, ORIGINAL))


def stores_to(
    objects: Iterable[str], instructions: Sequence[Any], inner: Iterable[Any] = ()
) -> bool:  # fmt: skip
    """True if all attributes that code writes are those of ``objects``, variables that it is given.

    Those that it sets itself, or an ``inner`` instruction does, are none.
    """
    own = set(objects).difference(*map(_stored, (*instructions, *inner)))
    for i, instruction in enumerate(instructions):
        if instruction.opname == "DELETE_ATTR":
            return False
        if instruction.opname == "COPY" and not _loads(own, instructions[i - 1]):
            following = instructions[i + 1].opname
            if following in ("LOAD_ATTR", "LOAD_METHOD"):
                return False  # which may be what an operator writes to in place
        if instruction.opname == "STORE_ATTR":
            before = instructions[i - 1]
            if not is_only_of_objects(instruction.argval):
                return False
            if before.opname != "SWAP" and not _loads(own, before):
                return False
    return True


def _stored(instruction: Any) -> tuple[Any, ...]:
    """The variables that an instruction writes or deletes, one of two on some Pythons."""
    if not instruction.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_")):
        return ()
    argument = instruction.argval
    if type(argument) is not tuple:
        return (argument,)
    return argument if instruction.opname.count("STORE") == len(argument) else argument[:1]


def _loads(names: set[str], instruction: Any) -> bool:
    argument = instruction.argval
    loaded = argument[-1] if type(argument) is tuple and argument else argument
    return any(one in instruction.opname for one in ("LOAD_FAST", "LOAD_DEREF")) and loaded in names
