"""Picked: what masks pick of CuPy's arrays, by a kernel of ours instead of CuPy's several.

A CuPy array has an extent, so what is pending is computed with it, in one launch where it fuses,
and how many elements there are is looked at, as CuPy does itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..arrays.array import Array
from ..arrays.compaction import Compaction
from ..arrays.picks import Pick
from ..record.storage import Storage


@dataclass(frozen=True, slots=True)
class Begun:
    """What an operation gives, arrays or a ``kind`` of several, recorded and not computed yet."""

    kind: Any
    storages: list[Storage]

    def of(self, arrays: list[Any]) -> Any:
        """The operation's result."""
        return arrays[0] if self.kind is None else self.kind(arrays)


def begun(result: Any) -> Begun | None:
    """The compactions of a ``result`` that is picks alone, recorded; None for any other."""
    parts = result if type(result) in (list, tuple) else [result]
    picks = [part.pick for part in parts if type(part) is Array and type(part.pick) is Pick]
    if len(picks) < len(parts) or not all(pick.has_kernel for pick in picks):
        return None
    storages = []
    for pick in picks:
        compaction = pick.begun()
        assert type(compaction) is Compaction
        storages.append(compaction.storage)
    return Begun(None if parts[0] is result else type(result), storages)
