"""Library calls of a program: their operands where these lie, their results straight into place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..fusion.assembly import Assembly
from ..fusion.walk import Memory
from ..graph.dtypes import DType
from ..graph.index_map import Shape, contiguous_strides
from ..graph.interpret import evaluate
from ..graph.library import Into
from ..graph.node import LibraryCall, Node
from ..graph.views import written

Array = np.ndarray[Any, Any]
Step = Callable[[tuple[Array, ...], Array], object]  # computes a node of operands into its memory


def step_of(node: Node, assembly: Assembly) -> Step:
    """What computes ``node``, which is no kernel's."""
    if node.op == "update":  # in place: a copy before it is a step of its own
        return lambda operands, out: written(node, out, operands[1])
    # Arguments may overlap, and what is raised midway may leave nothing in one.
    if isinstance(node.attr, LibraryCall) and not assembly.is_argument(node):
        return Into(node.attr, np, node.line)
    return lambda operands, out: _copy(evaluate(node, list(operands)), out)


def has_threads(node: Node) -> bool:
    """True if NumPy computes ``node`` on threads of its own."""
    return isinstance(node.attr, LibraryCall) and node.attr.name in ("matmul", "dot")


def _copy(value: Array, out: Array) -> None:
    out[...] = value


class Views:
    """The memory of nodes as arrays, for library calls; none is handed out.

    What shows temporaries is made once for a block that a frame keeps.
    """

    def __init__(self, assembly: Assembly, offsets: Sequence[int], keeps_block: bool) -> None:
        self._assembly = assembly
        self._offsets = offsets  # of buffers, in the block
        self._keeps_block = keeps_block
        self._kept: list[Callable[[Array], Array]] = []
        self._known: dict[Node, str] = {}
        self.space: dict[str, Any] = {}  # what the texts name

    def of_block(self, block: Array | None) -> list[Array]:
        """What texts call ``views``, of the block that a frame keeps."""
        return [] if block is None else [show(block) for show in self._kept]

    def text(self, node: Node, base: Callable[[int], str]) -> str:
        """A Python expression for the array of ``node``; ``base`` names that of a buffer."""
        if node not in self._known:
            self._known[node] = self._text(node, base)
        return self._known[node]

    def _text(self, node: Node, base: Callable[[int], str]) -> str:
        name = f"n{len(self.space)}"
        if node.op == "constant":
            self.space[name] = np.asarray(node.value)
            return name
        memory = self._memory(node)
        buffer = self._assembly.buffers[memory.buffer]
        if 0 in node.shape:
            show: Callable[[Array], Array] = _Nothing(node.shape, node.dtype)
        elif buffer.argument is None and buffer.output is None:
            offset = memory.offset + self._offsets[memory.buffer]
            show = _Part(node.shape, node.dtype, offset, memory.strides)
            if self._keeps_block:
                self._kept.append(show)
                return f"views[{len(self._kept) - 1}]"
        else:
            shape, strides = self._shown(memory.buffer)
            text = _directly(base(memory.buffer), shape, strides, node, memory)
            if text is not None:
                return text
            part = memory.offset >= 0 and strides == contiguous_strides(shape, node.dtype.itemsize)
            kind = _Part if part else _Window
            show = kind(node.shape, node.dtype, memory.offset, memory.strides)
        self.space[name] = show
        return f"{name}({base(memory.buffer)})"

    def _memory(self, node: Node) -> Memory:
        """As the assembly says, axes of extent 1 strided as NumPy's reshape has them."""
        memory = self._assembly.memory(node)
        if node.op != "reshape":
            return memory
        usual = contiguous_strides(node.shape, node.dtype.itemsize)
        pairs = zip(node.shape, memory.strides, usual, strict=True)
        return Memory(memory.buffer, memory.offset, tuple(u if n == 1 else s for n, s, u in pairs))

    def _shown(self, buffer: int) -> tuple[Shape, tuple[int, ...]]:
        """Shape and strides of the array that is given as an argument or made as a result."""
        spec = self._assembly.buffers[buffer]
        if spec.argument is not None:
            shape, strides, _ = self._assembly.layout_of(spec.argument)
            return shape, strides
        assert spec.output is not None
        made = self._assembly.plan.graph.outputs[spec.output]
        return made.shape, contiguous_strides(made.shape, made.dtype.itemsize)


def _directly(
    name: str, shape: Shape, strides: tuple[int, ...], node: Node, memory: Memory
) -> str | None:
    """The expression by NumPy's own methods, if ``node`` shows all of the array: they are quick."""
    if memory.offset:
        return None
    if (node.shape, memory.strides) == (shape, strides):
        return name
    if (node.shape, memory.strides) == (shape[::-1], strides[::-1]):
        return f"{name}.T"
    item = node.dtype.itemsize
    whole = strides == contiguous_strides(shape, item)
    if whole and memory.strides == contiguous_strides(node.shape, item):
        same = math.prod(shape) == node.size
        return f"{name}.reshape({node.shape})" if same else None
    return None


class _Part:
    """A part of a C-contiguous array of any type: shape, type, first byte and strides."""

    def __init__(self, shape: Shape, dtype: DType, offset: int, strides: tuple[int, ...]) -> None:
        self.shape, self.dtype, self.offset, self.strides = shape, dtype, offset, strides

    def __call__(self, base: Array) -> Array:
        return np.ndarray(self.shape, self.dtype, base, self.offset, self.strides)


class _Window(_Part):
    """The same of an array that is laid out anyhow."""

    def __call__(self, base: Array) -> Array:
        return np.asarray(_Memory(base, self)).view(self.dtype)  # which it may not tell


class _Nothing:
    """An array without elements."""

    def __init__(self, shape: Shape, dtype: DType) -> None:
        self.shape, self.dtype = shape, dtype

    def __call__(self, _: Array) -> Array:
        return np.empty(self.shape, self.dtype)


class _Memory:
    """Memory of another array, for `numpy.asarray`."""

    def __init__(self, base: Array, part: _Part) -> None:
        self.base = base
        self.__array_interface__ = {
            "version": 3,
            "data": (base.__array_interface__["data"][0] + part.offset, False),
            "shape": part.shape,
            "strides": part.strides,
            "typestr": part.dtype.str,
        }
