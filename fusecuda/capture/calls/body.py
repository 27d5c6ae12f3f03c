"""Body: the statements of a ``with`` block as a function of the names that they use.

The function is compiled from the source, at the lines where it stands, once it is certain that the
source is that of the running code. What a function cannot say in the place of the statements
(``return``, ``yield``, a ``break`` out of the block, inner functions that hold variables) has none.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .bytecode import codes_of, instructions_of

UNBOUND = "\0unbound"  # what the function returns for a name that has been given no value
_FUTURES = 0x1FF_0000  # flags of a code object that say how its source was compiled
_LOOKING = frozenset({"locals", "vars", "dir", "eval", "exec", "globals", "super", "__class__"})
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
_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class RefusedError(Exception):
    """There is no function in the place of the statements; the text says why, ``line`` where."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.line = line


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a block, the names that they use, and what may be done with these.

    ``read`` are names that may need a value before the statements run, ``stored`` those that may
    have another one afterwards, ``written`` those of them that somebody may look at; ``certain``
    are given one in any case.
    """

    statements: tuple[ast.stmt, ...]
    read: tuple[str, ...]
    written: tuple[str, ...]
    stored: frozenset[str]
    certain: frozenset[str]
    line: int
    first_line: int
    filename: str
    class_name: str  # of the class around, which private names are of
    flags: int

    def code(self, name: str, parameters: Sequence[str]) -> types.CodeType:
        """The code of a function of ``parameters`` that returns the values of `written`, in order.

        A name that is neither a parameter nor certain to have a value may have none then.
        """
        end = self.statements[-1]
        known = self.certain | set(parameters)
        tail: list[ast.stmt] = []
        for variable in self.written:
            if variable not in known:
                lookup = ast.Expr(ast.Name(variable, ast.Load()))
                absent = ast.Assign([ast.Name(variable, ast.Store())], ast.Constant(UNBOUND))
                handler = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [absent])
                tail.append(ast.Try([lookup], [handler], [], []))
        values: list[ast.expr] = [ast.Name(v, ast.Load()) for v in self.written]
        tail.append(ast.Return(ast.Tuple(values, ast.Load())))
        for node in itertools.chain.from_iterable(ast.walk(s) for s in tail):
            ast.copy_location(node, end)
        arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
        made: ast.stmt = ast.FunctionDef(name, arguments, [*self.statements, *tail], [])
        if self.class_name:
            made = ast.ClassDef(self.class_name, [], [], [made], [])
        made.lineno = made.end_lineno = self.line
        made.col_offset = made.end_col_offset = 0
        module = ast.fix_missing_locations(ast.Module([made], []))
        compiled = compile(module, self.filename, "exec", flags=self.flags, dont_inherit=True)
        return next(c for c in codes_of(compiled) if c.co_name == name)


def body_of(frame: types.FrameType) -> Body:
    """The body of the ``with`` statement that ``frame`` is about to enter.

    Raises RefusedError.
    """
    code = frame.f_code
    tree, relatives = _parsed(code, frame.f_globals)
    around = _statement_at(tree, code, frame.f_lasti)
    statement = around[-1]
    assert isinstance(statement, ast.With)
    target = statement.items[-1].optional_vars
    names = _Names()
    for s in statement.body:
        names.visit(s)
    if target is not None and not names.used.isdisjoint(_bound_by(target)):
        raise RefusedError("it uses the block itself")
    variables = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    in_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    if not in_function and frame.f_locals is not frame.f_globals:
        raise RefusedError("it stands in a class")
    if names.captured & (variables | names.stored):
        raise RefusedError("it defines a function that holds its variables")
    if in_function and not names.stored <= variables:
        raise RefusedError("it writes globals")
    certain, needed = _order(statement.body)
    _check_cells(code, names, relatives)
    seen = names.stored
    if in_function:
        owner = next(n for n in around[::-1] if isinstance(n, _FUNCTIONS))
        seen = seen - _unseen(owner, statement, seen - needed, code)
    return Body(
        statements=tuple(statement.body),
        read=tuple(sorted(names.used - (certain - needed) - names.captured)),
        written=tuple(sorted(seen)),
        stored=frozenset(names.stored),
        certain=frozenset(certain),
        line=statement.lineno,
        first_line=_first_line(code, frame.f_lasti, statement.body[0].lineno),
        filename=code.co_filename,
        class_name=next((n.name for n in around[::-1] if isinstance(n, ast.ClassDef)), ""),
        flags=code.co_flags & _FUTURES,
    )


# --- the source of running code


def _parsed(code: types.CodeType, space: dict[str, Any]) -> tuple[ast.Module, list[types.CodeType]]:
    """The tree of the file that ``code`` is of, and the code that its variables are seen by.

    Raises RefusedError.
    """
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, space))
    tree, families = _compiled(text, code.co_filename, code.co_flags & _FUTURES)
    for family in families:
        if code in family:
            return tree, family
    raise RefusedError("its source is not to be had")


@functools.lru_cache(maxsize=16)
def _compiled(
    text: str, filename: str, flags: int
) -> tuple[ast.Module, list[list[types.CodeType]]]:
    """The tree of a file, and the code of all that stands in it; that of a function together."""
    try:
        tree = ast.parse(text, filename)
        module = compile(tree, filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ast.Module([], []), []
    inside = [c for c in module.co_consts if isinstance(c, types.CodeType)]
    return tree, [[module], *(list(codes_of(c)) for c in inside)]


def _statement_at(tree: ast.Module, code: types.CodeType, at: int) -> list[ast.AST]:
    """The ``with`` statement that the instruction ``at`` enters last, and what is around it."""
    position = next(itertools.islice(code.co_positions(), at // 2, None))
    for around in _statements(tree, []):
        statement = around[-1]
        if isinstance(statement, ast.With):
            last = statement.items[-1].context_expr
            whole = len(statement.items) == 1 and _position(statement) == position
            if whole or _position(last) == position:
                return around
    raise RefusedError("it is not entered by a with statement of its own")


def _statements(node: ast.AST, around: list[ast.AST]) -> Iterator[list[ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield [*around, child]
            yield from _statements(child, [*around, child])


def _position(node: ast.stmt | ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _first_line(code: types.CodeType, at: int, begin: int) -> int:
    """The line of the first instruction of the body of the ``with`` that ``at`` enters.

    Raises RefusedError if an error there would not reach the handler of the ``with`` at once.
    """
    every = list(dis.get_instructions(code))
    place = {i.offset: n for n, i in enumerate(every)}
    after = itertools.pairwise(every[place[at] :])
    inside = (p for p in after if _line(p[1]) >= begin and p[1].opname != "NOP")
    before, first = next(inside, (None, None))
    if before is None or first is None or _line(before) == _line(first):
        raise RefusedError("it has no first line of its own")
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
        if entry.start <= first.offset < entry.end:
            handler = every[place[entry.target] :][:2]
            is_ours = any(i.opname == "WITH_EXCEPT_START" for i in handler)
            if is_ours:
                return _line(first)
    raise RefusedError("an error on its first line may be handled otherwise")


def _line(instruction: dis.Instruction) -> int:
    positions = instruction.positions
    return -1 if positions is None or positions.lineno is None else positions.lineno


# --- the names of a body


class _Names(ast.NodeVisitor):
    """The names that statements use and store; raises RefusedError for what is in no function."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.stored: set[str] = set()
        self.captured: set[str] = set()  # by functions
        self._hidden: list[set[str]] = []  # of comprehensions
        self._loops = 0

    def visit(self, node: ast.AST) -> None:
        if why := _REFUSED.get(type(node)):
            raise RefusedError(why, getattr(node, "lineno", None))
        if isinstance(node, ast.Break | ast.Continue) and not self._loops:
            raise RefusedError("it leaves a loop around it", node.lineno)
        is_loop = isinstance(node, _LOOPS)
        self._loops += is_loop
        super().visit(node)
        self._loops -= is_loop

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in _LOOKING:
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
        inner = _Names()
        inner.visit(node.body)
        given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        self.captured |= inner.used - given
        self.used |= inner.used - given
        self.visit(node.args)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            raise RefusedError("it names an exception", node.lineno)
        self.generic_visit(node)

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
        inside = {n for g in node.generators for n in _bound_by(g.target)}
        self._hidden.append(inside)
        super().generic_visit(node)
        self._hidden.pop()


