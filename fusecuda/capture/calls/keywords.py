"""Keywords: the places that arguments given by name have among the parameters."""

from __future__ import annotations

import inspect
from typing import Any


def order_of(function: Any, count: int, kwargs: dict[str, Any]) -> list[tuple[str, Any]] | None:
    """What follows ``count`` positional arguments; None if names have to stay names."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    rest = parameters[count:]
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in (*parameters[:count], *rest)):
        return None
    if {p.name for p in rest} < set(kwargs) or not set(kwargs) <= {p.name for p in rest}:
        return None
    order: list[tuple[str, Any]] = []
    for p in rest:
        if p.name in kwargs:
            order.append(("keyword", p.name))
        elif p.default is p.empty:
            return None
        else:
            order.append(("default", p.default))
    return order


class Orders:
    """The orders of the calls of one function, by how many arguments have no names and which do."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, list[tuple[str, Any]] | None]] = {}

    def positional(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """All arguments as positional ones; None if names have to stay names."""
        key = (len(args), *kwargs)
        defaults = getattr(function, "__defaults__", None)
        known, order = self._known.get(key, (_NEW, None))
        if known is not defaults:
            order = order_of(function, len(args), kwargs)
            self._known[key] = defaults, order
        if order is None:
            return None
        return (*args, *[kwargs[v] if kind == "keyword" else v for kind, v in order])


_NEW = object()
