"""Last bits: integers of which a mask drops all but 32 bits, computed in 32.

Sums, products and bits in common have in their last bits what they make of the last bits of what
they are given: generators of random numbers, hashes and checksums are written so, in NumPy's
default integers. A product of 64 bits is seven instructions of most processors' vectors, one of 32
bits a single one, of twice as many elements; only a chain with a product is worth its casts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from ..graph.node import Graph, Node

LAST_BITS = np.dtype(np.uint32)
_BITS = 8 * LAST_BITS.itemsize
_PRODUCTS = frozenset({"multiply", "square"})
_WRAPPED = _PRODUCTS | frozenset(
    {"add", "subtract", "negative", "invert", "left_shift"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor"}
)
_WIDE = 8  # bytes


class LastBits:
    """The last bits of a graph's integers, as nodes that are made in the order of the graph.

    ``cast`` gives the last bits of a node that has been computed otherwise.
    """

    def __init__(self, graph: Graph, cast: Callable[[Node], Node]) -> None:
        nodes = graph.nodes()
        self._cast = cast
        self._uses = Counter([*graph.outputs, *[o for n in nodes for o in n.operands]])
        self._is_asked = any(mask_of(n) is not None for n in nodes)
        self._wrapped: dict[Node, Node] = {}
        self._products: Counter[Node] = Counter()

    def add(self, node: Node) -> None:
        """Note the last bits of ``node``, if they are those of its operands, which were added."""
        if not self._is_asked or node.op not in _WRAPPED or not _is_wide(node):
            return
        if node.op == "left_shift" and not _is_within(constant_of(node.operands[1]), _BITS):
            return
        operands = tuple([self._of(o) for o in node.operands])
        self._wrapped[node] = Node(node.op, operands, node.shape, LAST_BITS, None, node.line)
        inner = sum(self._products[o] for o in node.operands if self._is_inner(o))
        self._products[node] = inner + (node.op in _PRODUCTS)

    def masked(self, node: Node) -> Node | None:
        """The value of a mask in few bits, where that pays."""
        pays = self._products[node] > 0 and mask_of(node) is not None
        return self._wrapped.get(node) if pays else None

    def _of(self, operand: Node) -> Node:
        return self._wrapped[operand] if self._is_inner(operand) else self._cast(operand)

    def _is_inner(self, operand: Node) -> bool:
        """True for what nobody else needs all bits of."""
        return operand in self._wrapped and self._uses[operand] == 1


def mask_of(node: Node) -> int | None:
    """The mask that drops all but the last bits of a wide integer."""
    if node.op == "bitwise_and" and _is_wide(node):
        for operand in node.operands:
            mask = constant_of(operand)
            if _is_within(mask, 1 << _BITS):
                return mask
    return None


def number_of(node: Node) -> Node | None:
    """The constant that ``node`` is, everywhere."""
    while node.op in ("index", "reshape"):
        (node,) = node.operands
    return node if node.op == "constant" else None


def constant_of(node: Node) -> int | None:
    """The number that an integer ``node`` is, everywhere."""
    number = number_of(node) if node.dtype.kind in "iu" else None
    return None if number is None else int(number.value)


def _is_wide(node: Node) -> bool:
    return node.dtype.kind in "iu" and node.dtype.itemsize == _WIDE


def _is_within(value: int | None, end: int) -> bool:
    return value is not None and 0 <= value < end
