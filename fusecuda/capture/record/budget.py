"""Budgets: how much time a program may spend on planning and compiling.

There is a sum to begin with, and then a share of the time that passes. What would take more is
computed by the interpreter, until it comes up again when there is time. So a program whose pieces
are all different, or hardly worth it, costs little more than it would without us.
"""

from __future__ import annotations

import os
from time import perf_counter, process_time


class Budget:
    """The time that one function, or one program, may spend on planning and compiling."""

    FIRST = 0.3  # seconds of the processor's time
    SHARE = 0.33  # of the time that has passed since the beginning, but for that in compilers

    __slots__ = ("_begun", "_spent")

    def __init__(self) -> None:
        self._begun = perf_counter()
        self._spent = 0.0

    def allows(self, seconds: float = 0.0) -> bool:
        """True if there is time for one more plan, or for what takes so long."""
        left = self.FIRST + self.SHARE * (perf_counter() - self._begun) - self._spent
        return left >= seconds

    def spend(self, seconds: float, passed: float = 0.0) -> None:
        """So much has been spent, and so much time has ``passed`` by it, which counts for none."""
        self._spent += seconds
        self._begun += passed


def processor_time() -> float:
    """Seconds that this process and the compilers that it ran have used."""
    return process_time() + sum(os.times()[2:4])


PROGRAM = Budget()  # of lazy arrays and blocks
