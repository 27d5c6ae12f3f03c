"""A script's loops at top level, as functions that are called for some turns at a time.

    for i in range(n):              def loop(turns, i, total):
        total += f(i)         →         for i in turns:
                                            total += f(i)
                                        else:
                                            return True, i, total
                                        return False, i, total
                                    if not run(loop, range(n), …):
                                        the loop as it stands

A loop that returns ``x`` from its function returns ``None, x, i, total``.

So are those of functions and methods, in a copy that is called while calls take long.

Whether a turn is faster on NumPy's memory is found out turn by turn (`capture/calls/loops.py`). A
loop stays as it is where a function could tell: one that reads what the loop sets, one that is
made inside, names that are looked up by their text, and loops inside `try` or with an `else`.
"""

from __future__ import annotations

import ast
import copy
import symtable
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import decode_source
from typing import Any

_PACKAGE = __name__.partition(".")[0]
LOOPS = f"{_PACKAGE}.capture.calls.loops"
_RUN = f"__import__({__name__!r}, fromlist=('run',)).run"
NAME, TURNING = "<loop>", "<turning>"  # of functions, which nobody else can name
_ITERABLE, _TURNS, _HELD, _RAN = "<iterable>", "<turns>", "<variables>", "<ran>"
_UNBOUND = "<unbound>"  # what stands for no value
_VARIABLES = ("__import__('builtins').locals()", "__import__('builtins').globals()")
_LEFT_AS_THEY_ARE = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom,
    ast.Global, ast.Nonlocal, ast.Delete, ast.NamedExpr, ast.AnnAssign, ast.Await, ast.Yield,
    ast.YieldFrom, ast.AsyncFor, ast.AsyncWith, ast.GeneratorExp, ast.Match,
)  # fmt: skip
_BY_TEXT = frozenset(
    ["exec", "eval", "locals", "globals", "vars", "dir", "input", "open", "breakpoint", "super"]
)


def with_loops(tree: ast.Module, source: bytes, file: str) -> dict[ast.stmt, ast.FunctionDef]:
    """Let a script's loops at the top level of its module be run by some turns at a time.

    Of functions and methods with such loops: copies that run them so.
    """
    if not any(isinstance(n, ast.For | ast.While) for n in ast.walk(tree)):
        return {}
    module = symtable.symtable(decode_source(source), file, "exec")
    tables = {(t.get_name(), t.get_lineno()): t for t in _children(module)}
    _rewrite(tree.body, "<module>", module)
    made = ((f, _by_turns_too(f, tables.get((f.name, f.lineno)))) for f in _functions(tree.body))
    return {function: copied for function, copied in made if copied is not None}


def _children(module: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """The functions of a module, and those of its classes."""
    for child in module.get_children():
        yield from child.get_children() if child.get_type() == "class" else (child,)


def run(function: Any, *given: Any) -> bool | tuple[Any]:
    """True if all turns of a loop have been run, as `LOOPS` does where there are lazy arrays.

    What a turn has returned from the function that the loop stands in is the one item of a tuple.
    """
    made = sys.modules.get(LOOPS)
    if made is None and f"{_PACKAGE}.capture" in sys.modules:
        made = import_module(LOOPS)
    found: bool | tuple[Any] = made is not None and made.run(function, *given)
    return found


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The functions of a module without decorators, and the methods of its classes."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from (n for n in _functions(node.body) if n in node.body)
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            yield node


def _by_turns_too(
    function: ast.FunctionDef, table: symtable.SymbolTable | None
) -> ast.FunctionDef | None:
    """A copy of a function whose loops are run by turns, if it has such; without defaults."""
    if table is None or getattr(function, "type_params", None):
        return None
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function)):
        return None
    made = copy.deepcopy(function)
    if not _rewrite(made.body, function.name, table):
        return None
    made.name, made.returns = TURNING, None
    given = made.args
    given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
    for one in ast.walk(given):
        if isinstance(one, ast.arg):
            one.annotation = None
    return made


def _named_inside(table: symtable.SymbolTable) -> Iterator[str]:
    """The names of a module or function that functions, classes and generators inside it use."""
    for child in table.get_children():
        if child.get_name() not in ("listcomp", "dictcomp", "setcomp"):
            symbols = child.get_symbols()
            yield from (s.get_name() for s in symbols if s.is_global() or s.is_free())
            if child.get_type() == "class":
                yield from (s.get_name() for s in symbols)
        yield from _named_inside(child)


def _rewrite(body: list[ast.stmt], place: str, table: symtable.SymbolTable) -> bool:
    """True if there was a loop in ``body`` that is run by turns now."""
    declared = (s.get_name() for s in table.get_symbols() if s.is_declared_global())
    shared = frozenset((*_named_inside(table), *(declared if place != "<module>" else ())))
    return _rewritten(body, place, table, shared)


