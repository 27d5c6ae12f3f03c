"""Twin scan: what a function reads, and why it may have no twin that runs on NumPy's arrays.

What could tell a NumPy array from a lazy one, what keeps something between calls, and all that is
not known, has no twin.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...text_codes import showing
from ..arrays.array import Array
from ..arrays.wrapping import Drawing, Unbound
from ..record.origin import is_users
from .bytecode import (
    ATTRIBUTES,
    GLOBALS,
    codes_of,
    gets_an_item,
    instructions_of,
    is_called,
    strings,
    with_calls,
)
from .objects import (
    OF_NAMED,
    functions_of,
    is_named,
    is_only_of_objects,
    is_own,
    members,
    stores_to,
)
from .places import MISSING, Place, Wrapper, is_constant
from .scan import Scan
from .settings import makes_texts

_NAMESPACES = ("cupy", "fusecuda.numpy")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What outlives a call, and what finds methods that are not followed.
_LEFT_OUT = _names(
    "STORE_ATTR DELETE_ATTR STORE_GLOBAL DELETE_GLOBAL IMPORT_NAME MATCH_CLASS LOAD_BUILD_CLASS "
    "BEFORE_WITH LOAD_SPECIAL SETUP_WITH LOAD_SUPER_ATTR"
)
# They tell a NumPy array or number from a lazy one.
_TELLING = _names(
    "isinstance issubclass type id getattr hasattr setattr delattr super "
    "callable object bytes bytearray memoryview property classmethod staticmethod"
)
_TEXTS = _names("repr str ascii format")  # which do so without a stand-in
_LEADS_ON = re.compile(r"\{[^{}:!]*[.\[]")  # to a part of what is given
_DIFFERENT = _names(
    "array2string array_repr array_str may_share_memory shares_memory real imag ndarray"
)
_LOOKS_AT_CLASSES = _names("copy dataclasses")  # modules
_COMPREHENSIONS = _names("<listcomp> <dictcomp> <setcomp> <genexpr>")
_KEYWORDS = _names("descending device stream")  # which NumPy's functions do not have
# CuPy's take a dtype.
_TYPED = _names(
    "chisquare exponential gumbel laplace lognormal normal rand randn random random_sample ranf "
    "sample standard_exponential standard_normal uniform"
)
_DRAWS = (
    frozenset(name for name in dir(np.random.Generator) if not name.startswith("_"))
    | _names("rand randint randn random_integers random_sample tomaxint")
) - _names("bit_generator spawn")  # what generators have, and arrays have not
# What lists, dictionaries, texts and numbers have, and arrays have not or alike.
_OF_OTHERS = _names(
    "append extend insert pop remove clear index count reverse items keys values update "
    "setdefault join split strip startswith endswith upper lower add discard bit_length "
    "is_integer"
)
_OF_ARRAYS = _names(
    "T mT all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot dtype fill "
    "flatten item itemsize max mean min nbytes ndim nonzero prod ravel repeat reshape round "
    "searchsorted shape size sort squeeze std sum swapaxes take tolist trace transpose var "
    "conj conjugate choose compress partition argpartition"
)


class TwinScan(Scan):
    """What a function reads, lazy arrays by name among it."""

    knows_dead_ends = False  # they are those of traces

    def __init__(self, root: types.FunctionType, shows: bool, objects: Collection[str]) -> None:
        super().__init__()
        self.root, self.objects = root, objects  # variables that it is given objects by
        self.shows = shows  # values through stand-ins, in texts
        self.arrays: dict[Any, tuple[Place, Any]] = {}
        self.named: dict[Any, tuple[Place, Any]] = {}  # those, containers and objects
        self.members: dict[type, dict[str, Any]] = {}  # of classes of objects that are given
        self.methods: dict[int, types.FunctionType] = {}
        self.odd = ""  # what is not known of classes
        self.classes_by_name: dict[Any, tuple[Place, type, dict[str, Any]]] = {}  # what is read
        self.generators: set[type[Drawing]] = set()  # that are given
        self.tuples: dict[type, None] = {}  # with names, that are given or made
        self.typed: set[str] = set()  # names of what draws and may take a dtype

    def parts(self) -> frozenset[str]:
        """The names that are taken of modules."""
        values = self.reads.values.values()
        return frozenset(name for place, _ in values for _, name in place.steps)

    def has(self, name: str) -> bool:
        """True for an attribute that only objects can have, or named tuples that there are."""
        fields = {n for kind in self.tuples for n in (*kind._fields, *OF_NAMED)}  # type: ignore[attr-defined]
        return (bool(self.members) or name in fields) and is_only_of_objects(name)

    def objects_of(self, function: types.FunctionType) -> Collection[str]:
        """The variables by which a function is given objects of the classes that are followed."""
        if id(function) in self.methods:
            return function.__code__.co_varnames[: min(function.__code__.co_argcount, 1)]
        return self.objects if function is self.root else ()

    def of_classes(self) -> None:
        """Follow what functions read of classes by name."""
        known = -1
        while known < len(self.reads.functions):
            known = len(self.reads.functions)
            for function in list(self.reads.functions.values()):
                for kind, name, found in _read_of_classes(function, self.classes_by_name):
                    member = members(kind, {name}).get(name)
                    if type(member) is property or functions_of(member) is None:
                        self.odd = f"{kind.__name__}.{name} is not known to be the same"
                        continue
                    found[name] = member
                    for one in functions_of(member) or ():
                        self.follow(one, False)
            self.run()

    def of_objects(self, kinds: Iterable[type]) -> None:
        """Follow what instances of ``kinds`` find in their classes."""
        self.members = {}
        for kind in kinds:
            if issubclass(kind, Drawing):
                self.generators.add(kind)
                self._typed(kind)
            elif is_named(kind):
                self.tuples[kind] = None
            else:
                self.members[kind] = {}
        known = -1
        while known < len(self.names):
            known = len(self.names)
            for kind, found in self.members.items():
                for name, member in members(kind, self.names).items():
                    found[name] = member
                    functions = functions_of(member)
                    if functions is None:
                        self.odd = f"{kind.__name__}.{name} is not known to be the same"
                    for function in functions or ():
                        self.methods[id(function)] = function
                        self.follow(function, False)
            self.run()

    def _classify(self, place: Place, value: Any, bound: bool, what: str) -> None:
        is_plain = type(value) is type and place.kind == "global" and not place.steps
        if is_plain and is_named(value):
            self._seen(place, value)
            self.tuples[value] = None
        elif is_plain and is_users(value.__module__) and self.shows:
            self._seen(place, value)
            self.classes_by_name.setdefault(place.key, (place, value, {}))
        else:
            super()._classify(place, value, bound, what)

    def _contents(self, place: Place, value: Any, bound: bool, name: str) -> None:
        kind: Any = type(value)
        is_known = kind in (list, tuple, dict) or (kind.__module__ != "builtins" and is_own(kind))
        if is_known and not bound and not place.steps and place.kind in ("global", "cell"):
            self.named[place.key] = (place, value)
        else:
            super()._contents(place, value, bound, name)

    def _native(self, place: Place, value: Any, bound: bool, name: str) -> None:
        if type(value) is Array and not place.steps and place.kind in ("global", "cell"):
            self.arrays[place.key] = self.named[place.key] = (place, value)
        elif isinstance(value, Drawing):
            self._seen(place, value)
            self._typed(type(value))
        elif place.kind == "builtin" and not place.steps and _is_text(value, self.shows):
            self._seen(place, value)
        elif _is_drawing(value):
            self._seen(place, value)
            if value.__name__ in _TYPED:
                self.typed.add(place.steps[-1][1] if place.steps else place.name)
        else:
            super()._native(place, value, bound, name)

    def _typed(self, kind: type[Drawing]) -> None:
        if kind.kind is np.random.RandomState:
            self.typed |= _TYPED


def _read_of_classes(
    function: types.FunctionType, classes: dict[Any, tuple[Place, type, dict[str, Any]]]
) -> Iterator[tuple[type, str, dict[str, Any]]]:
    """The classes that a function reads something of, its name, and what is known of the class."""
    for code in codes_of(function.__code__):
        for one, following in pairwise(instructions_of(code)):
            if one.opname != "LOAD_GLOBAL" or following.opname not in ATTRIBUTES:
                continue
            for place, kind, found in classes.values():
                if place.root is function.__globals__ and place.name == one.argval:
                    yield kind, following.argval, found


def _faults_of_classes(function: types.FunctionType, classes: Iterable[Any]) -> Iterator[str]:
    """Classes that are called or passed on: their objects are others than those of the twin."""
    names = {place.name for place, *_ in classes if place.root is function.__globals__}
    for code in codes_of(function.__code__) if names else ():
        for one, following in pairwise(instructions_of(code)):
            is_loaded = one.opname in GLOBALS and one.argval in names
            if is_loaded and following.opname not in ATTRIBUTES:
                yield f"{code.co_name} uses {one.argval}"


def _is_drawing(value: Any) -> bool:
    """True for functions that draw from NumPy's own generator, and what makes others."""
    is_ours = isinstance(value, types.FunctionType | Unbound)
    if not is_ours or value.__module__ != "fusecuda.numpy.random":
        return False
    if value.__name__ == "default_rng":
        return True
    return getattr(inspect.unwrap(value), "__self__", None) is np.random.mtrand._rand


