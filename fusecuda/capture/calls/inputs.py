"""Inputs: the arguments of one call, and the containers that it reads by name, taken apart.

Each part has a name, Python text that finds it in a later call, and conditions under which a trace
of this call holds for that one. The function is given twins of the containers, around lazy arrays
and followed numbers; what it changes in a twin is an effect, done to the original when the call has
been computed, and again by each replay.
"""

from __future__ import annotations

import types
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..record.growing import Growing
from ..record.numbers import NUMBERS
from ..record.structure import (
    DICT,
    HEIR_OF_DICT,
    HEIR_OF_LIST,
    LIST,
    METHOD,
    NAMED,
    SET,
    Kind,
    Parts,
    Step,
    kind_of,
    slots_of,
)
from .effects import CHANGED_BY_PARTS, Effect, Twin, apply_effect, effects_of, plain_key
from .impure import is_impure
from .overlap import why_not
from .places import MISSING, Place, Wrapper, is_constant, with_methods
from .purity import is_followed, is_pure

NDArray = np.ndarray[Any, Any]
_PARTS_LIMIT = 500  # more of them cost more to look at than fusion saves
_RAW = {"entry": "dict", "place": "list"}  # whose own methods find the items of heirs


class Inputs:
    """The parts of ``args`` and of what is read by name, arrays of ``array_type``."""

    def __init__(
        self,
        args: Sequence[Any],
        array_type: type = np.ndarray,
        growing: frozenset[str] = frozenset(),
        follows_numbers: bool = True,
    ) -> None:
        self.args = args
        self.follows_numbers = follows_numbers
        self.growing = growing  # lists that are known to be made longer and not looked at
        self.array_type = array_type
        self.arrays: list[tuple[str, NDArray]] = []
        self.scalars: list[tuple[str, Any]] = []
        self.functions: list[Any] = []  # and objects with methods
        self.objects: list[Any] = []  # opaque ones
        self.impure: list[tuple[str, Any]] = []  # those among them that replays call
        self.uses_objects = False
        self.conditions: list[tuple[str, str, Any]] = []  # kind, name, value; in order
        self.constants: dict[str, Any] = {}  # what names mention
        self.unfusable = ""
        self.known: dict[int, str] = {}  # the names of containers, by their identity
        self._names: dict[int, str] = {}  # of constants, by their identity
        self._followed: set[int] = set()  # those that get twins
        self.sets: list[set[Any]] = []  # which have no twins
        self.containers: list[Any] = []  # that twins stand for, and those that are only compared
        self._count = 0
        self.twins: list[Twin] = []
        self._roots: list[tuple[str, Any]] = []
        for i, a in enumerate(args):
            self._take(a, f"a{i}", follow=True)

    def forget_objects(self) -> None:
        """Let a trace that has not used its opaque objects hold for others of their types.

        Then it does not keep them alive either.
        """
        opaque = {id(value) for value in self.objects}
        for i, (kind, name, value) in enumerate(self.conditions):
            if kind == "is" and id(value) in opaque:
                self.conditions[i] = ("type", name, type(value))

    def read(self, place: Place, value: Any, follow: bool) -> str:
        """Take what is read by name, too; ``follow`` it, or only compare it. Gives its name."""
        name = f"r{len(self._roots)}"
        self._roots.append((name, value if follow else MISSING))
        self.conditions.append(("read", name, place))
        self._take(value, name, follow)
        return name

    def _take(self, value: Any, name: str, follow: bool) -> None:
        kind = type(value)
        self._count += 1
        if kind is self.array_type:
            if kind is np.ndarray:
                self.unfusable = self.unfusable or why_not(value)
            self.arrays.append((name, value))
            self.conditions.append(("array", name, value))
        elif kind in NUMBERS and follow and self.follows_numbers:
            self.scalars.append((name, value))
            self.conditions.append(("type", name, kind))
        elif is_constant(value):
            self.conditions.append(("same", name, value))
            self.functions += with_methods((value,))
        elif isinstance(value, set):
            self._take_set(value, name)
        elif kind_of(value) not in (None, SET):
            self._take_parts(value, name, follow)
        elif isinstance(value, Wrapper) and is_followed(value):
            self.functions.append(value)
            self.conditions.append(("is", name, value))
        elif value is type:
            self.unfusable = "it is given type, which would see our arrays"
        elif isinstance(value, types.FunctionType | type) or is_pure(value):
            if isinstance(value, types.FunctionType | type) and not is_pure(value):
                self.functions.append(value)
            self.conditions.append(("is", name, value))
        else:
            self._take_opaque(value, name)

    def _take_opaque(self, value: Any, name: str) -> None:
        self.conditions.append(("is", name, value))
        if isinstance(value, np.ndarray) or hasattr(type(value), "__cuda_array_interface__"):
            self.unfusable = f"an argument is a {type(value).__name__}"
        self.functions.append(value)
        self.objects.append(value)
        if is_impure(value):
            self.impure.append((name, value))

    def _take_set(self, value: set[Any], name: str) -> None:
        self.sets.append(value)
        if type(value) is set and all(map(is_constant, value)):
            self.functions += with_methods(value)
            self.conditions.append(("elements", name, tuple(value)))
        else:
            self._take_opaque(value, name)

    def _take_parts(self, value: Any, name: str, follow: bool) -> None:
        kind = kind_of(value)
        assert kind is not None
        if id(value) in self.known and not (type(value) is tuple and not value):
            self.conditions.append(("same object", name, self.known[id(value)]))
            if not follow and id(value) in self._followed:
                self.unfusable = "what it is given is read by a method by name, too"
            return
        if self._count > _PARTS_LIMIT:
            self.unfusable = f"it is given more than {_PARTS_LIMIT} parts"
            return
        self.known[id(value)] = name
        if follow:
            self._followed.add(id(value))
        self.containers.append(value)
        self.conditions.append(("type", name, type(value)))
        if kind is LIST and name in self.growing:
            return
        parts = kind.parts(value)
        if kind in (DICT, HEIR_OF_DICT):
            self._take_keys(name, kind, parts)
        if kind is NAMED or (kind in CHANGED_BY_PARTS and kind is not DICT):
            self._take_instance(value, name, parts)
        elif kind not in (DICT, METHOD) and (not parts or parts[0][0][0] == "item"):
            self.conditions.append(("length", name, len(value)))
        if kind is HEIR_OF_LIST:
            self.conditions.append(("places", name, list.__len__(value)))
        self._take_function(value, name, kind, follow)
        for step, part in parts:
            self._take(part, self._text(name, step), follow)

    def _take_keys(self, name: str, kind: Kind, parts: Parts) -> None:
        keys = [key for (where, key), _ in parts if where in ("item", "entry")]
        if not all(map(_is_key, keys)):
            self.unfusable = "a dict has keys that may change"
        self.conditions.append(("keys" if kind is DICT else "entries", name, keys))
        if any(type(key) is not str for key in keys):  # of which two may be equal
            own = name if kind is DICT else f"dict.keys({name})"
            self.conditions.append(("same keys", own, tuple(keys)))
        self.functions += with_methods(keys)

    def _take_function(self, value: Any, name: str, kind: Kind, follow: bool) -> None:
        """What a method calls, or a dict for what it lacks."""
        if kind is METHOD:
            self._take(value.__func__, f"{name}.__func__", follow)
        elif type(value) is defaultdict:
            self._take(value.default_factory, f"{name}.default_factory", follow=False)

    def _take_instance(self, value: Any, name: str, parts: Parts) -> None:
        self.functions.append(value)
        if hasattr(value, "__dict__"):
            self.conditions.append(("length", f"{name}.__dict__", len(value.__dict__)))
        there = {key for (where, key), _ in parts if where == "slot"}
        kind: Any = type(value)
        for slot in slots_of(kind):
            if slot not in there:
                self.conditions.append(("without", name, slot))

    def _text(self, name: str, step: Step) -> str:
        """Text that finds the part of the container ``name`` behind ``step``."""
        kind, key = step
        if kind == "slot":
            return f"{name}.{key}"
        text = repr(key) if type(key) in (int, str) else self._constant(key)
        if kind in _RAW:
            return f"{_RAW[kind]}.__getitem__({name}, {text})"
        return f"{name}[{text}]" if kind == "item" else f"{name}.__dict__[{text}]"

    def _constant(self, key: Any) -> str:
        """The name of a key, the same one each time that it is met."""
        name = self._names.setdefault(id(key), f"c{len(self._names)}")
        self.constants[name] = key
        return name

    # --- twins

    def build(self, leaf: Callable[[Any, str], Any]) -> tuple[list[Any], dict[int, Any]]:
        """The arguments around what ``leaf`` gives for each part that is no container.

        With them what stands for each thing that is read by name, by the identity of that.
        """
        self.twins.clear()
        done: dict[int, Any] = {}
        given = [self._build(a, f"a{i}", leaf, done) for i, a in enumerate(self.args)]
        read = {
            id(value): self._build(value, name, leaf, done)
            for name, value in self._roots
            if value is not MISSING
        }
        return given, read

    def _build(
        self, value: Any, name: str, leaf: Callable[[Any, str], Any], done: dict[int, Any]
    ) -> Any:
        kind = kind_of(value)
        if kind is None or kind is SET or is_constant(value):
            return leaf(value, name)
        if id(value) in self.known and id(value) not in self._followed:
            return value  # methods read it by name, so that all have to
        if id(value) in done:
            return done[id(value)]
        if kind.mutable:
            shell: Any = Growing() if type(value) is list else kind.shell(value)
            done[id(value)] = shell
            if type(value) is defaultdict:
                shell.default_factory = leaf(value.default_factory, f"{name}.default_factory")
        before = kind.parts(value)
        if kind is LIST and name in self.growing:
            leaf, done = _itself, dict(done)
        parts = [(s, self._build(p, self._text(name, s), leaf, done)) for s, p in before]
        like = value
        if kind is METHOD:
            function = leaf(value.__func__, f"{name}.__func__")
            same = function is value.__func__
            like = value if same else types.MethodType(function, value.__self__)
        if kind.mutable:
            built = done[id(value)]
            kind.fill(built, parts)
            if type(built) is Growing:
                built.touched, built.start = False, len(parts)
        elif (
            like is value
            and not kind.changes
            and all(a is b for (_, a), (_, b) in zip(parts, before, strict=True))
        ):
            return value
        else:
            built = done[id(value)] = kind.make(like, [part for _, part in parts])
        self.twins.append(Twin(name, value, built, kind, parts))
        return built

    def given(self, value: Any) -> tuple[str, Any] | None:
        """Name and original of a container that was built for the call."""
        for twin in self.twins:
            if twin.built is value:
                return twin.name, twin.original
            if type(value) is dict and value is getattr(twin.built, "__dict__", None):
                return f"{twin.name}.__dict__", twin.original.__dict__
        return None

    def effects(self) -> Iterator[Effect]:
        """The changes of the containers that the call was given."""
        return effects_of(self.twins)

    def grown(self) -> tuple[set[str], set[str]]:
        """The names of lists that were made longer and not looked at, and of those that were."""
        lists = [t for t in self.twins if type(t.built) is Growing]
        longer = {e.twin.name for e in self.effects() if e.step is not None and e.step[0] == "grow"}
        touched = {t.name for t in lists if t.built.touched}
        return longer - touched, touched

    def write_back(self, finished: Callable[[Any], Any]) -> None:
        """Change the caller's containers as those built for the call have been changed."""
        for effect in list(self.effects()):
            apply_effect(
                effect.twin.original,
                effect.step,
                [(s, finished(v)) for s, v in effect.value]
                if effect.step is None
                else [finished(v) for v in effect.value]
                if effect.step[0] == "grow"
                else finished(effect.value),
            )
        self.settle_sets()

    def settle_sets(self) -> None:
        """Put numbers where followed ones have been put into the caller's sets."""
        for held in self.sets:
            plain = [(v, plain_key(v)) for v in held]
            held.difference_update([v for v, number in plain if number is not v])
            held.update([number for v, number in plain if number is not v])


def _is_key(value: Any) -> bool:
    """True for keys that are equal to others for as long as they live, and mean the same."""
    if isinstance(value, tuple):
        return type(value).__eq__ is tuple.__eq__ and all(map(_is_key, value))
    return is_constant(value) or isinstance(value, type)


def _itself(value: Any, name: str) -> Any:
    return value
