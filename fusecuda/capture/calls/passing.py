"""Passing: blocks that are best left as they are, as is known, with next to nothing done for them.

Where a block's function has been of no use, and NumPy at once is faster than recording, a number of
entries is granted: these are counted, timed, and left to do what they say. One that takes many
times as long as the others, or as little, several times in a row, ends the grant.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ...options import Options
from ..record.rest import Trial, grants

MOST = 1 << 16  # entries that are granted at once
_FIRST = 8  # entries, which show how long one takes
LIBRARY = "cupy"  # its arrays are recorded once it has been imported


class Passing:
    """The entries of one block that may be passed through, and how long they take."""

    __slots__ = ("__weakref__", "_known", "_timed", "high", "left", "library", "low", "options",
                 "others", "remarks", "trial")  # fmt: skip

    def __init__(self) -> None:
        self.left = 0  # entries
        self.options: Options | None = None  # of the blocks that may be
        self.library: Any = None  # the module whose arrays were not to be recorded, or None
        self.remarks: Sequence[str] = ()  # what `explain` says
        self.trial: Trial | None = None  # that has decided it
        self._begin()

    def _begin(self) -> None:
        self.low, self.high = 1.0, 0.0  # seconds: nothing lies between
        self._known = float("inf")
        self._timed = 0
        self.others = 0  # entries in a row that took another time

    def grant(
        self, entries: int, options: Options, remarks: Sequence[str], trial: Trial | None
    ) -> None:
        """So many entries with these ``options`` may be passed through."""
        if trial is not self.trial:
            self._begin()
        self.options, self.remarks, self.trial = options, remarks, trial
        self.library = sys.modules.get(LIBRARY)
        grants.add(self)
        self.left = entries

    def took(self, seconds: float) -> bool:
        """An entry took longer than `high`, or less than `low`; true if others do other work."""
        if self._timed < _FIRST:
            self._timed += 1
            self._known = min(self._known, seconds)
            if self._timed == _FIRST and self.trial is not None:
                self.low, self.high = self._known / Trial.OTHER, self._known * Trial.OTHER
            elif self._timed == _FIRST:
                self.low, self.high = -1.0, float("inf")
            return False
        self.others += 1
        if self.others <= Trial.EACH or self.trial is None:
            return False
        self.left = 0
        self.trial.measure_anew()
        self._begin()
        return True
