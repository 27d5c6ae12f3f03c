"""Entries: what a fused function knows of its calls with arguments of certain shapes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..record.budget import Budget
from ..record.rest import Trial

if TYPE_CHECKING:
    from ...engine import Executable

_REPLAYS_LIMIT = 64  # kept for one signature of shapes
_SIGNATURES_LIMIT = 1024
_SPOILT = 4  # times that are not counted

Replay = Callable[[tuple[Any, ...]], Any]


class Entry:
    """What is known of the calls of one signature: replays, and which way is faster."""

    __slots__ = (
        "_forgone", "_postponed", "_slow", "_spoilt", "_turns", "anew", "awaited", "raised",
        "recorded", "replays", "rest", "trial", "unfused",
    )  # fmt: skip

    def __init__(self, always: bool = False) -> None:
        self.replays: tuple[Replay, ...] = ()
        self.trial = Trial()
        if always:
            self.trial.plain = False
        self.raised = 0  # recorded calls in a row that ended with an error
        self.recorded = False  # once at least; the first time compiles
        self.unfused = ""  # why calls are made as they are
        self.anew = ""  # why calls are recorded without following them
        self.awaited: Executable | None = None  # until whose kernels are there calls are plain
        self.rest = 0  # calls that are made so before the next is recorded
        self._postponed = self._spoilt = 0
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

    def is_spoilt(self) -> bool:
        """True for the first few times that a timed call was another's, too.

        What it calls was recorded in it, or the interpreter stood for kernels.
        """
        self._spoilt += 1
        return self._spoilt <= _SPOILT

    def rests(self, budget: Budget) -> bool:
        """True if this call is to be made as it is: there is no time, or no kernel yet."""
        awaited = self.awaited  # which another thread may take away
        if awaited is not None:
            if awaited.is_under_way and not awaited.has_kernels():
                return True
            self.awaited = None
        if self.rest:
            self.rest -= 1
            return True
        return self._slow and not budget.allows(budget.FIRST)


class Entries(dict[Any, Entry]):
    """What a fused function knows, by signature; changed under a lock, and read as it is."""

    def __init__(self, always: bool) -> None:
        super().__init__()
        self.always = always  # calls are fused, whatever that costs
        self._lock = threading.RLock()

    def at(self, key: Any) -> Entry:
        """What is known of the calls of one signature, which may be new."""
        with self._lock:
            if len(self) >= _SIGNATURES_LIMIT:
                self.clear()
            return self.setdefault(key, Entry(self.always))

    def keep(self, entry: Entry, replay: Replay) -> None:
        """One more replay of calls of the signature of ``entry``."""
        with self._lock:
            entry.replays = (replay, *entry.replays)[:_REPLAYS_LIMIT]

    def forget(self, tree: Any, why: str) -> None:
        """Replay nothing that follows the paths of ``tree``."""
        with self._lock:
            for entry in self.values():
                others = tuple(r for r in entry.replays if r.__globals__.get("start") is not tree)
                if others != entry.replays:
                    entry.replays = others
                    entry.forgo(why)
