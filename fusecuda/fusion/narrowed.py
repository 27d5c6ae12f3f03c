"""Narrowed: integers are computed in a narrower type where their values surely fit in it.

NumPy's integers are of 64 bits where nobody says otherwise, and of 32 where somebody does; of
bytes, counts and small constants a quarter would do, of which a vector holds four times as many,
and there are instructions for products, quotients and conversions of 32 bits that 64 lack. The
values are the same: what an operation gives, and what it is given, lies within the bounds that are
known of it (graph/bounds.py), so nothing wraps around that did not before; or it is no more than
the last bits of what does (last_bits.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..graph import build
from ..graph.bounds import Bounds, bounds_by, of_type
from ..graph.dtypes import DType
from ..graph.node import Graph, Node
from .cost import Machine
from .last_bits import LAST_BITS, LastBits, number_of


def narrowed(graph: Graph, machine: Machine) -> Graph:
    """``graph`` with integers in the narrowest types that hold them and that pay."""
    nodes = graph.nodes()
    if not any(n.op in _COMPUTED and _widest(n) >= _WIDE for n in nodes):
        return graph
    least = max(_LEAST, machine.narrowest)
    narrowing = _Narrowing(graph, [d for d in _TYPES if d.itemsize >= least])
    for node in nodes:
        narrowing.add(node)
    return graph.with_outputs(tuple(narrowing.new[o] for o in graph.outputs))


_LEAST, _WIDE = 2, 4  # bytes
_TYPES = tuple(map(np.dtype, (np.int16, np.uint16, np.int32, np.uint32)))
_COMPARED = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
_ARITHMETIC = frozenset(
    {"add", "subtract", "multiply", "negative", "absolute", "square", "sign", "floor_divide"}
    | {"remainder", "fmod", "minimum", "maximum", "bitwise_and", "bitwise_or", "bitwise_xor"}
    | {"left_shift", "right_shift", "where"}
)
_COMPUTED = _ARITHMETIC | _COMPARED


class _Narrowing:
    """New nodes for those of a graph, and for some the same values in narrower types."""

    def __init__(self, graph: Graph, types: Sequence[DType]) -> None:
        self.types = types
        self._last_bits = LastBits(graph, lambda o: self._as_type(o, LAST_BITS))
        self.new: dict[Node, Node] = {}
        self._small: dict[Node, Node] = {}  # of nodes of a graph, whose values these have
        self._made: dict[tuple[Node, DType], Node] = {}
        self._bounds: dict[Node, Bounds | None] = {}
        self._lanes: dict[Node, int] = {}  # the bytes of the widest value that a new one comes from

    def add(self, node: Node) -> None:
        """Make what stands for ``node``, whose operands have been added."""
        self._bounds[node] = bounds_by(node, self._bounds.__getitem__)
        self.new[node] = node.with_operands(tuple([self.new[o] for o in node.operands]))
        if node.op in ("index", "reshape") and node.operands[0] in self._small:
            small = self._small[node.operands[0]]
            self._small[node] = Node(node.op, (small,), node.shape, small.dtype, node.attr)
        elif node.op == "convert":
            self._convert(node)
        elif node.op in _COMPUTED:
            self._compute(node)
        self._last_bits.add(node)
        masked = self._last_bits.masked(node)
        if masked is not None and node not in self._small:
            self._small[node], self._lanes[masked] = masked, masked.dtype.itemsize
            self.new[node] = build.convert(masked, node.dtype)

    def _convert(self, node: Node) -> None:
        """A cast that changes no value is left to whoever needs the wider type."""
        (operand,) = node.operands
        given, known = self._bounds[operand], self._bounds[node]
        small = self._small.get(operand, self.new[operand])
        if operand in self._small:
            self.new[node] = build.convert(small, node.dtype)
        is_kept = node.dtype.kind in "iu" and given is not None and given == known
        if is_kept and small.dtype.itemsize < node.dtype.itemsize:
            self._small[node] = small

    def _compute(self, node: Node) -> None:
        """An operation is made in a narrower type, if one holds all that it works on."""
        values = node.operands[1:] if node.op == "where" else node.operands
        if not any(o in self._small for o in values) or not all(map(self._is_small, values)):
            return
        dtype = self._type(node, values)
        if dtype is None:
            return
        operands = tuple([self._as_type(o, dtype) for o in values])
        if node.op == "where":
            operands = (self.new[node.operands[0]], *operands)
        if node.op in _COMPARED:
            self.new[node] = node.with_operands(operands)
            return
        self._small[node] = Node(node.op, operands, node.shape, dtype, None, node.line)
        self.new[node] = build.convert(self._small[node], node.dtype)

    def _is_small(self, operand: Node) -> bool:
        return operand in self._small or number_of(operand) is not None

    def _type(self, node: Node, values: Sequence[Node]) -> DType | None:
        """The narrowest type that holds the values and what is made of them, as wide as its lanes.

        Where wider lanes are computed together, narrower ones would only be packed and unpacked.
        """
        known = [self._bounds[v] for v in (*values, *([] if node.op in _COMPARED else [node]))]
        read = [self._small[v] for v in values if v in self._small]
        lanes = max(map(self._lanes_of, [*read, *node.operands[: node.op == "where"]]))
        for dtype in self.types:
            low, high = of_type(dtype)
            if dtype.itemsize < max(lanes, 1) or dtype.itemsize >= values[0].dtype.itemsize:
                continue
            if all(b is not None and low <= b[0] and b[1] <= high for b in known):
                return dtype
        return None

    def _lanes_of(self, node: Node) -> int:
        """The bytes of the widest value that ``node`` is computed from, element by element."""
        found = self._lanes.get(node)
        if found is None:
            found = 1 if node.dtype.kind == "b" else node.dtype.itemsize
            if node.is_elementwise or node.op in ("index", "reshape"):
                found = max([found, *[self._lanes_of(o) for o in node.operands if o.shape]])
            self._lanes[node] = found
        return found

    def _as_type(self, operand: Node, dtype: DType) -> Node:
        """The values of ``operand`` in that type, in one node for all who want them."""
        made = self._made.get((operand, dtype))
        if made is None:
            small, number = self._small.get(operand, self.new[operand]), number_of(operand)
            if operand not in self._small and number is not None:
                small = build.broadcast_to(build.convert(number, dtype), operand.shape)
            made = self._made[operand, dtype] = build.convert(small, dtype)
        return made


def _widest(node: Node) -> int:
    """The bytes of the widest integer that ``node`` is or works on."""
    kinds = (node.dtype, *[o.dtype for o in node.operands])
    return max((kind.itemsize for kind in kinds if kind.kind in "iu"), default=0)
