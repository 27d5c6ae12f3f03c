"""Growing: a list that tells whether its program has done more than make it longer.

It stands for a list of the caller's. One that only grows may be of any length in a replay.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Growing(list[Any]):
    """A list that knows whether anybody has done more than make it longer."""

    touched = False
    start = 0  # how long it was
    __class__ = property(lambda self: list)

    def __getitem__(self, key: Any) -> Any:
        new = type(key) is int and self.start - list.__len__(self) <= key < 0
        self.touched = self.touched or not new
        return list.__getitem__(self, key)

    def extend(self, values: Any) -> None:
        self.touched = self.touched or values is self
        list.extend(self, values)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self.touched = True
        return list, (), None, list.__iter__(self)  # a copy is a list like any


def _touching(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    @functools.wraps(plain)
    def method(self: Growing, /, *args: Any, **kwargs: Any) -> Any:
        self.touched = True
        return plain(self, *args, **kwargs)

    return method


def touching(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of a list, written in C, which asks none of its methods."""

    @functools.wraps(function)
    def call(value: Any, *args: Any) -> Any:
        if type(value) is Growing:
            value.touched = True
        return function(value, *args)

    return call


for _name in (
    *("__setitem__", "__delitem__", "__iter__", "__len__", "__contains__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__iadd__"),
    *("__mul__", "__rmul__", "__imul__", "__reversed__", "__repr__"),
    *("index", "count", "pop", "remove", "insert", "sort", "reverse", "clear", "copy"),
):
    setattr(Growing, _name, _touching(_name))
