"""``reduce``: shrinks a dumped graph that fails to a short one that fails in the same way.

Each step makes a smaller graph (fewer results, operations replaced by their values or left out,
parameters made one, smaller extents) and keeps it if it still fails: its kernels differ from the
interpreter, raise the same exception in the same place, or die of the same signal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..cases.case import Case
from ..cases.checked import meaning_of
from ..errors import GraphError
from ..graph import build
from ..graph.interpret import evaluate
from ..graph.library import steady
from ..graph.node import Graph, Node, topological
from ..graph.structure import structure_of
from ..graph.text import parse_hlo
from ..graph.verify import verify
from ..words import counted
from .dumps import add_dump, random_inputs
from .outcome import Outcome, faults, outcome, told
from .resized import resized
from .usage import UsageError, one_line


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser("reduce", help="shrink a dumped graph that fails")
    add_dump(parser)
    parser.add_argument("--output", metavar="FILE.hlo", help="where to (NAME_reduced.hlo)")
    parser.add_argument("--seconds", type=float, default=120.0, help="time for it (120)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write and print the small graph and return 1; 0 if no graph fails."""
    for path, case, found in faults(arguments):
        reducer = Reducer(case, found, arguments.seconds)
        small = reducer.run()
        output = Path(arguments.output or path.with_name(f"{path.stem}_reduced.hlo"))
        _write(replace(small, inputs=None) if reducer.is_text_enough else small, output)
        before, after = (len(c.text.splitlines()) for c in (case, small))
        print(
            f"{counted(before, 'line')}, {after} after {counted(reducer.trials, 'trial')}: "
            f"{told(outcome(small))}\n\n{small.text}\n"
            f"python -m fusecuda replay --check {output}"
        )
        return 1
    return 0


def _write(case: Case, path: Path) -> None:
    try:
        path.with_suffix(".npz").unlink(missing_ok=True)
        case.write(path)
    except OSError as error:
        raise UsageError(one_line(error)) from None


