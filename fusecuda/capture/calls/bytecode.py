"""Bytecode: what the instructions of a function say, on each Python from 3.11 on."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import inspect
import itertools
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from ..record.structure import leaves
from .places import Place
from .settings import makes_texts

_SKIPPED = frozenset({"EXTENDED_ARG", "CACHE", "NOP", "PUSH_NULL", "RESUME", "PRECALL"})
GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_CELLS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
OUTLIVING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_DISPLAYS = frozenset({"BUILD_LIST", "BUILD_MAP"})
_CONSTANTS = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# Of generators and coroutines, which keep state between calls.
YIELDS = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


@functools.lru_cache(maxsize=2048)  # a scan of a library asks for hundreds, again and again
def instructions_of(code: types.CodeType) -> Sequence[dis.Instruction]:
    """The instructions of ``code``, each with its whole argument and without what does nothing."""
    return tuple(i for i in dis.get_instructions(code) if i.opname not in _SKIPPED)


@functools.lru_cache(maxsize=256)
def with_calls(code: types.CodeType) -> Sequence[dis.Instruction]:
    """As `instructions_of`, with what makes room for calls: it tells what attributes are called."""
    skipped = _SKIPPED - {"PUSH_NULL"}
    return tuple(i for i in dis.get_instructions(code) if i.opname not in skipped)


def is_called(instructions: Sequence[Any], i: int) -> bool:
    """True if the attribute that an instruction loads is called then."""
    one = instructions[i]
    if one.opname == "LOAD_METHOD" or "NULL" in one.argrepr:
        return True
    if sys.version_info >= (3, 13):
        return bool(instructions[i + 1].opname == "PUSH_NULL")
    while one.opname in ATTRIBUTES:
        i -= 1
        one = instructions[i]
    before = instructions[i - 1].opname
    return one.opname == "LOAD_GLOBAL" and ("NULL" in one.argrepr or before == "PUSH_NULL")


def gets_an_item(instructions: Sequence[dis.Instruction], i: int) -> bool:
    """True if instruction ``i`` loads ``get`` to call it as only dictionaries know it.

    An array's is given a stream and an order, never a text first or anything else second.
    """
    if instructions[i].argval != "get" or not is_called(instructions, i):
        return False
    depth, last = 0, instructions[i]
    for one in instructions[i + 1 : i + 12]:
        if one.opname == "CALL":
            starts_with = instructions[i + 1 + (instructions[i + 1].opname == "PUSH_NULL")]
            is_text = starts_with.opname in _CONSTANTS and type(starts_with.argval) is str
            number = last.argval if last.opname in _CONSTANTS else None
            is_other = last.opname in _DISPLAYS or type(number) in (int, float, tuple)
            return one.arg == depth and (is_text or (depth == 2 and is_other))
        if one.opname != "PUSH_NULL":
            if one.opname in ("KW_NAMES", "CALL_KW") or "JUMP" in one.opname:
                return False
            depth += dis.stack_effect(one.opcode, one.arg, jump=False)
        last = one
    return False


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """``code`` and the code of functions and classes made in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def strings(constants: Sequence[Any]) -> Iterator[str]:
    """The texts among constants."""
    return (part for part in leaves(constants) if type(part) is str)


def global_place(function: types.FunctionType, name: str) -> Place:
    """Where ``function`` finds the global or builtin ``name``."""
    space = function.__globals__
    outer = builtins_dict(space)
    if name in space or name not in outer:
        return Place("global", space, name)
    return Place("builtin", outer, name, hidden_by=space)


def variable_of(
    function: types.FunctionType, free: dict[str, Any], instruction: dis.Instruction
) -> Place | None:
    """The place of the global or closure variable that ``instruction`` loads, if it loads one."""
    name = instruction.argval
    if instruction.opname in GLOBALS:
        return global_place(function, name)
    is_cell = instruction.opname in _CELLS and name in free
    return Place("cell", free[name], name) if is_cell else None


def asks_by_name(function: types.FunctionType, before: dis.Instruction) -> bool:
    """True if ``before`` loads `getattr` or `hasattr`, to be called with what comes next."""
    if before.opname not in GLOBALS or before.argval not in ("getattr", "hasattr"):
        return False
    return global_place(function, before.argval).read() in (getattr, hasattr)


def named_by(text: str) -> list[str]:
    """The attributes that ``text`` names if it is one to be filled in, as in "{0.size}"."""
    return re.findall(r"\.(\w+)", text) if "{" in text else []


_STATEMENTS = {  # by which Python looks for what no name in the code says
    "LOAD_BUILD_CLASS": "class",
    **dict.fromkeys(("MATCH_CLASS", "MATCH_MAPPING", "MATCH_SEQUENCE"), "match"),
}


@dataclasses.dataclass(frozen=True)
class CodeFacts:
    """What a code object says by itself, whatever its names lead to."""

    names: frozenset[str]  # under which it may find something, see `names_in`
    tells_apart: bool
    swallows: bool  # the errors that are raised in a block of its own
    by_name: Sequence[int]  # the instructions that read or write outside, or catch


