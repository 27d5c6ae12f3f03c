"""Region: the recorder of a ``with fused()`` block, which can tell what it has done."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...graph.node import Node, topological
from ...options import Options
from .flight import Flight, Job, versions_of
from .lines import Tally, title_of
from .numbers import argument_of
from .recorder import Recorder
from .run import Recorded, Run
from .storage import Storage
from .user_frames import user_line

if TYPE_CHECKING:
    from ...engine import Executable

_reference = weakref.ref
_REPORTS_LIMIT = 1000  # plans of a block that `explain` tells about, the last ones


class Region(Recorder):
    """The recorder of a ``with fused()`` block."""

    def __init__(self, options: Options | None = None, follows: bool = False) -> None:
        super().__init__(options)
        self.run = Run(self) if follows else None
        self.tally: Tally | None = None
        self.unrecorded: list[str] = []  # the first operations that were not recorded
        self.site: Any = None  # the ``with`` statement
        self.block: weakref.ref[Any] | None = None  # what leaving it ends
        self.call: object = None  # what is told apart as one call in a report
        self.faults: list[BaseException] = []  # what could not be written to the user's own arrays

    @property
    def gained(self) -> bool:
        """False if the block might as well have been left to CuPy."""
        return True

    def note(self, node: Node, storage: Storage) -> None:
        if type(node) is Recorded and storage.noted:
            self.told(node)
            return
        if self.tally is not None:
            self.tally.recorded(user_line(), node, self.call)
        super().note(node, storage)
        if self.run is not None:
            self.run.place_of(node)

    def left(self, func: Any) -> None:
        if self.tally is not None:
            self.tally.completed(title_of(func), user_line())

    def storage_of(self, node: Recorded) -> Storage:
        """A storage for the array that waits for ``node``."""
        storage = Storage(self, node)
        storage.noted = True
        self._live.append(weakref.ref(storage))
        return storage

    def made(self, array: Any) -> None:
        """Note that ``array``, which has no storage yet, waits for its node."""
        self._live.append(_reference(array))
        sequence = self._sequence  # as `told`, without a call
        sequence.append(array._node.sign)
        if len(sequence) >= self._cut:
            self._flush_at_period()

    def told(self, node: Recorded) -> None:
        """Flush if a repeating body ends with ``node``, which the run knows."""
        self._sequence.append(node.sign)
        if len(self._sequence) >= self._cut:
            self._flush_at_period()

    def _begin_anew(self, flight: Flight | None = None) -> None:
        super()._begin_anew(flight)
        run = self.run
        if run is not None:
            self.run = Run(self)
            if flight is None:
                run.end()
            else:
                flight.run = run

    def _results(self, flight: Flight, jobs: Sequence[Job]) -> Sequence[Any]:
        run = flight.run
        outputs, own = versions_of(jobs)
        if self.tally is not None:  # launches are to count for the lines that recorded them now
            self.home = tuple([node.line for node in topological(outputs)])
        if run is None:
            return super()._results(flight, jobs)
        known = run.known(outputs, own, self.options)
        if known is not None:
            return self._computed(flight, *known)
        leaves, executable, seconds = self._executable(outputs, own, self.options)
        run.learn(leaves, executable)
        return self._computed(flight, executable, [argument_of(leaf) for leaf in leaves], seconds)

    def _ran(self, executable: Executable) -> None:
        if not self.reports or self.reports[-1] is not executable:  # a loop is told about once
            self.reports.append(executable)
            del self.reports[:-_REPORTS_LIMIT]
        if self.tally is not None:
            self.tally.ran(executable)

    def is_abandoned(self) -> bool:
        """True if a signal's handler raised just when the block was about to be left."""
        return self.block is not None and self.block() is None

    def open(self) -> None:
        """Called when the block has been entered."""

    def close(self) -> None:
        """Called when the block has been left."""
        self.run = None  # which knows this recorder
