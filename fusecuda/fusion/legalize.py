"""Legalize: copies made explicit, so that every write and every result has memory of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..graph.index_map import identity, reshape_strides
from ..graph.node import Graph, Node
from ..graph.structure import structure_of


@dataclass(slots=True)
class Decisions:
    """What earlier attempts at a plan found out, in terms of the graph before legalization."""

    copy_old: dict[Node, str] = field(default_factory=dict)  # update -> why old is copied first
    own_value: dict[Node, str] = field(default_factory=dict)  # update -> why the value is stored
    copy_output: dict[int, str] = field(default_factory=dict)  # output -> why it is copied
    forced: dict[Node, str] = field(default_factory=dict)  # node -> why it is a root
    commit: str = ""  # why arguments are overwritten only at the end, or empty
    checked: Node | None = None  # what is written to its argument at once, at the end

    def count(self) -> int:
        """How many decisions there are; planning ends when none is new."""
        found = len(self.copy_old) + len(self.own_value)
        return found + len(self.copy_output) + len(self.forced)


@dataclass(slots=True)
class Legal:
    """A legalized graph, which of its nodes must be roots, and where each node came from."""

    graph: Graph
    forced: dict[Node, str]
    original: dict[Node, Node]
    commits: set[Node] = field(default_factory=set)  # copies into arguments, made last


def copy(node: Node) -> Node:
    """A node that is ``node`` in memory of its own."""
    return Node("index", (node,), node.shape, node.dtype, identity(len(node.shape)))


def legalize(graph: Graph, decisions: Decisions, strides: Mapping[int, Sequence[int]]) -> Legal:
    """``graph`` with the copies that ``decisions`` and the parameters' strides ask for.

    ``strides`` gives the strides, in elements, of the parameters that are not contiguous.
    """
    new: dict[Node, Node] = {}
    forced: dict[Node, str] = {}
    original: dict[Node, Node] = {}
    lies_in = _argument_of(graph)
    for node in graph.nodes():
        operands = [new[o] for o in node.operands]
        if node.writes:
            forced.update(_copies_of_update(node, operands, decisions))
        elif node.op == "reshape" and not _bitcast(node, lies_in, strides):
            operands[0] = copy(operands[0])
            forced[operands[0]] = "a reshape of scattered memory needs a copy"
        elif node.op == "library":
            for i, operand in enumerate(operands):
                if operand.op == "parameter" and operand.parameter.scalar:
                    operands[i] = copy(operand)
                    forced[operands[i]] = "a library call takes arrays"
        new[node] = node.with_operands(tuple(operands))
        original[new[node]] = node
        if node in decisions.forced:
            forced[new[node]] = decisions.forced[node]
    legal = Legal(graph, forced, original)
    copied = dict(decisions.copy_output)
    checked = decisions.checked
    if decisions.commit and checked is None:
        copied.update((i, "") for i, t in enumerate(graph.targets) if t is not None)
    outputs = _own_outputs(legal, new, copied)
    legal.commits = {outputs[i] for i in copied if graph.target(i) is not None} & set(forced)
    if checked is not None:
        legal.commits.add(new[checked])
    legal.graph = graph.with_outputs(outputs)
    return legal


def _copies_of_update(node: Node, operands: list[Node], decisions: Decisions) -> dict[Node, str]:
    """Copies put among the ``operands`` of a node that writes, each with the reason."""
    forced: dict[Node, str] = {}
    into_argument = decisions.commit and operands[0].op == "parameter"
    into_argument = into_argument and node is not decisions.checked
    made_of_none = operands[0].op in ("constant", "index")
    if node in decisions.copy_old or into_argument or made_of_none:
        operands[0] = copy(operands[0])
        forced[operands[0]] = decisions.copy_old.get(node, "an update writes into it")
    if node in decisions.own_value:
        for i, operand in enumerate(operands[1:], 1):
            stored = structure_of(operand).unstored or operand.writes
            if stored or operand is operands[0]:
                operands[i] = copy(operand)
            forced[operands[i]] = decisions.own_value[node]
    return forced


def _argument_of(graph: Graph) -> dict[Node, int]:
    """The number of the argument in whose memory a node may lie."""
    found: dict[Node, int] = {}
    for i, output in enumerate(graph.outputs):
        target = graph.target(i)
        node = output
        while target is not None:
            found[node] = target
            if not node.writes and node.op != "reshape":
                break
            node = node.operands[0]
    for node in graph.nodes():
        if node.op == "parameter":
            found[node] = node.parameter.number
        elif node.writes and node.operands[0] in found:
            found.setdefault(node, found[node.operands[0]])
    return found


def _bitcast(node: Node, lies_in: Mapping[Node, int], strides: Mapping[int, Sequence[int]]) -> bool:
    """True if the memory of the operand of the reshape ``node`` can be read as it lies."""
    (operand,) = node.operands
    number = lies_in.get(operand)
    if number is None or number not in strides:
        return True
    return reshape_strides(operand.shape, strides[number], node.shape) is not None


def _overwritten(node: Node, graph: Graph) -> int | None:
    """The number of the argument that ``node`` is a version of and that a later one overwrites."""
    if not node.writes:
        return None
    node = node.operands[0]
    while node.writes or node.op == "reshape":
        node = node.operands[0]
    if node.op != "parameter" or node.parameter.number not in graph.targets:
        return None
    return node.parameter.number


def _own_outputs(
    legal: Legal, new: Mapping[Node, Node], copied: Mapping[int, str]
) -> tuple[Node, ...]:
    """The outputs, each in a buffer that no other output and no argument shares."""
    graph = legal.graph
    outputs = [new[old] for old in graph.outputs]
    taken: set[Node] = set()
    # A value that an argument takes too is computed there, and copied from it.
    for i in sorted(range(len(outputs)), key=lambda i: graph.target(i) is None):
        node = outputs[i]
        base = node
        while base.op == "reshape":
            base = base.operands[0]
        target = graph.target(i)
        same = base.op == "parameter" and base.parameter.number == target
        reshaped = base is not node and target is not None
        if not same and (
            base in taken
            or structure_of(base).is_leaf
            or i in copied
            or reshaped
            or _overwritten(base, graph) not in (None, target)
        ):
            if i in copied:  # its own kernel would read what it overwrites
                if structure_of(base).is_leaf or reshaped:
                    node = copy(node)
                legal.forced[node] = copied[i]
            node = base = copy(node)
            legal.forced[node] = "each result has memory of its own"
        taken.add(base)
        outputs[i] = node
    return tuple(outputs)
