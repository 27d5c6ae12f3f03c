"""``bisect``: the first pass, kernel or fusion that makes a dumped graph's results other ones.

The passes are applied one after another, each interpreted; of the rules the first application is
sought that changes a result. Then every operation is a kernel of its own; then more and more
operations, in the order of the graph, may share a kernel with what they read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..back_ends import BACK_ENDS
from ..cases.case import Case
from ..cases.checked import meaning_of
from ..cases.compare import described, first_difference
from ..engine import Executable, build_plan
from ..fusion.cluster import Cluster
from ..fusion.plan import Plan
from ..fusion.planner import plan_prepared, preparations
from ..graph import passes
from ..graph.interpret import interpret
from ..graph.library import steady
from ..graph.node import Graph, Node
from ..graph.structure import structure_of
from .dumps import add_dump
from .outcome import Outcome, faults, outcome, told
from .usage import one_line

Pass = Callable[[Graph], Graph]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "bisect", help="the first pass, kernel or fusion that changes a result of a dumped graph"
    )
    add_dump(parser)
    parser.add_argument("--source", action="store_true", help="print the kernel's source too")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what is at fault and return 1; 0 if the graphs are computed as the interpreter does."""
    for _, case, _ in faults(arguments):
        print("\n".join(culprit(case, arguments.source)))
        return 1
    return 0


def culprit(case: Case, source: bool = False) -> list[str]:
    """Lines of text: what is at fault in ``case``."""
    with steady():
        graph, found = _faulty_pass(case)
    if found:
        return found
    return _faulty_kernel(replace(case, graph=graph), source)


# --- passes


def _faulty_pass(case: Case) -> tuple[Graph, list[str]]:
    """The graph after all passes, or the first that changes a result and what it did."""
    graph, machine = case.graph, BACK_ENDS[case.options.device].machine()
    stages: list[Pass] = [*passes.PASSES, *preparations(machine)]
    right = _Oracle(case)
    for stage in stages:
        after, why = right.after(stage, graph)
        if after is None or why:
            name = getattr(stage, "func", stage).__name__
            if stage is passes.apply_rules:
                return graph, _faulty_rule(right, graph, why)
            return graph, [f"the pass {name} changes it: {why}"]
        graph = after
    return graph, []


