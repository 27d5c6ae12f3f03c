"""Reads: what a function reads besides its arguments, found in its bytecode.

A trace may be replayed only while everything it read is as it was. Globals, closures, defaults and
attributes of modules are read by name, so the bytecode tells them; functions written in Python that
are among them are followed. What cannot be understood (an object with attributes of its own, an
impure builtin, a write to anything that outlives the call) makes the function impure: it is
recorded anew at every call, which is always right.
"""

from __future__ import annotations

import builtins
import dis
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs all any bool bytes callable chr complex dict divmod enumerate filter float frozenset "
        "getattr hasattr hash int isinstance issubclass len list map max min object ord pow range "
        "repr reversed round set slice sorted str sum tuple type zip"
    ).split()
)
_PURE_MODULES = ("math", "operator", "functools", "itertools", "typing", "numpy", "scipy.special")
_IMPURE_MODULES = ("numpy.random", "numpy.testing")
_SIMPLE = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)
_WRITES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME"})
_YIELDS = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines keep state between calls


@dataclass(slots=True)
class Reads:
    """The places that a function reads: how to read each again, and what it held.

    ``arrays`` are NumPy arrays read by name, which a trace takes as further arguments; ``impure``
    says why the function must be recorded anew each time, and is empty otherwise.
    """

    values: list[tuple[Callable[[], Any], Any]] = field(default_factory=list)
    arrays: list[tuple[Callable[[], Any], np.ndarray[Any, Any]]] = field(default_factory=list)
    functions: dict[int, types.FunctionType] = field(default_factory=dict)
    impure: str = ""

    def unchanged(self) -> bool:
        """True if every place holds what it held: the same object, or an equal simple value."""
        for read, seen in self.values:
            try:
                now = read()
            except (NameError, ValueError, AttributeError):
                return False
            if now is not seen and not _same(now, seen):
                return False
        return True


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(_same, a, b))
    if type(a) is float:
        return a == b and math.copysign(1, a) == math.copysign(1, b) or (a != a and b != b)
    return isinstance(a, _SIMPLE) and bool(a == b)


def reads_of(function: types.FunctionType) -> Reads:
    """What ``function``, and every Python function that it reaches by name, reads."""
    reads = Reads()
    pending = [function]
    while pending and not reads.impure:
        current = pending.pop()
        if id(current) in reads.functions:
            continue
        reads.functions[id(current)] = current
        for code in _codes(current.__code__):
            pending.extend(_scan(current, code, reads))
        for default in (*(current.__defaults__ or ()), *(current.__kwdefaults__ or {}).values()):
            if not _is_constant(default):
                reads.impure = f"a default of {current.__qualname__} is a {type(default).__name__}"
    return reads


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _scan(
    function: types.FunctionType, code: types.CodeType, reads: Reads
) -> list[types.FunctionType]:
    """Enter what one code object reads; the functions to follow are returned."""
    found: list[types.FunctionType] = []
    free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if code.co_flags & _YIELDS and code.co_name != "<genexpr>":
        reads.impure = f"{code.co_name} is a generator or coroutine"
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        name = instruction.argval
        if instruction.opname in _WRITES:
            reads.impure = f"{code.co_name} writes {name!r}, which outlives the call"
        elif instruction.opname == "STORE_DEREF" and name in free:
            reads.impure = f"{code.co_name} writes the enclosing function's {name!r}"
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            read = _global_reader(function, name)
            _enter(read, instructions[i + 1 :], reads, found, name)
        elif instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in free:
            cell = free[name]
            _enter(lambda cell=cell: cell.cell_contents, instructions[i + 1 :], reads, found, name)
    return found


def _global_reader(function: types.FunctionType, name: str) -> Callable[[], Any]:
    space = function.__globals__
    outer = space.get("__builtins__", builtins)
    outer = outer if isinstance(outer, dict) else vars(outer)

    def read() -> Any:
        if name in space:
            return space[name]
        if name in outer:
            return outer[name]
        raise NameError(f"name {name!r} is not defined")

    return read


