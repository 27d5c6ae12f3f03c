"""A script's loops at top level, as functions that are called for some turns at a time.

    for i in range(n):              def loop(turns, n, total):
        total += f(i)         →         for i in turns:
                                            total += f(i)
                                        else:
                                            return True, i, total
                                        return False, i, total
                                    if not run(loop, range(n)):
                                        the loop as it stands

Whether a turn is faster on NumPy's memory is found out turn by turn (`capture/calls/loops.py`). A
loop stays as it is where a function could tell: one that reads what the loop sets, one that is
made inside, names that are looked up by their text, and loops inside `try` or with an `else`.
"""

from __future__ import annotations

import ast
import copy
import symtable
from collections.abc import Iterable, Iterator
from typing import Any

LOOPS = f"{__name__.partition('.')[0]}.capture.calls.loops"
_RUN = f"__import__({LOOPS!r}, fromlist=('run',)).run"
NAME = "<loop>"  # of the function, which nobody else can name
_ITERABLE, _TURNS = "<iterable>", "<turns>"
_LEFT_AS_THEY_ARE = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Delete, ast.NamedExpr, ast.AnnAssign, ast.Await, ast.Yield,
    ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.GeneratorExp, ast.Match,
)  # fmt: skip
_BY_TEXT = frozenset(
    ["exec", "eval", "locals", "globals", "vars", "dir", "input", "open", "breakpoint"]
)


def with_loops(tree: ast.Module, source: bytes, file: str) -> None:
    """Let the loops at the top level of a script's ``tree`` be run by some turns at a time."""
    if not any(isinstance(n, ast.For | ast.While) for n in _at_top(tree.body)):
        return
    module = symtable.symtable(source.decode(errors="replace"), file, "exec")
    shared = frozenset(_named_inside(module))
    _rewrite(tree.body, module, shared)


def _at_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _at_top(node.body)
            yield from _at_top(node.orelse)


def _named_inside(table: symtable.SymbolTable) -> Iterator[str]:
    """The module's names that functions, classes and generators of it use."""
    for child in table.get_children():
        if child.get_name() not in ("listcomp", "dictcomp", "setcomp"):
            yield from (s.get_name() for s in child.get_symbols() if s.is_global())
            if child.get_type() == "class":
                yield from (s.get_name() for s in child.get_symbols())
        yield from _named_inside(child)


def _rewrite(body: list[ast.stmt], module: symtable.SymbolTable, shared: frozenset[str]) -> None:
    for place, node in enumerate(body):
        if isinstance(node, ast.If):
            _rewrite(node.body, module, shared)
            _rewrite(node.orelse, module, shared)
        elif isinstance(node, ast.For | ast.While) and _may_be_function(node, shared):
            body[place] = _by_turns(node, module)


def _may_be_function(loop: ast.For | ast.While, shared: frozenset[str]) -> bool:
    if loop.orelse or not shared.isdisjoint(_set_by(loop)):
        return False
    for node in ast.walk(loop):
        if isinstance(node, _LEFT_AS_THEY_ARE):
            return False
        if isinstance(node, ast.ExceptHandler) and node.name:  # the name is gone behind it
            return False
        if isinstance(node, ast.Name) and (node.id in _BY_TEXT or node.id.startswith("__")):
            return False
        if isinstance(node, ast.Constant) and node.value is ...:  # see UNBOUND in loops.py
            return False
    return True


def _set_by(loop: ast.AST) -> list[str]:
    """The module's names that a loop sets, in order."""
    inner = {
        id(part)
        for node in ast.walk(loop)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp)
        for generator in node.generators
        for part in ast.walk(generator.target)
    }
    names = (n for n in ast.walk(loop) if isinstance(n, ast.Name) and id(n) not in inner)
    return sorted({n.id for n in names if isinstance(n.ctx, ast.Store)})


