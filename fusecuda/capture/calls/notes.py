"""Notes: what is found while the code of a function is read, and why it may not be replayed."""

from __future__ import annotations

import dis
import sys
from typing import Any

from .places import Place
from .purity import is_pure
from .reads import Reads


class Notes:
    """Notes what is read in ``reads``, and where."""

    def __init__(self) -> None:
        self.reads = Reads()
        self.at = ""  # the line that is read

    def _seen(self, place: Place, value: Any) -> None:
        """A replay compares what ``place`` holds."""
        self.reads.values[place.key] = (place, value)

    def _opaque(self, why: str) -> None:
        self.reads.opaque = self.reads.opaque or f"{why} ({self.at})"

    def _volatile(self, why: str, at_once: bool = False) -> None:
        self.reads.volatile = self.reads.volatile or f"{why} ({self.at})"
        self.reads.at_once = self.reads.at_once or at_once

    def _outlives(self, why: str, written: Place | None = None) -> None:
        if written is not None:
            self.reads.written[written.key] = written
        self._volatile(why, at_once=True)

    def _imported(self, instruction: dis.Instruction, following: dis.Instruction) -> None:
        """A module is imported inside; what is taken of it is told by the names in the code."""
        names = {instruction.argval.partition(".")[0]}  # the first package is what gets a name
        if following.opname == "IMPORT_FROM":
            names.add(instruction.argval)
        if not any(is_pure(sys.modules.get(name)) for name in names):
            self._volatile(f"it imports {instruction.argval}")
