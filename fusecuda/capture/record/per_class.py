"""What is known of classes: kept while they live, and until one is known to have changed."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")
_tables: list[dict[int, Any]] = []


def per_class(function: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """``function`` of a class, asked once for each; the class is not kept alive."""
    known: dict[int, tuple[weakref.ref[type], _T]] = {}
    _tables.append(known)

    @functools.wraps(function)
    def found(kind: Any) -> _T:
        key = id(kind)
        entry = known.get(key)
        if entry is None:
            entry = weakref.ref(kind, lambda _: known.pop(key, None)), function(kind)
            known[key] = entry
        return entry[1]

    return found


def forget() -> None:
    """Let everything be asked again: a class has changed."""
    for known in _tables:
        known.clear()
