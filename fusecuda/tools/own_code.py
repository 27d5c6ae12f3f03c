"""A script's own code: its functions, and those of modules in its folder, are called as wholes."""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import os
import sys
import types
from collections.abc import Container, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from ..text_codes import enter
from .own_loops import LOOPS, TURNING, with_loops
from .own_texts import Showing, makes_texts

_PACKAGE = __name__.partition(".")[0]
WHOLES = f"{_PACKAGE}.capture.calls.whole"
_TEXTS = f"{_PACKAGE}.capture.calls.printed"
_BETWEEN = (WHOLES, LOOPS, _TEXTS, __name__.rpartition(".")[0])
_WHOLE = f"__import__({__name__!r}, fromlist=('whole',)).whole"
_BY_TURNS = f"__import__({__name__!r}, fromlist=('by_turns',)).by_turns"
_Made = TypeVar("_Made", bound=ast.AST)
# For lazy arrays to be there: functions, and what runs their loops by turns.
_waiting: list[tuple[types.FunctionType, types.FunctionType | None]] = []


def with_wholes(source: bytes, file: str) -> types.CodeType:
    """The code of a module, whose plain functions are made `whole`, and loops are run by turns.

    Functions are those at its top level and in the classes there, without decorators, of which it
    does nothing but call them; loops are those at top level, and of such functions in a copy.
    """
    tree: Any = compile(source, file, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    turning = with_loops(tree, source, file)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    passed_on = {n.id for n in names if isinstance(n.ctx, ast.Load) and id(n) not in called}
    attributes = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    taken = {n.attr for n in attributes if isinstance(n.ctx, ast.Load) and id(n) not in called}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and _is_plain(node):
            node.body = list(_decorated(node.body, taken, turning, "__"))
    tree.body = list(_decorated(tree.body, passed_on, turning))
    code = compile(tree, file, "exec", dont_inherit=True)
    if makes_texts(tree):
        enter(code, lambda: compile(Showing().visit(tree), file, "exec", dont_inherit=True))
    return code


def _is_plain(node: ast.ClassDef) -> bool:
    """True for a class that nobody is told of when it is made, but for dataclasses."""
    names = {n.id for d in node.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name)}
    return not node.keywords and len(node.decorator_list) <= 1 and names <= {"dataclass"}


def _decorated(
    body: list[ast.stmt], others: Container[str], turning: Mapping[ast.stmt, ast.FunctionDef],
    but: str = "\0",
) -> Iterator[ast.stmt]:  # fmt: skip
    """``body`` with its functions made `whole`, but for ``others`` and what begins with ``but``."""
    for node in body:
        if not isinstance(node, ast.FunctionDef) or not _may_be_whole(node, others, but):
            yield node
            continue
        copied = turning.get(node)
        made = ast.parse(_BY_TURNS if copied else _WHOLE, mode="eval").body
        if copied:
            made = ast.Call(made, [ast.Name(TURNING, ast.Load())], [])
        node.decorator_list = [_at(node, made)]
        forget = _at(node, ast.Delete([ast.Name(TURNING, ast.Del())]))
        yield from (copied, node, forget) if copied else (node,)


def _may_be_whole(node: ast.FunctionDef, others: Container[str], but: str) -> bool:
    return not (node.decorator_list or node.name in others or node.name.startswith(but))


def _at(node: ast.FunctionDef, made: _Made) -> _Made:
    """``made``, at the place of a function's `def`."""
    for part in ast.walk(made):
        if isinstance(part, ast.expr | ast.stmt):
            part.lineno = part.end_lineno = node.lineno
            part.col_offset = part.end_col_offset = node.col_offset
    return made


def whole(function: types.FunctionType) -> Any:
    """``function``, made `whole` as soon as there are lazy arrays: a decorator."""
    return _whole(function, None)


def by_turns(turning: types.FunctionType) -> Any:
    """A decorator as `whole`, of the function of which ``turning`` runs the loops by turns."""
    return functools.partial(_whole, turning=turning)


def _whole(function: types.FunctionType, turning: types.FunctionType | None) -> Any:
    make = getattr(sys.modules.get(WHOLES), "whole", None)
    if make is not None:
        return make(function, turning)
    _waiting.append((function, turning))
    return function


def make_wholes() -> None:
    """Have what waits for lazy arrays called as wholes: they are there."""
    make = import_module(WHOLES).whole
    while _waiting:
        function, turning = _waiting.pop()
        owner, _, name = function.__qualname__.rpartition(".")
        space = function.__globals__
        if not owner and space.get(name) is function:
            space[name] = make(function, turning)
        kind = space.get(owner)
        if isinstance(kind, type) and vars(kind).get(name) is function:
            made = make(function, turning)
            setattr(kind, name, made)
            if made is not function:
                made.__set_name__(kind, name)


def no_more_wholes() -> None:
    """Let go of what waits: the script is over."""
    _waiting.clear()


def without_wholes(trace: types.TracebackType | None) -> types.TracebackType | None:
    """``trace`` without what stands between a function or a loop of the script and its caller."""
    kept: list[types.TracebackType] = []
    in_loop = False
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if not name.startswith(_BETWEEN):
            if kept and in_loop:  # what calls the loop is the place that the loop stands in
                kept.pop()
            kept.append(trace)
            in_loop = False
        in_loop |= name == LOOPS
        trace = trace.tb_next
    for one, following in zip(kept, [*kept[1:], None], strict=False):
        one.tb_next = following
    return kept[0] if kept else None


class OwnModules:
    """Finds modules that lie in the script's own folder, though this package may, too."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder) + os.sep

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] == _PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        file = os.path.realpath(spec.origin or "")
        if not file.startswith(self.folder) or "site-packages" in file:
            return None
        spec.loader = _OwnLoader(name, spec.origin or "")
        return spec


class _OwnLoader(importlib.machinery.SourceFileLoader):
    """Loads from the source alone: what it makes of that is not kept in files."""

    def get_code(self, fullname: str) -> types.CodeType:
        return with_wholes(self.get_data(self.path), self.path)
