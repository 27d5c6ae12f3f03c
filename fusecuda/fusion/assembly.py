"""Assembly: a plan bound to its shapes, every value at its place in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ..graph.dtypes import DType
from ..graph.index_map import contiguous_strides, reshape_strides
from ..graph.node import Node
from .cluster import Cluster
from .dependences import Needs, Touch, dependences, touched
from .lowering import lower
from .memory import Buffer, Memory
from .plan import Plan
from .together import Company, brought_together, companies
from .walk import Bind, Launch


@dataclass(slots=True)
class Assembly:
    """The steps of a plan, each a bound launch or a library node, over numbered buffers."""

    plan: Plan
    steps: list[Launch | Node]
    buffers: list[Buffer]
    touches: list[Touch]  # the buffers that each step reads and writes
    needs: Needs  # for each step, the earlier ones that it has to wait for, and why
    places: _Places
    companies: list[Company]  # all steps in order, those together that share a launch

    @property
    def launches(self) -> list[Company]:
        """The steps that have anything to do, those together that share a launch."""
        return [c for c in self.companies if getattr(self.steps[c[0]], "launched", True)]

    def layout_of(self, number: int) -> tuple[tuple[int, ...], tuple[int, ...], DType]:
        """Shape, strides in bytes and dtype of the argument ``number``."""
        node = self.plan.graph.parameters[number]
        assert node.parameter.number == number
        return node.shape, self.memory(node).strides, node.dtype

    @property
    def written(self) -> frozenset[int]:
        """The numbers of the arguments that are overwritten."""
        return self.plan.graph.written

    def memory(self, node: Node) -> Memory:
        """Where ``node``, a stored value or a view or reshape of one, is in memory."""
        return self.places.of(node)

    def is_argument(self, node: Node) -> bool:
        """True if ``node`` is in the memory of an argument."""
        return self.buffers[self.memory(node).buffer].argument is not None


class _Places:
    """The memory of every stored node."""

    __slots__ = ("buffers", "number", "plan", "strides")

    def __init__(self, plan: Plan, strides: Mapping[int, Sequence[int]]) -> None:
        self.plan = plan
        self.strides = strides  # of parameters, in elements, where not contiguous
        self.buffers: list[Buffer] = []
        self.number: dict[Node, int] = {}
        for parameter in plan.graph.parameters:
            if not parameter.parameter.scalar:
                self._add(parameter, Buffer(parameter.parameter.number, None, parameter.nbytes))
        for i, output in enumerate(plan.graph.outputs):
            base = output
            while base.op == "reshape":
                base = base.operands[0]
            home = plan.home.get(base, base)
            if plan.graph.target(i) is None:
                self._add(home, Buffer(None, i, home.nbytes))
        for root in plan.stored:
            home = plan.home[root]
            if home not in self.number:
                self._add(home, Buffer(None, None, home.nbytes))

    def _add(self, node: Node, buffer: Buffer) -> None:
        self.number[node] = len(self.buffers)
        self.buffers.append(buffer)

    def of(self, node: Node) -> Memory:
        """The memory of ``node``, seen through whatever views and reshapes it is of a buffer."""
        item = node.dtype.itemsize
        if node in self.plan.roots or node.op == "parameter":
            home = self.plan.home.get(node, node)
            if home.op == "parameter":
                number = home.parameter.number
                strides = self.strides.get(number, contiguous_strides(home.shape))
            else:
                strides = contiguous_strides(home.shape)
            if node.shape != home.shape:  # an update of a reshape
                walked = reshape_strides(home.shape, strides, node.shape)
                assert walked is not None
                strides = walked
            return Memory(self.number[home], 0, tuple(s * item for s in strides))
        below = self.of(node.operands[0])
        if node.op == "reshape":
            walked = reshape_strides(node.operands[0].shape, below.strides, node.shape)
            assert walked is not None
            if 0 in node.shape:
                walked = contiguous_strides(node.shape, item)
            return Memory(below.buffer, below.offset, walked)
        assert node.op == "index"
        offset = below.offset + node.map.offset(below.strides)
        return Memory(below.buffer, offset, node.map.strides(below.strides))


def assemble(
    plan: Plan, strides: Mapping[int, Sequence[int]], bind: Bind, shared: bool = False
) -> Assembly:
    """``plan`` lowered and bound; ``strides`` are those of parameters that are not contiguous.

    Where launches may be ``shared``, kernels that need nothing of each other stand in one.
    """
    places = _Places(plan, strides)
    steps: list[Launch | Node] = []
    for step in plan.steps:
        if isinstance(step, Node):
            steps.append(step)
        else:
            overwriting = {r for r in step.roles if plan.home[r] is not r}
            name = kernel_name(step)
            last = len(steps) >= len(plan.steps) - plan.commits
            relower = partial(
                lower, step, plan.roots, plan.stored, overwriting, name, last, plan.filled
            )
            steps.append(bind(relower, places.of))
    touches = [touched(step, places.of) for step in steps]
    needs = dependences(touches, plan.commits)
    together: list[Company] = [(number,) for number in range(len(steps))]
    if plan.is_fused and shared:
        order = brought_together(steps, plan.steps, needs, plan.commits)
        plan = replace(plan, steps=[plan.steps[n] for n in order])
        steps, touches = [steps[n] for n in order], [touches[n] for n in order]
        needs = dependences(touches, plan.commits)
        together = companies(steps, needs, plan.commits)
    return Assembly(plan, steps, places.buffers, touches, needs, places, together)


def kernel_name(cluster: Cluster) -> str:
    """A name that tells what the kernel does: its kind and its most telling operations."""
    ops: dict[str, None] = {}
    for root, cone in cluster.cones.items():
        for node, _ in reversed(cone.inlined):
            if node.op not in ("constant", "index", "convert"):
                ops[node.op] = None
        kind = f"segment_{root.reduction.kind}" if root.op == "segment" else root.op
        ops[root.reduction.kind if root.op == "reduce" else kind] = None
    compacts = "compact" in ops
    kind = "compact" if compacts else "loop" if cluster.reduced is None else "reduce"
    picked = [op for op in ops if op not in ("constant", "compact")]
    if len(picked) > 5:
        picked = picked[:2] + picked[-3:]
    return re.sub(r"\W", "_", "_".join([kind, *picked]))
