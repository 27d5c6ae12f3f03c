"""The verifier: the rules that every well-formed graph obeys."""

from __future__ import annotations

from ..errors import GraphError
from .dtypes import BOOL
from .node import Graph, Node, Parameter
from .ops import OPS
from .structural import arity, fail, plain
from .structure import STRUCTURES, is_compaction

_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_LOGIC = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not"))
_TESTS = frozenset(("isnan", "isinf", "isfinite", "signbit"))
_BOOL_RESULT = _COMPARISONS | _LOGIC | _TESTS


def verify(graph: Graph) -> None:
    """Raise GraphError, naming the node, if ``graph`` breaks a rule; else do nothing."""
    numbers = [p.parameter.number for p in graph.parameters if isinstance(p.attr, Parameter)]
    if len(numbers) != len(graph.parameters) or len(set(numbers)) != len(numbers):
        raise GraphError("the parameters of a graph are parameter nodes with distinct numbers")
    _targets(graph)
    known = set(graph.parameters)
    for node in graph.nodes():
        if node.op == "parameter" and node not in known:
            fail(node, "is not listed among the graph's parameters")
        check(node)


def check(node: Node) -> None:
    """Raise GraphError if ``node`` breaks a rule for a node and its operands."""
    if any(n < 0 for n in node.shape):
        fail(node, "has a negative extent")
    if node.dtype.hasobject:
        fail(node, "holds Python objects")
    if any(map(is_compaction, node.operands)):
        fail(node, "reads a compaction, of which only a run knows the extent")
    row = STRUCTURES.get(node.op)
    if row is not None and not row.in_plans:
        row.check(node)
    else:
        _elementwise(node)


def _targets(graph: Graph) -> None:
    if graph.targets and len(graph.targets) != len(graph.outputs):
        raise GraphError("a graph has one target for each output, or none at all")
    arrays = {p.parameter.number: p for p in graph.parameters if not p.parameter.scalar}
    taken: set[int] = set()
    for i, output in enumerate(graph.outputs):
        target = graph.target(i)
        if target is None:
            continue
        parameter = arrays.get(target)
        if parameter is None or target in taken:
            fail(output, f"cannot overwrite parameter {target}: there is none, or it is taken")
        elif (parameter.shape, parameter.dtype) != (output.shape, output.dtype):
            fail(output, f"does not fit parameter {target}, which it overwrites")
        taken.add(target)


def _elementwise(node: Node) -> None:
    row = OPS.get(node.op)
    if row is None:
        raise GraphError(f"there is no operation called {node.op!r}")
    plain(node)
    arity(node, row.arity)
    if any(o.shape not in (node.shape, ()) for o in node.operands):
        fail(node, "has operands of another shape")
    dtypes = [o.dtype for o in node.operands]
    if node.op == "where":
        if dtypes != [BOOL, node.dtype, node.dtype]:
            fail(node, "needs a bool condition and branches of the result's dtype")
    elif node.op == "convert":
        pass
    elif any(row.c_text(d) is None for d in dtypes):
        fail(node, "has no loop for these dtypes")
    elif len(set(dtypes)) != 1 and node.op not in _COMPARISONS:
        fail(node, "has operands of unlike dtypes")
    elif (node.dtype == BOOL) != (node.op in _BOOL_RESULT) and BOOL not in dtypes:
        fail(node, "has a result of the wrong dtype")
