"""Blueprints: all that a program of the C back end is made of, as plain data.

What planning comes to; it may lie on the disk (`kept.py`), so nothing of a plan is in it.
"""

from __future__ import annotations

from typing import NamedTuple

from ..fusion.memory import Buffer, Memory
from ..graph.dtypes import DType
from ..graph.index_map import Shape
from ..graph.node import Node
from .bands import Series


class Launched(NamedTuple):
    """One launch of the kernel ``symbol``, see `Bound`; ``places`` are buffers and offsets in them.

    ``scalars`` are constants and parameters; ``sites`` operations that may fail, on operands that
    tell no more than shape and dtype. Of one that ``compacts`` threads take runs of elements.
    """

    symbol: str
    dims: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    work: int
    grain: int
    scratch: int
    phases: int
    streams: bool
    again: bool
    compacts: bool
    scalars: tuple[Node, ...]
    sites: tuple[Node, ...]


class Shown(NamedTuple):
    """A value that a library call reads or makes: where it lies, or None for a constant."""

    node: Node
    memory: Memory | None


class Called(NamedTuple):
    """One call of NumPy's: of ``node``, whose operands tell no more than shape and dtype.

    It writes ``into`` an argument's memory, or memory of its own.
    """

    node: Node
    operands: tuple[Shown, ...]
    out: Shown
    into_argument: bool


class Argument(NamedTuple):
    """How an array that is given lies in memory: strides are bytes."""

    number: int
    shape: Shape
    strides: tuple[int, ...]
    dtype: DType
    is_written: bool


class Blueprint(NamedTuple):
    """A program: its buffers and steps; None for one that has nothing to do.

    The last ``commits`` steps overwrite arguments. Each of ``cuts`` is an output and the step that
    tells where it ends. Loops of ``series`` go on together. Offsets are those of the memory plan.
    """

    arguments: tuple[Argument, ...]
    outputs: tuple[tuple[Shape, DType], ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Launched | Called | None, ...]
    commits: int
    cuts: tuple[tuple[int, int], ...]
    companies: tuple[tuple[int, ...], ...]
    series: tuple[Series, ...]
    block_bytes: int
    buffer_offsets: tuple[int, ...]
    workspace_offsets: tuple[int, ...]
    scratch_offsets: tuple[int, ...]
    threads: int

    @property
    def named(self) -> list[Node]:
        """The nodes whose lines errors name."""
        found: list[Node] = []
        for step in self.steps:
            found += step.sites if isinstance(step, Launched) else [step.node] if step else []
        return found
