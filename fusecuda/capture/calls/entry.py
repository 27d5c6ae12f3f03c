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
_MEASURED = 24  # such times, where what is called within is only being measured
_SELDOM = 64  # replays, within which two calls that go on from one and raise are too many

Replay = Callable[[tuple[Any, ...]], Any]


class Entry:
    """What is known of the calls of one signature: replays, and which way is faster."""

    __slots__ = (
        "_forgone", "_postponed", "_raised", "_slow", "_spoilt", "_turns", "anew", "awaited",
        "raised", "recorded", "replays", "rest", "trial", "unfused",
    )  # fmt: skip

    def __init__(self, always: bool = False) -> None:
        self.replays: tuple[Replay, ...] = ()
        self.trial = Trial()
        if always:
            self.trial.plain = False
        self.raised = 0  # of the last recorded calls, those in a row that ended with an error
        self.recorded = False  # once at least; the first time compiles
        self.unfused = ""  # why calls are made as they are
        self.anew = ""  # why calls are recorded without following them
        self.awaited: Executable | None = None  # until whose kernels are there calls are plain
        self.rest = 0  # calls that are made so before the next is recorded
        self._postponed = self._spoilt = 0
        self._slow = False
        self._forgone = self._turns = 0
        self._raised = 0  # replays that are to end well before one may go on to an error again

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

    def has_raised(self, resumed: bool) -> None:
        """A recorded call has ended with an error: where the next ones do, too, calls rest.

        If it was begun as a replay, ``resumed``, only a rest helps. Of others it is known before
        anything has run that no replay holds; so they are plain, and rest where there is no replay.
        """
        self.raised += 1
        if self._raised if resumed else self.raised > 1 and not self.replays:
            self.postponed()
        self._raised += _SELDOM if resumed else 0

    def has_been_plain(self, raised: bool) -> None:
        """So a call was made that was likely to raise an error: if not, the next is recorded."""
        if raised:
            self.has_raised(resumed=False)
        else:
            self.raised = 0

    def has_ended_well(self) -> bool:
        """A replay has. True if enough have since calls that went on from one raised errors."""
        self._raised -= bool(self._raised)
        return not self._raised

    def is_spoilt(self, most: int = _SPOILT) -> bool:
        """True for the first few times that a timed call was another's, too.

        What it calls was recorded in it, or the interpreter stood for kernels.
        """
        self._spoilt += 1
        return self._spoilt <= most

    def measures_others(self, before: int) -> bool:
        """True if a timed plain call is not counted, in which functions were fused to be timed.

        It takes the time of either way of theirs, until that is decided; ``before`` it,
        `Trial.measured` was so many.
        """
        return Trial.measured != before and self.is_spoilt(_MEASURED)

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
