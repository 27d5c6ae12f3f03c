"""Lent: the memory of lazy arrays that the body of a lifted block works on."""

from __future__ import annotations

from typing import Any

from ..arrays.array import Array
from .border import Border, RecordedError
from .places import is_constant

_ITEMS_LIMIT = 256  # of a container next to lazy arrays, of which all parts are looked at


class LentMemory(Border):
    """Lets through what holds no lazy arrays in a way that nobody follows."""

    def given(self, value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, dict):
            if len(value) > _ITEMS_LIMIT:
                raise RecordedError
        elif not (kind is Array or is_constant(value) or kind is range):
            raise RecordedError
        return super().given(value)
