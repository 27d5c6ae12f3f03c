"""Drafting: the blueprint of an assembly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from ..codegen.compactions import cuts
from ..codegen.layout import Layout
from ..fusion.assembly import Assembly
from ..fusion.binding import Bound
from ..fusion.memory import Memory
from ..fusion.walk import Launch
from ..graph.index_map import contiguous_strides
from ..graph.node import Node, Parameter
from .bands import series_of
from .blueprint import Argument, Blueprint, Called, Launched, Shown
from .loader import KernelSource


def blueprint(
    assembly: Assembly,
    sources: Sequence[KernelSource | None],
    layout: Layout,
    lines: Mapping[str, str] | None = None,
) -> Blueprint:
    """All that a program of ``assembly`` is made of; ``lines`` tells what stands for a line."""
    draft = _Draft(assembly, lines)
    numbers = (b.argument for b in assembly.buffers if b.argument is not None)
    return Blueprint(
        arguments=tuple(
            Argument(n, *assembly.layout_of(n), is_written=n in assembly.written) for n in numbers
        ),
        outputs=tuple((o.shape, o.dtype) for o in assembly.plan.graph.outputs),
        buffers=tuple(assembly.buffers),
        steps=tuple(map(draft.step, assembly.steps, sources)),
        commits=assembly.plan.commits,
        cuts=tuple(cuts(assembly).items()),
        companies=tuple(layout.companies),
        series=tuple(series_of(assembly, layout)),
        block_bytes=layout.block_bytes,
        buffer_offsets=layout.buffer_offsets,
        workspace_offsets=layout.workspace_offsets,
        scratch_offsets=layout.scratch_offsets,
        threads=layout.threads,
    )


class _Draft:
    """The steps of a blueprint; what is one operand is one again."""

    def __init__(self, assembly: Assembly, lines: Mapping[str, str] | None) -> None:
        self.assembly = assembly
        self.lines = lines
        self.bare = cache(_bare)

    def step(self, step: Launch | Node, source: KernelSource | None) -> Launched | Called | None:
        if isinstance(step, Node):
            node = self.apart(step)
            shown = map(self.shown, step.operands, node.operands)
            into_argument = self.assembly.is_argument(step)
            return Called(node, tuple(shown), self.shown(step, node), into_argument)
        if source is None or not step.launched:
            return None
        assert isinstance(step, Bound)
        lowered = step.lowered
        return Launched(
            source.symbol,
            tuple(step.dims),
            tuple(zip(step.buffers, step.offsets, strict=True)),
            step.work,
            step.grain,
            step.scratch,
            step.phases,
            step.streams,
            step.again,
            lowered.ir.compacts,
            tuple(lowered.scalars),
            tuple(map(self.apart, lowered.sites)),
        )

    def apart(self, node: Node) -> Node:
        """``node`` on bare operands."""
        operands = tuple(map(self.bare, node.operands))
        line = node.line
        if line is not None and self.lines is not None:
            line = self.lines[line]
        return Node(node.op, operands, node.shape, node.dtype, node.attr, line)

    def shown(self, node: Node, bare: Node) -> Shown:
        """Where ``node`` lies, axes of extent 1 strided as NumPy's reshape has them."""
        if node.op == "constant":
            return Shown(bare, None)
        memory = self.assembly.memory(node)
        if node.op == "reshape":
            usual = contiguous_strides(node.shape, node.dtype.itemsize)
            axes = zip(node.shape, memory.strides, usual, strict=True)
            strides = tuple(u if n == 1 else s for n, s, u in axes)
            memory = Memory(memory.buffer, memory.offset, strides)
        return Shown(bare, memory)


def _bare(node: Node) -> Node:
    """A node that tells the shape and the dtype of ``node``, and what a constant is."""
    if node.op == "constant":
        return node
    return Node("parameter", (), node.shape, node.dtype, Parameter(0))
