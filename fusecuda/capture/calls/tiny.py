"""Tiny: a function that loops over arrays as small as its arguments, which nothing could fuse.

A call of one is made as a whole at first, too, for there may be no second one. Its code tells that:
what it calls gives nothing larger than it is given, or of a size that is written there, and nothing
but arrays, numbers and containers of them.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from ..arrays.array import Array
from ..arrays.wrapping import Drawing
from .bytecode import ATTRIBUTES, YIELDS, codes_of, instructions_of, is_called, with_calls
from .places import Wrapper, is_constant
from .reads import Reads

BITS = 11  # of the bytes of an argument
_ELEMENTS = 256  # of what is made


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILTINS = _names(
    "range len int float bool complex abs min max sum round pow divmod sorted any all"
)
_NUMBERS = _names("int float bool complex")
_ERRORS = _names("ValueError RuntimeError ArithmeticError ZeroDivisionError IndexError KeyError")
_IN_LOOPS = _names("zip enumerate reversed")
_NOT_LARGER = _names(
    "sum mean std var min max amin amax argmin argmax any all prod cumsum cumprod dot vdot inner "
    "sort argsort clip where norm array asarray zeros_like ones_like empty_like copy isclose "
    "allclose roll flip diff trace transpose reshape ravel squeeze searchsorted median astype "
    "fill item tolist flatten append pop extend insert index count"
)
_OF_A_SIZE = _names("zeros ones empty full eye identity arange linspace") | _names(
    " ".join(name for name in dir(np.random.Generator) if not name.startswith("_"))
) - _names("spawn bit_generator")
_VALUES = _names("T shape size ndim pi e inf nan newaxis")
_TYPES = _names("float32 float64 int32 int64 complex64 complex128 bool_ uint8")
_MODULES = _names("linalg random")
_NEVER = _names("BUILD_SET SET_ADD SET_UPDATE CALL_FUNCTION_EX IMPORT_NAME CHECK_EXC_MATCH")
_CALLS = _names("CALL CALL_KW")  # the latter from Python 3.13 on
_CONSTANTS = _names("LOAD_CONST LOAD_SMALL_INT")
_BETWEEN = _CONSTANTS | _names("KW_NAMES PRECALL BUILD_TUPLE PUSH_NULL CACHE")


class _Reading(Protocol):
    """What a function reads, and of which objects."""

    reads: Reads

    def parts(self) -> frozenset[str]:
        """The names that are taken of modules."""

    def has(self, name: str) -> bool:
        """True for an attribute that only objects can have."""


def is_tiny(function: types.FunctionType, reading: _Reading, given: Iterable[Any]) -> bool:
    """True if a call has loops, and all that it makes is as small as what it is given.

    So has what the functions do that are ``given``.
    """
    if not any("BACKWARD" in i.opname for i in instructions_of(function.__code__)):
        return False
    parts = reading.parts()
    for one in reading.reads.functions.values():
        for code in codes_of(one.__code__):
            own = code is one.__code__ or code.co_name in ("<listcomp>", "<dictcomp>")
            if not own or code.co_flags & YIELDS or not all(_knows(one, code, reading, parts)):
                return False
    values = reading.reads.values.values()
    closed = (v for p, v in values if p.kind == "cell" and not p.steps)
    return all(
        isinstance(value, types.ModuleType) or _knows_value(value, True, ())
        for value in (*closed, *given)
    )


def is_little(size: Any) -> bool:
    """True for arguments of a size, as `size_of` gives it, that are small."""
    if isinstance(size, tuple):
        return all(map(is_little, size))
    return size <= BITS if isinstance(size, int) else size is not None


def _knows(
    function: types.FunctionType, code: types.CodeType, reading: _Reading, parts: frozenset[str]
) -> Iterator[bool]:
    """Of each instruction, whether what it does is known."""
    instructions = with_calls(code)
    for i, instruction in enumerate(instructions):
        name, argument = instruction.opname, instruction.argval
        following = instructions[i + 1 :]
        if name in _NEVER:
            yield False
        elif name == "LOAD_GLOBAL":
            calls = "NULL" in instruction.argrepr
            yield _knows_global(function.__globals__, argument, calls, following)
        elif name in ATTRIBUTES and argument not in parts and reading.has(argument):
            yield True  # its functions are read, too
        elif name in ATTRIBUTES and is_called(instructions, i):
            yield _knows_call(argument, following)
        elif name in ATTRIBUTES:
            leads_on = argument in _MODULES and following[0].opname in ATTRIBUTES
            yield argument in _VALUES or argument in _TYPES or leads_on


def _knows_global(space: dict[str, Any], name: str, calls: bool, following: Sequence[Any]) -> bool:
    if name not in space:
        known = name in _BUILTINS or name in _ERRORS
        return (calls and (known or _is_looped(name, following))) or name in _NUMBERS
    value: Any = space[name]
    return _knows_value(value, calls, following)


def _knows_value(value: Any, calls: bool, following: Sequence[Any]) -> bool:
    if isinstance(value, types.ModuleType):
        return following[0].opname in ATTRIBUTES
    if isinstance(value, Wrapper):
        return value.is_whole
    if isinstance(value, Array | Drawing) or is_constant(value):
        return True
    if type(value) in (list, dict):  # how much is in it, and which functions, is looked at
        return True
    if str(getattr(value, "__module__", "")).startswith("fusecuda."):
        return calls and _knows_call(getattr(value, "__name__", ""), following)
    return isinstance(value, types.FunctionType) or (calls and value in vars(math).values())


def _is_looped(name: str, following: Sequence[Any]) -> bool:
    """True if what is called gives what a loop goes through at once."""
    place = next((i for i, one in enumerate(following) if one.opname == "CALL"), -1)
    return name in _IN_LOOPS and place >= 0 and following[place + 1].opname == "GET_ITER"


def _knows_call(name: str, following: Sequence[Any]) -> bool:
    is_elementwise = isinstance(getattr(np, name, None), np.ufunc)
    if name in _NOT_LARGER or is_elementwise or (hasattr(math, name) and name != "gamma"):
        return True
    return name in _OF_A_SIZE and _elements(following) <= _ELEMENTS


def _elements(following: Sequence[Any]) -> float:
    """At most as many as a call makes, whose arguments are constants; else infinitely many."""
    count = 1.0
    for one in following:
        if one.opname in _CALLS:
            return count
        if one.opname not in _BETWEEN and one.argval not in _TYPES | {"int", "float", "bool"}:
            break
        if one.opname in _CONSTANTS:
            sizes = one.argval if type(one.argval) is tuple else (one.argval,)
            count *= math.prod(max(abs(n), 1) for n in sizes if type(n) in (int, float))
    return math.inf
