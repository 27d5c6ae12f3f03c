"""By name: what `getattr` gives of NumPy for a name that the function computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.origin import attribute_of
from .places import MISSING, Place, is_constant
from .purity import is_pure
from .reads import Key


def numpys_by_name(
    seen: dict[Key, tuple[Place, Any]], used: Callable[[], None], looked: Callable[[str], None]
) -> Callable[..., Any]:
    """What stands for `getattr`: what it finds in NumPy is a condition, one of those ``seen``."""

    def by_name(value: Any, name: str, /, *default: Any) -> Any:
        if attribute_of(value, "__name__") == np.__name__ and type(name) is str:
            place = Place("object", np).attribute(name)
            there = place.read()
            if there is MISSING or is_constant(there) or is_pure(there):
                seen[place.key] = (place, there)
            else:
                used()
                looked(f"it takes numpy.{name} by name")
        return getattr(value, name, *default)

    return by_name
