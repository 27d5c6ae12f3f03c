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

    FIRST = math.inf if waits_for_kernels() else 0.3  # seconds; infinite: whatever all takes
    PLENTY = 20  # times what something takes that can be done without
    SHARE = 0.33  # of the time that has passed since the beginning

    __slots__ = ("_begun", "_spent")

    def __init__(self) -> None:
        self._begun = perf_counter()
        self._spent = 0.0

    @property
    def left(self) -> float:
        """Seconds that may be spent now; negative where too many have been."""
        return self.FIRST + self.SHARE * (perf_counter() - self._begun) - self._spent

    @property
    def patience(self) -> Budget | None:
        """What runs are to go by; None where they have all the time that they take."""
        return None if math.inf == self.FIRST else self

    def allows(self, seconds: float = 0.0) -> bool:
        """True if there is time for one more plan, or for what takes so long."""
        return self.left >= seconds

    def spend(self, seconds: float, passed: float = 0.0) -> None:
        """So much has been spent, and so much time has ``passed`` by it, which counts for none."""
        self._spent += seconds
        self._begun += passed

    def affords(self, seconds: float) -> bool:
        """True, and they are spent, if that leaves plans most of the time that there is."""
        afforded = self.allows(self.PLENTY * seconds)
        if afforded:
            self.spend(seconds)
        return afforded

    def wait_for(self, job: Job, seconds: float) -> None:
        """Return when ``job``, which takes about so many seconds, is over, or time is."""
        left = self.left
        if left < seconds:
            return
        begin = perf_counter()
        try:
            job.wait(left)
        finally:
            self.spend(perf_counter() - begin)


PROGRAM = Budget()