def _bound_by(target: ast.expr) -> set[str]:
    """The names that an assignment to ``target`` gives values."""
    if isinstance(target, ast.Tuple | ast.List):
        return {name for part in target.elts for name in _bound_by(part)}
    if isinstance(target, ast.Starred):
        return _bound_by(target.value)
    return {target.id} if isinstance(target, ast.Name) else set()


def _order(statements: Iterable[ast.stmt]) -> tuple[set[str], set[str]]:
    """The names that get a value whatever happens, and those that may be needed before."""
    certain: set[str] = set()
    needed: set[str] = set()
    for statement in statements:
        names = _Names()
        names._loops = 1
        names.visit(statement)
        stored = _certain(statement)
        loaded = {
            n.id
            for n in ast.walk(statement)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        if isinstance(statement, ast.AugAssign):
            loaded |= _bound_by(statement.target)
        needed |= (names.used - (stored - loaded)) - certain
        certain |= stored
    return certain, needed


def _certain(statement: ast.stmt) -> set[str]:
    """The names to which a statement that ends has given a value."""
    match statement:
        case ast.Assign(targets):
            return {name for target in targets for name in _bound_by(target)}
        case ast.AnnAssign(target, value=ast.expr()) | ast.AugAssign(target):
            return _bound_by(target)
        case ast.If(body=body, orelse=orelse):
            return _all(body) & _all(orelse)
    return set()


def _all(statements: Iterable[ast.stmt]) -> set[str]:
    return {name for s in statements for name in _certain(s)}


def _unseen(owner: ast.AST, statement: ast.With, names: set[str], code: types.CodeType) -> set[str]:
    """Those of ``names`` that nothing in the function ``owner`` uses but the statement's body."""
    inside = {id(n) for s in statement.body for n in ast.walk(s)}
    outside = [n for n in ast.walk(owner) if id(n) not in inside]
    found = {n.id for n in outside if isinstance(n, ast.Name)}
    if not _LOOKING.isdisjoint(found):
        return set()
    return names - found - set(code.co_cellvars) - set(code.co_freevars)


def _check_cells(code: types.CodeType, names: _Names, every: Iterable[types.CodeType]) -> None:
    """Raise RefusedError if others may see or change a variable while the body runs."""
    cells = {*code.co_cellvars, *code.co_freevars}
    if shared := names.stored & cells:
        raise RefusedError(f"an inner function holds {min(shared)!r}")
    for name in names.used & cells:
        for other in every:
            if other is not code and name in other.co_freevars and _stores(other, name):
                raise RefusedError(f"an inner function writes {name!r}")


def _stores(code: types.CodeType, name: str) -> bool:
    stores = ("STORE_DEREF", "DELETE_DEREF")
    return any(i.opname in stores and i.argval == name for i in instructions_of(code))
