"""Plans: the executable of what was recorded, built once for graphs that are alike.

Graphs are alike if they differ in their arrays only, or in numbers that take part in arithmetic. A
number is a constant of the plan until another value comes in its place; from then on it is given to
the kernels at each call, so that a time that grows from step to step plans nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...engine import Executable, build
from ...graph.node import Graph, Node, Parameter, topological
from ...options import Options, fusion_enabled
from . import dumping
from .leaf import Leaf

_PLANS_LIMIT = 512
_TAKES_NUMBERS = frozenset(("index", "pad"))  # beside the elementwise operations


class _Plan:
    """The executable of graphs that are alike, and which of their numbers are arguments."""

    __slots__ = ("bits", "executable", "free")

    def __init__(self, bits: tuple[object, ...]) -> None:
        self.bits = bits  # of the numbers, in the order of the graph
        self.free: frozenset[int] = frozenset()  # those that are arguments
        self.executable: Executable | None = None

    def fit(self, bits: tuple[object, ...]) -> None:
        """Make arguments of the numbers that differ from those known."""
        if bits != self.bits:
            pairs = enumerate(zip(bits, self.bits, strict=True))
            differing = self.free.union(i for i, (new, old) in pairs if new != old)
            if differing != self.free:
                self.free, self.executable = differing, None


_plans: dict[tuple[object, ...], _Plan] = {}


def forget() -> None:
    """Plan everything anew from now on."""
    _plans.clear()


def executable_for(
    outputs: Sequence[Node],
    own: Sequence[Leaf | None],
    options: Options,
    name: str = "region",
) -> tuple[list[Leaf], Executable]:
    """The leaves that ``outputs`` depend on, and the executable that takes their arrays.

    ``own[i]`` stands for the memory that output ``i`` overwrites, if any.
    """
    nodes = topological(outputs)
    leaves, number, layouts = _leaves(nodes, own)
    exchangeable = _exchangeable(nodes, outputs)
    key: list[object] = [options, name, fusion_enabled()]
    for i, leaf in enumerate(leaves):
        key.append((leaf.shape, leaf.dtype.num, leaf.parameter.scalar, layouts.get(i)))
    numbers: list[Node] = []
    position: dict[Node, int] = {}
    for node in nodes:
        position[node] = len(position)
        if node.op == "parameter":
            key.append(number[node])
        elif node in exchangeable:
            numbers.append(node)
            key.append(node.dtype.num)
        else:
            operands = tuple(position[o] for o in node.operands)
            key.append((node.op, node.attr, node.shape, node.dtype.num, operands, node.line))
    targets = tuple(number[o] if o is not None else None for o in own)
    key += [tuple(position[o] for o in outputs), targets]
    plan = _plan_of(tuple(key), tuple(n.attr for n in numbers))
    for i in sorted(plan.free):
        number[numbers[i]] = len(leaves)
        leaves.append(Leaf(numbers[i].value, (), numbers[i].dtype, True, numbers[i]))
    if plan.executable is None:
        graph = _renumbered(nodes, outputs, leaves, number, targets, name)
        plan.executable = build(graph, layouts, options)
        dumping.dump(plan.executable)
    return leaves, plan.executable


def _plan_of(key: tuple[object, ...], bits: tuple[object, ...]) -> _Plan:
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _PLANS_LIMIT:
            forget()
        plan = _plans[key] = _Plan(bits)
    plan.fit(bits)
    return plan


def _leaves(
    nodes: Iterable[Node], own: Iterable[Leaf | None]
) -> tuple[list[Leaf], dict[Node, int], dict[int, Sequence[int]]]:
    """One leaf for each array and scalar, the number of every leaf, and strides by number."""
    leaves: list[Leaf] = []
    number: dict[Node, int] = {}
    by_array: dict[int, int] = {}
    layouts: dict[int, Sequence[int]] = {}
    for leaf in (*(n for n in nodes if n.op == "parameter"), *(o for o in own if o)):
        assert isinstance(leaf, Leaf)
        same = None if leaf.parameter.scalar else by_array.get(id(leaf.array))
        if same is None:
            same = by_array[id(leaf.array)] = len(leaves)
            leaves.append(leaf)
            strides = _strides(leaf)
            if strides is not None:
                layouts[same] = strides
        number[leaf] = same
    return leaves, number, layouts


def _strides(leaf: Leaf) -> tuple[int, ...] | None:
    """The strides of a leaf's array in elements, or None if it is C-contiguous."""
    if leaf.parameter.scalar or leaf.array.flags.c_contiguous:
        return None
    item = leaf.dtype.itemsize
    return tuple(s // item for s in leaf.array.strides)


def _exchangeable(nodes: Iterable[Node], outputs: Iterable[Node]) -> set[Node]:
    """The constants that only arithmetic uses: another value would do as well."""
    found = {node for node in nodes if node.op == "constant"}
    if found:
        found.difference_update(outputs)
        for node in nodes:
            if node.operands and not node.is_elementwise and node.op not in _TAKES_NUMBERS:
                found.difference_update(node.operands)
    return found


def _renumbered(
    nodes: Iterable[Node],
    outputs: Sequence[Node],
    leaves: Sequence[Leaf],
    number: dict[Node, int],
    targets: tuple[int | None, ...],
    name: str,
) -> Graph:
    """The graph over plain parameters, numbered as ``number`` says."""
    plain = [
        Node("parameter", (), leaf.shape, leaf.dtype, Parameter(i, leaf.parameter.scalar))
        for i, leaf in enumerate(leaves)
    ]
    new: dict[Node, Node] = {}
    for node in nodes:
        if node in number:
            new[node] = plain[number[node]]
        else:
            new[node] = node.with_operands(tuple(new[o] for o in node.operands))
    some = targets if any(t is not None for t in targets) else ()
    return Graph(tuple(plain), tuple(new[o] for o in outputs), re.sub(r"\W", "_", name), some)
