"""Reads: the places that a function reads besides its arguments."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .exchange import held
from .places import Place, Wrapper
from .settings import Setting

Key = tuple[object, ...]


@dataclass(slots=True)
class Reads:
    """The places that a function reads, and what each held.

    ``values`` are compared by each replay; ``inputs`` are arrays and containers, of which a trace
    takes the contents as further arguments; ``constants`` are containers that are only compared.
    ``device_arrays`` are CuPy's. ``stand_ins`` are called as they are, the ``library`` ones among
    them being pure, and the ``impure`` again by each replay; ``replaced`` are `id`, `getattr` and
    its kin, `numpy.errstate`, functions of numbers and heaps and what takes nothing but plain
    values, for which others stand while the function is recorded. ``names`` are those under which
    attributes are looked for. ``members`` are what classes hold under the
    names that the code uses, ``exchanged`` those of them that are exchanged meanwhile. ``written``
    are variables that the code writes, ``classes`` those that it may reach, with their names and
    bases, ``settings`` what gives those of libraries, and what it gave.
    ``opaque`` and ``volatile`` say why the function runs unfused, or is recorded anew each time;
    both are empty otherwise. ``acts`` says that it calls impure ones. ``at_once`` holds if it has
    effects that nobody sees, so that it cannot be started again; ``catches`` if it has an
    ``except`` of its own;
    ``tells_apart`` if it may ask whether two objects are one, ``asks_types`` if it calls `type`.
    """

    values: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    inputs: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    constants: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    device_arrays: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    functions: dict[int, types.FunctionType] = field(default_factory=dict)
    stand_ins: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    impure: set[int] = field(default_factory=set)
    library: set[int] = field(default_factory=set)
    replaced: dict[Key, tuple[Place, Any]] = field(default_factory=dict)
    members: list[tuple[type, str, Any]] = field(default_factory=list)
    exchanged: list[tuple[type, str, Any]] = field(default_factory=list)
    written: dict[Key, Place] = field(default_factory=dict)
    classes: list[tuple[type, frozenset[str], tuple[type, ...]]] = field(default_factory=list)
    settings: list[tuple[Setting, Any]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    opaque: str = ""
    volatile: str = ""
    acts: str = ""
    at_once: bool = False
    catches: bool = False
    creates: bool = False
    tells_apart: bool = False
    asks_types: bool = False
    parts: dict[int, Any] | None = None  # functions and classes that the containers held first

    def know(self, parts: Iterable[Any]) -> bool:
        """True if of functions and objects with methods none has come to the containers since."""
        found: dict[int, Any] = {}
        for part in parts:
            code = part if isinstance(part, type | types.FunctionType | Wrapper) else type(part)
            found[id(code)] = code
        if self.parts is None:
            self.parts = found
        return found.keys() <= self.parts.keys()

    def knows_objects(self) -> bool:
        """True if the function may find out which object it is given of those of a type."""
        return self.tells_apart or any(value is id for _, value in self.replaced.values())

    def unchanged(self) -> bool:
        """True if every place holds the very object that it held."""
        every = (self.values, self.inputs, self.constants, self.device_arrays, self.stand_ins)
        return (
            all(place.read() is seen for some in every for place, seen in some.values())
            and all(setting() == seen for setting, seen in self.settings)
            and all(held(kind, name) is seen for kind, name, seen in self.members)
            and all(
                vars(kind).keys() == names and kind.__mro__ is mro
                for kind, names, mro in self.classes
            )
        )