def _rewritten(
    body: list[ast.stmt], place: str, table: symtable.SymbolTable, shared: frozenset[str]
) -> bool:
    found = False
    for number, node in enumerate(body):
        if isinstance(node, ast.If):
            for part in (node.body, node.orelse):
                found |= _rewritten(part, place, table, shared)
        elif isinstance(node, ast.For | ast.While) and _may_be_function(node, shared):
            body[number] = _by_turns(node, place, table)
            found = True
    return found


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
    return True


def _names_in(part: ast.AST) -> list[ast.Name]:
    """The names in a part, but for those that comprehensions have for themselves."""
    inner: set[int] = set()
    for node in ast.walk(part):
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp):
            targets = [n for g in node.generators for n in ast.walk(g.target)]
            bound = {n.id for n in targets if isinstance(n, ast.Name)}
            outer = {id(n) for n in ast.walk(node.generators[0].iter)}  # where the part stands
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in outer)
            inner.update(id(n) for n in names if n.id in bound)
    return [n for n in ast.walk(part) if isinstance(n, ast.Name) and id(n) not in inner]


def _set_by(part: ast.AST) -> list[str]:
    """The names that a part sets, in order."""
    return sorted({n.id for n in _names_in(part) if isinstance(n.ctx, ast.Store)})


def _read_by(loop: ast.AST, table: symtable.SymbolTable) -> list[str]:
    """The variables that a loop reads, which are not made by `def`, `class` and `import`."""
    known = {s.get_name(): s for s in table.get_symbols()}
    names = {n.id for n in _names_in(loop)} & known.keys()
    found = (known[n] for n in sorted(names))
    return [
        s.get_name()
        for s in found
        if s.is_local() or table.get_type() == "module"
        if s.is_assigned() or s.is_parameter()
        if not s.is_imported() and not s.is_namespace()
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
            needed |= (_loaded(node.iter) | _loaded(node.target)) - known
            _needed(node.body, known | set(_set_by(node.target)), needed)
            _needed(node.orelse, known, needed)  # there may have been no turns
        elif isinstance(node, ast.While):
            needed |= _loaded(node.test) - known
            _needed(node.body, known, needed)
            _needed(node.orelse, known, needed)
        else:
            needed |= _loaded(node) - known
            if not isinstance(node, ast.Try | ast.TryStar | ast.With):
                known = known | set(_set_by(node))
    return known


def _loaded(part: ast.AST) -> set[str]:
    """The names whose values a part reads, also to add to them."""
    added_to = {id(n.target) for n in ast.walk(part) if isinstance(n, ast.AugAssign)}
    loaded = (n for n in _names_in(part) if isinstance(n.ctx, ast.Load) or id(n) in added_to)
    return {n.id for n in loaded}


def _by_turns(loop: ast.For | ast.While, place: str, table: symtable.SymbolTable) -> ast.stmt:
    """What runs the loop, as the text above shows it."""
    as_it_is = copy.deepcopy(loop)
    maker, iterable = _maker_of(loop, table)
    if isinstance(as_it_is, ast.For):
        again = [ast.Starred(_name(_ITERABLE), ast.Load())]
        as_it_is.iter = ast.Call(_name(maker), [*again], []) if maker else _name(_ITERABLE)
    changed = _set_by(loop)
    read = [name for name in _read_by(loop, table) if name not in changed]
    needed = _loaded(loop.test if isinstance(loop, ast.While) else loop.target)
    first = set(_set_by(loop.target)) if isinstance(loop, ast.For) else set()
    _needed(loop.body, first, needed)
    needed &= {*changed, *read}
    in_module = place == "<module>"
    function = _function_of(loop, changed, read, () if in_module else needed.intersection(changed))
    run = ast.parse(_RUN, mode="eval").body
    given: list[ast.expr] = [_name(NAME), _name(_ITERABLE)]
    given += [ast.Constant(maker), ast.Constant(place)]
    for names in (changed, sorted(needed)):
        given.append(ast.Tuple([ast.Constant(n) for n in names], ast.Load()))
    variables = ast.parse(_VARIABLES[in_module], mode="eval").body
    kept = [] if in_module else [_kept(name) for name in changed]
    kept += [_returned()] if any(isinstance(n, ast.Return) for n in ast.walk(as_it_is)) else []
    whole = ast.If(
        ast.Constant(True),
        [
            function,
            ast.Assign([ast.Name(_ITERABLE, ast.Store())], iterable),
            ast.Assign([ast.Name(_HELD, ast.Store())], variables),
            ast.Assign([ast.Name(_RAN, ast.Store())], ast.Call(run, [*given, _name(_HELD)], [])),
            ast.If(_name(_RAN), [*kept, ast.Pass()], [as_it_is]),
            ast.Delete([ast.Name(name, ast.Del()) for name in (NAME, _ITERABLE, _HELD, _RAN)]),
        ],
        [],
    )
    for part in (*ast.walk(run), *ast.walk(variables)):
        if isinstance(part, ast.expr):
            ast.copy_location(part, loop)
    for part in (whole, function, *whole.body):
        ast.copy_location(part, loop)
    return ast.fix_missing_locations(whole)


def _maker_of(loop: ast.For | ast.While, table: symtable.SymbolTable) -> tuple[str, ast.expr]:
    """`zip` or `enumerate` and its arguments, or nothing and what a loop goes through."""
    if isinstance(loop, ast.While):
        return "", ast.Constant(None)
    call = loop.iter
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return "", call
    name, symbol = call.func.id, table.lookup(call.func.id)
    if symbol.is_assigned() or symbol.is_parameter() or symbol.is_free():
        return "", call
    parts = [*call.args, *(k.value for k in call.keywords if k.arg == "start")]
    is_zip = name == "zip" and not call.keywords
    is_count = (
        name == "enumerate" and call.args and len(parts) == len(call.args) + len(call.keywords)
    )
    if is_count and (len(parts) > 2 or any(isinstance(n, ast.Starred) for n in parts)):
        return "", call
    return (name, ast.Tuple(parts, ast.Load())) if is_zip or is_count else ("", call)


def _function_of(
    loop: ast.For | ast.While, changed: Sequence[str], read: Sequence[str], unsure: Iterable[str]
) -> ast.FunctionDef:
    """The loop as a function; where the ``unsure`` variables have no value they have none in it."""
    function: Any = ast.parse("def name(turns):\n    for turn in turns: pass\n").body[0]
    function.name = NAME
    unsure = sorted(unsure)
    names = (_TURNS, *changed, *read, *([_UNBOUND] if unsure else []))
    function.args.args = [ast.arg(n) for n in names]
    inner: Any = function.body[0]
    inner.iter = _name(_TURNS)
    if isinstance(loop, ast.For):
        inner.target, inner.body = loop.target, loop.body
    else:
        leave = ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], [])
        inner.target, inner.body = ast.Name(_ITERABLE, ast.Store()), [leave, *loop.body]
    inner = _Returns(changed, unsure).visit(inner)
    inner.orelse = _ending(True, changed, unsure)
    without = [ast.If(_is_unbound(n), [ast.Delete([ast.Name(n, ast.Del())])], []) for n in unsure]
    function.body = [*without, inner, *_ending(False, changed, unsure)]
    made: ast.FunctionDef = function
    return made


