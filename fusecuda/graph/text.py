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
from .verify import check, verify


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


_QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
_CODE = re.compile(rf"(?:{_QUOTED}|(?!//).)*")  # what stands before a comment
_OPERANDS = re.compile(rf"({_QUOTED})|\$([0-9]+)")
_LINE = re.compile(r"(%[0-9]+) = ([\w<>]+)\[([^]]*)\] (\w+)\(([^)]*)\)(?:, (.+))?", re.ASCII)
_RESULT = re.compile(r"(%[0-9]+)(?: -> ([0-9]+))?")


# What Python's parser and verifiers raise for it.
_MALFORMED = (
    GraphError, ValueError, TypeError, IndexError, SyntaxError, RecursionError, MemoryError
)  # fmt: skip


def parse_hlo(text: str) -> Graph:
    """The graph that ``text`` describes, as `Executable.hlo` and dumps have it.

    Raises GraphError, with the line, for malformed text and for graphs that break a rule.
    """
    reader = _Reader()
    for number, raw in enumerate(text.splitlines(), 1):
        code = _CODE.match(raw)
        assert code is not None
        comment = raw[code.end() + 2 :].strip()
        try:
            if code[0].strip():
                reader.read(code[0].strip(), comment)
        except _MALFORMED as error:
            raise GraphError(f"HLO text, line {number}: {raw.strip()!r}: {error}") from error
    if reader.graph is None:
        raise GraphError("HLO text has no ROOT line")
    return reader.graph


class _Reader:
    """What the lines of a text that were read have said; the ``graph`` once its results were."""

    def __init__(self) -> None:
        self.name: str | None = None
        self.nodes: dict[str, Node] = {}
        self.numbers: set[int] = set()  # of the parameters
        self.graph: Graph | None = None

    def read(self, line: str, comment: str) -> None:
        """Take one more line, without its ``comment``; raises an error for a malformed one."""
        word, _, rest = line.partition(" ")
        if self.graph is not None:
            raise GraphError("nothing comes behind ROOT")
        if word == "HloModule":
            if self.name is not None or self.nodes or not rest.strip():
                raise GraphError("a module has one name, on its first line")
            self.name = rest.strip()
        elif word.startswith("ROOT"):
            self.graph = self._graph(line.removeprefix("ROOT").strip())
        else:
            result, node = self._node(line)
            if result in self.nodes:
                raise GraphError(f"there is a {result} already")
            node.line = comment.removeprefix("@ ") if comment.startswith("@ ") else None
            self.nodes[result] = node
            check(node)

    def _graph(self, listed: str) -> Graph:
        if not (listed.startswith("(") and listed.endswith(")")):
            raise GraphError("not of the form 'ROOT (%n, %n -> parameter)'")
        found = [_matched(_RESULT, part) for part in _parts(listed[1:-1])]
        outputs = tuple([self._named(name) for name, _ in found])
        targets = tuple([int(target) if target else None for _, target in found])
        parameters = tuple([n for n in self.nodes.values() if n.op == "parameter"])
        some = any(t is not None for t in targets)
        graph = Graph(parameters, outputs, self.name or "region", targets if some else ())
        verify(graph)
        return graph

    def _named(self, name: str) -> Node:
        if name not in self.nodes:
            raise GraphError(f"there is no {name} above")
        return self.nodes[name]

    def _node(self, line: str) -> tuple[str, Node]:
        match = _LINE.fullmatch(line)
        if match is None:
            raise GraphError("not of the form '%n = type[shape] op(operands), attributes'")
        result, dtype_name, extents, op, inner, rest = match.groups()
        dtype, shape = parse_dtype(dtype_name), _numbers(extents)
        if op == "parameter" and rest in (None, "scalar"):
            (number,) = _numbers(inner)
            if number in self.numbers:
                raise GraphError(f"there is a parameter {number} already")
            self.numbers.add(number)
            return result, make(op, (), shape, dtype, Parameter(number, rest is not None))
        if op == "constant" and rest is None:
            (bits,) = _matched(_BITS, inner)
            return result, make(op, (), shape, dtype, bytes.fromhex(bits)[::-1])
        operands = tuple([self._named(name) for name in _parts(inner)])
        return result, make(op, operands, shape, dtype, _parse_attr(rest))


