"""Tallies: sums of integers at few places, which are the same in whatever order they are made.

So each thread has some of its own for each place (an addition to what the one before has just
written would wait for that), and adds them to the result when it has seen its elements. A scatter
of any other kind takes its elements one after the other.
"""

from __future__ import annotations

from ..graph.node import Node
from . import kernel_ir as ir

PLACES = 512  # that may have tallies: FC_TALLIED of cpu_fallback/runs.h
_EACH = 16  # elements for each place, that it pays
_MOST = 4  # scatters of a kernel, whose tallies lie on the stack


def tallied(kernel: ir.KernelIR) -> list[ir.Scatter]:
    """The scatters of a loop over a single axis, if all add integers at one index of their own."""
    if kernel.kind != "loop" or kernel.rank != 1 or kernel.checks_first:
        return []
    (stage,) = kernel.stages
    of_elements = {s.out for s in stage.body if not isinstance(s, ir.Effect)}
    found = []
    for s in stage.body:
        if isinstance(s, ir.Compact):
            return []
        if isinstance(s, ir.Scatter):
            is_own = len(s.indices) == 1 and s.indices[0] in of_elements
            if not is_own or s.op != "add" or s.dtype.kind not in "iu":
                return []
            found.append(s)
    return found if len(found) <= _MOST else []


def pays(places: int, elements: int) -> bool:
    """True if so many places have tallies for so many elements, as kernels find out themselves."""
    return places <= PLACES and elements >= _EACH * places


def has_tallies(node: Node) -> bool:
    """True for a scatter whose places will have tallies."""
    if node.op != "scatter" or node.scatter.kind != "add" or node.dtype.kind not in "iu":
        return False
    value, *indices = node.operands[1:]
    alone = len(node.shape) == len(value.shape) == len(indices) == 1
    return alone and node.scatter.shape == node.shape and pays(node.size, value.size)