@functools.lru_cache(maxsize=2048)
def facts_of(code: types.CodeType) -> CodeFacts:
    """What ``code`` says by itself."""
    instructions = instructions_of(code)
    managers = sum(i.opname == "WITH_EXCEPT_START" for i in instructions)
    return CodeFacts(
        frozenset(names_in(code, instructions)),
        tells_apart(code, instructions),
        managers > sum(i.argval == "errstate" for i in instructions),  # which swallows nothing
        [k for k, one in enumerate(instructions) if one.opname in _BY_NAME],
    )


_STORED = {"STORE_DEREF", "DELETE_DEREF", "STORE_ATTR", "DELETE_ATTR"}
_BY_NAME = GLOBALS | _CELLS | OUTLIVING | _STORED | {"CHECK_EXC_MATCH", "IMPORT_NAME"}


def names_in(code: types.CodeType, instructions: Sequence[dis.Instruction]) -> set[str]:
    """The names under which ``code`` may find something, and those of what it does without any."""
    texts = list(strings(code.co_consts))
    found = {*code.co_names, *texts, *itertools.chain.from_iterable(map(named_by, texts))}
    found.update(_STATEMENTS[i.opname] for i in instructions if i.opname in _STATEMENTS)
    if any(i.opname.startswith("FORMAT_") or makes_texts(i.argrepr, code) for i in instructions):
        found.add("format")
    return found


def sees_all(function: types.FunctionType, free: dict[str, Any], code: types.CodeType) -> bool:
    """True if ``code`` may look at all that a class or function has, under any name."""
    if _SHOWING_ALL.isdisjoint(code.co_names):
        return False
    instructions = instructions_of(code)
    return any(
        _shows_all(function, free, before, i.argval)
        for before, i in itertools.pairwise(instructions)
        if i.opname in ATTRIBUTES
    )


_SHOWING_ALL = frozenset({"__dict__", "__getattribute__"})


def _shows_all(
    function: types.FunctionType, free: dict[str, Any], before: dis.Instruction, name: str
) -> bool:
    """True if ``name``, of what ``before`` loads, may show all that a class or function has."""
    if name != "__dict__":
        return name == "__getattribute__"
    place = variable_of(function, free, before)
    if place is not None:
        return isinstance(place.read(), type | types.FunctionType)
    if before.opname.startswith("LOAD_FAST"):
        return before.argval == "cls" or not _BASES.isdisjoint(function.__code__.co_names)
    return before.opname not in ATTRIBUTES or before.argval == "__class__"


_BASES = frozenset({"__mro__", "mro", "__bases__", "__base__", "__subclasses__"})


@functools.lru_cache(maxsize=4096)
def writes_outside(code: types.CodeType) -> bool:
    """True for the code of a function that is called as it is, because it writes globals."""
    return any(i.opname in OUTLIVING for one in codes_of(code) for i in instructions_of(one))


_NAMES_THAT_COMPARE = frozenset(
    {"is_", "is_not", "eq", "ne", "contains", "countOf", "indexOf", "deepcopy", "dumps"}
    | {"count", "index", "remove"}  # of lists, which take the same object for an equal one
)


def tells_apart(code: types.CodeType, instructions: Sequence[dis.Instruction]) -> bool:
    """True if the code may find out whether two of its objects are one."""
    return not _NAMES_THAT_COMPARE.isdisjoint(code.co_names) or any(
        (i.opname == "IS_OP" and before.opname != "LOAD_CONST")
        or i.opname == "CONTAINS_OP"
        or (i.opname == "COMPARE_OP" and any(sign in i.argrepr for sign in ("==", "!=")))
        for before, i in itertools.pairwise(instructions)
    )


def only_called(name: str, codes: Sequence[types.CodeType]) -> bool:
    """True if the code does nothing with the global ``name`` but call it."""
    every = (i for code in codes for i in instructions_of(code))
    uses = [i for i in every if i.argval == name and i.opname in GLOBALS]
    return bool(uses) and all(
        i.opname == "LOAD_GLOBAL" and "NULL" in (i.argrepr or "") for i in uses
    )


def is_passed_on(name: str, codes: Sequence[types.CodeType]) -> bool:
    """True if the global ``name`` may be called by others, or is called and used otherwise."""
    following = [pair for code in codes for pair in itertools.pairwise(instructions_of(code))]
    uses = [(i, after) for i, after in following if i.argval == name and i.opname in GLOBALS]
    others = [after for i, after in uses if "NULL" not in (i.argrepr or "")]
    given = any(after.opname.startswith("LOAD_") for after in others)
    return given or 0 < len(others) < len(uses)


def is_of_local(following: Sequence[dis.Instruction]) -> bool:
    """True if what is loaded is called with a variable, which is no class by its name."""
    if len(following) < 2 or not following[0].opname.startswith("LOAD_FAST"):
        return False
    return following[1].opname.startswith("CALL") and following[0].argval != "cls"


def is_of_self(following: Sequence[dis.Instruction]) -> bool:
    """True if what is loaded is called with the object of a method, or its class."""
    return bool(following) and following[0].argval in ("self", "cls")


def builtins_dict(space: dict[str, Any]) -> dict[str, Any]:
    """The builtins that code with the globals ``space`` sees."""
    outer = space.get("__builtins__", builtins)
    return outer if isinstance(outer, dict) else vars(outer)