def faults(scan: TwinScan) -> Iterator[str]:
    """Why there is no twin."""
    reads = scan.reads
    yield from filter(None, (reads.opaque, reads.volatile, reads.acts, scan.odd))
    some: dict[str, Any] = {
        "keeps data by name": (reads.inputs, reads.constants, reads.device_arrays),
        "writes what outlives the call": (reads.written,),
        "uses classes": (reads.classes, reads.members),
        "calls what nobody knows": (reads.stand_ins,),
    }
    yield from (f"it {why}" for why, found in some.items() if any(found))
    for function in reads.functions.values():
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if not all(map(is_constant, defaults)):
            yield f"{function.__name__} has arrays as defaults"
        yield from _faults_of(function, scan.parts(), scan)
    yield from _faults_of_values(scan)


def _faults_of(
    function: types.FunctionType, parts: frozenset[str], scan: TwinScan
) -> Iterator[str]:
    known = _OF_ARRAYS | _OF_OTHERS | _DRAWS | parts | {"format", "get"}  # which are looked at
    own = function.__code__
    inner = [i for code in codes_of(own) if code is not own for i in instructions_of(code)]
    stores = stores_to(scan.objects_of(function), instructions_of(own), inner)
    if scan.members:
        yield from _faults_with_objects(function)
    by_name = scan.classes_by_name.values()
    yield from _faults_of_classes(function, by_name)
    of_classes = {name for *_, found in by_name for name in found if is_only_of_objects(name)}
    for code in codes_of(own):
        keywords = set(strings(code.co_consts))
        is_odd = not _KEYWORDS.isdisjoint(keywords)
        if is_odd or ("dtype" in keywords and not scan.typed.isdisjoint(code.co_names)):
            yield f"{code.co_name} uses a keyword of its own"
        for instruction in instructions_of(code):
            name, argument = instruction.opname, instruction.argval
            if name in _LEFT_OUT and not (name == "STORE_ATTR" and stores and code is own):
                yield f"{code.co_name} has {name}"
            is_known = argument in known or argument in of_classes
            if name in ATTRIBUTES and not (is_known or scan.has(argument)):
                yield f"{code.co_name} uses .{argument}"
            if name == "LOAD_GLOBAL" and argument in _TELLING:
                yield f"{code.co_name} looks at kinds"
        yield from _faults_of_texts(code, scan.shows)
        calls = with_calls(code)
        if any(
            one.opname in ATTRIBUTES and one.argval == "get" and not gets_an_item(calls, i)
            for i, one in enumerate(calls)
        ):
            yield f"{code.co_name} uses .get"