class _Oracle:
    """The results that each graph has to have."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.meaning = meaning_of(case.options.device)
        self.expected = interpret(case.graph, case.arguments(), self.meaning)

    def after(self, stage: Pass, graph: Graph) -> tuple[Graph | None, str]:
        """``graph`` after ``stage``, and what is wrong with that, if anything."""
        try:
            graph = stage(graph)
            found = interpret(graph, self.case.arguments(), self.meaning)
            return graph, first_difference(graph, found, self.expected) or ""
        except Exception as error:  # whatever a faulty pass or its graph leads to
            return None, one_line(error)


def _faulty_rule(right: _Oracle, graph: Graph, why: str) -> list[str]:
    """The first application of a rule that changes a result, found by halving their number."""
    low, high = -1, _Counted(passes.RULES, None).applied(graph)
    while high - low > 1:
        middle = (low + high) // 2
        rules = _Counted(passes.RULES, middle)
        _, wrong = right.after(rules.rewrite, graph)
        low, high, why = (low, middle, wrong) if wrong else (middle, high, why)
    if high <= 0:
        return [f"finding common subexpressions changes it: {why}"]
    last = _Counted(passes.RULES, high)
    last.applied(graph)
    assert last.newest is not None
    name, before, after = last.newest
    return [
        f"the rule {name} changes it, application {high}: {why}",
        f"  before: {_with_operands(before)}",
        f"  after:  {_with_operands(after)}",
    ]


class _Counted:
    """The rules, of which only the first ``limit`` applications are made."""

    def __init__(self, rules: Sequence[passes.Rule], limit: int | None) -> None:
        self.limit = limit
        self.count = 0
        self.newest: tuple[str, Node, Node] | None = None
        self.rules = tuple(partial(self._apply, rule) for rule in rules)

    def _apply(self, rule: passes.Rule, node: Node) -> Node | None:
        if self.limit is not None and self.count >= self.limit:
            return None
        name = getattr(rule, "__name__", repr(rule))
        try:
            made = rule(node)
        except Exception:
            self.newest = name, node, node
            raise
        if made is not None:
            self.count += 1
            self.newest = name, node, made
        return made

    def rewrite(self, graph: Graph) -> Graph:
        """``graph`` after these applications."""
        return passes.rewrite(graph, self.rules)

    def applied(self, graph: Graph) -> int:
        """How many applications there are, until one raises."""
        try:
            self.rewrite(graph)
        except Exception:
            return self.count + 1
        return self.count


def _with_operands(node: Node) -> str:
    operands = ", ".join(
        str(o.value) if o.op == "constant" else described(o) for o in node.operands
    )
    return described(node) + (f" of {operands}" if operands else "")


# --- kernels


def _faulty_kernel(case: Case, source: bool) -> list[str]:
    """What is at fault in the kernels of ``case``, whose graph is one after all passes."""
    alone = outcome(case, partial(_executable, fuse=False, apart=frozenset()))
    if alone.is_fault:
        return _faulty_operation(case, alone, source)
    order = [n for n in case.graph.nodes() if not structure_of(n).is_leaf]
    low, high, why = 0, len(order), alone
    while high - low > 1:
        middle = (low + high) // 2
        found = outcome(case, partial(_executable, fuse=True, apart=frozenset(order[middle:])))
        low, high, why = (low, middle, found) if found.is_fault else (middle, high, why)
    make = partial(_executable, fuse=True, apart=frozenset(order[high:]))
    last = outcome(case, make)
    if (
        not last.is_fault
    ):  # the passes of the plan were applied twice, and the second time it is right
        return ["neither a pass nor a fusion alone is at fault, only both together"]
    return _fusion(case, order[high - 1], make, last, source)


def _executable(case: Case, fuse: bool, apart: frozenset[Node]) -> Executable:
    """The executable of a graph after all passes, with these nodes ``apart``."""
    plan = _plan(case, fuse, apart)
    return build_plan(case.graph, plan, case.strides, case.options)


def _plan(case: Case, fuse: bool, apart: frozenset[Node]) -> Plan:
    machine = BACK_ENDS[case.options.device].machine()
    return plan_prepared(case.graph, case.strides, fuse, machine, apart)


def _faulty_operation(case: Case, alone: Outcome, source: bool) -> list[str]:
    """The first operation whose own kernel is wrong although what it reads is right."""
    graph = case.graph
    nodes = tuple(n for n in graph.nodes() if not structure_of(n).is_leaf)
    low, high = 0, len(nodes)
    make = partial(_executable, fuse=False, apart=frozenset())

    def first(count: int) -> Case:
        return replace(case, graph=Graph(graph.parameters, nodes[:count], graph.name))

    if not outcome(first(high), make).is_fault:
        return [f"no operation alone is at fault, but what is overwritten when: {told(alone)}"]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if outcome(first(middle), make).is_fault else (middle, high)
    node = nodes[high - 1]
    text = [f"the operation alone is at fault: {_with_operands(node)}"]
    text.append(f"  {told(outcome(first(high), make))}")
    return text + _kernel(first(high), node, make, source)


def _fusion(
    case: Case, consumer: Node, make: Callable[[Case], Executable], why: Outcome, source: bool
) -> list[str]:
    """The operation whose fusion with what it reads is at fault, and what shares its kernel."""
    text = [
        "every operation is right in a kernel of its own; wrong is first this fusion:",
        f"  consumer: {described(consumer)}",
    ]
    producers = [o for o in consumer.operands if not structure_of(o).is_leaf]
    text += [f"  producer: {described(p)}" for p in dict.fromkeys(producers)]
    text.append(f"  {told(why)}")
    return text + _kernel(case, consumer, make, source)


def _kernel(case: Case, node: Node, make: Callable[[Case], Executable], source: bool) -> list[str]:
    """The kernel that computes ``node``, by name, and what else it computes."""
    try:
        executable = make(case)
    except Exception:  # then that is the fault, and it has been told
        return []
    for step, kernel in zip(executable.assembly.plan.steps, executable.kernels, strict=True):
        if not isinstance(step, Cluster):
            continue
        inlined = [n for cone in step.cones.values() for n, _ in cone.inlined]
        if any(_is(n, node) for n in (*step.roles, *inlined)):
            return [f"  kernel:   {kernel.name}", *([kernel.source.rstrip()] if source else [])]
    return []


def _is(found: Node, node: Node) -> bool:
    """True if ``found``, of a plan, is ``node``, maybe on operands that a plan has copied."""
    return (found.op, found.attr, found.shape, found.line) == (
        node.op,
        node.attr,
        node.shape,
        node.line,
    ) and found.dtype == np.dtype(node.dtype)
