"""Border: what crosses into a function that runs on NumPy's memory, and what comes back out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import BuiltinFunctionType, CellType, FunctionType, MappingProxyType, MethodType
from typing import Any

import numpy as np

from ...cpu_fallback.pool import has_own_memory
from ...graph.dtypes import is_numeric
from ...text_codes import as_written
from ..arrays.array import Array
from ..arrays.memory import completed, new, view
from ..arrays.wrapping import DRAWING, Drawing
from ..record.origin import is_users
from ..record.structure import HEIR_OF_TUPLE, NAMED, kind_of
from ..record.view import view_in
from .binding import dressed
from .objects import ORIGINAL, PLAIN, is_bound, is_given, is_named, is_own
from .places import is_constant, unwrapped
from .running import is_running, step_by_step, taken_over

_ndarray = np.ndarray
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType)
_GENERATORS = (np.random.Generator, np.random.RandomState)
_ITEMS_LIMIT = 10_000  # of a list that is passed on
_ARRAYS_LIMIT = 32  # of one that holds arrays
_NAMED_LIMIT = 256  # of one that is read by name
_DEPTH_LIMIT = 4
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class RecordedError(Exception):
    """An array can only be used by what is recorded."""


def size_of(args: Any, depth: int = 0, around: tuple[int, ...] = ()) -> tuple[Any, ...] | None:
    """How large each argument is, within a factor of two; None if there is a kind not known.

    A function is its own size. ``around`` are the identities of the objects that hold ``args``.
    """
    found: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is Array:
            known = value._values
            size = value.nbytes if known is None else known.nbytes
            found.append(size.bit_length())
        elif kind is int:
            found.append(-value.bit_length())
        elif (
            kind in PLAIN or issubclass(kind, np.generic | np.dtype | Drawing) or _is_others(value)
        ):
            found.append(kind)
        elif is_given(value):
            found.append(value)
        else:
            size = _size_inside(kind, value, depth, around)
            if size is None:
                return None
            found.append(size)
    return tuple(found)


def _size_inside(kind: type, value: Any, depth: int, around: tuple[int, ...]) -> Any:
    """As `size_of`, of a container, an object or its method."""
    if kind is MethodType:
        home = size_of((value.__self__,), depth, around) if is_bound(value) else None
        return None if home is None else (value.__func__, *home)
    if kind not in (list, tuple, dict) and not is_named(kind):
        if id(value) in around:
            return kind
        if depth > _DEPTH_LIMIT or kind.__module__ == "builtins" or not is_own(kind):
            return None
        inside = size_of(vars(value).values(), depth + 1, (*around, id(value)))
        return None if inside is None else (kind, *inside)
    if len(value) > _ITEMS_LIMIT or depth > _DEPTH_LIMIT:
        return None
    parts = value.values() if kind is dict else value
    if all([type(part) in PLAIN for part in parts]):
        return kind, len(value).bit_length()
    return size_of(parts, depth + 1, around) if len(value) <= _ARRAYS_LIMIT else None


def _is_others(value: Any) -> bool:
    """True for a class that is not the script's, whose objects could hold arrays."""
    return type(value) is type and not is_users(value.__module__)


def is_simple(result: Any) -> bool:
    """True for lazy arrays, plain values and objects, and what holds nothing else."""
    kind: Any = type(result)
    if kind in (list, tuple) or is_named(kind):
        return all(map(is_simple, result))
    if kind is dict:
        return all(map(is_simple, result.values()))
    return kind is Array or kind in PLAIN or (kind.__module__ != "builtins" and is_own(kind))