def _faults_with_objects(function: types.FunctionType) -> Iterator[str]:
    """What could be kept as an attribute, and is not what it stands for."""
    for code in codes_of(function.__code__):
        if code is not function.__code__ and code.co_name not in _COMPREHENSIONS:
            yield f"{function.__name__} makes functions"
        for one, following in pairwise(instructions_of(code)):
            passed_on = one.opname == "LOAD_GLOBAL" and following.opname not in ATTRIBUTES
            if passed_on and is_lazy_namespace(function.__globals__.get(one.argval)):
                yield f"{function.__name__} passes {one.argval} on"


def _faults_of_texts(code: types.CodeType, shows: bool) -> Iterator[str]:
    """Texts that would tell a NumPy array or number from a lazy one."""
    knows = shows and showing(code) is not None
    instructions = with_calls(code)
    for i, one in enumerate(instructions):
        before = instructions[i - 1]
        converts = one.opname == "CONVERT_VALUE" or (
            one.opname == "FORMAT_VALUE" and (one.arg or 0) & 3 != 0
        )
        fills = one.opname.startswith("FORMAT_") or makes_texts(one.argrepr, code)
        if (converts or (shows and fills)) and not knows:
            yield f"{code.co_name} makes texts"
        if one.opname in ATTRIBUTES and one.argval == "format":
            text = before.argval if before.opname == "LOAD_CONST" else None
            if not knows or type(text) is not str or _LEADS_ON.search(text):
                yield f"{code.co_name} uses .format"
        if one.opname == "LOAD_GLOBAL" and one.argval in _TEXTS:
            maps = before.opname == "LOAD_GLOBAL" and before.argval == "map"
            if not shows or (one.argval == "str" and not (maps or is_called(instructions, i))):
                yield f"{code.co_name} looks at kinds"


