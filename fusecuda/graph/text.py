"""HLO text: one line for each node, stable across runs, and the parser that reads it back.

    HloModule region
      %0 = f64[100,3] parameter(0)
      %1 = f64[] constant(0x3ff0000000000000) // 1.0
      %2 = f64[100,3] multiply(%0, %1)
      %3 = f64[98] index(%2), map=(d0) -> (d0 + 1, 2)
      %4 = f64[100] reduce(%2), kind=sum, axes={1}
      %5 = f64[100] library(%4), call=sort($0, axis=-1)
    ROOT (%3, %5 -> 0)

Operands come before their users; ``-> n`` marks a result that overwrites parameter n; ``//``
starts a comment, ``// @ file:line`` says what recorded a node. Constants are the exact bits,
big-endian.
What each operation means is said in graph/node.py and defined by graph/interpret.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable

from ..errors import GraphError
from .build import make
from .dtypes import hlo_name, parse_dtype
from .index_map import IndexMap
from .node import Attr, Graph, LibraryCall, Node, Operand, Parameter, Reduction
from .verify import verify


def print_hlo(graph: Graph, lines: bool = False) -> str:
    """The text of ``graph``, which `parse_hlo` reads back to an equal graph.

    With ``lines`` it says of each node which line of the user's recorded it, if that is known.
    """
    nodes = list(graph.parameters) + [n for n in graph.nodes() if n.op != "parameter"]
    names = {node: f"%{i}" for i, node in enumerate(nodes)}
    text = [f"HloModule {graph.name}"]
    for node in nodes:
        where = f" // @ {node.line}" if lines and node.line and node.op != "constant" else ""
        text.append(f"  {names[node]} = {_line(node, names)}{where}")
    roots = (
        names[o] + ("" if graph.target(i) is None else f" -> {graph.target(i)}")
        for i, o in enumerate(graph.outputs)
    )
    text.append(f"ROOT ({', '.join(roots)})")
    return "\n".join(text) + "\n"


def _line(node: Node, names: dict[Node, str]) -> str:
    head = f"{hlo_name(node.dtype)}[{','.join(map(str, node.shape))}] {node.op}"
    attr = node.attr
    if isinstance(attr, Parameter):
        return f"{head}({attr.number})" + (", scalar" if attr.scalar else "")
    if isinstance(attr, bytes):
        return f"{head}(0x{attr[::-1].hex()}) // {node.value!s}"
    return f"{head}({', '.join(names[o] for o in node.operands)}){_attr_text(attr)}"


def _attr_text(attr: Attr) -> str:
    if attr is None:
        return ""
    if isinstance(attr, IndexMap):
        return f", map={attr}"
    if isinstance(attr, Reduction):
        return f", kind={attr.kind}, axes={{{','.join(map(str, attr.axes))}}}"
    if isinstance(attr, LibraryCall):
        args = [_literal_text(a) for a in attr.args]
        args += [f"{k}={_literal_text(v)}" for k, v in attr.kwargs]
        return f", call={attr.name}({', '.join(args)})"
    if isinstance(attr, int):
        return f", axis={attr}"
    if isinstance(attr, str):
        return f", side={attr}"
    assert isinstance(attr, tuple)
    return f", widths={','.join(f'{lo}_{hi}' for lo, hi in attr)}"


def _literal_text(value: Hashable) -> str:
    return f"${value.number}" if isinstance(value, Operand) else repr(value)


_LINE = re.compile(r"(%\d+) = ([\w<>]+)\[([\d,]*)\] (\w+)\(([^)]*)\)(.*)")
_MAP_TERM = re.compile(r"(?:(-?\d+)\*)?d(\d+)|(-?\d+)")


def parse_hlo(text: str) -> Graph:
    """The graph that ``text`` describes, as `Executable.hlo` and dumps have it.

    Raises GraphError, with the line, for malformed text and for graphs that break a rule.
    """
    nodes: dict[str, Node] = {}
    name = "region"
    outputs: tuple[Node, ...] | None = None
    targets: tuple[int | None, ...] = ()
    for number, raw in enumerate(text.splitlines(), 1):
        line, _, comment = (part.strip() for part in raw.partition("//"))
        try:
            if line.startswith("HloModule"):
                name = line.split(maxsplit=1)[1]
            elif line.startswith("ROOT"):
                found = re.findall(r"(%\d+)(?: -> (\d+))?", line)
                outputs = tuple(nodes[n] for n, _ in found)
                targets = tuple(int(t) if t else None for _, t in found)
            elif line:
                result, node = _parse_line(line, nodes)
                nodes[result] = node
                node.line = comment.removeprefix("@ ") if comment.startswith("@ ") else None
        except (GraphError, KeyError, ValueError, TypeError, IndexError, SyntaxError) as error:
            raise GraphError(f"HLO text, line {number}: {raw.strip()!r}: {error}") from error
    if outputs is None:
        raise GraphError("HLO text has no ROOT line")
    parameters = tuple(n for n in nodes.values() if n.op == "parameter")
    graph = Graph(parameters, outputs, name, targets if any(t is not None for t in targets) else ())
    verify(graph)
    return graph


def _parse_line(line: str, nodes: dict[str, Node]) -> tuple[str, Node]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise GraphError("not of the form '%n = type[shape] op(operands), attributes'")
    result, dtype_name, extents, op, inner, rest = match.groups()
    dtype = parse_dtype(dtype_name)
    shape = tuple(int(n) for n in extents.split(",") if n)
    if op == "parameter":
        return result, make(op, (), shape, dtype, Parameter(int(inner), "scalar" in rest))
    if op == "constant":
        bits = bytes.fromhex(inner.removeprefix("0x"))[::-1]
        return result, make(op, (), shape, dtype, bits)
    operands = tuple(nodes[n] for n in re.findall(r"%\d+", inner))
    return result, make(op, operands, shape, dtype, _parse_attr(rest, len(shape), op, operands))


def _parse_attr(rest: str, rank: int, op: str, operands: tuple[Node, ...]) -> Attr:
    rest = rest.removeprefix(", ")
    key, _, value = rest.partition("=")
    if key == "map":
        return _parse_map(value, len(operands[1].shape) if op == "update" else rank)
    if key == "kind":
        kind, _, axes = value.partition(", axes=")
        return Reduction(kind, tuple(int(a) for a in axes.strip("{}").split(",") if a))
    if key == "call":
        return _parse_call(value)
    if key == "axis":
        return int(value)
    if key == "side":
        return value
    if key == "widths":
        pairs = (pair.split("_") for pair in value.split(",") if pair)
        return tuple((int(lo), int(hi)) for lo, hi in pairs)
    if rest:
        raise GraphError(f"unknown attribute {rest!r}")
    return None


def _parse_map(text: str, rank: int) -> IndexMap:
    body = text.partition("->")[2].strip()[1:-1]
    offsets, coefs = [], []
    for row in filter(None, (part.strip() for part in body.split(","))):
        offset, factors = 0, [0] * rank
        for factor, axis, fixed in _MAP_TERM.findall(row):
            if fixed:
                offset += int(fixed)
            else:
                factors[int(axis)] += int(factor or 1)
        offsets.append(offset)
        coefs.append(tuple(factors))
    return IndexMap(rank, tuple(offsets), tuple(coefs))


def _parse_call(text: str) -> LibraryCall:
    tree = ast.parse(re.sub(r"\$(\d+)", r"_operand(\1)", text), mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise GraphError("a library call has the form name(arguments)")
    args = tuple(_parse_literal(a) for a in tree.args)
    kwargs = tuple((k.arg or "", _parse_literal(k.value)) for k in tree.keywords)
    return LibraryCall(tree.func.id, args, kwargs)


def _parse_literal(tree: ast.expr) -> Hashable:
    if isinstance(tree, ast.Call):
        number = ast.literal_eval(tree.args[0])
        return Operand(int(number))
    value: Hashable = ast.literal_eval(tree)
    return value