def _is_unbound(name: str) -> ast.expr:
    return ast.Compare(_name(name), [ast.Is()], [_name(_UNBOUND)])


def _kept(name: str) -> ast.stmt:
    """What gives a function's variable its value, if it has one."""
    found = ast.Subscript(_name(_HELD), ast.Constant(name), ast.Load())
    has = ast.Compare(ast.Constant(name), [ast.In()], [_name(_HELD)])
    return ast.If(has, [ast.Assign([ast.Name(name, ast.Store())], found)], [])


def _returned() -> ast.stmt:
    """What returns what a turn has returned."""
    is_over = ast.Compare(_name(_RAN), [ast.IsNot()], [ast.Constant(True)])
    value = ast.Subscript(_name(_RAN), ast.Constant(0), ast.Load())
    return ast.If(is_over, [ast.Return(value)], [])


class _Returns(ast.NodeTransformer):
    """Lets a loop return what its function returns, and its variables."""

    def __init__(self, changed: Sequence[str], unsure: Sequence[str]) -> None:
        self.changed, self.unsure = changed, unsure

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        value = ast.Assign([ast.Name(_RAN, ast.Store())], node.value or ast.Constant(None))
        made = [value, *_ending(None, [_RAN, *self.changed], self.unsure)]
        return [ast.copy_location(one, node) for one in made]


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _ending(through: bool | None, names: Sequence[str], unsure: Iterable[str]) -> list[ast.stmt]:
    """What returns the variables of a loop, behind whether there are no more turns."""
    bound = [
        ast.Try(
            [ast.Expr(_name(name))],
            [ast.ExceptHandler(_name("NameError"), None, [
                ast.Assign([ast.Name(name, ast.Store())], _name(_UNBOUND))])],
            [], [],
        )
        for name in unsure
    ]  # fmt: skip
    parts = [ast.Constant(through), *map(_name, names)]
    return [*bound, ast.Return(ast.Tuple(parts, ast.Load()))]
