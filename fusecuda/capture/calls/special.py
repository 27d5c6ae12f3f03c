"""Special: what of classes is reached, by name or without, and what means nothing to a trace."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

from ..record.origin import attribute_of, is_standard, is_users, module_of
from ..record.per_class import per_class
from .places import MISSING, Wrapper, is_constant

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
_OF_MEMBERS = {"value": "_value_", "name": "_name_"}  # of enums, where these are properties
_OF_EACH = {"_value_", "_name_", "__objclass__", "_sort_order_"}
_MAKING = frozenset({"__init__", "__post_init__", "__new__"})

# Special methods that are reached by functions and formats alone, and by which names.
_ON_DEMAND = {
    "__repr__": {"repr", "str", "print", "format"},
    "__str__": {"repr", "str", "print", "format"},
    "__format__": {"format"},
    "__reduce__": {"copy", "deepcopy", "pickle"},
    "__copy__": {"copy"},
    "__deepcopy__": {"deepcopy"},
    "__hash__": {"hash", "set", "dict", "in"},
    "__init_subclass__": {"class"},
    "__match_args__": {"match"},
}


@per_class
def _special(kind: Any) -> frozenset[str]:
    """The methods of a class that operators and calls reach without a name."""
    names = {n for n, v in vars(kind).items() if n.startswith("__") and _is_called(v)} - {"__new__"}
    making = {"__new__"} & (vars(kind).keys() if "_fields" not in vars(kind) else set())
    return frozenset(names | making - _ON_DEMAND.keys())


def _is_called(member: Any) -> bool:
    """True for what a class holds and Python calls: functions, descriptors and other objects."""
    if isinstance(member, (*HARMLESS, type)) or is_constant(member):
        return False
    return callable(member) or hasattr(type(member), "__get__")


def reached(kind: Any, names: set[str], may_make: bool, every: bool = False) -> set[str]:
    """The names of what code with ``names`` finds in a class, of which it may make instances.

    That is ``every`` one where it may look at all that a class has.
    """
    found: set[str] = vars(kind).keys() & names | _special(kind)
    if every:
        found |= {name for name in vars(kind) if not name.startswith("__")}
    if not may_make and not names & {"__class__", "type"}:
        found -= _MAKING - names
    return found | {n for n, by in _ON_DEMAND.items() if n in vars(kind) and by & names}


def heirs_of(kind: Any, names: set[str]) -> list[Any]:
    """The classes that code with ``names`` finds by a class that they are made of."""
    return type.__subclasses__(kind) if "__subclasses__" in names else []


def reached_of_member(member: Any, names: set[str]) -> set[str]:
    """The attributes of a ``member`` of an enum that code with ``names`` finds."""
    found: set[str] = vars(member).keys() & {_OF_MEMBERS.get(name, name) for name in names}
    return found


def marked_members(kind: Any) -> list[Any]:
    """The members of an enum that have more attributes than those of any."""
    return [member for member in kind if vars(member).keys() - _OF_EACH]


def finds_in_class(value: Any, name: str) -> bool:
    """True if a function, a constant or a class of the user's has what ``value.name`` gives."""
    kind: Any = type(value)
    own = attribute_of(value, "__dict__") or {}
    if isinstance(value, FUNCTION) or is_constant(value):
        return name in own or _held(kind.__mro__, name) is not MISSING
    if issubclass(kind, type):
        return _held((*value.__mro__, *kind.__mro__), name) is not MISSING
    found = _held((value.__self_class__ if kind is super else kind).__mro__, name)
    return found is not MISSING and (name not in own or hasattr(type(found), "__set__"))


def _held(kinds: tuple[Any, ...], name: str) -> Any:
    """What the first of the user's ``kinds`` that has it holds under ``name``."""
    users = (vars(kind) for kind in kinds if name in vars(kind) and is_users(module_of(kind)))
    return next(users, {name: MISSING})[name]


def inside(member: Any) -> Any:
    """What is called where a class holds ``member``: the function in a static method, and so on."""
    if isinstance(member, staticmethod | classmethod):
        member = member.__func__
    if isinstance(member, Wrapper):
        member = member.function
    if isinstance(member, FUNCTION) and is_standard(member.__code__.co_filename):
        member = getattr(member, "__wrapped__", None)
    return member.func if isinstance(member, functools.cached_property) else member
