"""Scan: finds what a function reads besides its arguments in its bytecode.

A trace may be replayed only while everything that it read is as it was. Globals, closures and
defaults are read by name, so the bytecode tells them; Python functions among them are followed, and
so are the methods of classes by the attributes that the code names. What becomes of the values that
names lead to is told by `classify`.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterable, Sequence
from typing import Any

from ..record.origin import is_standard
from ..record.structure import kind_of
from .bytecode import (
    ATTRIBUTES,
    OUTLIVING,
    YIELDS,
    asks_by_name,
    codes_of,
    facts_of,
    global_place,
    instructions_of,
    is_of_local,
    is_of_self,
    is_passed_on,
    sees_all,
    variable_of,
)
from .classify import Classifier
from .dead_ends import Read, dead_end, ends_at
from .places import MISSING, Place, Wrapper, is_constant
from .purity import CREATORS, SHOWING_CODE, is_module_of_arrays
from .reads import Key, Reads
from .settings import settings_of

_AWAITS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def reads_of(*roots: Any, names: Iterable[str] = ()) -> Reads:
    """What ``roots`` read, functions and objects with methods; they ask for ``names``, too."""
    scan = Scan()
    scan.names.update(names)
    for root in roots:
        if isinstance(root, types.FunctionType):
            scan.follow(root, False)
        else:
            scan.value(root)
    scan.refuse_generator(roots[0])
    scan.run()
    return scan.reads


class Scan(Classifier):
    """Follows code from name to name until nothing new is found."""

    knows_dead_ends = True  # those that earlier scans have come to

    def __init__(self) -> None:
        super().__init__()
        self.dead: Read | None = None  # what is known not to be followed, if that ends the scan
        self.reader: Read | None = None  # the function that is read; none finds what classes hold
        self.readers: dict[tuple[int, bool], Read | None] = {}  # by whose names functions are found
        self.stored: dict[str, str] = {}  # attributes that are written, and the lines
        self.in_bodies: dict[Key, Place] = {}  # what is read past what a copy's globals say

    def run(self) -> None:
        while self.pending and not self.reads.opaque:
            self._next_function()
            known = -1
            while not self.pending and known < len(self.classes):
                known = len(self.classes)
                self._members()
        for function in self.attributed:
            self._attributes(function)
        for key in self.in_bodies.keys() & self.reads.written.keys():
            self._opaque(f"the body of a class reads {self.in_bodies[key].title}, that is written")
        if looks := sorted(self.names & SHOWING_CODE):
            self._opaque(f"{looks[0]} would see functions of ours")
        every, functions = self.classes.values(), [*self.followed.values(), *self.attributed]
        may_ask, seen = self.reads.catches or self.sees_all, self.reads.values.values()
        self.reads.settings = settings_of(self.names, seen, every, functions, may_ask)
        self.reads.classes = [(kind, frozenset(vars(kind)), kind.__mro__) for kind in every]

    def _reads_inside(self, function: types.FunctionType) -> Reads:
        inner = Scan()
        inner.around = {*self.around, id(function)}
        if id(function) not in self.around:
            inner.follow(function, False)
            inner.refuse_generator(function)
            inner.run()
        return inner.reads

    # --- functions

    def _next_function(self) -> None:
        function, bound = self.reader = self.pending.pop()
        self.at = self.met.get(id(function), self.at)
        self._function(function, bound)
        if self.reads.opaque and self.knows_dead_ends:
            way = self._way_to(self.reader)
            ends_at([self.dead, *way] if self.dead else way, self.reads.opaque)
        self.reader = None

    def refuse_generator(self, root: Any) -> None:
        """Nothing is read of a ``root`` that keeps state between its turns."""
        if isinstance(root, types.FunctionType) and root.__code__.co_flags & YIELDS:
            self.reads.opaque = f"{root.__name__} is a generator or coroutine"

    def _found(self, function: types.FunctionType, bound: bool) -> None:
        super()._found(function, bound)
        self.readers[id(function), bound] = self.reader
        if self.knows_dead_ends and (why := dead_end(function, bound)) and not self.reads.opaque:
            self.reads.opaque = why
            self.dead = function, bound

    def _way_to(self, reader: Read | None) -> list[Read]:
        """``reader``, the function by whose names it was found, and so on."""
        way = []
        while reader is not None and reader not in way:
            way.append(reader)
            reader = self.readers.get((id(reader[0]), reader[1]))
        return way

    def _function(self, function: types.FunctionType, bound: bool) -> None:
        reads = self.reads
        if not bound:
            reads.functions[id(function)] = function
        if vars(function):
            self.attributed.append(function)
        self._defaults(Place("object", function), bound)
        for code in codes_of(function.__code__):
            if code.co_flags & _AWAITS:  # its turns come when a loop of the program's says
                self._opaque(f"{code.co_name} is a coroutine")
            self._code(function, code, bound)

    def _attributes(self, function: Any) -> None:
        """Attributes of a function that the code may mean: constants are compared.

        Copies of the function share them.
        """
        for name in vars(function) if self.sees_all else vars(function).keys() & self.names:
            value = vars(function)[name]
            if name in self.stored:
                self.at = self.stored[name]
                self._opaque(f"it writes {function.__name__}.{name}")
            elif is_constant(value):
                place = Place("object", function).attribute(name)
                self._seen(place, value)
            elif not name.startswith("__"):
                self.at = self.met.get(id(function), self.at)
                self._opaque(f"it may read {function.__name__}.{name}")

    def _code(self, function: types.FunctionType, code: types.CodeType, bound: bool) -> None:
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        instructions = instructions_of(code)
        facts, is_library = facts_of(code), is_standard(code.co_filename)
        self.names.update(facts.names)
        self.sees_all = self.sees_all or sees_all(function, free, code)
        self.reads.catches = self.reads.catches or facts.swallows
        self.reads.tells_apart = self.reads.tells_apart or facts.tells_apart
        for i in facts.by_name:
            instruction = instructions[i]
            name, kind = instruction.argval, instruction.opname
            if not is_library:  # else the line that led there is kept
                line = instruction.positions.lineno if instruction.positions else None
                self.at = f"{code.co_filename}:{line or code.co_firstlineno}"
            if kind == "LOAD_NAME":
                place = global_place(function, name)
                self.in_bodies[place.key] = place
            variable = variable_of(function, free, instruction)
            if variable is not None:
                if name == "type" and is_passed_on(name, list(codes_of(function.__code__))):
                    self._opaque("it passes type on, which would see our arrays")
                asked = i > 0 and asks_by_name(function, instructions[i - 1])
                self._enter(variable, instructions[i + 1 :], bound, asked)
            elif kind in OUTLIVING:
                why = f"{code.co_name} writes {name!r}, which outlives the call"
                self._outlives(why, global_place(function, name))
            elif kind in ("STORE_DEREF", "DELETE_DEREF") and name in free:
                why = f"{code.co_name} writes the enclosing function's {name!r}"
                self._outlives(why, Place("cell", free[name], name))
            elif kind in ("STORE_ATTR", "DELETE_ATTR") and i:
                self.stored[name] = self.at
                self._stored(function, code, instructions[i - 1], name, free)
            elif kind == "CHECK_EXC_MATCH":
                self.reads.catches = True
            elif kind == "IMPORT_NAME":
                self._imported(instruction, instructions[i + 1])

    def _stored(
        self, function: types.FunctionType, code: types.CodeType, before: dis.Instruction,
        name: str, free: dict[str, Any],
    ) -> None:  # fmt: skip
        """An attribute is written of what the instruction ``before`` has loaded."""
        place = variable_of(function, free, before)
        loaded = before.argval[-1] if type(before.argval) is tuple else before.argval
        if place is None:
            kinds = "a class or module" if loaded in ("__class__", "cls") else ""
        else:
            kinds = type(place.read()).__name__ if kind_of(place.read()) is None else ""
            if isinstance(place.read(), types.ModuleType):
                attribute = place.attribute(name)
                self.reads.written[attribute.key] = attribute
            elif isinstance(place.read(), types.FunctionType | Wrapper):
                self._opaque(f"{code.co_name} writes {before.argval}.{name}")
        if kinds:
            self._outlives(f"{code.co_name} writes {loaded}.{name}, which outlives the call")

    # --- what names lead to

    def _enter(
        self, place: Place, following: Sequence[dis.Instruction], bound: bool, asked: bool = False
    ) -> None:
        """Follow ``place`` through the attributes that the code takes of modules; classify that.

        Where a module is ``asked`` for an attribute by `getattr` or `hasattr`, that is one more.
        """
        value = place.read()
        if value is vars and is_of_local(following):
            self._seen(place, value)
            return
        if value is type and not is_of_self(following):
            self.reads.asks_types = True
            if bound:
                self._opaque("it asks for a type in code that is called as it is")
        if value is MISSING:
            if place.kind == "cell":
                self._opaque(f"the closure variable {place.name!r} has no value yet")
            self._seen(place, MISSING)
            return
        for instruction in following:
            if not isinstance(value, types.ModuleType):
                break
            if instruction.opname not in ATTRIBUTES:
                by_name = instruction.opname == "LOAD_CONST" and type(instruction.argval) is str
                if not (asked and by_name):
                    break
                asked = False
            if is_module_of_arrays(value):
                self.reads.creates = self.reads.creates or instruction.argval in CREATORS
            self._seen(place, value)
            place = place.attribute(instruction.argval)
            value = place.read()
            if value is MISSING:  # a condition like any: asked for by hasattr, or an error
                self._seen(place, MISSING)
                return
        self._classify(place, value, bound, "")
