"""Binding: the function of a call, and what it is given, with lazy arrays in the place of arrays.

Where the function reads by name what a trace has to see, it is exchanged: the function is copied
with other globals, closure variables and defaults, and so are the functions that it reads.
"""

from __future__ import annotations

import collections.abc
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.creators import creators, modules_seen
from ..arrays.gathering import as_numpy_takes_it
from ..arrays.opaque import StandIn, original, stand_in
from ..arrays.values import as_float, as_hasattr, as_int, as_isinstance, as_len, as_type
from ..record.growing import touching
from ..record.numbers import Computing, TracedScalar, followed
from ..record.origin import module_of
from ..record.recorder import current_recorder
from .by_name import BY_NAME, found_by_name
from .bytecode import builtins_dict, codes_of, only_called, writes_outside
from .exchange import Exchange, parts_of
from .identity import identities
from .impure import ImpureCalls
from .inputs import Inputs
from .libraries import library_call
from .numpy_calls import cached_call
from .outcomes import CACHED
from .places import MISSING, Wrapper, is_constant
from .plain_values import (
    AS_NUMBERS,
    given_plain_values,
    giving_plain_values,
    takes_plain_values,
)
from .purity import is_library, is_module_of_arrays, is_pure
from .reads import Reads
from .scalar_types import module_for

_ARRAY = "__array__"
_ITERATORS = (np.nditer, np.nested_iters)


