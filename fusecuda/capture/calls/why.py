"""Why: which condition of a trace a call does not meet, in the user's words.

The guard's own text is walked condition by condition, only where somebody asks or a call was not
replayed anyway; a call that is replayed costs nothing more.
"""

from __future__ import annotations

import ast
import ctypes
import dis
import reprlib
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...watch import log, logs

_GUARD = "text of the guard"  # where a replay's globals hold it; no name of Python's
_UNKNOWN = "its conditions do not hold"
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


class Alike(Protocol):
    """The traces of calls of the same shapes."""

    replays: tuple[Callable[..., Any], ...]


class History:
    """The newest trace of a function, and the last call that none fitted."""

    __slots__ = ("_given", "_trace", "newest", "note")

    def __init__(self) -> None:
        self.newest: Callable[..., Any] | None = None
        self.note = ""  # what is known without the conditions
        self._trace: Callable[..., Any] | None = None
        self._given: list[Callable[[], Any]] = []

    def missed(self, function: Any, args: tuple[Any, ...], name: str, alike: Alike | None) -> None:
        """No trace fits ``args``, which are not kept alive; ``alike`` has those of their shapes."""
        self.note = ""
        self._trace = alike.replays[0] if alike is not None and alike.replays else self.newest
        if self._trace is not None:
            self._given = [_kept(a) for a in args]
            if logs("capture"):
                log("capture", "%s is recorded again: %s", name, self.text(function))

    def would(self, function: Any, args: tuple[Any, ...], alike: Alike | None) -> str:
        """The rest of a sentence: what a call with ``args`` would be."""
        traces = alike.replays if alike is not None and alike.replays else (self.newest,)
        if traces[0] is None:
            return " would be recorded: there is no trace that can be replayed"
        reasons = [_reason(trace, function, args) for trace in traces if trace is not None]
        return f" would be recorded again: {reasons[0]}" if all(reasons) else " would be replayed"

    def told(self, function: Any) -> str:
        """The rest of a sentence: why the last call was recorded."""
        return f": {self.text(function) or 'no trace was there'}"

    def text(self, function: Any) -> str:
        """Why the newest trace did not fit the call that it missed, or ""."""
        if self.note or self._trace is None:
            return self.note
        return _reason(self._trace, function, tuple(given() for given in self._given))


def _reason(trace: Callable[..., Any], function: Any, args: tuple[Any, ...]) -> str:
    """`why_not`, and the user's line."""
    found = why_not(trace, function, args)
    where = line_of(function, found) if found else ""
    return f"{found} ({where})" if where else found


def _kept(value: Any) -> Callable[[], Any]:
    """What gives ``value`` again while it lives; of an array later one that lies there.

    Conditions look at where an array lies, not at what is there, which is no more.
    """
    if not hasattr(type(value), "strides"):  # an object may have its own way to be asked
        return lambda: value
    try:
        alive = weakref.ref(value)
    except TypeError:
        return lambda: value
    shape, strides, dtype = value.shape, value.strides, value.dtype
    low, high = byte_bounds(value) if isinstance(value, np.ndarray) else (0, 0)
    offset = value.ctypes.data - low if high else 0

    def found() -> Any:
        array = alive()
        if array is None and high:
            memory = (ctypes.c_char * (high - low)).from_address(low)
            array = np.ndarray(
                shape, dtype, buffer=memoryview(memory), offset=offset, strides=strides
            )
        elif array is None:
            array = np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)
        return array

    return found


def why_not(replay: Callable[..., Any], function: Any, args: tuple[Any, ...]) -> str:
    """The first condition of ``replay`` that ``args`` or what is read do not meet; else ""."""
    space: dict[str, Any] = dict(replay.__globals__)
    text = space.get(_GUARD)
    if text is None:
        return _UNKNOWN
    space["args"] = args
    names = _Names(function, space)
    (definition,) = ast.parse(text).body
    assert isinstance(definition, ast.FunctionDef)
    for statement in _statements(definition.body):
        try:
            found = _missed(statement, space, names)
        except Exception as error:  # as the guard itself would take it
            lost = isinstance(error, LookupError | AttributeError)
            what = "what it reads is not there any more" if lost else "it raises"
            return f"{what}: {type(error).__name__}: {error}"
        if found:
            return found
    return ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements up to the end of the conditions."""
    for statement in body:
        if isinstance(statement, ast.Try):
            yield from statement.body
            return
        yield statement


def _missed(statement: ast.stmt, space: dict[str, Any], names: _Names) -> str:
    """What is wrong if ``statement`` is a condition that fails; else it is done."""
    if not isinstance(statement, ast.If):
        exec(compile(ast.Module([statement], []), "<why>", "exec"), space)
        return ""
    test = statement.test
    fails = bool(_value(test, space))
    ends = [s.value for s in statement.body if isinstance(s, ast.Return)]
    replaying = any(not (isinstance(v, ast.Name) and v.id == "MISS") for v in ends)
    if fails == replaying:  # ``if CONDITION: return function(*args)`` of a call made plainly
        return ""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _first_failing(test.operand, space, names)
    return _first_failing(test, space, names) if replaying else _said(test, space, names)


def _value(node: ast.expr, space: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<why>", "eval"), space)


def _first_failing(test: ast.expr, space: dict[str, Any], names: _Names) -> str:
    """Of conditions that must all hold the first that does not."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for number, part in enumerate(test.values):
            if not _value(part, space):
                rest = [o for o in test.values[number + 1 :] if ".dtype" in ast.unparse(o)]
                if ".strides ==" not in ast.unparse(part):  # of another dtype they differ too
                    rest = []
                failing = [o for o in rest if not _value(o, space)] or [part]
                return _first_failing(failing[0], space, names)
    return _said(test, space, names)


