"""Waiting: how long what an update writes is still read where it is written.

``u[1:-1] += u[2:] + u[:-2]`` reads elements that it overwrites. Its elements are computed in the
order of their addresses, and each waits in a ring of the last ones until nobody reads what stands
in its place. How many positions apart a reader and a writer of one address are follows from
extents and strides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from . import kernel_ir as ir
from .positions import is_row_major, positions
from .walk import Walked

SLACK = 2048  # elements of a ring besides those that wait: what is computed at once
_SHARE = 8  # a part has so many times the elements that wait for others parts'


class Wait(NamedTuple):
    """Positions between an element and the last ones ``behind`` and ``ahead`` that read it.

    A position is the number of an element in the order in which they are computed. Who stands at
    a later position is behind: it reads what would have been written before.
    """

    behind: int
    ahead: int

    @property
    def room(self) -> int:
        """The elements of a ring, a power of two."""
        return 1 << (self.behind + SLACK - 1).bit_length()

    def part(self, least: int) -> int:
        """The elements of a part that one thread computes, so that few wait for another's."""
        return max(least, _SHARE * (self.behind + self.ahead))


def wait_of(kernel: ir.KernelIR, walked: Walked) -> Wait:
    """The wait of the late stores of ``kernel``; all elements where their order tells nothing."""
    walk = walked.elements
    total = math.prod(walk.extents)
    behind = ahead = 0
    for store, load in late_reads(kernel, walked):
        strides, distance = walk.strides[store], walked.offsets[load] - walked.offsets[store]
        if strides == walk.strides[load] and not distance:
            continue
        if strides != walk.strides[load] or not is_row_major(walk.extents, strides):
            return Wait(total, total)
        apart = positions(walk.extents, strides, distance)
        behind, ahead = max(behind, -apart), max(ahead, apart)
    return Wait(behind, ahead)


def late_reads(kernel: ir.KernelIR, walked: Walked) -> Iterator[tuple[int, int]]:
    """Late stores, each with the loads of the same memory."""
    late = {s.form for s in kernel.late}
    for store in late:
        home = walked.places[store]
        for form, place in enumerate(walked.places):
            if home and place and form not in late and place.buffer == home.buffer:
                yield store, form
