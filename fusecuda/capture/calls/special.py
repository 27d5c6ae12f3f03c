"""Special: what of classes is reached, by name or without, and what means nothing to a trace."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

from ..record.origin import is_standard
from .places import Wrapper

FUNCTION = types.FunctionType
HARMLESS = (
    type(vars(collections.namedtuple("N", "x"))["x"]),  # a field of a named tuple
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
    types.GenericAlias,
)
_MAKING = frozenset({"__init__", "__post_init__", "__new__"})

# Special methods that are reached by functions and formats alone, and by which names.
_ON_DEMAND = {
    "__repr__": {"repr", "str", "print", "format", "%"},
    "__str__": {"repr", "str", "print", "format", "%"},
    "__format__": {"format", "%"},
    "__reduce__": {"copy", "deepcopy", "pickle"},
    "__copy__": {"copy"},
    "__deepcopy__": {"deepcopy"},
    "__hash__": {"hash", "set", "dict", "in"},
}


@functools.lru_cache(maxsize=1024)
def _special(kind: Any) -> frozenset[str]:
    """The methods of a class that operators and calls reach without a name."""
    names = {n for n, v in vars(kind).items() if n.startswith("__") and isinstance(v, FUNCTION)}
    making = {"__new__"} & (vars(kind).keys() if "_fields" not in vars(kind) else set())
    return frozenset(names | making - _ON_DEMAND.keys())


def reached(kind: Any, names: set[str], may_make: bool) -> set[str]:
    """The names of what code with ``names`` finds in a class, of which it may make instances."""
    found: set[str] = vars(kind).keys() & names | _special(kind)
    if not may_make and not names & {"__class__", "type"}:
        found -= _MAKING - names
    return found | {n for n, by in _ON_DEMAND.items() if n in vars(kind) and by & names}


def inside(member: Any) -> Any:
    """What is called where a class holds ``member``: the function in a static method, and so on."""
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if isinstance(member, Wrapper):
        member = member.function
    if isinstance(member, FUNCTION) and is_standard(member.__code__.co_filename):
        member = getattr(member, "__wrapped__", None)
    return member.func if isinstance(member, functools.cached_property) else member
