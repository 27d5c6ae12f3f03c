"""Library calls of a program: their operands where these lie, their results straight into place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..fusion.memory import Memory
from ..graph.dtypes import DType
from ..graph.index_map import Shape, contiguous_strides
from ..graph.interpret import evaluate
from ..graph.library import Into
from ..graph.node import LibraryCall, Node
from ..graph.views import written
from .blueprint import Blueprint, Called, Shown

Array = np.ndarray[Any, Any]
Step = Callable[[tuple[Array, ...], Array], object]  # computes a node of operands into its memory


def step_of(called: Called) -> Step:
    """What computes the node of ``called``, which is no kernel's."""
    node = called.node
    if node.op == "update":  # in place: a copy before it is a step of its own
        return lambda operands, out: written(node, out, operands[1])
    # Arguments may overlap, and what is raised midway may leave nothing in one.
    if isinstance(node.attr, LibraryCall) and not called.into_argument:
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

    def __init__(self, blueprint: Blueprint, keeps_block: bool) -> None:
        self._blueprint = blueprint
        self._given = {a.number: (a.shape, a.strides) for a in blueprint.arguments}
        self._keeps_block = keeps_block
        self._kept: list[Callable[[Array], Array]] = []
        self._known: dict[Shown, str] = {}
        self.space: dict[str, Any] = {}  # what the texts name

    def of_block(self, block: Array | None) -> list[Array]:
        """What texts call ``views``, of the block that a frame keeps."""
        return [] if block is None else [show(block) for show in self._kept]

    def text(self, shown: Shown, base: Callable[[int], str]) -> str:
        """A Python expression for the array of what is ``shown``; ``base`` names a buffer's."""
        if shown not in self._known:
            self._known[shown] = self._text(*shown, base)
        return self._known[shown]

    def _text(self, node: Node, memory: Memory | None, base: Callable[[int], str]) -> str:
        name = f"n{len(self.space)}"
        if memory is None:
            self.space[name] = np.asarray(node.value)
            return name
        buffer = self._blueprint.buffers[memory.buffer]
        if 0 in node.shape:
            show: Callable[[Array], Array] = _Nothing(node.shape, node.dtype)
        elif buffer.argument is None and buffer.output is None:
            offset = memory.offset + self._blueprint.buffer_offsets[memory.buffer]
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

    def _shown(self, buffer: int) -> tuple[Shape, tuple[int, ...]]:
        """Shape and strides of the array that is given as an argument or made as a result."""
        spec = self._blueprint.buffers[buffer]
        if spec.argument is not None:
            return self._given[spec.argument]
        assert spec.output is not None
        shape, dtype = self._blueprint.outputs[spec.output]
        return shape, contiguous_strides(shape, dtype.itemsize)


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
