"""What the class of a structural operation says of it, and rules that many of them share."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from ..errors import GraphError
from .index_map import IndexMap, Shape
from .node import Attr, Node
from .views import Array

Demand = tuple[Node, IndexMap]


class Structure:
    """A structural operation; its docstring tells what its value is.

    What is said here holds for elementwise operations.
    """

    name: str
    example: str  # a line of HLO text, without a name before it
    cost: int = 0  # of one element, in units of one addition
    is_leaf: bool = False  # it comes from outside the graph
    is_free: bool = False  # nothing is computed or moved for it
    is_view: bool = False  # its elements are those of operand 0, under other indices
    is_choice: bool = False  # each element is one of an operand's, which depends on its index
    may_fail: bool = False  # at some values of its operands
    in_plans: bool = False  # only there: graphs have a library call instead
    unstored: bool = False  # it has no memory of its own: the caller's, its operand's, or none
    stored: str = ""  # why its value is always in memory
    whole: str = ""  # why operand 0 lies in memory, whatever computes it
    looks_up: bool = False  # it reads that, or a view of it, at places that values tell

    def check(self, node: Node) -> None:
        """Raise GraphError if ``node`` breaks a rule."""
        raise NotImplementedError

    def value(self, node: Node, operands: list[Array], group: int) -> Any:
        """What ``node`` is; lanes of a reduction take ``group`` neighbours at a time."""
        raise NotImplementedError

    def domain(self, node: Node) -> Shape:
        """The shape over which the elements behind ``node`` are computed."""
        return node.shape

    def work(self, node: Node) -> int:
        """How many elements are computed, if one is in several places of the domain only once."""
        return math.prod(self.domain(node))

    def demands(self, node: Node, at: IndexMap) -> list[Demand]:
        """What one element is computed from; ``at`` maps the loop indices to one of the `domain`.

        Not listed: what is read at indices that depend on values, and the version that an update
        goes on from. Of a choice, an element is the first operand's that has its index; a 0-d one
        has every index.
        """
        return [(o, at if o.shape else at.leading(0)) for o in node.operands]


def fail(node: Node, why: str) -> NoReturn:
    """Raise GraphError that names ``node`` and tells ``why`` it is not well formed."""
    operands = ", ".join(f"{o.dtype}{list(o.shape)}" for o in node.operands)
    raise GraphError(f"{node.op}({operands}) -> {node.dtype}{list(node.shape)} {why}")


def arity(node: Node, count: int) -> None:
    """Raise GraphError if ``node`` has not so many operands."""
    if len(node.operands) != count:
        fail(node, f"takes {count} operands")


def plain(node: Node) -> None:
    """Raise GraphError if ``node`` has an attribute."""
    if node.attr is not None:
        fail(node, "takes no attributes")


def same_dtype(node: Node) -> None:
    """Raise GraphError if an operand of ``node`` has another dtype."""
    if any(o.dtype != node.dtype for o in node.operands):
        fail(node, "changes the dtype")


def is_map(attr: Attr, operand: Node, result: Node) -> bool:
    """True if ``attr`` maps indices of ``result`` to some of ``operand``."""
    return isinstance(attr, IndexMap) and attr.has_ranks(len(operand.shape), len(result.shape))
