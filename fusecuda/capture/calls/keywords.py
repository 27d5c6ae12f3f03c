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