def _enter(
    read: Callable[[], Any],
    following: list[dis.Instruction],
    reads: Reads,
    found: list[types.FunctionType],
    name: str,
) -> None:
    """Follow ``read`` through the attributes that the code takes of it, and enter what is there."""
    try:
        value = read()
    except (NameError, ValueError):
        reads.values.append((_missing_reader(read), None))
        return
    for instruction in following:
        if not isinstance(value, types.ModuleType):
            break
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        attribute = instruction.argval
        name = f"{name}.{attribute}"
        if not hasattr(value, attribute):
            reads.impure = f"{name} does not exist yet"
            return
        read = _attribute_reader(read, attribute)
        value = getattr(value, attribute)
    _classify(read, value, reads, found, name)


def _attribute_reader(read: Callable[[], Any], attribute: str) -> Callable[[], Any]:
    return lambda: getattr(read(), attribute)


def _missing_reader(read: Callable[[], Any]) -> Callable[[], Any]:
    """Reads None while the name stays undefined, and something else once it is defined."""

    def probe() -> Any:
        try:
            read()
        except (NameError, ValueError):
            return None
        return object()

    return probe


def _classify(
    read: Callable[[], Any],
    value: Any,
    reads: Reads,
    found: list[types.FunctionType],
    name: str,
) -> None:
    from .fused import FusedFunction  # noqa: PLC0415 - a fused function may call another

    if isinstance(value, FusedFunction):
        reads.values.append((read, value))
        found.append(value.function)
    elif type(value) is np.ndarray:
        reads.arrays.append((read, value))
    elif _is_constant(value) or _is_pure(value):
        reads.values.append((read, value))
    elif isinstance(value, types.FunctionType):
        reads.values.append((read, value))
        reads.values.append((lambda: read().__code__, value.__code__))
        found.append(value)
    else:
        reads.impure = f"{name} is a {type(value).__name__}, whose contents may change"


def _is_constant(value: Any) -> bool:
    return isinstance(value, _SIMPLE) or (
        type(value) in (tuple, frozenset) and all(map(_is_constant, value))
    )


def _is_pure(value: Any) -> bool:
    """True for functions and types that neither keep state nor look at the world."""
    if isinstance(value, np.ufunc | types.ModuleType):
        return True
    try:
        if value in _PURE_BUILTINS:
            return True
    except TypeError:
        return False
    if isinstance(value, type) and (
        issubclass(value, BaseException | np.generic) or value.__module__ in _PURE_MODULES
    ):
        return True
    module = getattr(value, "__module__", None) or ""
    pure = any(module == m or module.startswith(m + ".") for m in _PURE_MODULES)
    impure = any(module.startswith(m) for m in _IMPURE_MODULES)
    return pure and not impure and callable(value)


def rebound(
    function: types.FunctionType, replace: dict[int, Any], done: dict[int, types.FunctionType]
) -> types.FunctionType:
    """``function`` with the objects in ``replace`` (by id) exchanged in globals and closures.

    Python functions that it reads are rebound too. Only for a function that does not write globals.
    """
    from .fused import FusedFunction  # noqa: PLC0415

    if id(function) in done:
        return done[id(function)]
    space = dict(function.__globals__)
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, cells or None
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    done[id(function)] = copy

    def exchanged(value: Any) -> Any:
        if id(value) in replace:
            return replace[id(value)]
        if isinstance(value, FusedFunction):
            value = value.function
        if isinstance(value, types.FunctionType) and id(value) in replace_functions:
            return rebound(value, replace, done)
        return value

    replace_functions = replace.get(-1, {})
    names = {n for code in _codes(function.__code__) for n in code.co_names}
    for name in names & space.keys():
        space[name] = exchanged(space[name])
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = exchanged(old.cell_contents)
        except ValueError:
            continue
    return copy

