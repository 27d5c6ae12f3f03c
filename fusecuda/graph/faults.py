"""Faults: what is raised for an element of a graph that cannot be computed."""

from __future__ import annotations

from ..errors import mark_before_effects
from .node import Node
from .ops import OWN, row_of


def element_error(node: Node) -> Exception:
    """The exception for an element of ``node`` that cannot be computed, naming the recorded line.

    It is known to come before arguments are overwritten.
    """
    error = _error(node)
    mark_before_effects(error)
    return error


def _error(node: Node) -> Exception:
    where = f" (recorded at {node.line})" if node.line else ""
    if node.op == "segment":
        size = node.operands[0].shape[node.reduction.axes[0]]
        return IndexError(f"a segment is out of bounds for size {size}{where}")
    if node.op in ("gather", "scatter"):
        scatter = node.op == "scatter"
        shape = node.scatter.shape if scatter else node.operands[0].shape
        extents = shape[: len(node.operands) - 1 - scatter]
        bounds = ", ".join(f"size {n} of axis {a}" for a, n in enumerate(extents))
        return IndexError(f"an index is out of bounds for {bounds}{where}")
    row = row_of(node.op)
    if row.home == OWN:
        return IndexError(f"{row.may_fail}{where}")
    return ValueError(f"{row.may_fail}{where}")
