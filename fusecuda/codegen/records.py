"""Records: values of our own classes as text, and back; nothing in a text is ever executed.

A text is JSON: the names of the kinds of values that occur, and a list of records, each the number
of its kind and what it holds. Numbers, strings, True, False and None are written as they are;
everything else as ``[n]``, which stands for record ``n``, one that comes before. So what is one
object is one again, and what cannot change and is equal is written once. A kind is a class of this
package, of which all declared fields are written, or a container.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from types import MemberDescriptorType
from typing import Any

import numpy as np

from ..graph.dtypes import type_text

_PLAIN = frozenset((type(None), bool, int, float, str))
_PACKAGE = __name__.split(".", maxsplit=1)[0]
_CLASS = re.compile(r"((?:graph|fusion|codegen|cpu_fallback|emit_cuda|streams)\.\w+)\.(\w+)")
_Made = Callable[[list[Any]], Any]


def to_text(value: Any) -> str:
    """The text that `from_text` makes ``value`` of again; TypeError for what is no such value."""
    writer = _Writer()
    last = writer.written(value)
    return json.dumps([list(writer.kinds), writer.records, last], separators=(",", ":"))


def from_text(text: str | bytes) -> Any:
    """The value that `to_text` wrote; ValueError, or what its parts raise, for any other text."""
    kinds, records, last = json.loads(text)
    make = [_maker(kind) for kind in kinds]
    made: list[Any] = []
    for kind, *parts in records:
        made.append(make[kind]([made[p[0]] if type(p) is list else p for p in parts]))
    return made[last[0]] if type(last) is list else last


class _Writer:
    """The records of what has been written."""

    def __init__(self) -> None:
        self.kinds: dict[str, int] = {}
        self.records: list[list[Any]] = []
        self._number: dict[int, int] = {}  # by identity
        self._equal: dict[str, int] = {}  # by text, of what never changes

    def written(self, value: Any) -> Any:
        """What stands for ``value``, all that it holds being written before it."""
        stack: list[tuple[Any, str, Sequence[Any], Iterator[Any]]] = []
        begun: set[int] = set()

        def begin(value: Any) -> None:
            if type(value) in _PLAIN or id(value) in self._number:
                return
            if id(value) in begun:
                raise TypeError(f"a {type(value).__name__} is part of itself")
            begun.add(id(value))
            kind, parts = _taken_apart(value)
            stack.append((value, kind, parts, iter(parts)))

        begin(value)
        while stack:
            top = len(stack)
            whole, kind, parts, left = stack[-1]
            for part in left:
                begin(part)
                if len(stack) > top:
                    break
            else:
                stack.pop()
                self._number[id(whole)] = self._record(whole, kind, parts)
        return self._shown(value)

    def _shown(self, part: Any) -> Any:
        return part if type(part) in _PLAIN else [self._number[id(part)]]

    def _record(self, value: Any, kind: str, parts: Sequence[Any]) -> int:
        """The number of the record of ``value``: a new one, or that of what is equal."""
        number = self.kinds.setdefault(kind, len(self.kinds))
        record = [number, *map(self._shown, parts)]
        if _is_fixed(type(value)):  # type: ignore[arg-type]
            text = json.dumps(record)
            same = self._equal.setdefault(text, len(self.records))
            if same < len(self.records):
                return same
        self.records.append(record)
        return len(self.records) - 1


def _taken_apart(value: Any) -> tuple[str, Sequence[Any]]:
    """The kind of ``value``, and what it holds."""
    cls = type(value)
    if cls in _CONTAINERS:
        return cls.__name__, tuple(value)
    if cls is dict:
        return "dict", [part for item in value.items() for part in item]
    if cls is bytes:
        return "bytes", (value.hex(),)
    if isinstance(value, np.dtype):
        text = type_text(value)
        if np.dtype(text) != value:
            raise TypeError(f"{value} is more than its text")
        return "dtype", (text,)
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix(_PACKAGE + ".")
    if not _CLASS.fullmatch(name):
        raise TypeError(f"{name} is no kind of value that is written")
    if issubclass(cls, tuple):
        return name, value
    return name, [getattr(value, field) for field in _declared(cls)]  # type: ignore[arg-type]


@cache
def _declared(cls: type[Any]) -> tuple[str, ...]:
    """The names of all that an object of ``cls`` holds."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    slots = vars(cls).get("__slots__")
    if slots is None:
        raise TypeError(f"{cls.__qualname__} declares no fields")
    return tuple(name for name in slots if name != "__weakref__")


@cache
def _is_fixed(cls: type[Any]) -> bool:
    """True if values of ``cls`` never change, so that equal ones are as good as one."""
    frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return frozen or issubclass(cls, tuple | frozenset | bytes | np.dtype)


def _maker(kind: str) -> _Made:
    """What makes a value of ``kind`` of all that it holds."""
    if kind in _MAKERS:
        return _MAKERS[kind]
    known = _CLASS.fullmatch(kind)
    if known is None:
        raise ValueError(f"there is no kind {kind!r}")
    cls = getattr(import_module(f"{_PACKAGE}.{known[1]}"), known[2])
    if not isinstance(cls, type):
        raise ValueError(f"{kind} is no class")
    return cls._make if issubclass(cls, tuple) else _filled(cls)  # type: ignore[attr-defined]


def _filled(cls: type) -> _Made:
    """What makes an object of ``cls`` as it was: no constructor runs."""
    names = _declared(cls)
    members = [getattr(cls, name, None) for name in names]
    if not all(isinstance(member, MemberDescriptorType) for member in members):
        return lambda parts: _with(cls, names, parts)
    setters = [member.__set__ for member in members]  # type: ignore[union-attr]

    def make(parts: list[Any]) -> Any:
        made: Any = object.__new__(cls)
        for setter, part in zip(setters, parts, strict=True):
            setter(made, part)
        return made

    return make


def _with(cls: type, names: Sequence[str], parts: Sequence[Any]) -> Any:
    made: Any = object.__new__(cls)
    vars(made).update(zip(names, parts, strict=True))
    return made


_CONTAINERS = (tuple, list, set, frozenset)
_MAKERS: dict[str, _Made] = {
    **{cls.__name__: cls for cls in _CONTAINERS},
    "dict": lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "bytes": lambda parts: bytes.fromhex(*parts),
    "dtype": lambda parts: np.dtype(*parts),
}
