"""The budget: how much time a program may spend on planning and waiting for compilers.

There is a sum to begin with, and then a share of the time that passes, for all that a process does.
What would take more is done without plan or kernel, until it comes up again when there is time. So
a program whose pieces are all different, or hardly worth it, costs little more than without us.
Compilers run beside the program: only who waits for one spends time.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import TYPE_CHECKING

from ...options import waits_for_kernels

if TYPE_CHECKING:
    from ...cpu_fallback.background import Job


class Budget:
    """The time that may be spent: the process's, or one of a test's own."""

    FIRST = math.inf if waits_for_kernels() else 0.25  # seconds; infinite: whatever all takes
    PLENTY = 20  # times what something takes that can be done without
    FEW = 6  # recordings that take all that there is to begin with
    LOOK_S = 0.05  # seconds, after which it is looked whether there is time
    LATE = 1.6  # times as long as it should take, after which a job is not waited for
    SHARE = 0.33  # of the time that has passed since the beginning

    __slots__ = ("_begun", "spent")

    def __init__(self) -> None:
        self._begun = perf_counter()
        self.spent = 0.0  # seconds

    @property
    def left(self) -> float:
        """Seconds that may be spent now; negative where too many have been."""
        return self.FIRST + self.SHARE * (perf_counter() - self._begun) - self.spent

    @property
    def for_one(self) -> float:
        """Seconds that one recording may take: no more than are left, but for a few."""
        return min(self.FIRST, max(self.left, self.FIRST / self.FEW))

    @property
    def patience(self) -> Budget | None:
        """What runs are to go by; None where they have all the time that they take."""
        return None if math.inf == self.FIRST else self

    def allows(self, seconds: float = 0.0) -> bool:
        """True if there is time for one more plan, or for what takes so long."""
        return self.left >= seconds

    def until_allowed(self) -> float:
        """When, as `perf_counter` tells, there is time again, or before that: not to miss it."""
        seconds = -self.left / self.SHARE if self.SHARE else math.inf
        return perf_counter() + min(max(seconds, 0.0), self.LOOK_S)

    def spend(self, seconds: float, passed: float = 0.0) -> None:
        """So much has been spent, and so much time has ``passed`` by it, which counts for none."""
        self.spent += seconds
        self._begun += passed

    def affords(self, seconds: float) -> bool:
        """True, and they are spent, if that leaves plans most of the time that there is."""
        afforded = self.allows(self.PLENTY * seconds)
        if afforded:
            self.spend(seconds)
        return afforded

    def wait_for(self, job: Job, seconds: float, otherwise: float = 0.0) -> None:
        """Return when ``job``, which takes about so many seconds, is over, or time is.

        There are as many as whatever waits takes ``otherwise``, if it is to be over by then.
        """
        free = otherwise if otherwise > seconds > 0 else 0.0
        time = max(self.left, free)
        if time < seconds:
            return
        begin = perf_counter()
        try:
            job.wait(max(time, self.LATE * seconds))
        finally:
            waited = perf_counter() - begin
            self.spend(max(waited - free, 0.0) if job.is_over else waited)


PROGRAM = Budget()