def _is_text(value: Any, shows: bool) -> bool:
    """True for what makes texts and has a stand-in."""
    return value is print or (shows and any(value is one for one in (str, repr, ascii, format)))


def _faults_of_values(scan: TwinScan) -> Iterator[str]:
    for place, value in scan.reads.values.values():
        if scan.members and getattr(value, "__module__", None) in _LOOKS_AT_CLASSES:
            yield f"{place.title} tells an object from its twin"
        if place.kind not in ("global", "builtin", "object", "cell"):
            yield f"it reads a {place.kind}"
        if place.kind == "object" and place.steps[0][1].startswith("__"):
            continue
        if place.kind == "object" and isinstance(place.root, types.FunctionType):
            yield f"it reads {place.title}"
        if place.kind == "builtin":
            if place.name in _TELLING or (place.name in _TEXTS and not scan.shows):
                yield f"it calls {place.name}"
            continue
        first = Place(place.kind, place.root, place.name).read()
        if is_lazy_namespace(first) and place.steps:
            if place.steps[-1][1] in _DIFFERENT or not _numpy_has(place, value):
                yield f"NumPy has no {place.title}"
        elif not _is_alike(value):
            yield f"{place.title} is not known to be the same"


def _numpy_has(place: Place, value: Any) -> bool:
    """True if NumPy has what a namespace of lazy arrays has at ``place``."""
    found: Any = np
    for _, name in place.steps:
        found = getattr(found, name, None)
    if isinstance(value, types.ModuleType):
        return isinstance(found, types.ModuleType)
    return value is not MISSING and (found is not None or value is None)


def _is_alike(value: Any) -> bool:
    """True for what means the same to NumPy arrays, or has a twin that does."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] != "numpy"
    if isinstance(value, Drawing):
        return True
    if isinstance(value, Wrapper):
        return value.is_whole
    if is_constant(value) or (isinstance(value, type) and issubclass(value, np.generic)):
        return True
    return not _is_numpys(value) and numpys_for(value) is not MISSING


def is_numpys_too(value: Any) -> bool:
    """True for functions of lazy arrays that NumPy has, too, and that draw nothing."""
    if type(value) is not Unbound or value.__name__ in _DIFFERENT:
        return False
    module = value.__module__ or ""
    if not module.startswith("fusecuda."):
        return False
    return not module.endswith(".random") and numpys_for(value) is not MISSING


def _is_numpys(value: Any) -> bool:
    """True for functions of NumPy itself, which give NumPy arrays where they are given none."""
    if isinstance(value, np.ufunc | np.ndarray):
        return True
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "numpy" and callable(value)


def is_lazy_namespace(value: Any) -> bool:
    """True for a module of functions of lazy arrays, by whichever name."""
    return isinstance(value, types.ModuleType) and (
        value.__name__ in _NAMESPACES or value.__name__.startswith("fusecuda.numpy.")
    )


def numpys_for(value: Any) -> Any:
    """What NumPy has for a namespace of lazy arrays, or for a function of one."""
    name = value.__name__ if is_lazy_namespace(value) else getattr(value, "__module__", None)
    if not isinstance(name, str) or not (is_lazy_namespace(value) or name.startswith("fusecuda.")):
        return value
    found: Any = np
    path = name.split(".")[2:] if name.startswith("fusecuda.numpy.") else []
    for part in path if path != ["standard"] else []:
        found = getattr(found, part, MISSING)
    return found if is_lazy_namespace(value) else getattr(found, value.__name__, MISSING)
