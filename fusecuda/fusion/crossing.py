"""Crossing: how threads share the rows of a kernel that reduces across them, and what they leave.

The tree of a place in the rows is that of any reduction: a chunk is CHUNK rows, a lane of it every
row LANES further on. A work item is a part of a chunk: every lane that leaves the same remainder.
It takes lanes side by side, so that rows are read as they lie, as far as the caches hold a value
for each place of each of them; others before these wait to be folded. In the end it leaves one for
each place. So what is left is little beside many rows. Of short rows an item is a chunk, of which
all values wait.
"""

from __future__ import annotations

from ..graph.dtypes import computed_in
from ..graph.tree import CHUNK, LANES
from . import kernel_ir

_FEWEST = 8  # items there are at least, if there are rows for them: enough for what they do
_FEWEST_OF_LONG = 32  # of rows of a chunk or more, which are as quickly read in any order
_AT_HAND = 1 << 16  # bytes of lanes side by side, which a second cache holds beside the rows
_LINE = 64  # bytes
_PITCH = CHUNK + 8  # values from one place's to the next, as in codegen/reduce.h


def parts_of_chunk(rows: int, length: int) -> int:
    """Into how many work items a chunk is cut where there are so many rows of ``length`` places."""
    fewest = _FEWEST if length < CHUNK else _FEWEST_OF_LONG
    parts = 1
    while parts < LANES and chunks(rows) * parts < fewest:
        parts *= 2
    return parts


def lanes_at_hand(kernel: kernel_ir.KernelIR, parts: int, length: int) -> int:
    """How many lanes of rows of ``length`` places a work item takes side by side."""
    each, lanes = length * sum(map(_size, kernel.cross)), 1
    while lanes < LANES // parts and 2 * lanes * each <= _AT_HAND:
        lanes *= 2
    return lanes


def chunks(rows: int) -> int:
    """How many chunks so many rows are."""
    return -(-rows // CHUNK)


def left(kernel: kernel_ir.KernelIR, items: int, length: int) -> int:
    """The bytes that ``items`` leave of rows of ``length`` places."""
    return sum(_lines(items * length * _size(r)) for r in kernel.cross)


def waiting(kernel: kernel_ir.KernelIR, lanes: int, length: int) -> int:
    """The bytes that a thread needs at most for the ``lanes`` at hand, and for those that wait."""
    return sum(_lines(LANES.bit_length() * lanes * length * _size(r)) for r in kernel.cross)


def waiting_of_short(kernel: kernel_ir.KernelIR, length: int) -> int:
    """The bytes that a thread needs for a chunk of rows of ``length`` places."""
    return sum(_lines(_PITCH * length * _size(r)) for r in kernel.cross)


def _size(reduce: kernel_ir.Reduce) -> int:
    return computed_in(reduce.value_dtype).itemsize


def _lines(nbytes: int) -> int:
    return -(-nbytes // _LINE) * _LINE
