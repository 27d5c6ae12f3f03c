"""Printed: texts that a whole makes look as if they were made of lazy arrays.

What it calls by name has a stand-in; where instructions make a text, a second form of its code
(`text_codes`) lets what they show pass through the functions of `SHOWING`.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ..arrays.array import Array
from ..arrays.memory import new
from ..record.structure import NAMED, kind_of


def shown(*values: Any, **keywords: Any) -> None:
    """`print`, in a function on NumPy's memory."""
    print(*map(_inside, values), **keywords)


def _text(*values: Any, **keywords: Any) -> str:
    return str(*map(_inside, values), **keywords)


def _represented(value: Any, /) -> str:
    return repr(lazy(value))


def _in_ascii(value: Any, /) -> str:
    return ascii(lazy(value))


def _formatted(value: Any, form: str = "", /) -> str:
    return format(_inside(value), form)


def lazy(value: Any) -> Any:
    """What looks as ``value`` would if all arrays and numbers of NumPy's in it were lazy."""
    if isinstance(value, np.generic | np.ndarray) and is_numeric(value.dtype):
        return new(Array, value)
    return _inside(value)


def _inside(value: Any) -> Any:
    """As `lazy`, of what looks the same as a lazy array does by itself."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(lazy, value))
    if kind is dict:
        return {lazy(key): lazy(part) for key, part in value.items()}
    if kind_of(value) is NAMED:
        return NAMED.make(value, list(map(lazy, value)))
    return _Told(value) if isinstance(value, BaseException) else value


def _each(values: Iterable[Any]) -> Iterator[Any]:
    return map(lazy, values)


class _Told:
    """The texts of an error whose arguments are shown."""

    def __init__(self, error: BaseException) -> None:
        given, error.args = error.args, tuple(map(lazy, error.args))
        try:
            self.text, self.represented = str(error), repr(error)
        finally:
            error.args = given

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.represented

    def __format__(self, form: str) -> str:
        return format(self.text, form)


def of_dataclass(kind: Any) -> Callable[[Any], str]:
    """`repr` of what stands for objects of a dataclass."""
    names = [field.name for field in dataclasses.fields(kind) if field.repr]

    @reprlib.recursive_repr()
    def represented(self: Any) -> str:
        parts = [f"{name}={_represented(getattr(self, name))}" for name in names]
        return f"{type(self).__qualname__}({', '.join(parts)})"

    return represented


STAND_INS: dict[Any, Any] = {
    print: shown,
    str: _text,
    repr: _represented,
    ascii: _in_ascii,
    format: _formatted,
}
SHOWING: dict[str, Any] = {"<inside>": _inside, "<lazy>": lazy, "<each>": _each}