_BITS = re.compile("0x([0-9a-fA-F]+)")
_NUMBER = re.compile("[0-9]+")
_PAIR = re.compile("([0-9]+)_([0-9]+)")
_REDUCTION = re.compile(r"(\w+), axes=\{([^}]*)\}", re.ASCII)
_MAP = re.compile(r"\(([^()]*)\) -> \(([^#]*)\)")


def _matched(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    """The groups of ``pattern``, which is all of ``text``."""
    match = pattern.fullmatch(text)
    if match is None:
        raise GraphError(f"{text!r} is malformed")
    return match.groups()


def _parts(text: str) -> list[str]:
    """What commas part."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _numbers(text: str) -> tuple[int, ...]:
    parts = _parts(text)
    for part in parts:
        _matched(_NUMBER, part)
    return tuple(map(int, parts))


def _parse_attr(text: str | None) -> Attr:
    key, _, value = (text or "").partition("=")
    if key == "map":
        return _parse_map(value)
    if key == "kind":
        kind, axes = _matched(_REDUCTION, value)
        return Reduction(kind, _numbers(axes))
    if key == "call":
        return _parse_call(value)
    if key == "axis":
        (axis,) = _numbers(value)
        return axis
    if key == "side":
        return value
    if key == "widths":
        pairs = [_matched(_PAIR, part) for part in _parts(value)]
        return tuple([(int(lo), int(hi)) for lo, hi in pairs])
    if text:
        raise GraphError(f"unknown attribute {text!r}")
    return None


def _parse_map(text: str) -> IndexMap:
    domain, body = _matched(_MAP, text)
    axes = _parts(domain)
    if axes != [f"d{j}" for j in range(len(axes))]:
        raise GraphError(f"the indices of a map are d0, d1, …, not {domain}")
    rows = [_affine(ast.parse(part, mode="eval").body, axes) for part in _parts(body)]
    return IndexMap(len(axes), tuple([r[-1] for r in rows]), tuple([tuple(r[:-1]) for r in rows]))


def _affine(tree: ast.expr, axes: list[str]) -> list[int]:
    """The factor of each of the ``axes`` in an affine function of them, and its constant."""
    match tree:
        case ast.Constant(value=int(number)) if type(number) is int:
            return [*[0] * len(axes), number]
        case ast.Name(id=name) if name in axes:
            return [*[int(axis == name) for axis in axes], 0]
        case ast.UnaryOp(op=ast.USub(), operand=term):
            return [-n for n in _affine(term, axes)]
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = 1 if isinstance(op, ast.Add) else -1
            pairs = zip(_affine(left, axes), _affine(right, axes), strict=True)
            return [a + sign * b for a, b in pairs]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            terms = _affine(left, axes), _affine(right, axes)
            for (*none, factor), other in (terms, terms[::-1]):
                if not any(none):
                    return [factor * n for n in other]
    raise GraphError(f"{ast.unparse(tree)} is no sum of indices, each with a factor, and a number")


def _parse_call(text: str) -> LibraryCall:
    code = _OPERANDS.sub(lambda found: found[1] or f"{_PLACE}{found[2]}", text)
    tree = ast.parse(code, mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise GraphError("a library call has the form name(arguments)")
    kwargs = {k.arg or "**": _parse_literal(k.value) for k in tree.keywords}
    if _PLACE in text or "**" in kwargs or len(kwargs) < len(tree.keywords):
        raise GraphError("a library call has literals, $0, $1, … and distinct names")
    if tree.end_col_offset != len(code.encode()):
        raise GraphError("nothing comes behind a library call")
    return LibraryCall(tree.func.id, tuple(map(_parse_literal, tree.args)), tuple(kwargs.items()))


_PLACE = "_operand_"


def _parse_literal(tree: ast.expr) -> Hashable:
    if isinstance(tree, ast.Name) and tree.id.startswith(_PLACE):
        return Operand(int(tree.id.removeprefix(_PLACE)))
    value: Hashable = ast.literal_eval(tree)
    return value
