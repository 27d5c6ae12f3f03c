"""Node and Graph: one immutable node class for every operation, and the DAG between them."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .dtypes import DType
from .index_map import IndexMap, Shape
from .ops import OPS

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
SIDES = ("left", "right")  # of a value in a sorted array: what is below it, what is not above it


@dataclass(frozen=True, slots=True)
class Parameter:
    """Which argument a parameter node stands for; a scalar one is a kernel argument by value."""

    number: int
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduce node does: its kind, one of REDUCTIONS, over which axes (ascending)."""

    kind: str
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scatter:
    """What a scatter node does: its kind, one of `library.SCATTERS`, and where.

    Indices count in a region of operand 0, of ``shape``, whose elements are at ``map`` of theirs.
    """

    kind: str
    map: IndexMap
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class LibraryCall:
    """A NumPy function called on whole arrays: its dotted name and its literal arguments.

    ``args`` holds ``Operand(i)`` where operand ``i`` goes and plain literals elsewhere. Two calls
    are equal if they are written alike: 0.0 is not -0.0, 1 is not True.
    """

    name: str
    args: tuple[Hashable, ...]
    kwargs: tuple[tuple[str, Hashable], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LibraryCall) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True, slots=True)
class Operand:
    """The place of operand ``number`` among a library call's arguments."""

    number: int


PadWidths = tuple[tuple[int, int], ...]
Attr = (
    Parameter | bytes | int | str | IndexMap | Reduction | Scatter | PadWidths | LibraryCall | None
)


class Node:
    """One operation of the DAG; immutable, compared by identity.

    ``op`` names a row of the op table (graph/ops.py), elementwise and without an ``attr``, or one
    of the structural operations (graph/structure.py).

    ``line`` is the user's file and line: of operations whose errors depend on values, and of all
    where a report is wanted. It means nothing to a plan.
    """

    __slots__ = ("__weakref__", "attr", "dtype", "line", "op", "operands", "shape")

    def __init__(
        self,
        op: str,
        operands: tuple[Node, ...],
        shape: Shape,
        dtype: DType,
        attr: Attr = None,
        line: str | None = None,
    ) -> None:
        self.op = op
        self.operands = operands
        self.shape = shape
        self.dtype = dtype
        self.attr = attr
        self.line = line

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        """The bytes of the value when it is stored."""
        return self.size * self.dtype.itemsize

    @property
    def value(self) -> np.generic:
        """The value of a constant."""
        assert self.op == "constant" and isinstance(self.attr, bytes)
        return np.frombuffer(self.attr, self.dtype)[0]  # type: ignore[no-any-return]

    @property
    def map(self) -> IndexMap:
        """The index map of an index or update node."""
        assert isinstance(self.attr, IndexMap)
        return self.attr

    @property
    def reduction(self) -> Reduction:
        """The reduction of a reduce, segment or scan node."""
        assert isinstance(self.attr, Reduction)
        return self.attr

    @property
    def scatter(self) -> Scatter:
        """What a scatter node does."""
        assert isinstance(self.attr, Scatter)
        return self.attr

    @property
    def writes(self) -> bool:
        """True for a new version of an array, operand 0, that is that array but for some places."""
        return self.op in ("update", "scatter")

    @property
    def reduces(self) -> bool:
        """True for what combines elements of a row, all or a segment of them, into one value."""
        return self.op in ("reduce", "segment")

    @property
    def parameter(self) -> Parameter:
        """The argument of a parameter node."""
        assert isinstance(self.attr, Parameter)
        return self.attr

    @property
    def axis(self) -> int:
        """The axis of a concatenate or iota node."""
        assert isinstance(self.attr, int)
        return self.attr

    @property
    def side(self) -> str:
        """The side of a search node: which elements it counts, one of SIDES."""
        assert isinstance(self.attr, str)
        return self.attr

    @property
    def is_elementwise(self) -> bool:
        """True if the op is a row of the op table."""
        return self.op in OPS

    def with_operands(self, operands: tuple[Node, ...]) -> Node:
        """The same operation on other operands; the node itself if they are the same."""
        if operands == self.operands:  # by identity
            return self
        return Node(self.op, operands, self.shape, self.dtype, self.attr, self.line)

    def __repr__(self) -> str:
        return f"<{self.op} {self.dtype}{list(self.shape)}>"


@dataclass(frozen=True, slots=True)
class Graph:
    """A DAG: its parameters, its outputs, and a name for texts and dumps.

    ``targets[i]`` is the number of the parameter in whose memory output ``i`` must end up, or None
    for a new array; empty means all new.
    """

    parameters: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "region"
    targets: tuple[int | None, ...] = ()
    known_nodes: tuple[Node, ...] | None = field(
        default=None, init=False, compare=False, repr=False
    )

    def target(self, output: int) -> int | None:
        """The number of the parameter that output ``output`` overwrites, or None."""
        return self.targets[output] if self.targets else None

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the parameters that are overwritten."""
        return frozenset(t for t in self.targets if t is not None)

    def with_outputs(self, outputs: tuple[Node, ...]) -> Graph:
        """The same graph after a rewrite of its nodes."""
        return Graph(self.parameters, outputs, self.name, self.targets)

    def nodes(self) -> tuple[Node, ...]:
        """Every node reachable from the outputs, operands first, in a stable order."""
        if self.known_nodes is None:
            object.__setattr__(self, "known_nodes", tuple(topological(self.outputs)))
        return self.known_nodes  # type: ignore[return-value]


def topological(roots: Iterable[Node], within: Container[Node] | None = None) -> list[Node]:
    """Every node reachable from ``roots`` (through ``within`` only), operands before users."""
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node not in done:
            count = len(stack)
            for operand in node.operands[::-1]:
                if operand not in done and (within is None or operand in within):
                    stack.append(operand)
            if len(stack) > count:
                continue
            done.add(node)
            order.append(node)
        stack.pop()
    return order


def users(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """For each of ``nodes`` the nodes among them that use it, each once, in order."""
    found: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for operand in dict.fromkeys(node.operands):
            found[operand].append(node)
    return found