class Binder:
    """Makes what one call runs. ``replaced`` is what stands for objects, by their identity."""

    def __init__(
        self,
        reads: Reads,
        inputs: Inputs,
        lazies: Mapping[str, Array],
        used: Callable[[], None],
        observe: Callable[[str, Any], None],
        attempt: Computing,
        followed: Mapping[str, Callable[..., Any]] = types.MappingProxyType({}),
        is_lazy: bool = True,
    ) -> None:
        self.reads = reads
        self.inputs = inputs
        self.lazies = lazies
        self.used = used
        self.observe = observe
        self.attempt = attempt
        self.followed = followed  # what else stands for ``float`` or ``type``
        self.is_lazy = is_lazy  # arrays are ours, which opaque code and NumPy do not take
        self.looked: Callable[[str], None] = lambda why: None  # at what no replay finds
        self.asks: Callable[[str], None] = lambda name: None  # for what was not looked for
        self.error_state: Any = np.errstate
        self.conditions_grow: Callable[[], None] = lambda: None
        self.impure = ImpureCalls(used, used, self.looked)
        self.slots: dict[str, int] = {}  # of impure objects that are given, in the environment
        self.all_lazy = False  # so are those that are made of plain data
        self.replaced: dict[int, Any] = {}
        self.exchange = Exchange()  # of methods, while the function runs
        self._scalars = {name for name, _ in inputs.scalars}
        self._opaque = {id(value) for value in inputs.objects}
        self._stand_ins: dict[int, Any] = {}  # for opaque ones, of which each has one if that shows
        self._done: dict[int, types.FunctionType] = {}
        self._unfilled: list[types.FunctionType] = []  # of which there is a copy that reads nothing
        self._to_come = {id(value) for _, value in reads.inputs.values()}  # in ``replaced``
        self._written = {id(p.root) for p in reads.written.values() if p.kind == "cell"}

    def bound(self, function: Callable[..., Any]) -> tuple[Callable[..., Any], list[Any]]:
        """The function, and its arguments."""
        reads, replaced = self.reads, self.replaced
        creates = (reads.creates or self.all_lazy) and self.is_lazy
        for _, value in reads.stand_ins.values() if self.is_lazy else ():
            replaced[id(value)] = self._called_as_it_is(value)
        for _, value in reads.replaced.values():
            if value is id:
                replaced[id(id)] = identities(self._original, self.looked)
            elif any(value is function for function in BY_NAME):
                replaced[id(value)] = found_by_name(value, reads, self.used, self.looked, self.asks)
            elif module_of(value) == "_heapq":
                replaced[id(value)] = touching(value)
            elif takes_plain_values(value):
                replaced[id(value)] = given_plain_values(value)
            else:
                is_state = value is np.errstate
                replaced[id(value)] = self.error_state if is_state else followed(value)
        every = [v for some in (reads.stand_ins, reads.replaced) for _, v in some.values()]
        classes = {v: replaced[id(v)] for v in every if isinstance(v, type) and id(v) in replaced}
        current_recorder().classes.update(classes)
        given, read = self.inputs.build(self._leaf)
        replaced.update(read)
        if creates:
            replaced.update(creators(self.all_lazy))
        members = [
            (place.modules(), place.steps, self._exchanged(value))
            for some in (reads.stand_ins, reads.inputs, reads.replaced, reads.values)
            for place, value in some.values()
            if place.steps and self._exchanged(value) is not value
        ]
        replaced.update(modules_seen(members, [np] if creates else [], self.all_lazy))
        converts = any(name == _ARRAY for _, name, _ in reads.exchanged)
        if replaced or reads.asks_types or (converts and self.is_lazy):
            every = [
                (part, name) for k, name, v in reads.exchanged for part in parts_of(k, name, v)
            ]
            every.sort(key=lambda named: named[1] in AS_NUMBERS)  # one may have other names, too
            chosen = {id(part): self._chosen(part, name) for part, name in every}
            self.exchange = Exchange(reads.exchanged, chosen)
        bound = self._follow(function)
        while self._unfilled:
            self._fill(self._unfilled.pop())
        return bound, given

    def _used_up(self) -> None:
        """What goes from element to element is about to: a call that can starts again without."""
        current_recorder().hands_out()
        self.used()

    def _called_as_it_is(self, value: Any) -> Any:
        """What stands for a function, or object, that is not followed."""
        if id(value) in self.reads.impure:
            return self.impure.standing_for(value)
        if id(value) not in self.reads.library:
            goes = any(value is iterator for iterator in _ITERATORS)
            return stand_in(value, self._used_up if goes else self.used)
        if type(value) is CACHED:
            return cached_call(value, self.used, self.looked)
        return library_call(value, self.impure.acts, self.looked)

    def _leaf(self, value: Any, name: str) -> Any:
        """What stands for a part of the inputs that is no container."""
        if name in self.lazies:
            return self.lazies[name]
        if name in self._scalars:
            observe = functools.partial(self.observe, name, value)
            return TracedScalar(value, name, observe, attempt=self.attempt)
        if id(value) in self._opaque:
            known = name in self.slots
            made = (
                self.impure.standing_for(value, self.slots[name])
                if known
                else stand_in(value, self._use)
            )
            shows = self.reads.knows_objects()
            return self._stand_ins.setdefault(id(value), made) if shows else made
        if is_library(value):
            found = self.replaced.get(id(value))
            calls = found or library_call(value, self.impure.acts, self.looked)
            return self._stand_ins.setdefault(id(value), calls)
        return self._follow(value)

    def _use(self) -> None:
        """An opaque object that was given is about to be used."""
        self.inputs.uses_objects = True
        self.used()

    def _original(self, value: Any) -> Any:
        """What ``value`` stands for, which is what it was from now on; None if it is new."""
        found = self.inputs.given(value)
        if found is None:
            names = [name for name, lazy in self.lazies.items() if lazy is value]
            arrays = dict(self.inputs.arrays)
            found = (names[0], arrays[names[0]]) if names else None
        if found is None:
            copied = [key for key, copy in self._done.items() if copy is value]
            if copied or issubclass(type(value), StandIn):
                return self.reads.functions[copied[0]] if copied else original(value)
            is_own = isinstance(value, types.ModuleType | type) or is_constant(value)
            return value if is_own or is_pure(value) else None
        name, known = found
        self.inputs.conditions.append(("is", name, known))
        self.conditions_grow()
        return known

    def _follow(self, value: Any) -> Any:
        if isinstance(value, Wrapper) and not value.head:
            value = value.function
        return self._rebound(value) if id(value) in self.reads.functions else value

    def _exchanged(self, value: Any) -> Any:
        return self.replaced[id(value)] if id(value) in self.replaced else self._follow(value)

    def _chosen(self, part: Any, name: str) -> Any:
        """What stands for ``part`` of what a class holds under ``name``."""
        made = self._exchanged(part)
        if name in AS_NUMBERS:
            return giving_plain_values(made)
        return as_numpy_takes_it(made) if name == _ARRAY and self.is_lazy else made

    def _rebound(self, function: types.FunctionType) -> types.FunctionType:
        """A copy of ``function`` that reads other things under the same names, once it is filled.

        What it reads may hold it, so all copies are filled when everything has its place. One that
        writes globals stays itself: it and others see what it writes. So do closure variables that
        it writes.
        """
        if id(function) in self._done:
            return self._done[id(function)]
        if writes_outside(function.__code__):
            return self._done.setdefault(id(function), function)
        real = function.__globals__
        others = self.reads.volatile or self.reads.acts
        space = Globals(real) if others else dict(real)
        cells = tuple([self._cell(cell) for cell in function.__closure__ or ()])
        copy = types.FunctionType(function.__code__, space, function.__name__, None, cells or None)
        dressed(copy, function)
        self._done[id(function)] = copy
        self._unfilled.append(function)
        return copy

    def _fill(self, function: types.FunctionType) -> None:
        """Let the copy of ``function`` read what stands for the things that it reads."""
        copy = self._done[id(function)]
        if function.__defaults__ is not None:
            copy.__defaults__ = tuple([self._exchanged(v) for v in function.__defaults__])
        if function.__kwdefaults__ is not None:
            pairs = function.__kwdefaults__.items()
            copy.__kwdefaults__ = {k: self._exchanged(v) for k, v in pairs}
        dict.update(copy.__globals__, self._exchanged_globals(function))
        for cell, old in zip(copy.__closure__ or (), function.__closure__ or (), strict=True):
            if cell is not old:
                cell.cell_contents = self._exchanged(old.cell_contents)

    def _cell(self, cell: types.CellType) -> types.CellType:
        """A new cell for what is exchanged; other cells stay shared, and so do written ones."""
        try:
            value = cell.cell_contents
        except ValueError:  # it has no value yet
            return cell
        if id(cell) in self._written:
            return cell
        known = any(
            id(value) in some for some in (self.replaced, self._to_come, self.reads.functions)
        )
        return types.CellType() if known or isinstance(value, _SEEN_THROUGH) else cell

    def _exchanged_globals(self, function: types.FunctionType) -> dict[str, Any]:
        codes = list(codes_of(function.__code__))
        real, names = function.__globals__, {n for code in codes for n in code.co_names}
        exchanged = {name: self._exchanged(real[name]) for name in names & real.keys()}
        for name, seen in exchanged.items():
            if is_module_of_arrays(real[name]):
                exchanged[name] = module_for(name, seen, codes)
        outer = builtins_dict(real)
        for name in names & outer.keys() - real.keys():
            if (seen := self._exchanged(outer[name])) is not outer[name]:
                exchanged[name] = seen
        for name, (kind, other) in _FOLLOWED.items():
            if exchanged.get(name, real.get(name, kind)) is kind and only_called(name, codes):
                exchanged[name] = self.followed.get(name, other)
        return exchanged


