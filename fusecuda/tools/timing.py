"""Timing: rivals side by side in one process, turn by turn, so that noise strikes all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Timing:
    """The durations of many runs, in seconds."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """The fastest."""
        return min(self.runs)

    @property
    def high(self) -> float:
        """The slowest."""
        return max(self.runs)

    @property
    def spread(self) -> float:
        """Half the distance of the quartiles, as a share of the median."""
        if len(self.runs) < 4:
            return (self.high - self.low) / 2 / self.median
        first, _, third = statistics.quantiles(self.runs, n=4)
        return (third - first) / 2 / self.median


def side_by_side(
    rivals: Mapping[str, Callable[[], Any]],
    budget: float = 2.0,
    least: int = 5,
    most: int = 1000,
    shortest: float = 0.0,
) -> dict[str, Timing]:
    """Time each of ``rivals`` in turn, round after round, for about ``budget`` seconds in all.

    A run of less than ``shortest`` seconds is repeated within one measurement. Every rival is
    called twice before, so that nothing is compiled or first allocated under the clock; short ones
    also once before each turn, while the threads of the one before go to sleep.
    """
    repeats, short = {}, {}
    for name, call in rivals.items():
        call()
        once = _clock(call, 1)
        repeats[name] = max(1, int(shortest / max(once, 1e-7)))
        short[name] = once < shortest * 100
    found: dict[str, list[float]] = {name: [] for name in rivals}
    start = time.perf_counter()
    rounds = 0
    while rounds < least or (rounds < most and time.perf_counter() - start < budget):
        for name, call in rivals.items():
            if short[name]:
                call()
            found[name].append(_clock(call, repeats[name]))
        rounds += 1
    return {name: Timing(tuple(runs)) for name, runs in found.items()}


def _clock(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats
