"""Plans: the executable of what was recorded, built once for graphs that are alike.

Graphs are alike if they differ in their arrays only, or in numbers that take part in arithmetic. A
number is a constant of the plan until another value comes in its place; from then on it is given to
the kernels at each call, so that a time that grows from step to step plans nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ...fusion.cost import may_fail
from ...graph.node import Graph, Node, Parameter, topological
from ...interpreted import Interpreted, seconds_of_numpy
from ...options import Options, dump_folder, fusion_enabled
from ...watch import timed
from ...words import counted
from .budget import PROGRAM, Budget
from .leaf import Leaf

if TYPE_CHECKING:
    from ...engine import Executable

_PLANS_LIMIT = 512
_SECONDS_A_NODE = 1e-4  # that planning takes, as measured
_SECONDS_A_KERNEL = 0.25  # that compiling one takes
_VARIANTS = 4  # of one plan, the newest first
TAKES_NUMBERS = frozenset(("index", "pad"))  # beside the elementwise operations
Home = tuple[object, ...] | None  # who has plans of its own: a block, a function, lines


@dataclass(frozen=True, slots=True)
class _Variant:
    """An executable of graphs that are alike, for certain numbers; it never changes."""

    bits: tuple[object, ...]  # of the numbers, in the order of the graph
    free: frozenset[int]  # those that are arguments
    executable: Executable

    def fits(self, bits: tuple[object, ...]) -> bool:
        """True if the numbers that are not arguments are those that it was built for."""
        return fit(bits, self.bits, self.free)


def fit(bits: Sequence[object], known: Sequence[object], free: Collection[int]) -> bool:
    """True if numbers are the ``known`` ones, but for those that are ``free``."""
    return bits == known or all(
        i in free or new == old for i, (new, old) in enumerate(zip(bits, known, strict=True))
    )


_plans: dict[tuple[object, ...], tuple[_Variant, ...]] = {}
routes: dict[tuple[object, ...], Any] = {}  # what flushes after known recordings have run


def forget() -> None:
    """Plan everything anew from now on."""
    _plans.clear()
    routes.clear()


def executable_for(
    outputs: Sequence[Node],
    own: Sequence[Leaf | None],
    options: Options,
    name: str = "region",
    budget: Budget | None = None,
    home: Home = None,
) -> tuple[list[Leaf], Executable | Interpreted]:
    """The leaves that ``outputs`` depend on, and what takes their arrays.

    ``own[i]`` stands for the memory that output ``i`` overwrites, if any. What is not known is
    interpreted if the ``budget`` has no time to plan it. Each ``home`` has plans of its own.
    """
    sought = _Sought(outputs, own, options, name, home)
    known = _plans.get(sought.key, ())
    for variant in known:
        if variant.fits(sought.bits):
            sought.make_arguments(variant.free)
            return sought.leaves, variant.executable
    if budget is not None and not _is_due(sought.nodes, budget):
        return sought.leaves, Interpreted(sought.graph(), budget)
    free: frozenset[int] = frozenset()
    if known:
        pairs = enumerate(zip(sought.bits, known[0].bits, strict=True))
        free = known[0].free.union(i for i, (new, old) in pairs if new != old)
    sought.make_arguments(free)
    graph = sought.graph()
    with timed("plan", name, lambda: _planned(executable)):
        executable = build(graph, sought.layouts, options)
    if dump_folder() is not None:
        from .dumping import dump  # noqa: PLC0415 - loaded where it is asked for

        dump(executable, graph)
    if len(_plans) >= _PLANS_LIMIT:
        forget()
    variant = _Variant(sought.bits, free, executable)
    _plans[sought.key] = (variant, *_plans.get(sought.key, ()))[:_VARIANTS]
    return sought.leaves, executable


def _is_due(nodes: Sequence[Node], budget: Budget) -> bool:
    """True if there is time to plan ``nodes``, or NumPy takes longer than that and a compiler."""
    seconds = _SECONDS_A_NODE * len(nodes)
    return budget.allows(seconds) or seconds_of_numpy(nodes) > seconds + _SECONDS_A_KERNEL


def build(graph: Graph, strides: Mapping[int, Sequence[int]], options: Options) -> Executable:
    """The executable of ``graph``: planned by an earlier process, or now."""
    kept = _loaded("kept")
    key = kept.key_of(graph, strides, options)
    if key is not None:
        found: Executable | None = kept.found(key, graph, strides, options, _planned_anew)
        if found is not None:
            return found
    executable = _planned_anew(graph, strides, options)
    if key is not None:
        kept.keep(key, graph, executable)
    return executable


def _planned_anew(
    graph: Graph, strides: Mapping[int, Sequence[int]], options: Options
) -> Executable:
    return _loaded("engine").build(graph, strides, options)  # type: ignore[no-any-return]


def _loaded(module: str) -> Any:
    """A module of what plans and runs: half of what there is to import, in the first calls."""
    begin = perf_counter()
    found = import_module(f"fusecuda.{module}")
    PROGRAM.spend(begin - perf_counter())  # an import leaves plans and compilers their time
    return found


def compacts(options: Options) -> bool:
    """True if what masks pick is written by kernels of the device of ``options``."""
    from ...back_ends import BACK_ENDS  # noqa: PLC0415 - as above

    return BACK_ENDS[options.device].machine().compacts


def _planned(executable: Executable) -> str:
    """What a new plan is, for the log."""
    nodes = counted(len(executable.recorded.nodes()), "node")
    launches = counted(executable.launches, "launch")
    how = "planned" if executable.planned is not None else "found on the disk"
    return f"{nodes} {how} as {launches} ({', '.join(executable.names)})"


class _Sought:
    """A graph for which an executable is sought: what it has in common with those it is like."""

    def __init__(
        self,
        outputs: Sequence[Node],
        own: Sequence[Leaf | None],
        options: Options,
        name: str,
        home: Home = None,
    ) -> None:
        self.nodes = nodes = topological(outputs)
        self.outputs = outputs
        self.name = name
        self.leaves, self.number, self.layouts = _leaves(nodes, own)
        self.numbers: list[Node] = []
        self.targets = tuple(self.number[o] if o is not None else None for o in own)
        exchangeable = _exchangeable(nodes, outputs)
        key: list[object] = [options, name, home, fusion_enabled()]
        for i, leaf in enumerate(self.leaves):
            key.append((leaf.shape, leaf.dtype.num, leaf.parameter.scalar, self.layouts.get(i)))
        position: dict[Node, int] = {}
        for node in nodes:
            position[node] = len(position)
            if node.op == "parameter":
                key.append(self.number[node])
            elif node in exchangeable:
                self.numbers.append(node)
                key.append(node.dtype.num)
            else:
                operands = tuple(position[o] for o in node.operands)
                line = node.line if node.line is None or may_fail(node) else None
                key.append((node.op, node.attr, node.shape, node.dtype.num, operands, line))
        key += [tuple(position[o] for o in outputs), self.targets]
        self.key = tuple(key)
        self.bits = tuple(n.attr for n in self.numbers)

    def make_arguments(self, free: Iterable[int]) -> None:
        """Let these of the numbers be given at each call."""
        for i in sorted(free):
            node = self.numbers[i]
            self.number[node] = len(self.leaves)
            self.leaves.append(Leaf(node.value, (), node.dtype, True, node))

    def graph(self) -> Graph:
        """The graph over plain parameters."""
        plain = [
            Node("parameter", (), leaf.shape, leaf.dtype, Parameter(i, leaf.parameter.scalar))
            for i, leaf in enumerate(self.leaves)
        ]
        new: dict[Node, Node] = {}
        for node in self.nodes:
            if node in self.number:
                new[node] = plain[self.number[node]]
            else:
                new[node] = node.with_operands(tuple(new[o] for o in node.operands))
        some = self.targets if any(t is not None for t in self.targets) else ()
        outputs = tuple(new[o] for o in self.outputs)
        return Graph(tuple(plain), outputs, re.sub(r"\W", "_", self.name), some)


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
            strides = strides_of(leaf)
            if strides is not None:
                layouts[same] = strides
        number[leaf] = same
    return leaves, number, layouts


def strides_of(leaf: Leaf) -> tuple[int, ...] | None:
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
            if node.operands and not node.is_elementwise and node.op not in TAKES_NUMBERS:
                found.difference_update(node.operands)
    return found


def graph_of(
    outputs: Sequence[Node], own: Sequence[Leaf | None], name: str
) -> tuple[list[Leaf], Graph]:
    """The leaves that ``outputs`` depend on and the graph over them; constants are constants.

    ``own`` is as in `executable_for`.
    """
    sought = _Sought(outputs, own, Options(), name)
    sought.make_arguments(())
    return sought.leaves, sought.graph()
