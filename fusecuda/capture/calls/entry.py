"""Entries: what a fused function knows of its calls with arguments of certain shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import Executable
from ..record.budget import Budget
from ..record.rest import Trial

Replay = Callable[[tuple[Any, ...]], Any]


class Entry:
    """What is known of the calls of one signature: replays, and which way is faster."""

    __slots__ = (
        "_forgone",
        "_postponed",
        "_slow",
        "_turns",
        "anew",
        "awaited",
        "recorded",
        "replays",
        "rest",
        "trial",
        "unfused",
    )

    def __init__(self, always: bool = False) -> None:
        self.replays: tuple[Replay, ...] = ()
        self.trial = Trial()
        if always:
            self.trial.plain = False
        self.recorded = False  # once at least; the first time compiles
        self.unfused = ""  # why calls are made as they are
        self.anew = ""  # why calls are recorded without following them
        self.awaited: Executable | None = None  # until whose kernels are there calls are plain
        self.rest = 0  # calls that are made so before the next is recorded
        self._postponed = 0
        self._slow = False
        self._forgone = self._turns = 0

    def forgo(self, why: str) -> None:
        """Calls are not followed; that is tried again, ever more rarely."""
        self.anew = why
        self._turns = 1 << min(self._forgone, 12)
        self._forgone += 1

    def followed(self) -> str:
        """Why the next call is not followed, or an empty string."""
        if self.anew and not self._turns:
            self.anew = ""
        self._turns -= bool(self._turns)
        return self.anew

    def postponed(self, slow: bool = False) -> None:
        """There was no time to record it: it is tried again, ever more rarely.

        If recording itself is ``slow``, there has to be time for that.
        """
        self.rest = 1 << min(self._postponed, 12)
        self._postponed += 1
        self._slow = slow

    def rests(self, budget: Budget) -> bool:
        """True if this call is to be made as it is: there is no time, or no kernel yet."""
        if self.awaited is not None:
            if self.awaited.is_under_way:
                return True
            self.awaited = None
        if self.rest:
            self.rest -= 1
            return True
        return self._slow and not budget.allows(budget.FIRST)
