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
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .body_names import (
    COMPREHENSION_NAMES,
    LOOKING,
    Names,
    RefusedError,
    bound_by,
    lasting,
    order_of,
)
from .bytecode import codes_of, instructions_of

UNBOUND = "\0unbound"  # what the function returns for a name that has been given no value
_FUTURES = 0x1FF_0000  # flags of a code object that say how its source was compiled
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a block, the names that they use, and what may be done with these.

    ``read`` are names that may need a value before the statements run, ``stored`` those that may
    have another one afterwards, ``written`` those of them that somebody may look at; ``certain``
    are given one in any case. ``own`` are the function's own, whether or not they have a value.
    ``bound`` is the name of the block itself.
    """

    statements: tuple[ast.stmt, ...]
    read: tuple[str, ...]
    written: tuple[str, ...]
    stored: frozenset[str]
    certain: frozenset[str]
    own: frozenset[str]
    bound: frozenset[str]
    line: int
    first_line: int
    filename: str
    class_name: str  # of the class around, which private names are of
    owner: str  # the name of the function around
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
        for variable in sorted(self.own.difference(parameters)):  # no globals
            tail.append(ast.Assign([ast.Name(variable, ast.Store())], ast.Constant(None)))
        for node in itertools.chain.from_iterable(ast.walk(s) for s in tail):
            ast.copy_location(node, end)
        arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
        made: ast.stmt = ast.FunctionDef(name, arguments, [*self.statements, *tail], [])
        if self.class_name:
            made = ast.ClassDef(self.class_name, [], [], [made], [])
        made.lineno = made.end_lineno = self.line
        made.col_offset = made.end_col_offset = 0
        module = ast.fix_missing_locations(ast.Module([made], []))
        with warnings.catch_warnings(action="ignore"):
            compiled = compile(module, self.filename, "exec", self.flags, dont_inherit=True)
        found = next(c for c in codes_of(compiled) if c.co_name == name)
        return found.replace(co_name=self.owner, co_qualname=self.owner)  # in tracebacks


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
    names = Names()
    for s in statement.body:
        names.visit(s)
    variables = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    in_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    _check_target(target, names, code if in_function else None)
    if names.captured & (variables | names.stored):
        raise RefusedError("it defines a function that holds its variables")
    if in_function and not names.stored <= variables:
        raise RefusedError("it writes globals")
    every = (node for s in statement.body for node in ast.walk(s))
    if not in_function and any(isinstance(node, ast.AnnAssign) for node in every):
        raise RefusedError("it annotates variables of the module")
    class_name = next((n.name for n in around[::-1] if isinstance(n, ast.ClassDef)), "")
    if class_name and any(n.startswith("__") and not n.endswith("__") for n in names.used):
        raise RefusedError("it uses a private variable")  # which has another name in the class
    certain, needed = order_of(statement.body)
    seen = names.stored
    if in_function:
        owner = next(n for n in around[::-1] if isinstance(n, _FUNCTIONS))
        hidden = variables | frame.f_globals.keys()
        _check_cells(code, names, relatives, lasting(owner, hidden))
        seen = seen - _unseen(owner, statement, seen - needed)
    return Body(
        statements=tuple(statement.body),
        read=tuple(sorted(names.used - (certain - needed) - names.captured)),
        written=tuple(sorted(seen)),
        stored=frozenset(names.stored),
        certain=frozenset(certain),
        own=frozenset(names.used & variables - _globals_of(code) if in_function else ()),
        bound=frozenset(set() if target is None else bound_by(target)),
        line=statement.lineno,
        first_line=_first_line(code, frame.f_lasti, statement.body[0].lineno),
        filename=code.co_filename,
        class_name=class_name,
        owner=code.co_name,
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
        with warnings.catch_warnings(action="ignore"):  # they have been given
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


def _unseen(owner: ast.AST, statement: ast.With, names: set[str]) -> set[str]:
    """Those of ``names`` that nothing in the function ``owner`` uses but the statement's body."""
    inside = {id(n) for s in statement.body for n in ast.walk(s)}
    outside = [n for n in ast.walk(owner) if id(n) not in inside]
    found = {n.id for n in outside if isinstance(n, ast.Name)}
    if not LOOKING.isdisjoint(found):
        return set()
    return names - found


def _check_cells(
    code: types.CodeType, names: Names, every: Iterable[types.CodeType], generated: set[str]
) -> None:
    """Raise RefusedError if others may see or change a variable while the body runs.

    Comprehensions are done when the statement is that they stand in; ``generated`` are names in
    generators that may not be.
    """
    cells = {*code.co_cellvars, *code.co_freevars}
    inside = (c for c in codes_of(code) if c is not code and c.co_name not in COMPREHENSION_NAMES)
    held = {*code.co_freevars, *generated}.union(*(c.co_freevars for c in inside))
    if shared := names.stored & cells & held:
        raise RefusedError(f"an inner function holds {min(shared)!r}")
    for name in names.used & cells:
        for other in every:
            if other is not code and name in other.co_freevars and _stores(other, name):
                raise RefusedError(f"an inner function writes {name!r}")


def _check_target(target: ast.expr | None, names: Names, code: types.CodeType | None) -> None:
    """Raise RefusedError if the body may use the block, which is bound after the body is done.

    ``code`` is that of the function, None for a module, whose variables all functions use.
    """
    if target is None:
        return
    bound = bound_by(target)
    if not isinstance(target, ast.Name) or names.used & bound:
        raise RefusedError("it uses the block itself")
    if code is not None and bound & {*code.co_cellvars, *code.co_freevars}:
        raise RefusedError("an inner function holds the block itself")


def _globals_of(code: types.CodeType) -> set[str]:
    """The globals that ``code`` reads; comprehensions may call their own so."""
    return {i.argval for i in instructions_of(code) if i.opname == "LOAD_GLOBAL"}


def _stores(code: types.CodeType, name: str) -> bool:
    stores = ("STORE_DEREF", "DELETE_DEREF")
    return any(i.opname in stores and i.argval == name for i in instructions_of(code))
