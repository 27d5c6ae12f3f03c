"""Names: what the statements of a block call its variables, and what no function may hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Set

LOOKING = frozenset({"locals", "vars", "dir", "eval", "exec", "globals", "super", "__class__"})
_REFUSED: dict[type[ast.AST], str] = {
    ast.Return: "it returns",
    ast.Yield: "it yields",
    ast.YieldFrom: "it yields",
    ast.Await: "it awaits",
    ast.AsyncFor: "it awaits",
    ast.AsyncWith: "it awaits",
    ast.AsyncFunctionDef: "it defines a function",
    ast.FunctionDef: "it defines a function",
    ast.ClassDef: "it defines a class",
    ast.Import: "it imports",
    ast.ImportFrom: "it imports",
    ast.Delete: "it deletes",
    ast.Global: "it declares names",
    ast.Nonlocal: "it declares names",
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
COMPREHENSION_NAMES = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # of their code
_LOOPS = (ast.For, ast.While)
_EXHAUSTING = frozenset(
    {"all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"}
)  # builtins that take all that a generator gives


class RefusedError(Exception):
    """There is no function in the place of the statements; the text says why, ``line`` where."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


class Names(ast.NodeVisitor):
    """The names that statements use and store; raises RefusedError for what is in no function."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.stored: set[str] = set()
        self.captured: set[str] = set()  # by functions
        self._hidden: list[set[str]] = []  # of comprehensions
        self._loops = 0
        self._handlers = 0

    def visit(self, node: ast.AST) -> None:
        if why := _REFUSED.get(type(node)):
            raise RefusedError(why, getattr(node, "lineno", None))
        if isinstance(node, ast.Break | ast.Continue) and not self._loops:
            raise RefusedError("it leaves a loop around it", node.lineno)
        if isinstance(node, ast.Raise) and node.exc is None and not self._handlers:
            raise RefusedError("it raises again what is handled around it", node.lineno)
        is_loop = isinstance(node, _LOOPS)
        self._loops += is_loop
        super().visit(node)
        self._loops -= is_loop

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in LOOKING:
            raise RefusedError(f"it looks at its variables by {node.id}", node.lineno)
        if isinstance(node.ctx, ast.Store):
            self._store(node.id)
        elif not any(node.id in names for names in self._hidden):
            self.used.add(node.id)

    def _store(self, name: str) -> None:
        if not any(name in names for names in self._hidden):
            self.used.add(name)
            self.stored.add(name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        inner = Names()
        inner.visit(node.body)
        given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.captured |= inner.used - given
        self.used |= inner.used - given
        self.visit(node.args)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            raise RefusedError("it names an exception", node.lineno)
        self._handlers += 1
        self.generic_visit(node)
        self._handlers -= 1

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._store(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self._store(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._store(node.rest)
        self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, _COMPREHENSIONS):
            super().generic_visit(node)
            return
        inside = {n for g in node.generators for n in bound_by(g.target)}
        first = node.generators[0].iter  # which is computed where the comprehension stands
        self.visit(first)
        self._hidden.append(inside)
        for part in ast.iter_child_nodes(node):
            if part is node.generators[0]:
                for inner in (part.target, *part.ifs):
                    self.visit(inner)
            else:
                self.visit(part)
        self._hidden.pop()


def bound_by(target: ast.expr) -> set[str]:
    """The names that an assignment to ``target`` gives values."""
    if isinstance(target, ast.Tuple | ast.List):
        return {name for part in target.elts for name in bound_by(part)}
    if isinstance(target, ast.Starred):
        return bound_by(target.value)
    return {target.id} if isinstance(target, ast.Name) else set()


def lasting(owner: ast.AST, hidden: Set[str]) -> set[str]:
    """The names in generator expressions of ``owner`` that may run after their statement.

    Builtins whose name is ``hidden`` by another variable are not those that are known.
    """
    generators = {id(n): n for n in ast.walk(owner) if isinstance(n, ast.GeneratorExp)}
    if not generators:
        return set()
    for node in ast.walk(owner):
        match node:
            case ast.Call(ast.Name(name), [first, *_]) if name in _EXHAUSTING - hidden:
                generators.pop(id(first), None)
            case ast.Call(ast.Attribute(ast.Constant(str()), "join"), [first]):
                generators.pop(id(first), None)
            case ast.For(iter=value) | ast.Starred(value) | ast.Assign([ast.Tuple()], value):
                generators.pop(id(value), None)
    return {n.id for g in generators.values() for n in ast.walk(g) if isinstance(n, ast.Name)}


def order_of(statements: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that get a value whatever happens, and those that may be needed before."""
    certain: set[str] = set()
    needed: set[str] = set()
    for statement in statements:
        names = Names()
        names._loops = 1
        names.visit(statement)
        stored = _certain(statement)
        loaded: set[str] = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.AugAssign):
                loaded |= bound_by(node.target)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                loaded.add(node.id)
        needed |= (names.used - (stored - loaded)) - certain
        certain |= stored
    return certain, needed


def _certain(statement: ast.stmt) -> set[str]:
    """The names to which a statement that ends has given a value."""
    match statement:
        case ast.Assign(targets):
            return {name for target in targets for name in bound_by(target)}
        case ast.AnnAssign(target, value=ast.expr()) | ast.AugAssign(target):
            return bound_by(target)
        case ast.If(body=body, orelse=orelse):
            return _all(body) & _all(orelse)
    return set()


def _all(statements: Iterable[ast.stmt]) -> set[str]:
    return {name for s in statements for name in _certain(s)}
