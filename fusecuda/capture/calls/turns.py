"""Turns: what a loop goes through from where it is, on lazy arrays or on what stands for them."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..arrays.array import Array
from .objects import PLAIN

Given = Callable[[Any], Any]  # what stands for a container
_ITEMS_LIMIT = 256  # of a list of other things than numbers, for which another stands


class Turns:
    """What a loop goes through; some turns are taken of it at a time."""

    containers: tuple[Any, ...] = ()  # in which arrays may be

    def is_over(self) -> bool:
        """True if there are no more turns."""
        raise NotImplementedError

    def on(self, given: Given) -> Iterator[Any]:
        """The turns that are left, on what ``given`` says."""
        raise NotImplementedError


class _Same(Turns):
    """Numbers, texts or nothing, which are the same either way."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self.iterator = iterator
        self.first: list[Any] = []  # the next one, if it is known

    def is_over(self) -> bool:
        if not self.first:
            self.first += itertools.islice(self.iterator, 1)
        return not self.first

    def on(self, given: Given) -> Iterator[Any]:
        return itertools.chain(self._known(), self.iterator)

    def _known(self) -> Iterator[Any]:
        while self.first:
            yield self.first.pop()


class _Each(Turns):
    """The elements of a list, a tuple or an array."""

    def __init__(self, items: Any) -> None:
        self.items, self.at = items, 0
        self.containers = (items,)

    def is_over(self) -> bool:
        return self.at >= len(self.items)

    def on(self, given: Given) -> Iterator[Any]:
        return self._from(given(self.items))

    def _from(self, items: Any) -> Iterator[Any]:
        while self.at < len(items):
            self.at += 1
            yield items[self.at - 1]


class _Zipped(Turns):
    """As `zip` gives them."""

    def __init__(self, parts: Sequence[Turns]) -> None:
        self.parts = parts
        self.containers = tuple([one for part in parts for one in part.containers])

    def is_over(self) -> bool:
        return not self.parts or any([part.is_over() for part in self.parts])

    def on(self, given: Given) -> Iterator[Any]:
        return zip(*[part.on(given) for part in self.parts], strict=False)


class _Counted(Turns):
    """As `enumerate` gives them."""

    def __init__(self, inner: Turns, start: int) -> None:
        self.inner, self.number = inner, start
        self.containers = inner.containers

    def is_over(self) -> bool:
        return self.inner.is_over()

    def on(self, given: Given) -> Iterator[Any]:
        return self._counted(self.inner.on(given))

    def _counted(self, inner: Iterator[Any]) -> Iterator[Any]:
        for one in inner:
            self.number += 1
            yield self.number - 1, one


def turns_of(iterable: Any, maker: str, space: dict[str, Any]) -> Turns | None:
    """What a loop goes through; None if it could not be gone through in parts.

    That is ``iterable``, or what the built-in ``maker`` makes of it as arguments, if that is what
    its name means to a function with the globals ``space``.
    """
    if iterable is None:
        return _Same(itertools.repeat(None))
    if not maker:
        return _each(iterable)
    if space.get(maker) not in (None, getattr(builtins, maker)):
        return None
    start = iterable[1] if maker == "enumerate" and len(iterable) == 2 else 0
    parts = [_each(one) for one in (iterable if maker == "zip" else iterable[:1])]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or type(start) is not int:
        return None
    return _Zipped(known) if maker == "zip" else _Counted(known[0], start)


def _each(value: Any) -> Turns | None:
    kind = type(value)
    if kind is range or kind is str:
        return _Same(iter(value))
    if kind is Array:
        return _Each(value) if value.shape else None
    if kind not in (list, tuple):
        return None
    if all([type(one) in PLAIN for one in value]):
        return _Same(iter(value))
    return _Each(value) if len(value) <= _ITEMS_LIMIT else None