def _read_by(loop: ast.AST, module: symtable.SymbolTable) -> list[str]:
    """The module's variables that a loop reads, which are not made by `def`, `class`, `import`."""
    known = {s.get_name(): s for s in module.get_symbols()}
    names = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name)} & known.keys()
    found = (known[n] for n in sorted(names))
    return [
        s.get_name()
        for s in found
        if s.is_assigned() and not s.is_imported() and not s.is_namespace()
    ]


def _needed(body: Iterable[ast.stmt], known: set[str], needed: set[str]) -> set[str]:
    """The names that have a value behind ``body``, if the ``known`` have one before.

    Those that may be read before they have one are added to ``needed``.
    """
    for node in body:
        if isinstance(node, ast.If):
            needed |= _loaded(node.test) - known
            known = _needed(node.body, known, needed) & _needed(node.orelse, known, needed)
        elif isinstance(node, ast.For):
            needed |= _loaded(node.iter) - known
            _needed([*node.body, *node.orelse], known | set(_set_by(node.target)), needed)
        elif isinstance(node, ast.While):
            needed |= _loaded(node.test) - known
            _needed([*node.body, *node.orelse], known, needed)
        else:
            needed |= _loaded(node) - known
            if not isinstance(node, ast.Try | ast.With):
                known = known | set(_set_by(node))
    return known


def _loaded(part: ast.AST) -> set[str]:
    """The names whose values a part reads, also to add to them."""
    added_to = {id(n.target) for n in ast.walk(part) if isinstance(n, ast.AugAssign)}
    names = (n for n in ast.walk(part) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Load) or id(n) in added_to}


def _by_turns(loop: ast.For | ast.While, module: symtable.SymbolTable) -> ast.stmt:
    """What runs the loop: ``if not run(function, iterable): loop``, behind the function."""
    changed = _set_by(loop)
    read = [name for name in _read_by(loop, module) if name not in changed]
    needed = set[str]()
    if isinstance(loop, ast.While):
        needed |= _loaded(loop.test)
    first = set(_set_by(loop.target)) if isinstance(loop, ast.For) else set()
    _needed(loop.body, first, needed)
    needed &= {*changed, *read}
    function: Any = ast.parse("def name(turns):\n    for turn in turns: pass\n").body[0]
    function.name = NAME
    function.args.args = [ast.arg(n) for n in (_TURNS, *changed, *read)]
    inner: Any = function.body[0]
    inner.iter = _name(_TURNS)
    if isinstance(loop, ast.For):
        inner.target, inner.body, iterable = loop.target, loop.body, loop.iter
    else:
        leave = ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], [])
        inner.target, inner.body = ast.Name(_ITERABLE, ast.Store()), [leave, *loop.body]
        iterable = ast.Constant(None)
    inner.orelse = [_returning(True, changed)]
    function.body.append(_returning(False, changed))
    run = ast.parse(_RUN, mode="eval").body
    given: list[ast.expr] = [_name(NAME), _name(_ITERABLE)]
    given += [
        ast.Tuple([ast.Constant(n) for n in names], ast.Load())
        for names in (changed, sorted(needed))
    ]
    as_it_is = copy.deepcopy(loop)
    if isinstance(as_it_is, ast.For):
        as_it_is.iter = _name(_ITERABLE)
    whole = ast.If(
        ast.Constant(True),
        [
            function,
            ast.Assign([ast.Name(_ITERABLE, ast.Store())], iterable),
            ast.If(ast.UnaryOp(ast.Not(), ast.Call(run, given, [])), [as_it_is], []),
            ast.Delete([ast.Name(name, ast.Del()) for name in (NAME, _ITERABLE)]),
        ],
        [],
    )
    for part in ast.walk(run):
        if isinstance(part, ast.expr):
            ast.copy_location(part, loop)
    for part in (whole, function, *whole.body):
        ast.copy_location(part, loop)
    return ast.fix_missing_locations(whole)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _returning(through: bool, names: list[str]) -> ast.Return:
    return ast.Return(ast.Tuple([ast.Constant(through), *map(_name, names)], ast.Load()))
