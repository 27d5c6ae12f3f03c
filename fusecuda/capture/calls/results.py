"""Results: what a fused function returns, and what it has changed, with real arrays in it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.creators import numpys
from ..arrays.opaque import StandIn, original
from ..record.growing import Growing
from ..record.numbers import TracedScalar
from ..record.storage import Storage
from ..record.structure import (
    DICT,
    LIST,
    METHOD,
    NAMED,
    SET,
    TUPLE,
    holds_plain,
    kind_of,
    walk,
)
from ..record.view import address_of, is_writeable
from .effects import Effect, apply_effect, plain_step
from .exchange import original as switched_back
from .guard import Guard
from .hidden import settled
from .identity import Identity
from .outcomes import ViewOf
from .places import is_constant
from .plain_values import type_meant
from .purity import is_pure

Given = Callable[[Any], tuple[str, Any] | None]


class OddError(Exception):
    """A result holds something that no text puts together again."""


def storages_in(*values: Any) -> list[Storage]:
    """The storages of the lazy arrays in returned structures, each once."""
    found: dict[int, Storage] = {}
    arrays = [part for value in values for part in walk(value) if type(part) is Array]
    for part in arrays:  # all that masks have picked in one launch
        if part.pick is not None:
            part.pick = part.pick.begun()
    for part in arrays:
        if not part.is_loose:
            found.setdefault(id(part.storage), part.storage)
    return list(found.values())


def hides_arrays(*values: Any) -> str:
    """The type of a part that may hold lazy arrays where nobody finds them; empty without one."""
    for value in values:
        for part in walk(value):
            if isinstance(part, _HIDING) and not is_pure(part):
                return type(part).__name__
    return ""


_HIDING = (types.FunctionType, types.GeneratorType, zip, map, filter, enumerate, reversed)


class Finisher:
    """Puts computed arrays in the place of lazy ones, as the user gets them.

    ``given`` knows the containers of the user's that twins stand for, ``whole`` his arrays.
    """

    def __init__(self, given: Given, whole: Mapping[int, Any]) -> None:
        self.given = given
        self.whole = whole
        self._first = {
            id(array): lazy for lazy, array in whole.items()
        }  # that shows an array whole
        self._done: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that no identity is used again

    def __call__(self, value: Any) -> Any:
        key = id(value)
        if key in self._done:
            return self._done[key]
        self._kept.append(value)
        self._done[key] = made = self._finished(value)
        return made

    def _finished(self, value: Any) -> Any:
        if type(value) is Array:
            return self.whole[id(value)] if id(value) in self.whole else self._array(value)
        if type(value) in (TracedScalar, Identity):
            return value.value
        if issubclass(type(value), StandIn):
            return original(value)
        known = self.given(value)
        if known is not None:
            return known[1]
        value = numpys(type_meant(value))
        kind = kind_of(value)
        if kind is None:
            self._done[id(value)] = value
            return settled(value, self)
        if kind is METHOD:
            value = switched_back(value)
        if type(value) is Growing:  # made by the type of another
            value, key = list(value), id(value)
            self._kept.append(value)
            self._done[key] = value
        self._done[id(value)] = value
        parts = [] if holds_plain(value) else kind.parts(value)
        new = [(plain_step(step), self(part)) for step, part in parts]
        if all(a is b for (_, a), (_, b) in zip(parts, new, strict=True)) and not any(
            s is not t for (s, _), (t, _) in zip(parts, new, strict=True)
        ):
            return value
        if not kind.mutable:
            return kind.make(value, [part for _, part in new])
        kind.fill(value, new)
        return value

    def _array(self, lazy: Array) -> Any:
        """What is computed of ``lazy``: of two that show one array whole, the second is a view."""
        made = computed(lazy)
        first = self._first.setdefault(id(made), id(lazy))
        return made if first == id(lazy) or lazy.is_scalar else made.view()


def computed(array: Array) -> Any:
    """The array or scalar that NumPy would have given."""
    array.compute()
    storage = array.storage
    assert storage.buffer is not None
    result = array.shown_of(storage.buffer)
    if array.is_scalar:
        return result[()]
    return result if array.writeable or not result.flags.writeable else read_only(result)


def read_only(array: Any) -> Any:
    """``array`` to be looked at alone, as what `broadcast_to` gives."""
    seen = array.view()
    seen.flags.writeable = False
    return seen


class ResultWriter:
    """Writes text that puts the result of a replay together, and does its effects.

    Its ``lines`` come before that text: each container in another, and each view, is made by a line
    of its own, so that one which is found twice, or in itself, is one object.
    ``array_text`` gives the text for an array, None for another value; it raises OddError for an
    array that is not known. So do all methods for what cannot be put together again.
    """

    def __init__(self, guard: Guard, given: Given, array_text: Callable[[Any], str | None]) -> None:
        self.guard = guard
        self.given = given
        self.array_text = array_text
        self.lines: list[str] = []
        self._containers: dict[int, str] = {}  # their names, empty for those being made
        self._arrays: dict[int, str] = {}  # the names of those that are no names themselves

    def text(self, value: Any) -> str:
        """Text for ``value``."""
        known = self._known(value)
        return self._container(value) if known is None else known

    def _part(self, value: Any) -> str:
        """Text for what is in a container: a name for what is one itself."""
        known = self._known(value)
        if known is not None:
            return known
        text = self._container(value)
        return text if text.isidentifier() else self._named(value, text)

    def _parts(self, values: Iterable[Any]) -> str:
        """Text for what is in a container, each with a comma behind it."""
        return "".join(self._part(value) + ", " for value in values)

    def _named(self, value: Any, text: str) -> str:
        name = self._containers[id(value)] = f"made{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _known(self, value: Any) -> str | None:
        """Text for what is no container, or has a name; None for another container."""
        array = self.array_text(value)
        if array is not None:
            return self._once(value, array)
        if type(value) is TracedScalar:
            return self.guard.scalar(value)
        known = self.given(value)
        if known is not None:
            return known[0]
        value = numpys(type_meant(value))
        if is_constant(value) or is_pure(value):
            return self.guard.constant(value)
        if type(value) is np.ndarray:
            return self._made_again(value)
        name = self._containers.get(id(value))
        if name == "" or kind_of(value) is None:
            raise OddError(type(value).__name__)
        return name

    def _made_again(self, array: np.ndarray[Any, Any]) -> str:
        """The name of an array of plain data; each replay makes it anew: the caller has this one.

        Those that share memory share it there, too.
        """
        whole = _whole(array)
        writeable = is_writeable(array)
        if whole is array or not (array.size and whole.flags.forc):
            text = f"{self.guard.constant(array.copy('K'))}.copy('K')"
        else:
            at = address_of(array) - address_of(whole)
            shown = ViewOf(array.shape, array.dtype, array.strides, at, writeable)
            text = f"{self.guard.constant(shown.of)}({self._made_again(whole)})"
        if not writeable:
            text = f"{self.guard.constant(read_only)}({text})"
        return self._once(array, text)

    def _once(self, array: Any, text: str) -> str:
        """``text`` for an array, which is one object wherever it is found."""
        if not text.endswith(")"):
            return text
        if id(array) in self._arrays:
            return self._arrays[id(array)]
        self._arrays[id(array)] = name = f"seen{len(self._arrays)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _container(self, value: Any) -> str:
        value = numpys(type_meant(value))
        kind: Any = kind_of(value)
        if kind.changes:
            self._containers[id(value)] = ""
        if kind is LIST or not kind.mutable:
            inner = self._parts([part for _, part in kind.parts(value)])
            if kind is LIST or kind is TUPLE:
                return f"[{inner}]" if kind is LIST else f"({inner})"
            made = type(value) if kind is SET else _maker(value)
            return f"{self.guard.constant(made)}(({inner}))"
        if kind is DICT and type(value) is dict:
            parts = (
                f"{self.guard.constant(plain_step(step)[1])}: {self._part(part)}"
                for step, part in kind.parts(value)
            )
            return f"{{{', '.join(parts)}}}"
        steps = [plain_step(step) for step, _ in kind.parts(value)]
        self.guard.space.update(empty=_empty, fill=_fill)
        name = self._named(value, f"empty({self.guard.constant(kind.shell(value))})")
        inner = self._parts([part for _, part in kind.parts(value)])
        self.lines.append(f"fill({name}, {self.guard.constant(steps)}, ({inner}))")
        return name

    def effects(self, effects: Iterable[Effect]) -> list[str]:
        """Lines that set what effects do, which the lines before have computed."""
        after: list[str] = []
        self.guard.space["apply_effect"] = apply_effect
        for i, effect in enumerate(effects):
            name = f"e{i}"
            if effect.step is None:
                parts = "".join(
                    f"({self.guard.constant(step)}, {self._part(part)}), "
                    for step, part in effect.value
                )
                text = f"({parts})"
            elif effect.step[0] == "grow":
                text = f"({self._parts(effect.value)})"
            else:
                text = self._part(effect.value)
            self.lines.append(f"{name} = {text}")
            step = self.guard.constant(effect.step)
            after.append(f"apply_effect({effect.twin.name}, {step}, {name})")
        return after


def _maker(value: Any) -> Callable[[Any], Any]:
    """What makes a method, partial or named tuple like ``value`` of its parts."""
    if isinstance(value, types.MethodType):
        function = switched_back(value).__func__
        return lambda parts: types.MethodType(function, parts[0])
    if isinstance(value, functools.partial):
        return lambda parts: functools.partial(parts[0], *parts[1], **parts[2])
    if isinstance(value, slice):
        return lambda parts: slice(*parts)
    kind: Any = kind_of(value)
    if kind is NAMED:
        return functools.partial(tuple.__new__, type(value))
    return functools.partial(kind.make, kind.make(value, [None] * len(kind.parts(value))))


def _empty(shell: Any) -> Any:
    """A new container like ``shell``, which is empty."""
    kind: Any = kind_of(shell)
    return kind.shell(shell)


def _whole(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array in whose memory ``array`` is, which may be one of NumPy's windows of it."""
    base = array.base
    while base is not None:
        if type(base) is np.ndarray:
            array = base
        base = getattr(base, "base", None)  # `as_strided` puts an object of its own between
    return array


def _fill(made: Any, steps: Any, parts: Any) -> None:
    """Give a container the parts behind ``steps``."""
    kind: Any = kind_of(made)
    kind.fill(made, list(zip(steps, parts, strict=True)))
