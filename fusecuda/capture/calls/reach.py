"""Reach: whether opaque objects hold what a call works on, for then they would see old values."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

_REACH_LIMIT = 2000  # objects looked at that an opaque one holds


def held_by_opaque(
    opaque: Sequence[Any], containers: Sequence[Any], arrays: Sequence[np.ndarray[Any, Any]]
) -> str:
    """Why ``opaque`` objects may not be called: they hold containers or memory of the call's."""
    ours = {id(container) for container in containers}
    for one in opaque:
        if isinstance(one, types.ModuleType | type):
            continue
        for part in _held_by(one):
            if id(part) in ours or (
                isinstance(part, np.ndarray) and any(np.may_share_memory(part, a) for a in arrays)
            ):
                return f"a {type(one).__name__} holds what it works on"
    return ""


def _held_by(value: Any) -> list[Any]:
    """What an opaque object holds, as far as Python can tell; code and modules are left out."""
    found: list[Any] = []
    seen: set[int] = set()
    stack = [value]
    while stack and len(found) < _REACH_LIMIT:
        current = stack.pop()
        if id(current) in seen or isinstance(current, _CODE):
            continue
        seen.add(id(current))
        found.append(current)
        if isinstance(current, weakref.ReferenceType):
            stack.append(current())
        elif type(current) in weakref.ProxyTypes:
            stack.append(_behind(current))
        elif isinstance(current, types.FunctionType):
            stack.extend(current.__closure__ or ())
            stack.extend(current.__defaults__ or ())
        else:
            stack.extend(gc.get_referents(current))
    return found


def _behind(proxy: Any) -> Any:
    """The object that a weak proxy passes all on to; None if it is gone."""
    try:
        return proxy.__repr__.__self__
    except ReferenceError:
        return None


_CODE = (types.ModuleType, type, types.CodeType, str, bytes, int, float)
