"""Places: where a function finds what it reads besides its arguments."""

from __future__ import annotations

import datetime
import enum
import math
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..record.origin import HEAP_TYPE, is_users, module_of
from ..record.structure import is_frozen, kind_of, walk
from .identity import Identity

SIMPLE = (
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented),
    np.generic, np.dtype, datetime.timedelta,
)  # fmt: skip
MISSING = object()
PARTS_LIMIT = 2000  # of what one name leads to


class Wrapper:
    """What stands around a function that it calls: a `FusedFunction` or a `Whole`."""

    function: Any
    head: tuple[Any, ...] = ()  # what the function is given first, such as its ``self``
    is_whole = False  # a function of a script under ``run``, that nobody asked to be fused


def unwrapped(function: Any) -> Any:
    """The function that a wrapper stands around; others are themselves."""
    return function.function if isinstance(function, Wrapper) else function


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A variable, an object, or what a class holds under a name; and steps from what is there."""

    kind: str  # "global", "builtin", "cell", "object" or "member"
    root: Any  # the dictionary, the cell, the object or the class
    name: str = ""
    steps: tuple[tuple[str, Any], ...] = ()  # "attribute" and a name, or "item" and a key
    hidden_by: Any = None  # the globals in which a builtin's name must not appear

    @property
    def key(self) -> tuple[object, ...]:
        """What two places have in common that are the same."""
        return self.kind, id(self.root), self.name, self.steps, id(self.hidden_by)

    @property
    def title(self) -> str:
        """What the user calls it."""
        first = self.name if self.kind != "object" else getattr(self.root, "__name__", "")
        parts = [f".{key}" if kind == "attribute" else f"[{key!r}]" for kind, key in self.steps]
        return first + "".join(parts)

    def modules(self) -> list[types.ModuleType]:
        """The modules through which the steps lead, if they lead through modules alone."""
        found: list[types.ModuleType] = []
        for count in range(len(self.steps)):
            value = Place(self.kind, self.root, self.name, self.steps[:count]).read()
            if not isinstance(value, types.ModuleType):
                return []
            found.append(value)
        return found

    def attribute(self, name: str) -> Place:
        """The place of an attribute of what this place holds."""
        return self._further(("attribute", name))

    def item(self, key: Any) -> Place:
        """The place of an item of what this place holds."""
        return self._further(("item", key))

    def _further(self, step: tuple[str, Any]) -> Place:
        return Place(self.kind, self.root, self.name, (*self.steps, step), self.hidden_by)

    def read(self) -> Any:
        """What the place holds now, `MISSING` if there is nothing."""
        try:
            if self.kind == "cell":
                value = self.root.cell_contents
            elif self.kind == "object":
                value = self.root
            elif self.kind == "member":
                value = vars(self.root)[self.name]
            elif self.hidden_by is not None and self.name in self.hidden_by:
                return MISSING
            else:
                value = self.root[self.name]
            for kind, key in self.steps:
                value = getattr(value, key) if kind == "attribute" else value[key]
        except (KeyError, ValueError, AttributeError, IndexError, TypeError):
            return MISSING
        return value

    def write(self, value: Any) -> None:
        """Let the place hold ``value`` from now on."""
        if self.steps:
            whole = Place(self.kind, self.root, self.name, self.steps[:-1]).read()
            setattr(whole, self.steps[-1][1], value)
        elif self.kind == "cell":
            self.root.cell_contents = value
        else:
            self.root[self.name] = value

    def text(self, constant: Callable[[Any], str]) -> str:
        """Python text that reads the place; ``constant`` names an object in it."""
        text = constant(self.root)
        if self.kind == "cell":
            text += ".cell_contents"
        elif self.kind == "member":
            text = f"vars({text})[{self.name!r}]"
        elif self.kind != "object":
            text += f"[{self.name!r}]"
        for kind, key in self.steps:
            text += f".{key}" if kind == "attribute" else f"[{key!r}]"
        return text

    def condition(self, constant: Callable[[Any], str], seen: Any) -> str:
        """Python text that is true if the place holds ``seen`` or an equal simple value."""
        if seen is MISSING:
            if self.steps:
                return f"{constant(self)}.read() is {constant(MISSING)}"
            return f"{self.name!r} not in {constant(self.root)}"
        text = self.text(constant)
        if is_constant(seen):
            text = same_text(f"(v := {text})", "v", constant(seen), seen)
        else:
            text = f"{text} is {constant(seen)}"
        if self.hidden_by is not None:
            text = f"{self.name!r} not in {constant(self.hidden_by)} and {text}"
        return text


def same_text(first: str, then: str, known: str, seen: Any) -> str:
    """Python text that is true if ``first``, called ``then`` afterwards, is the same as ``seen``.

    An object that may get attributes is not, for being that object, as it was.
    """
    if _has_attributes(type(seen)):
        return f"same({first}, {known})"
    return f"({first} is {known} or same({then}, {known}))"


def same(a: Any, b: Any) -> bool:
    """True for equal simple values of one type and unit, the signs of zeros included.

    Sets are if they give their elements in the same order; a class is itself.
    """
    if type(a) is not type(b) or (_has_attributes(type(a)) and (vars(a) or vars(b))):
        return False
    if isinstance(a, tuple | frozenset):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | np.floating):
        return (a == b and bool(np.signbit(a) == np.signbit(b))) or (
            math.isnan(a) and math.isnan(b)
        )
    if isinstance(a, complex | np.complexfloating):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, enum.Enum | type):
        return a is b
    if isinstance(a, np.datetime64 | np.timedelta64):
        return a.dtype == b.dtype and bool(a.view("i8") == b.view("i8"))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return isinstance(a, SIMPLE) and bool(a == b)


def is_constant(value: Any) -> bool:
    """True for values that cannot change and that `same` can compare."""
    if type(value) is Identity:
        return False
    if type(value) is slice:
        return all(map(is_constant, (value.start, value.stop, value.step)))
    kind: Any = type(value)  # not what it says that it is
    if issubclass(kind, enum.Enum):
        return not any(map(_may_change, vars(value).values()))
    if issubclass(kind, SIMPLE) and kind is not np.void:  # which shows memory of an array
        return not (kind.__dictoffset__ and vars(value))  # a number with attributes
    return kind in (tuple, frozenset) and all(map(is_constant, value))


def _has_attributes(kind: Any) -> bool:
    """True if objects of a class of simple values may have attributes."""
    return (
        bool(kind.__dictoffset__) and issubclass(kind, SIMPLE) and not issubclass(kind, enum.Enum)
    )


def has_methods(value: Any) -> bool:
    """True for a value whose class is the user's, such as an enum or a kind of numbers."""
    kind: Any = type(value)
    return bool(kind.__flags__ & HEAP_TYPE) and is_users(module_of(kind))


def has_arrays(value: Any) -> bool:
    """True for an array, and for what has one in it."""
    return any(isinstance(part, np.ndarray) for part in walk(value, PARTS_LIMIT))


def with_methods(values: Iterable[Any]) -> list[Any]:
    """Those of constants and classes, and of what is in them, that have methods."""
    parts = [part for value in values for part in walk(value)]
    return [p for p in parts if has_methods(p) or (isinstance(p, type) and is_users(module_of(p)))]


def _may_change(value: Any) -> bool:
    """True if there is an array or a container in it that may be written to."""
    kinds = ((part, kind_of(part)) for part in walk(value))
    return any(
        isinstance(part, np.ndarray) or (kind is not None and kind.changes and not is_frozen(part))
        for part, kind in kinds
    )
