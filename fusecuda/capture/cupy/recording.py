"""Recording: what storages and tapes need of the region that records, which stands above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ...options import Options


class Tape(Protocol):
    """The path of a recording through what is known."""

    run: Any
    slots: list[Any]


class Owning(Protocol):
    """What storages are made for."""

    def own(self, array: Any) -> Any:
        """The storage in which the memory of ``array`` is to be known, if there is one already."""


class Recording(Owning, Protocol):
    """A region around CuPy code."""

    cupy_options: Options
    space: Any
    device: int
    flush_after: bool
    home: tuple[object, ...] | None

    @property
    def tape(self) -> Tape: ...
    @property
    def is_taped(self) -> bool: ...
    @property
    def has_escaped(self) -> bool: ...
    @property
    def recorded(self) -> int: ...

    def resume(self, storages: Sequence[Any], sequence: list[int], cut: int) -> None:
        """Go on from a recording whose ``storages`` wait for nodes made just now."""

    def sequence_from(self, first: int) -> tuple[list[int], int]:
        """What was noted from then on, and where a flush is sought next."""
