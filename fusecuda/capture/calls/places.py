"""Places: where a function finds what it reads besides its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIMPLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)
MISSING = object()


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A global, builtin or closure variable, or an object, and attributes of what is there."""

    kind: str  # "global", "builtin", "cell" or "object"
    root: Any  # the dictionary, the cell or the object
    name: str = ""
    attributes: tuple[str, ...] = ()
    hidden_by: Any = None  # the globals in which a builtin's name must not appear

    @property
    def key(self) -> tuple[object, ...]:
        """What two places have in common that are the same."""
        return self.kind, id(self.root), self.name, self.attributes, id(self.hidden_by)

    def attribute(self, name: str) -> Place:
        """The place of an attribute of what this place holds."""
        return Place(self.kind, self.root, self.name, (*self.attributes, name), self.hidden_by)

    def read(self) -> Any:
        """What the place holds now, `MISSING` if there is nothing."""
        try:
            if self.kind == "cell":
                value = self.root.cell_contents
            elif self.kind == "object":
                value = self.root
            elif self.hidden_by is not None and self.name in self.hidden_by:
                return MISSING
            else:
                value = self.root[self.name]
            for name in self.attributes:
                value = getattr(value, name)
        except (KeyError, ValueError, AttributeError):
            return MISSING
        return value

    def text(self, constant: Callable[[Any], str]) -> str:
        """Python text that reads the place; ``constant`` names an object in it."""
        root = constant(self.root)
        if self.kind == "cell":
            root += ".cell_contents"
        elif self.kind != "object":
            root += f"[{self.name!r}]"
        return ".".join((root, *self.attributes))

    def condition(self, constant: Callable[[Any], str], seen: Any) -> str:
        """Python text that is true if the place holds ``seen`` or an equal simple value."""
        if seen is MISSING:
            return f"{self.name!r} not in {constant(self.root)}"
        text = self.text(constant)
        if is_constant(seen):
            text = f"((v := {text}) is {constant(seen)} or same(v, {constant(seen)}))"
        else:
            text = f"{text} is {constant(seen)}"
        if self.hidden_by is not None:
            text = f"{self.name!r} not in {constant(self.hidden_by)} and {text}"
        return text


def same(a: Any, b: Any) -> bool:
    """True for equal simple values of one type, the signs of zeros included."""
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | np.floating):
        return (a == b and bool(np.signbit(a) == np.signbit(b))) or (
            math.isnan(a) and math.isnan(b)
        )
    if isinstance(a, complex | np.complexfloating):
        return same(float(a.real), float(b.real)) and same(float(a.imag), float(b.imag))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return isinstance(a, (*SIMPLE, frozenset)) and bool(a == b)


def is_constant(value: Any) -> bool:
    """True for values that cannot change and that `same` can compare."""
    if isinstance(value, slice):
        return all(map(is_constant, (value.start, value.stop, value.step)))
    return isinstance(value, SIMPLE) or (
        type(value) in (tuple, frozenset) and all(map(is_constant, value))
    )
