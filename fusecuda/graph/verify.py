"""The verifier: the rules that every well-formed graph obeys, one function for each kind of op."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import GraphError
from . import library
from .dtypes import BOOL, INT64, is_reducible
from .index_map import IndexMap
from .node import REDUCTIONS, Graph, LibraryCall, Node, Operand, Parameter, Reduction
from .ops import OPS

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
        if any(n < 0 for n in node.shape):
            _fail(node, "has a negative extent")
        if node.dtype.hasobject:
            _fail(node, "holds Python objects")
        if node.op == "parameter" and node not in known:
            _fail(node, "is not listed among the graph's parameters")
        check = _CHECKS.get(node.op, _elementwise)
        check(node)


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
            _fail(output, f"cannot overwrite parameter {target}: there is none, or it is taken")
        elif (parameter.shape, parameter.dtype) != (output.shape, output.dtype):
            _fail(output, f"does not fit parameter {target}, which it overwrites")
        taken.add(target)


def _fail(node: Node, why: str) -> None:
    operands = ", ".join(f"{o.dtype}{list(o.shape)}" for o in node.operands)
    raise GraphError(f"{node.op}({operands}) -> {node.dtype}{list(node.shape)} {why}")


def _arity(node: Node, count: int) -> None:
    if len(node.operands) != count:
        _fail(node, f"takes {count} operands")


def _elementwise(node: Node) -> None:
    row = OPS.get(node.op)
    if row is None:
        raise GraphError(f"there is no operation called {node.op!r}")
    _arity(node, row.arity)
    if any(o.shape not in (node.shape, ()) for o in node.operands):
        _fail(node, "has operands of another shape")
    dtypes = [o.dtype for o in node.operands]
    if node.op == "where":
        if dtypes != [BOOL, node.dtype, node.dtype]:
            _fail(node, "needs a bool condition and branches of the result's dtype")
    elif node.op == "convert":
        pass
    elif any(row.c_text(d) is None for d in dtypes):
        _fail(node, "has no loop for these dtypes")
    elif len(set(dtypes)) != 1 and node.op not in _COMPARISONS:
        _fail(node, "has operands of unlike dtypes")
    elif (node.dtype == BOOL) != (node.op in _BOOL_RESULT) and BOOL not in dtypes:
        _fail(node, "has a result of the wrong dtype")


def _leaf(node: Node) -> None:
    _arity(node, 0)
    if node.op == "constant" and (
        node.shape or not isinstance(node.attr, bytes) or len(node.attr) != node.dtype.itemsize
    ):
        _fail(node, "does not hold one value of its dtype")
    if node.op == "iota" and not (
        isinstance(node.attr, int) and 0 <= node.attr < len(node.shape) and node.dtype == INT64
    ):
        _fail(node, "needs an axis of its shape and dtype int64")
    if node.op == "parameter" and not isinstance(node.attr, Parameter):
        _fail(node, "has no number")


def _same_dtype(node: Node) -> None:
    if node.op != "gather" and any(o.dtype != node.dtype for o in node.operands):
        _fail(node, "changes the dtype")


def _index(node: Node) -> None:
    _arity(node, 1)
    _same_dtype(node)
    (operand,) = node.operands
    if not isinstance(node.attr, IndexMap) or not _ranks(node.attr, operand, node):
        _fail(node, "has a map of the wrong rank")
    if not node.map.fits(node.shape, operand.shape):
        _fail(node, f"reads outside its operand: {node.map}")


def _ranks(view: IndexMap, operand: Node, result: Node) -> bool:
    rank = len(result.shape)
    return (
        view.rank == rank
        and len(view.offsets) == len(view.coefs) == len(operand.shape)
        and all(len(row) == rank for row in view.coefs)
    )


def _update(node: Node) -> None:
    _arity(node, 2)
    _same_dtype(node)
    old, value = node.operands
    if old.shape != node.shape:
        _fail(node, "changes the shape")
    if not isinstance(node.attr, IndexMap) or not _ranks(node.attr, old, value):
        _fail(node, "has a map of the wrong rank")
    if not node.map.fits(value.shape, old.shape) or not node.map.is_injective(value.shape):
        _fail(node, f"writes outside its operand or twice in one place: {node.map}")


def _reshape(node: Node) -> None:
    _arity(node, 1)
    _same_dtype(node)
    if node.operands[0].size != node.size:
        _fail(node, "changes the number of elements")


def _reduce(node: Node) -> None:
    _arity(node, 1)
    (operand,) = node.operands
    attr = node.attr
    if not isinstance(attr, Reduction) or attr.kind not in REDUCTIONS:
        _fail(node, f"has no kind among {', '.join(REDUCTIONS)}")
        return
    if list(attr.axes) != sorted(set(attr.axes) & set(range(len(operand.shape)))):
        _fail(node, f"has axes {attr.axes} that are not ascending axes of its operand")
    if node.shape != tuple(n for a, n in enumerate(operand.shape) if a not in attr.axes):
        _fail(node, "has the wrong shape")
    if not is_reducible(attr.kind, operand.dtype):
        _fail(node, f"reduces {operand.dtype}, which has no {attr.kind}")
    want = INT64 if attr.kind.startswith("arg") else operand.dtype
    if node.dtype != want or (attr.kind in ("any", "all") and node.dtype != BOOL):
        _fail(node, "has the wrong dtype")


def _concatenate(node: Node) -> None:
    _same_dtype(node)
    axis = node.attr
    if not isinstance(axis, int) or not 0 <= axis < len(node.shape) or not node.operands:
        _fail(node, "has no such axis")
        return
    shapes = [o.shape for o in node.operands]
    if any(s[:axis] + s[axis + 1 :] != node.shape[:axis] + node.shape[axis + 1 :] for s in shapes):
        _fail(node, "has operands of unlike shapes")
    if sum(s[axis] for s in shapes) != node.shape[axis]:
        _fail(node, "has the wrong extent")


def _pad(node: Node) -> None:
    _arity(node, 2)
    _same_dtype(node)
    operand, fill = node.operands
    widths = node.attr
    if fill.shape != () or not isinstance(widths, tuple) or len(widths) != len(node.shape):
        _fail(node, "needs a 0-d fill and one pair of widths for each axis")
        return
    framed = tuple(lo + n + hi for (lo, hi), n in zip(widths, operand.shape, strict=True))
    if framed != node.shape or any(w < 0 for pair in widths for w in pair):
        _fail(node, "has the wrong shape")


def _gather(node: Node) -> None:
    operand, *indices = node.operands
    if not indices or any(i.dtype != INT64 for i in indices) or operand.dtype != node.dtype:
        _fail(node, "needs int64 indices and keeps its operand's dtype")
    if any(i.shape != indices[0].shape for i in indices) or (
        node.shape != indices[0].shape + operand.shape[len(indices) :]
    ):
        _fail(node, "has the wrong shape")


def _library(node: Node) -> None:
    if not isinstance(node.attr, LibraryCall) or not library.known(node.attr.name):
        _fail(node, "names no library function")
        return
    numbers = [a.number for a in node.attr.args if isinstance(a, Operand)]
    if any(not 0 <= n < len(node.operands) for n in numbers):
        _fail(node, "names an operand that it does not have")


_CHECKS: dict[str, Callable[[Node], None]] = {
    "parameter": _leaf,
    "constant": _leaf,
    "iota": _leaf,
    "index": _index,
    "reshape": _reshape,
    "reduce": _reduce,
    "concatenate": _concatenate,
    "pad": _pad,
    "gather": _gather,
    "update": _update,
    "library": _library,
}
