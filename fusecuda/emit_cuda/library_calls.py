"""Library calls of a program on a device: what stays the same between calls is laid out once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..fusion.assembly import Assembly
from ..graph.dtypes import DType
from ..graph.index_map import Shape
from ..graph.node import Node


class Functions(Protocol):
    """What library calls need of a device."""

    def constant(self, value: Any) -> Any:
        """A constant operand, there for what starts on any stream from now on."""

    def view(self, base: Any, offset: int, shape: Any, strides: Any, dtype: DType) -> Any:
        """Memory of ``base`` from byte ``offset`` on, as an array; ``base`` if that is it."""

    def library(self, node: Node, operands: Sequence[Any], out: Any, apart: bool) -> None:
        """Start the computation of a library node into ``out`` on the current stream.

        ``apart`` tells that ``out`` is C-contiguous and no memory of an operand.
        """


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is: which of a call's bases, from which byte on, and how."""

    base: int
    offset: int
    shape: Shape
    strides: tuple[int, ...]
    dtype: DType

    def of(self, device: Functions, bases: Sequence[Any]) -> Any:
        """The value as an array of ``device``."""
        return device.view(bases[self.base], self.offset, self.shape, self.strides, self.dtype)


@dataclass(frozen=True, slots=True)
class Called:
    """One library call; an operand without a place is a constant, an array already."""

    node: Node
    operands: list[Place | Any]
    out: Place
    apart: bool

    def start(self, device: Functions, *bases: Any) -> None:
        """Start it on the current stream of ``device``."""
        operands = [o.of(device, bases) if isinstance(o, Place) else o for o in self.operands]
        device.library(self.node, operands, self.out.of(device, bases), self.apart)


def called(
    node: Node,
    assembly: Assembly,
    base_of: Callable[[int], tuple[int, int]],
    constant: Callable[[Any], Any],
) -> Called:
    """The call of ``node``; ``base_of`` tells a buffer's base, and the byte at which it begins."""

    def place(value: Node) -> Place:
        memory = assembly.memory(value)
        base, start = base_of(memory.buffer)
        return Place(base, start + memory.offset, value.shape, memory.strides, value.dtype)

    operands = [constant(o.value) if o.op == "constant" else place(o) for o in node.operands]
    # Arguments may overlap.
    return Called(node, operands, place(node), not assembly.is_argument(node))