def dressed(copy: types.FunctionType, function: types.FunctionType) -> None:
    """Let a ``copy`` of ``function`` have its names, annotations and attributes."""
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__doc__, copy.__dict__ = function.__doc__, function.__dict__
    annotations = "__annotate__" if hasattr(function, "__annotate__") else "__annotations__"
    setattr(copy, annotations, getattr(function, annotations))


_SEEN_THROUGH = (Wrapper, types.ModuleType)  # what may stand for one is not known by its identity
_FOLLOWED: dict[str, tuple[Any, Any]] = {
    "float": (float, as_float),
    "int": (int, as_int),
    "complex": (complex, followed(complex)),
    "hasattr": (hasattr, as_hasattr),
    "isinstance": (isinstance, as_isinstance),
    "len": (len, as_len),
    "type": (type, as_type),
}


class Globals(dict[str, Any]):
    """Globals that others may write meanwhile: those that have changed are what they are now.

    Functions look names up by `__getitem__`; Python itself reads, among its own items, such as the
    name of the module.
    """

    def __init__(self, real: dict[str, Any]) -> None:
        super().__init__(real)
        self._before = dict(real)
        self._real = real

    def __getitem__(self, name: str) -> Any:
        now = self._real.get(name, MISSING)
        if now is self._before.get(name, MISSING):
            return super().__getitem__(name)
        if now is MISSING:
            raise KeyError(name)
        return now

    def __contains__(self, name: object) -> bool:
        return name in self._real

    def get(self, name: str, default: Any = None) -> Any:
        """What there is, as a dictionary's `get`."""
        try:
            return self[name]
        except KeyError:
            return default

    def __setitem__(self, name: str, value: Any) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    update = collections.abc.MutableMapping.update
    setdefault = collections.abc.MutableMapping.setdefault
    pop = collections.abc.MutableMapping.pop
