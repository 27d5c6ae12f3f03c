"""By name: what `getattr` and its kin give for names that the function computes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.numbers import TracedScalar
from ..record.origin import attribute_of, module_of
from .places import MISSING, Place, is_constant
from .plain_values import takes_plain_values
from .purity import is_pure
from .reads import Reads
from .special import finds_in_class

BY_NAME = (getattr, operator.attrgetter, operator.methodcaller)
_REPLACED = ("math", "cmath", "_heapq")


def is_replaced(value: Any) -> bool:
    """True for pure functions for which others stand while a function is recorded."""
    known = any(value is function for function in BY_NAME)
    return known or module_of(value) in _REPLACED or takes_plain_values(value)


def found_by_name(
    function: Any,
    reads: Reads,
    used: Callable[[], None],
    looked: Callable[[str], None],
    asks: Callable[[str], None],
) -> Callable[..., Any]:
    """What stands for ``function``, one of `BY_NAME`.

    What is found in NumPy is a condition. Where a class or a function of the user's holds it under
    a name that was not looked for in it, recording ``asks`` for that.
    """

    def by_name(value: Any, name: str, /, *default: Any) -> Any:
        if attribute_of(value, "__name__") == np.__name__ and type(name) is str:
            place = Place("object", np).attribute(name)
            there = place.read()
            if there is MISSING or is_constant(there) or is_pure(there):
                reads.values[place.key] = (place, there)
            else:
                used()
                looked(f"it takes numpy.{name} by name")
        elif type(name) is str and name not in reads.names and finds_in_class(value, name):
            asks(name)
        if type(value) is TracedScalar and not hasattr(value.value, name):
            value = value.value  # whose type is a condition
        return getattr(value, name, *default)

    def attrgetter(*paths: str) -> Callable[[Any], Any]:
        operator.attrgetter(*paths)  # raises what it does

        def get(value: Any, /) -> Any:
            found = [functools.reduce(by_name, path.split("."), value) for path in paths]
            return found[0] if len(found) == 1 else tuple(found)

        return get

    def methodcaller(name: str, /, *args: Any, **named: Any) -> Callable[[Any], Any]:
        operator.methodcaller(name)
        return lambda value, /: by_name(value, name)(*args, **named)

    return (by_name, attrgetter, methodcaller)[BY_NAME.index(function)]
