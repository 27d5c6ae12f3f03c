"""Recording: what the files of this room need of the region that records, and of its tape.

The region stands above them and uses them all; they know it by these members alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...graph.dtypes import DType
from ...graph.node import Node
from ...options import Options


class Tape(Protocol):
    """The path of a recording through what is known."""

    run: object
    slots: list[Any]

    def materialize(self) -> None:
        """Make the nodes of all steps."""

    def constants(self, operands: Sequence[Any]) -> Callable[[Any, DType], Node]:
        """What makes nodes of the numbers among ``operands``, in turn."""


class Owning(Protocol):
    """What storages are made for."""

    def own(self, array: Any) -> Any:
        """The storage in which the memory of ``array`` is to be known, if there is one already."""


class Recording(Owning, Protocol):
    """A region around CuPy code."""

    cupy_options: Options
    device: int
    operands: int
    flush_after: bool

    @property
    def tape(self) -> Tape: ...
    @property
    def is_taped(self) -> bool: ...
    @property
    def has_escaped(self) -> bool: ...
    @property
    def recorded(self) -> int: ...
    @property
    def resting(self) -> bool: ...

    def flush(self, needed: Any = None) -> None:
        """Compute all that is pending."""

    def note(self, node: Node, storage: Any) -> None:
        """Record that ``storage`` waits for ``node``."""

    def lazy(self, array: Any) -> Any:
        """The lazy array that stands for ``array``."""

    def lift(self, value: Any) -> Any:
        """``value`` with a lazy array for each CuPy array in it."""

    def record(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function`` records, or NotImplemented if CuPy is to compute it."""

    def record_numbered(
        self, function: Any, args: Sequence[Any], operation: Callable[[Any, Any, Any], Any]
    ) -> Any:
        """As `record`, of ``function`` by ``operation``, which takes floats as numbers."""

    def lowered(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What ``function``, of lazy arrays, makes of CuPy's."""

    def native(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        name: str = "",
        flush: bool = True,
    ) -> Any:
        """What CuPy's own ``function`` does, on computed arrays."""

    def resume(self, storages: Sequence[Any], sequence: list[int], cut: int) -> None:
        """Go on from a recording whose ``storages`` wait for nodes made just now."""

    def sequence_from(self, first: int) -> tuple[list[int], int]:
        """What was noted from then on, and where a flush is sought next."""
