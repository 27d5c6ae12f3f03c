"""Special: what classes hold that is reached without its name, or means nothing to a trace."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

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
MAKING = frozenset({"__init__", "__post_init__", "__new__"})

# Special methods that are reached by functions and formats alone, and by which names.
ON_DEMAND = {
    "__repr__": {"repr", "str", "print", "format", "%"},
    "__str__": {"repr", "str", "print", "format", "%"},
    "__format__": {"format", "%"},
    "__reduce__": {"copy", "deepcopy", "pickle"},
    "__copy__": {"copy"},
    "__deepcopy__": {"deepcopy"},
    "__hash__": {"hash", "set", "dict", "in"},
}


@functools.lru_cache(maxsize=1024)
def special(kind: Any) -> frozenset[str]:
    """The methods of a class that operators and calls reach without a name."""
    names = {n for n, v in vars(kind).items() if n.startswith("__") and isinstance(v, FUNCTION)}
    making = {"__new__"} & (vars(kind).keys() if "_fields" not in vars(kind) else set())
    return frozenset(names | making - ON_DEMAND.keys())