class Reducer:
    """Makes a failing case smaller as long as it fails as it did, and the time lasts."""

    def __init__(self, case: Case, failure: Outcome, seconds: float = 120.0) -> None:
        self.case = _pruned(case, case.graph.outputs, case.graph.targets)
        self.kind = failure.kind
        self.trials = 0
        self.is_text_enough = False  # no values have to be kept beside it
        self._end = perf_counter() + seconds

    def run(self) -> Case:
        """The smallest case that was found."""
        if not self._fails(self.case):  # that had been other parameters' doing
            raise UsageError("the fault does not come again: it depends on more than the graph")
        steps = (
            self._fewer_outputs, self._without_end, self._without_begin, self._values_for_nodes,
            self._bypassed, self._plainer, self._one_parameter, self._smaller,
        )  # fmt: skip
        size = None
        while size != (size := _size(self.case)):
            for step in steps:
                step()
        return self._as_text()

    def _fails(self, case: Case | None) -> bool:
        if case is None or perf_counter() > self._end:
            return False
        try:
            verify(case.graph)
        except GraphError:
            return False
        self.trials += 1
        return outcome(case).kind == self.kind

    def _take(self, case: Case | None) -> bool:
        """True if ``case`` fails too; then it is the one to go on with."""
        fails = self._fails(case)
        if fails:
            assert case is not None
            self.case = case
        return fails

    def _take_first(self, candidates: Iterator[Case | None]) -> bool:
        return any(self._take(candidate) for candidate in candidates)

    # --- steps

    def _fewer_outputs(self) -> None:
        graph = self.case.graph
        if len(graph.outputs) > 1:
            self._take_first(
                _pruned(self.case, (o,), (graph.target(i),)) for i, o in enumerate(graph.outputs)
            )

    def _without_end(self) -> None:
        """Of the operations only the first ones, as few as fail."""

        def first(count: int) -> Case | None:
            nodes = self._nodes()
            kept = set(nodes[:count])
            used = {o for n in kept for o in n.operands}
            ends = tuple(n for n in nodes[:count] if n not in used)
            return _pruned(self.case, ends, ()) if ends else None

        self._halve(first, len(self._nodes()))

    def _without_begin(self) -> None:
        """Of the operations only the last ones, the others' values given."""
        nodes = self._nodes()
        values = self._values()

        def last(count: int) -> Case:
            return self._with_values(nodes[: len(nodes) - count], values)

        self._halve(last, len(nodes))

    def _halve(self, candidate: Callable[[int], Case | None], count: int) -> None:
        """Take the candidate of the smallest number below ``count`` that still fails."""
        start, low, high, best = self.case, 0, count, None
        while high - low > 1:
            middle = (low + high) // 2
            self.case = start
            made = candidate(middle)
            if self._fails(made):
                high, best = middle, made
            else:
                low = middle
        self.case = best or start

    def _values_for_nodes(self) -> None:
        """Single operations replaced by what they give, the last ones first."""

        def candidates() -> Iterator[Case | None]:
            values = self._values()
            for node in reversed(self._nodes()):
                if node not in self.case.graph.outputs:
                    yield self._with_values([node], values)

        while self._take_first(candidates()):
            pass

    def _bypassed(self) -> None:
        """Operations left out: an operand of the same type stands for the result."""

        def candidates() -> Iterator[Case | None]:
            for node in reversed(self._nodes()):
                for operand in dict.fromkeys(node.operands):
                    if (operand.shape, operand.dtype) == (node.shape, node.dtype):
                        yield self._swapped({node: operand})

        while self._take_first(candidates()):
            pass

    def _plainer(self) -> None:
        """Results in memory of their own, contiguous arguments, no options."""
        graph = self.case.graph
        if graph.targets:
            self._take(_pruned(self.case, graph.outputs, ()))
        if self.case.strides:
            self._take(replace(self.case, strides={}))
        if self.case.options.contract:
            self._take(replace(self.case, options=replace(self.case.options, contract=False)))

    def _one_parameter(self) -> None:
        """Parameters of the same type made one; numbers made constants."""

        def candidates() -> Iterator[Case | None]:
            assert self.case.inputs is not None
            parameters = self.case.graph.parameters
            for i, one in enumerate(parameters):
                for other in parameters[i + 1 :]:
                    alike = (one.shape, one.dtype, one.parameter.scalar)
                    if alike == (other.shape, other.dtype, other.parameter.scalar):
                        yield self._swapped({other: one})
            for one in parameters:
                if one.parameter.scalar:
                    value = self.case.inputs[one.parameter.number]
                    yield self._swapped({one: build.constant(value, one.dtype)})

        while self._take_first(candidates()):
            pass

    def _smaller(self) -> None:
        """Extents made smaller, the largest first."""
        extents = {n for node in self.case.graph.nodes() for n in node.shape if n > 1}
        for old in sorted(extents, reverse=True):
            news = [*range(1, 5), *(1 << k for k in range(3, 40))]
            self._take_first(resized(self.case, old, new) for new in news if new < old)

    def _as_text(self) -> Case:
        """The case as its text tells it, on random inputs if it fails on them, too."""
        case = replace(self.case, graph=parse_hlo(self.case.text))
        random = replace(case, inputs=random_inputs(case.graph, 0))
        self.is_text_enough = self._fails(random)
        return random if self.is_text_enough else case

    # --- what candidates are made of

    def _nodes(self) -> list[Node]:
        return [n for n in self.case.graph.nodes() if not structure_of(n).is_leaf]

    def _values(self) -> dict[Node, Any]:
        """What the interpreter computes for each operation."""
        meaning = meaning_of(self.case.options.device)
        arguments = self.case.arguments()
        values: dict[Node, Any] = {}
        with steady(), np.errstate(all="ignore"):
            for node in self.case.graph.nodes():
                if node.op == "parameter":
                    values[node] = np.asarray(arguments[node.parameter.number], node.dtype)
                else:
                    values[node] = evaluate(node, [values[o] for o in node.operands], meaning)
        return values

    def _with_values(self, nodes: Sequence[Node], values: dict[Node, Any]) -> Case:
        """The case with parameters for ``nodes``, which have these values."""
        case = self.case
        assert case.inputs is not None
        inputs = list(case.inputs)
        swap: dict[Node, Node] = {}
        for node in nodes:
            swap[node] = build.parameter(len(inputs), node.shape, node.dtype)
            inputs.append(np.array(values[node]))
        return self._swapped(swap, inputs)

    def _swapped(self, swap: dict[Node, Node], inputs: Sequence[Any] | None = None) -> Case:
        """The case with some nodes replaced, and only the parameters that are needed then."""
        new: dict[Node, Node] = {}
        graph = self.case.graph
        for node in topological(graph.outputs):
            operands = tuple(new[o] for o in node.operands)
            swapped = swap.get(node)
            new[node] = (
                node.with_operands(operands) if swapped is None else new.get(swapped, swapped)
            )
        case = self.case if inputs is None else replace(self.case, inputs=inputs)
        return _pruned(case, tuple(new[o] for o in graph.outputs), graph.targets)


def _pruned(case: Case, outputs: Sequence[Node], targets: Sequence[int | None]) -> Case:
    """``case`` with these outputs and only the parameters that they need, numbered anew."""
    assert case.inputs is not None
    wanted = {t for t in targets if t is not None}
    nodes = topological(outputs)
    parameters = {
        n.parameter.number: n for n in case.graph.parameters if n.parameter.number in wanted
    }
    parameters |= {n.parameter.number: n for n in nodes if n.op == "parameter"}
    number = {old: i for i, old in enumerate(sorted(parameters))}
    fresh = {
        old: build.parameter(number[old], p.shape, p.dtype, p.parameter.scalar)
        for old, p in parameters.items()
    }
    new: dict[Node, Node] = {}
    for node in nodes:
        if node.op == "parameter":
            new[node] = fresh[node.parameter.number]
        else:
            new[node] = node.with_operands(tuple(new[o] for o in node.operands))
    moved = tuple(None if t is None else number[t] for t in targets)
    graph = Graph(
        tuple(fresh[old] for old in number),
        tuple(new[o] for o in outputs),
        case.graph.name,
        moved if any(t is not None for t in moved) else (),
    )
    inputs = [case.inputs[old] for old in number]
    strides = {number[old]: s for old, s in case.strides.items() if old in number}
    return replace(case, graph=graph, strides=strides, inputs=inputs, digests=())


def _size(case: Case) -> tuple[int, int, int]:
    nodes = case.graph.nodes()
    return len(case.text.splitlines()), len(nodes), sum(n.size for n in nodes)
