"""Classify: what values that code reads are to a trace.

A value is a condition, an input, a constant, or code that is followed. What is not understood is
*opaque*: a stand-in of it is called as it is, and the trace is *volatile*, recorded anew at every
call. Nothing counts as pure that is not known to be.
"""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import numpy as np

from ..record.origin import HEAP_TYPE, is_users, module_of
from ..record.structure import kind_of, walk
from .by_name import is_replaced
from .bytecode import named_by, writes_outside
from .exchange import held, is_called_as_it_is, parts_of
from .impure import is_impure
from .notes import Notes
from .outcomes import CACHED
from .places import PARTS_LIMIT, Place, Wrapper, has_arrays, has_methods, is_constant, with_methods
from .purity import (
    CREATORS,
    builtins_of,
    is_drawing,
    is_followed,
    is_library,
    is_module_of_arrays,
    is_pure,
    may_act,
    sees_caller,
)
from .reads import Reads
from .settings import is_dispatcher
from .special import (
    FUNCTION,
    HARMLESS,
    heirs_of,
    inside,
    marked_members,
    reached,
    reached_of_member,
)


class Classifier(Notes):
    """Sorts values by what a trace has to do about them, and notes the code that they lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[tuple[types.FunctionType, bool]] = []
        self.followed: dict[tuple[int, bool], types.FunctionType] = {}  # and what was pending
        self.valued: dict[tuple[int, bool], Any] = {}  # what `value` was given
        self.names = self.reads.names
        self.sees_all = False  # that classes and functions have
        self.classes: dict[int, type] = {}
        self.made: set[int] = set()  # classes of which the code may make instances
        self.looked: set[tuple[int, str]] = set()
        self.around: set[int] = set()  # functions around which something stands, in which this is
        self.met: dict[int, str] = {}  # the lines that led to functions
        self.attributed: list[Any] = []  # functions that have attributes
        self.of_enums: list[Any] = []  # members that the code may look at

    def _reads_inside(self, function: types.FunctionType) -> Reads:
        """What ``function`` reads, around which something stands."""
        raise NotImplementedError

    def follow(self, function: types.FunctionType, bound: bool) -> None:
        """Read the code of ``function``, too, which is ``bound`` if it is called as it is."""
        bound = bound or writes_outside(function.__code__)
        if (id(function), bound) not in self.followed:
            self._found(function, bound)

    def _found(self, function: types.FunctionType, bound: bool) -> None:
        self.followed[id(function), bound] = function
        self.pending.append((function, bound))

    def value(self, value: Any, bound: bool = False) -> None:
        """Follow what the code may call of an object that it is given."""
        if (id(value), bound) in self.valued:
            return
        self.valued[id(value), bound] = value
        for part in walk(value, PARTS_LIMIT):
            self.met.setdefault(id(part), self.at)
            if isinstance(part, types.FunctionType) and is_followed(part):
                self.follow(part, bound)
            elif isinstance(part, types.MethodType) and kind_of(part) is not None:
                function: Any = part.__func__
                self.follow(function, bound or not is_followed(function))
            elif isinstance(part, Wrapper) and not part.head and is_followed(part.function):
                self.follow(part.function, bound)
            elif isinstance(part, type):
                self._class(part, made=True)
            elif kind_of(part) is not None or has_methods(part):
                self._class(type(part))
                self.of_enums += [part] * isinstance(part, enum.Enum)
            for key in with_methods(part) if isinstance(part, dict) else ():
                is_class = isinstance(key, type)
                self._class(key if is_class else type(key), made=is_class)
            if type(part) is collections.defaultdict:
                self.value(part.default_factory, bound)
            for chosen in getattr(part, "registry", {}).values() if is_dispatcher(part) else ():
                if isinstance(chosen, types.FunctionType):
                    self.follow(chosen, True)

    def _classify(self, place: Place, value: Any, bound: bool, what: str) -> None:
        reads, name = self.reads, f"{what} {place.title}".strip()
        if value is type and (place.steps or place.name != "type"):
            self._opaque(f"{name} is type, which would see our arrays")
        if is_constant(value) or (
            not isinstance(value, types.ModuleType) and is_pure(value) and not is_drawing(value)
        ):
            self._seen(place, value)
            if is_constant(value):  # of which enums have methods
                self.value(value, bound)
                self.names.update(named_by(value) if type(value) is str else ())
            if bound and module_of(value) == "_heapq":  # see `touching`
                self._volatile(f"it calls {name}", at_once=True)
            elif not bound and is_replaced(value):
                reads.replaced[place.key] = (place, value)
            reads.creates = reads.creates or getattr(value, "__name__", "") in CREATORS
        elif (module_of(type(value)), type(value).__name__) == ("cupy", "ndarray"):
            reads.device_arrays[place.key] = (place, value)
        elif isinstance(value, Wrapper | types.FunctionType) and is_followed(value):
            self._seen(place, value)
            self.value(value, bound)
        elif (value is id or value is np.errstate) and not bound:
            self._seen(place, value)
            reads.replaced[place.key] = (place, value)
        elif isinstance(value, types.ModuleType):
            self._module(place, value, bound)
        elif isinstance(value, type) and is_users(module_of(value)) and value.__flags__ & HEAP_TYPE:
            self._seen(place, value)
            self._class(value, made=True)
        elif type(value) in (np.ndarray, set) or kind_of(value) is not None:
            self._contents(place, value, bound, name)
        else:
            self._native(place, value, bound, name)

    def _module(self, place: Place, module: types.ModuleType, bound: bool) -> None:
        """A module as a value: of one that is pure but for parts, the names say if it is."""
        self._seen(place, module)
        if is_module_of_arrays(module):
            self.reads.creates = True
            by_name = {"getattr"} if bound or module is not np else set()  # else it is `by_name`
            if not self.names & {"random", "testing", "__dict__", "vars", *by_name}:
                return
        elif is_pure(module):
            return
        self._volatile(f"it passes the module {module.__name__} on", at_once=True)

    def _contents(self, place: Place, value: Any, bound: bool, name: str) -> None:
        self.value(value, bound)
        if not bound:
            self.reads.inputs[place.key] = (place, value)
        elif has_arrays(value):
            self._opaque(f"a method reads the array {name} by name")
        else:
            self.reads.constants[place.key] = (place, value)

    def _native(self, place: Place, value: Any, bound: bool, name: str) -> None:
        """What is called as it is; a method cannot be given a stand-in."""
        self._seen(place, value)
        library = is_library(value) or self._is_around(place, value)
        if bound:
            if not library and not builtins_of(value):
                self._opaque(f"a method calls {name}, a {type(value).__name__}")
            self._volatile(f"it calls {name}", at_once=True)
            return
        if isinstance(value, np.ndarray):  # whose operators are its own
            self._opaque(f"it reads {name}, a {type(value).__name__}")
        if sees_caller(value):
            self._opaque(f"it calls {name}, which sees its caller")
        self.reads.stand_ins[place.key] = (place, value)
        if library:
            self.reads.library.add(id(value))
            if may_act(value):
                self.reads.acts = self.reads.acts or f"it calls {name} ({self.at})"
        elif is_impure(value):
            self.reads.impure.add(id(value))
            self.reads.acts = self.reads.acts or f"it calls {name} ({self.at})"
        else:
            self._volatile(f"it calls {name}")

    def _is_around(self, place: Place, value: Any) -> bool:
        """True for what stands around a function of numbers, which each replay calls as it is.

        That is what `numpy.vectorize` and `functools.lru_cache` make. The function may read no
        arrays, and containers only if they stay the same; what else a cached one does is done once.
        """
        name = {np.vectorize: "pyfunc", CACHED: "__wrapped__"}.get(type(value), "")
        function = getattr(value, name, None)
        if not isinstance(function, FUNCTION) or not is_followed(function):
            return False
        if type(value) is CACHED and vars(value):
            self.attributed.append(value)
        reads = self._reads_inside(function)
        named = reads.inputs.values()
        reads_arrays = any(has_arrays(contents) for _, contents in named)
        if reads.opaque or reads.written or reads.exchanged or reads_arrays:
            return False
        if type(value) is np.vectorize and (reads.volatile or reads.acts):
            return False
        for there, contents in named:
            self._contents(there, contents, True, there.title)
        seen = place.attribute(name)
        self.reads.values[seen.key] = (seen, function)
        return True

    # --- defaults

    def _defaults(self, own: Place, bound: bool) -> None:
        function: Any = own.read()
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            self._seen(own.attribute(name), getattr(function, name))
        for i, default in enumerate(function.__defaults__ or ()):
            self._default(own.attribute("__defaults__").item(i), default, bound)
        for name, default in (function.__kwdefaults__ or {}).items():
            place = own.attribute("__kwdefaults__").item(name)
            self._seen(place, default)  # which may be written there
            self._default(place, default, bound)

    def _default(self, place: Place, value: Any, bound: bool) -> None:
        if is_constant(value):
            self.value(value, bound)
        else:
            self._classify(place, value, bound, "the default")

    # --- classes

    def _class(self, kind: type, made: bool = False) -> None:
        meta: Any = type(kind)
        if issubclass(kind, enum.Enum):
            self.of_enums += marked_members(kind)
        for base in (*kind.__mro__, *meta.__mro__):
            if made:
                self.made.add(id(base))
                if "__del__" in vars(base) and base.__flags__ & HEAP_TYPE:  # runs for what is left
                    self._opaque(f"a {base.__name__} does something when it dies")
            if base.__flags__ & HEAP_TYPE and not is_pure(base):
                self.classes.setdefault(id(base), base)
                if made and "_fields" in vars(base):
                    place = Place("member", base, "__new__").attribute("__func__")
                    self._defaults(place, True)

    def _members(self) -> None:
        """Enter what the classes hold under the names that the code uses."""
        for kind in list(self.classes.values()):
            for heir in heirs_of(kind, self.names):
                self._class(heir, made=True)
            for name in reached(kind, self.names, id(kind) in self.made, self.sees_all):
                if not self._is_new(kind, name):
                    continue
                value = held(kind, name)
                self.reads.members.append((kind, name, value))
                if parts := parts_of(kind, name, value):
                    self.reads.exchanged.append((kind, name, value))
                    self._parts(Place("member", kind, name), parts)
                else:
                    self._member(kind, name, value)
        for member in self.of_enums:
            for name in reached_of_member(member, self.names):
                if self._is_new(member, name):
                    place = Place("object", member).attribute("__dict__").item(name)
                    self._seen(place, place.read())
                    self.value(place.read(), True)

    def _is_new(self, holder: Any, name: str) -> bool:
        known = (id(holder), name) in self.looked
        self.looked.add((id(holder), name))
        return not known

    def _parts(self, place: Place, parts: list[Any]) -> None:
        """Follow what is exchanged of what a class holds."""
        for part in parts:
            if isinstance(part, types.FunctionType):
                self.follow(part, False)
            elif is_called_as_it_is(part):
                self._native(place, part, False, place.title)
            else:
                self._contents(place, part, False, place.title)

    def _member(self, kind: type, name: str, value: Any) -> None:
        if isinstance(value, CACHED):  # a twin is another object each time
            self._opaque(f"{kind.__name__}.{name} keeps results by the object that it is called on")
        value = inside(value)
        if isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                if isinstance(part, FUNCTION):
                    self.follow(part, True)
        elif isinstance(value, types.FunctionType) and not is_pure(value):
            self.follow(value, True)
        elif is_constant(value):
            self.value(value, True)
        elif not isinstance(value, HARMLESS) and not is_pure(value):
            place = Place("member", kind, name)
            if kind_of(value) is not None or isinstance(value, type | enum.Enum):
                self._classify(place, value, True, "")
            elif isinstance(value, np.ndarray):  # of a class that nobody may change
                self._opaque(f"{kind.__name__}.{name} is an array")
            else:
                self._volatile(f"it reads {kind.__name__}.{name}", at_once=True)
