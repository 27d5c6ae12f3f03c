"""Lent: the memory of lazy arrays that the body of a lifted block works on."""

from __future__ import annotations

from typing import Any, ClassVar

from ..arrays.array import Array
from .border import Border, RecordedError
from .places import is_constant

_ITEMS_LIMIT = 256  # of a container next to lazy arrays, of which all parts are looked at


class _NoTwin:
    """What `Border` asks of the twin of a function, where there is none."""

    kinds: ClassVar[dict[type, type]] = {}
    originals: ClassVar[dict[int, Any]] = {}


_NO_TWIN = _NoTwin()


class LentMemory(Border):
    """Lets through what holds no lazy arrays in a way that nobody follows."""

    def __init__(self) -> None:
        super().__init__(_NO_TWIN)

    def given(self, value: Any) -> Any:
        kind = type(value)
        if kind in (list, tuple, dict):
            if len(value) > _ITEMS_LIMIT:
                raise RecordedError
        elif not (kind is Array or is_constant(value) or kind is range):
            raise RecordedError
        return super().given(value)
