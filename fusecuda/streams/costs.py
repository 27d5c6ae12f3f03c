"""Costs: how long a step takes on a device, and how much of the device it fills: estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..fusion.assembly import Assembly
from ..fusion.explain import summarize
from ..fusion.walk import Launch
from ..graph.node import Node


@dataclass(frozen=True, slots=True)
class Speeds:
    """A device as far as the scheduler minds; times are in microseconds. The default is an H100.

    Public figures and estimates, not measured. A device is full when ``multiprocessors`` each
    have ``in_flight`` bytes under way; so much of the full speed has a kernel as it fills of it.
    """

    multiprocessors: int = 132
    in_flight: int = 32 << 10
    bytes: float = 2.9e6  # in a microsecond, from and to memory
    operations: float = 3e7  # in a microsecond, of the op table
    start: float = 2.0  # of a kernel, and its end
    launch: float = 2.0  # of the host's time
    event: float = 0.5  # of the host's time, to record or to wait
    handover: float = 1.5  # from an event to who waits for it
    fork: float = 5.0  # a branch shorter than this has no lane of its own


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step takes if it runs alone: microseconds, and its share of the device."""

    time: float
    share: float


_TILE = 64 * 64  # elements of a matrix product that a block computes
_PASSES = 4  # over its arrays, of a library call of which nothing is known


def costs(assembly: Assembly, speeds: Speeds) -> list[Cost]:
    """What each step of ``assembly`` takes."""
    return [_cost(step, assembly, speeds) for step in assembly.steps]


def _cost(step: Launch | Node, assembly: Assembly, speeds: Speeds) -> Cost:
    if isinstance(step, Launch) and not step.launched:
        return Cost(0.0, 0.0)
    figures = summarize(step, assembly)
    moved = figures.bytes_read + figures.bytes_written
    full = speeds.multiprocessors * speeds.in_flight
    if isinstance(step, Launch):
        share = moved / full
    elif figures.flops:
        share = math.ceil(step.size / _TILE) / speeds.multiprocessors
    else:
        share, moved = 1.0, _PASSES * moved
    share = min(1.0, max(share, 1e-3))
    longer = max(moved / speeds.bytes, figures.flops / speeds.operations)
    return Cost(speeds.start + longer / share, share)
