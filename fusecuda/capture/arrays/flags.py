"""Flags: what an array's memory is like, and whether it may be written to."""

from __future__ import annotations

from typing import Any

import numpy as np

_WRITEABLE = ("W", "WRITEABLE", "writeable")
_OWNED = ("O", "OWNDATA", "owndata")
_OWNED_BIT, _WRITEABLE_BIT = 0x4, 0x400  # of NumPy's numbers
_NUMPYS = type(np.empty(0).flags)


class Flags:
    """As what NumPy gives: it tells of a layout, and setting ``writeable`` has its effect.

    The layout is asked for where it is told.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)

    @property
    def _told(self) -> Any:
        return self._array.laid_out().flags

    def __getattr__(self, name: str) -> Any:
        if name in _WRITEABLE[2:]:
            return self._array.writeable and self._array.storage.writeable
        if name in _OWNED:
            return self._array.owns_data()
        return getattr(self._told, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _WRITEABLE[2:]:
            self._array.setflags(write=value)
        else:
            setattr(self._told, name, value)  # which NumPy refuses

    def __getitem__(self, name: Any) -> Any:
        if name in _WRITEABLE or name in _OWNED:
            return getattr(self, "writeable" if name in _WRITEABLE else "owndata")
        return self._told[name]

    def __setitem__(self, name: Any, value: Any) -> None:
        if name in _WRITEABLE:
            self.writeable = value
        else:
            self._told[name] = value

    @property
    def num(self) -> int:
        """All flags as the bits of one number."""
        told = int(self._told.num)
        for bit, flag in ((_OWNED_BIT, self.owndata), (_WRITEABLE_BIT, self.writeable)):
            told = told | bit if flag else told & ~bit
        return told

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags | _NUMPYS) and self.num == other.num

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = repr(self._told).splitlines(keepends=True)
        own = {"WRITEABLE": self.writeable, "OWNDATA": self.owndata}
        known = {name: f"  {name} : {value}\n" for name, value in own.items()}
        return "".join(known.get(line.partition(":")[0].strip(), line) for line in lines)
