"""Reads: what a function reads besides its arguments, found in its bytecode.

A trace may be replayed only while everything it read is as it was. Globals, closures, defaults and
attributes of modules are read by name, so the bytecode tells them; functions written in Python that
are among them are followed. What may share memory with arrays or keep them (an object with
attributes of its own, a list, a write to anything that outlives the call) makes the function
*opaque*: it runs unfused. What only looks at the world (print, a clock, random numbers) makes it
*volatile*: it is recorded anew at every call.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .places import MISSING, Place, is_constant

_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod"),
        *("enumerate", "filter", "float", "frozenset", "getattr", "hasattr", "hash", "int"),
        *("isinstance", "issubclass", "len", "list", "map", "max", "min", "object", "ord", "pow"),
        *("range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple"),
        "zip",
    )
)
_PURE_MODULES = (
    *("math", "operator", "functools", "itertools", "typing"),
    *("numpy", "scipy.special", "fusecuda.numpy", "cupy"),
)
_VOLATILE_MODULES = ("numpy.random", "time", "random", "builtins")
_IMPURE_NUMPY = (
    *("numpy.random", "numpy.testing", "fusecuda.numpy.random"),
    *("cupy.random", "cupy.cuda", "cupy.testing"),
)
_NUMPY_STATE = frozenset(
    getattr(np, name)
    for name in (
        *("seterr", "geterr", "seterrcall", "setbufsize", "set_printoptions", "save", "savez"),
        *("savetxt", "savez_compressed", "load", "loadtxt", "genfromtxt", "fromfile", "put"),
        *("place", "putmask", "put_along_axis", "fill_diagonal", "memmap"),
    )
)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type, type(np.sum))
_WRITES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME"})
_YIELDS = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines keep state between calls


@dataclass(slots=True)
class Reads:
    """The places that a function reads, and what each held.

    ``arrays`` are NumPy arrays read by name, which a trace takes as further arguments, and
    ``device_arrays`` CuPy's, which a call on CuPy arrays works on where they are. ``opaque`` and
    ``volatile`` say why the function runs unfused, or is recorded anew each time; both are empty
    otherwise.
    """

    values: dict[tuple[object, ...], tuple[Place, Any]] = field(default_factory=dict)
    arrays: dict[tuple[object, ...], tuple[Place, np.ndarray[Any, Any]]] = field(
        default_factory=dict
    )
    device_arrays: dict[tuple[object, ...], tuple[Place, Any]] = field(default_factory=dict)
    functions: dict[int, types.FunctionType] = field(default_factory=dict)
    opaque: str = ""
    volatile: str = ""

    def value(self, place: Place, seen: Any) -> None:
        """Enter that ``place`` holds ``seen``."""
        self.values[place.key] = (place, seen)

    def unchanged(self) -> bool:
        """True if every place holds the very object that it held, arrays included."""
        every = (self.values, self.arrays, self.device_arrays)
        return all(place.read() is seen for some in every for place, seen in some.values())


def reads_of(*functions: types.FunctionType) -> Reads:
    """What ``functions``, and every Python function that they reach by name, read."""
    reads = Reads()
    pending = list(functions)
    while pending and not reads.opaque:
        current = pending.pop()
        if id(current) in reads.functions:
            continue
        reads.functions[id(current)] = current
        own = Place("object", current)
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            reads.value(own.attribute(name), getattr(current, name))
        for code in _codes(current.__code__):
            pending.extend(_scan(current, code, reads))
        for default in (*(current.__defaults__ or ()), *(current.__kwdefaults__ or {}).values()):
            if not is_constant(default):
                reads.opaque = f"a default of {current.__qualname__} is a {type(default).__name__}"
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
        reads.opaque = f"{code.co_name} is a generator or coroutine"
    instructions = list(dis.get_instructions(code))
    for i, instruction in enumerate(instructions):
        name = instruction.argval
        if instruction.opname in _WRITES:
            reads.opaque = f"{code.co_name} writes {name!r}, which outlives the call"
        elif instruction.opname == "STORE_DEREF" and name in free:
            reads.opaque = f"{code.co_name} writes the enclosing function's {name!r}"
        elif instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            _enter(_global_place(function, name), instructions[i + 1 :], reads, found)
        elif instruction.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in free:
            _enter(Place("cell", free[name], name), instructions[i + 1 :], reads, found)
    return found


def _global_place(function: types.FunctionType, name: str) -> Place:
    space = function.__globals__
    outer = space.get("__builtins__", builtins)
    outer = outer if isinstance(outer, dict) else vars(outer)
    if name in space or name not in outer:
        return Place("global", space, name)
    return Place("builtin", outer, name, hidden_by=space)


def _enter(
    place: Place,
    following: Iterable[dis.Instruction],
    reads: Reads,
    found: list[types.FunctionType],
) -> None:
    """Follow ``place`` through the attributes that the code takes of it; enter what is there."""
    value = place.read()
    if value is MISSING:
        if place.kind == "cell":
            reads.opaque = f"the closure variable {place.name!r} has no value yet"
        reads.value(place, MISSING)
        return
    for instruction in following:
        if not isinstance(value, types.ModuleType):
            break
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        place = place.attribute(instruction.argval)
        value = place.read()
        if value is MISSING:
            reads.opaque = f"{_name(place)} does not exist yet"
            return
    _classify(place, value, reads, found)


def _name(place: Place) -> str:
    return ".".join((place.name, *place.attributes))


def _classify(place: Place, value: Any, reads: Reads, found: list[types.FunctionType]) -> None:
    from .fused import FusedFunction  # noqa: PLC0415 - a fused function may call another

    if isinstance(value, FusedFunction):
        reads.value(place, value)
        found.append(value.function)
    elif type(value) is np.ndarray and not place.attributes:
        reads.arrays[place.key] = (place, value)
    elif (type(value).__module__, type(value).__name__) == ("cupy", "ndarray"):
        reads.device_arrays[place.key] = (place, value)
    elif is_constant(value) or is_pure(value):
        reads.value(place, value)
    elif isinstance(value, types.FunctionType):
        reads.value(place, value)
        found.append(value)
    elif _is_volatile(value):
        reads.volatile = f"it calls {_name(place)}"
    else:
        reads.opaque = f"{_name(place)} is a {type(value).__name__}, whose contents may change"


def is_pure(value: Any) -> bool:
    """True for functions and types that neither keep state nor look at the world."""
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith(tuple(f"{m}." for m in _PURE_MODULES)) or (
            value.__name__ in _PURE_MODULES
        )
    if isinstance(value, np.ufunc):
        return True
    if type(value).__module__ == "cupy._core._kernel" and type(value).__name__ == "ufunc":
        return True
    try:
        if value in _PURE_BUILTINS:
            return True
    except (TypeError, ValueError):
        return False
    module = getattr(value, "__module__", None) or ""
    if isinstance(value, type) and (
        issubclass(value, BaseException | np.generic) or module in _PURE_MODULES
    ):
        return True
    if not isinstance(value, _FUNCTIONS) or value in _NUMPY_STATE:
        return False
    pure = any(module == m or module.startswith(m + ".") for m in _PURE_MODULES)
    return pure and not module.startswith(_IMPURE_NUMPY)


def _is_volatile(value: Any) -> bool:
    """True for functions that look at the world but keep no array that they are given."""
    if not isinstance(value, types.BuiltinFunctionType | types.MethodType):
        return False
    home = value.__module__ or getattr(value.__self__, "__module__", None) or ""
    bound = type(value.__self__).__module__
    return home in _VOLATILE_MODULES or bound.startswith(_VOLATILE_MODULES)


def rebound(
    function: types.FunctionType,
    replace: dict[int, Any],
    followed: dict[int, types.FunctionType],
    done: dict[int, types.FunctionType],
) -> types.FunctionType:
    """``function`` with the objects in ``replace`` (by id) exchanged in globals and closures.

    The functions in ``followed`` that it reads are rebound too. Only for a function that does not
    write globals.
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
        if isinstance(value, types.FunctionType) and id(value) in followed:
            return rebound(value, replace, followed, done)
        return value

    names = {n for code in _codes(function.__code__) for n in code.co_names}
    for name in names & space.keys():
        space[name] = exchanged(space[name])
    for cell, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = exchanged(old.cell_contents)
        except ValueError:
            continue
    return copy