class Border:
    """One call's: which lazy array each NumPy array stands for.

    ``kinds`` are what stands for classes and for functions that are given, ``originals`` what
    functions and generators by identity stand for.
    """

    __slots__ = ("_containers", "_kinds", "_known", "_memory", "_originals", "odd")

    def __init__(
        self, kinds: Mapping[Any, Any] = _NOTHING, originals: Mapping[int, Any] = _NOTHING
    ) -> None:
        self._kinds = kinds
        self._originals = originals
        # By the identity of what they show, which they keep alive.
        self._known: dict[int, tuple[Any, Any]] = {}
        self._containers: list[tuple[Any, Any, Any]] = []  # twins, what they stand for, their parts
        self._memory: dict[int, Array] | None = None
        self.odd = ""  # what else was returned

    def shown(self, array: Array) -> Any:
        """The memory of ``array``, to be read and written; raises `RecordedError`."""
        shown = completed(array)
        own = array._own
        if own is not None:
            if not own.unread:
                own.recorder.flush()
            if shown is None or not own.unread or own.shared:
                raise RecordedError
            if own.buffer is not None and not own.buffer.flags.c_contiguous:
                raise RecordedError
        elif type(shown) is _ndarray and not shown.flags.c_contiguous:
            raise RecordedError
        known = self._known.get(id(shown))
        if known is not None and known[1] is not array:
            shown = shown.view()
        self._known[id(shown)] = shown, array
        return shown

    def read(self, value: Any) -> Any:
        """What stands for what is read by name; raises `RecordedError`."""
        kind = type(value)
        is_long = kind in (list, tuple, dict) and len(value) > _NAMED_LIMIT
        if kind is not Array and (is_long or size_of((value,)) is None):
            raise RecordedError
        return self.given(value)

    def given(self, value: Any) -> Any:
        """What stands for an argument; raises `RecordedError`."""
        kind = type(value)
        if kind is Array:
            return self.shown(value)
        if kind in (list, tuple, dict) or is_named(kind):
            return self._twin(kind, value)
        if is_given(value):
            if value not in self._kinds:
                raise RecordedError
            return self._kinds[value]
        if kind is MethodType:
            return self._method(value)
        return self._object(kind, value) if kind.__module__ != "builtins" else value

    def _method(self, value: Any) -> Any:
        """The method under the same name of what stands for its object."""
        if not is_bound(value):
            raise RecordedError
        home = self.given(value.__self__)
        made: Any = getattr(type(home), value.__name__, None)
        if unwrapped(self._originals.get(id(made))) is not unwrapped(value.__func__):
            raise RecordedError
        return MethodType(made, home)

    def _object(self, kind: type, value: Any) -> Any:
        """An instance of the class's twin, if it is one of the script's; NumPy's own generator."""
        twin_kind = self._kinds.get(kind)
        if twin_kind is None:
            if not isinstance(value, np.generic | np.dtype):
                raise RecordedError
            return value
        if isinstance(value, Drawing):
            self._remembered(value._numpy, value)
            return value._numpy
        for twin, own, _ in self._containers:
            if own is value:
                return twin
        twin = object.__new__(twin_kind)
        if ORIGINAL in vars(twin_kind):
            vars(twin_kind)[ORIGINAL].__set__(twin, value)
        self._known[id(twin)] = twin, value
        before: dict[str, Any] = {}
        self._containers.append((twin, value, before))
        for name, part in vars(value).items():
            before[name] = part if type(part) in PLAIN else self.given(part)
        twin.__dict__.update(before)
        return twin

    def _twin(self, kind: type, value: Any) -> Any:
        """A container of what stands for the parts; the container itself if these are plain."""
        for twin, own, _ in self._containers:
            if own is value:
                return twin
        if kind is dict and not all([type(key) in PLAIN or is_constant(key) for key in value]):
            raise RecordedError  # another object would be looked for
        before = list(value.values() if kind is dict else value)
        parts = [part if type(part) in PLAIN else self.given(part) for part in before]
        twin = value
        if any([part is not own for part, own in zip(parts, before, strict=True)]):
            make: Any = vars(kind)["_make"].__get__(None, kind) if is_named(kind) else kind
            twin = dict(zip(value, parts, strict=True)) if kind is dict else make(parts)
            self._known[id(twin)] = twin, value
        self._containers.append((twin, value, parts))
        return twin

    def write_back(self) -> None:
        """Change containers as what stood for them has been changed."""
        for twin, own, before in self._containers:
            if type(before) is dict:
                for name, value in vars(twin).items():
                    if name not in before or before[name] is not value:
                        vars(own)[name] = self.taken(value)
                continue
            if isinstance(own, tuple):
                continue
            is_list = type(own) is list
            parts = twin if is_list else list(twin.values())
            same = len(parts) == len(before) and (is_list or list(twin) == list(own))
            if same and all([a is b for a, b in zip(parts, before, strict=True)]):
                continue
            made = [self.taken(part) for part in parts]
            if is_list:
                own[:] = made
            else:
                keys = list(map(self._key, twin))
                own.clear()
                own.update(zip(keys, made, strict=True))

    def taken(self, value: Any) -> Any:
        """``value`` with lazy arrays in the place of NumPy's; lists and dicts stay themselves."""
        kind = type(value)
        if kind in PLAIN:
            return value
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if kind is _ndarray:
            if is_numeric(value.dtype):
                made = new(Array, value) if has_own_memory(value) else self._view(value)
                return self._remembered(value, made)
            return value
        if issubclass(kind, np.generic):
            known_kind = is_numeric(value.dtype)
            return self._remembered(value, new(Array, value)) if known_kind else value
        if kind in _FUNCTIONS:
            return self._original(kind, value)
        if kind in _GENERATORS:
            return self._generator(value)
        return self._container(kind, value)

    def _original(self, kind: type, value: Any) -> Any:
        """The function that ``value`` is the twin of, or the method of the object itself."""
        if kind is FunctionType:
            known = self._originals.get(id(value))
            return self._function(value) if known is None else known
        home = value.__self__
        if type(home) is _ndarray or type(home) in _GENERATORS:
            return getattr(self.taken(home), value.__name__)
        known = self._known.get(id(home))
        if known is None:
            self.odd = kind.__name__
            return value
        own: Any = getattr(type(known[1]), value.__name__, None)
        function = self._originals.get(id(getattr(value, "__func__", None)))
        is_own = function is not None and unwrapped(own) is unwrapped(function)
        return MethodType(own, known[1]) if is_own else getattr(known[1], value.__name__)

    def _function(self, value: Any) -> Any:
        """A function that has been made in a twin, with the globals of the script."""
        space = self._originals.get(id(value.__globals__))
        if space is None:
            return value
        cells = tuple(map(self._cell, value.__closure__ or ())) or None
        made = FunctionType(as_written(value.__code__), space, value.__name__, None, cells)
        self._remembered(value, made)
        for cell, own in zip(value.__closure__ or (), cells or (), strict=True):
            with suppress(ValueError):  # it has no value
                if own is not self._originals.get(id(cell)):
                    own.cell_contents = self.taken(cell.cell_contents)
        made.__defaults__ = self.taken(value.__defaults__)
        made.__kwdefaults__ = self.taken(value.__kwdefaults__)
        dressed(made, value)
        return made

    def _cell(self, cell: CellType) -> Any:
        """The closure variable that ``cell`` stands for, or one to be filled in."""
        if id(cell) in self._originals:
            return self._originals[id(cell)]
        known = self._known.get(id(cell))
        return self._remembered(cell, CellType()) if known is None else known[1]

    def _generator(self, value: Any) -> Any:
        """What ``value`` stands for, or what stands for one that was made."""
        made = self._originals.get(id(value))
        if made is None:
            made = DRAWING[type(value)](value.bit_generator)
        return self._remembered(value, made)

    def _remembered(self, value: Any, made: Any) -> Any:
        self._known[id(value)] = value, made
        return made

    def _container(self, kind: type, value: Any) -> Any:
        if kind is tuple:
            return tuple([self.taken(part) for part in value])
        if kind is list:
            value[:] = [self.taken(part) for part in value]
        elif kind is dict:
            made = {self._key(key): self.taken(part) for key, part in value.items()}
            value.clear()
            value.update(made)
        elif kind is Array:
            return value
        elif (held := kind_of(value)) in (NAMED, HEIR_OF_TUPLE):
            return held.make(value, [self.taken(part) for _, part in held.parts(value)])
        elif id(value) in self._originals:  # a function of NumPy's
            return self._originals[id(value)]
        elif is_running(value):
            own = taken_over(value, self.taken, self._functions())
            if own is None:
                self.odd, own = kind.__name__, step_by_step(value, self.taken)
            return self._remembered(value, own)
        else:
            self.odd = kind.__name__
        return value

    def _functions(self) -> list[Any]:
        """Those for which a twin stands."""
        return [one for one in self._originals.values() if is_given(one)]

    def _key(self, key: Any) -> Any:
        return key if type(key) in PLAIN or is_constant(key) else self.taken(key)

    def _view(self, value: Any) -> Any:
        """A lazy array of what shows memory of another one, which may be an argument's."""
        owner = self._owner(value) if value.size else None
        if owner is None or owner.dtype != value.dtype:
            return new(Array, np.array(value))
        made = view(owner, value, (lambda b: view_in(value, b.reshape(-1)), owner.storage.buffer))
        made.writeable = owner.writeable and value.flags.writeable
        return made

    def _owner(self, value: Any) -> Array | None:
        """The lazy array whose memory ``value`` shows; None if it need not have one."""
        if self._memory is None:
            pairs = self._known.values()
            self._memory = {id(_root(s)): a for s, a in pairs if type(s) is _ndarray}
        root = _root(value)
        owner = self._memory.get(id(root))
        if owner is None and not has_own_memory(root):
            every = self._memory.values()
            owner = next((a for a in every if np.may_share_memory(a.storage.buffer, value)), None)
        elif owner is None and root.flags.c_contiguous and root.dtype == value.dtype:
            owner = self._memory[id(root)] = self._remembered(root, new(Array, root))
        return owner


def _root(array: Any) -> Any:
    while type(array.base) is _ndarray:
        array = array.base
    return array
