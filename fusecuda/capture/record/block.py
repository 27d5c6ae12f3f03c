"""Region: the recorder of a ``with fused()`` block, which can tell what it has done."""

from __future__ import annotations

from typing import Any

from ...engine import Executable
from ...graph.node import Node
from ...options import Options
from .lines import Tally
from .recorder import Recorder, user_line
from .storage import Storage

_REPORTS_LIMIT = 1000  # plans of a block that `explain` tells about, the last ones


class Region(Recorder):
    """The recorder of a ``with fused()`` block."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.tally: Tally | None = None
        self.unrecorded: list[str] = []  # the first operations that were not recorded
        self.site: Any = None  # the ``with`` statement
        self.call: object = None  # what is told apart as one call in a report
        self.faults: list[BaseException] = []  # what could not be written to the user's own arrays

    @property
    def gained(self) -> bool:
        """False if the block might as well have been left to CuPy."""
        return True

    def note(self, node: Node, storage: Storage) -> None:
        if self.tally is not None:
            self.tally.recorded(user_line(), node, self.call)
        super().note(node, storage)

    def _ran(self, executable: Executable) -> None:
        if not self.reports or self.reports[-1] is not executable:  # a loop is told about once
            self.reports.append(executable)
            del self.reports[:-_REPORTS_LIMIT]
        if self.tally is not None:
            self.tally.ran(executable)

    def close(self) -> None:
        """Called when the block has been left."""