def _said(test: ast.expr, space: dict[str, Any], names: _Names) -> str:
    """A condition that failed: what is compared, what it was and what it is."""
    if isinstance(test, ast.BoolOp):  # equal, or the same object
        return _said(test.values[0], space, names)
    if isinstance(test, ast.UnaryOp):
        call = test.operand
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "may_share":
            return (
                f"{names.of(call.args[0])} and {names.of(call.args[1])} share memory, and did not"
            )
        return f"{names.of(call)} holds, and did not"
    if isinstance(test, ast.Compare):
        return _compared(test, space, names)
    if isinstance(test, ast.Call):
        if getattr(test.func, "id", "") == "are_apart":
            return "two of many arrays share memory, one of them written to, and none did"
        return f"{names.of(test)} does not hold any more"
    return names.of(test)


def _compared(test: ast.Compare, space: dict[str, Any], names: _Names) -> str:
    left, right = test.left, test.comparators[0]
    if isinstance(left, ast.NamedExpr):
        left = left.value
    if isinstance(test.ops[0], ast.NotIn):
        return f"there is a global {_value(left, space)!r} now, which hides a builtin"
    if names.of(left) == "len(args)":
        return f"the number of arguments was {_value(right, space)}, is {_value(left, space)}"
    if isinstance(left, ast.Call) and getattr(left.func, "id", "") == "overlaps_of":
        return "arguments share memory in another way"
    if isinstance(right, ast.Name) and right.id.startswith("a") and isinstance(left, ast.Name):
        return f"{names.of(left)} and {names.of(right)} were one object, and are two"
    was, now = _shown(_value(right, space)), _shown(_value(left, space))
    if was == now:
        was = "another object"
    return f"{names.of(left)} was {was}, is {now}"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype}{list(value.shape)}"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, types.FunctionType | types.ModuleType):
        return value.__name__
    return "missing" if type(value) is object else _short.repr(value)


class _Names(ast.NodeTransformer):
    """What the user calls what a guard's text names."""

    def __init__(self, function: Any, space: Mapping[str, Any]) -> None:
        code = getattr(function, "__code__", None)
        count = 0 if code is None else code.co_argcount + code.co_kwonlyargcount
        names = [] if code is None else [*code.co_varnames[:count]]
        self.arguments = {f"a{i}": name for i, name in enumerate(names)}
        cells = getattr(function, "__closure__", None) or ()
        self.cells = {id(c): code.co_freevars[i] for i, c in enumerate(cells)} if code else {}
        self.space = space

    def of(self, node: ast.expr) -> str:
        """The text of ``node`` with the user's own names in it, and where it is read."""
        return ast.unparse(self.visit(ast.parse(ast.unparse(node), mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found: Any = self.arguments.get(node.id)
        if found is None and node.id[0] == "k" and node.id[1:].isdigit():  # a constant
            found = getattr(self.space.get(node.id), "__name__", None)
        return ast.Name(found) if isinstance(found, str) and found.isidentifier() else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr == "cell_contents" and isinstance(node.value, ast.Name):
            found = self.cells.get(id(self.space.get(node.value.id)))
            if found is not None:
                return ast.Name(found)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``k0['name']``, an entry of the globals, is ``name``; ``x.__dict__['y']`` is ``x.y``."""
        owner, key = node.value, getattr(node.slice, "value", None)
        if isinstance(key, str) and isinstance(owner, ast.Attribute) and owner.attr == "__dict__":
            return ast.Attribute(self.visit(owner.value), key)
        if isinstance(key, str) and isinstance(owner, ast.Name):
            root = self.space.get(owner.id)
            if isinstance(root, dict) and "__name__" in root:
                return ast.Name(key)
        self.generic_visit(node)
        return node


def line_of(function: Any, condition: str = "") -> str:
    """FILE:NUMBER where ``function`` reads what ``condition`` begins with; else where it begins."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    name = condition.partition(" ")[0].partition(".")[0].partition("[")[0]
    number = code.co_firstlineno
    for instruction in dis.get_instructions(code) if name else ():
        if instruction.argval == name and instruction.positions is not None:
            number = instruction.positions.lineno or number
            break
    return f"{code.co_filename}:{number}"
