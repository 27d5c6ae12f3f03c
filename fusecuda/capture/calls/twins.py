"""Twins: a function and those that it calls, with NumPy under the name of the lazy namespace.

A twin reads what the function reads: constants, functions of the user, lazy arrays by name. Not
every function has one: see `twin_scan`.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import Any

from ..arrays.array import Array
from ..arrays.wrapping import Drawing
from ..record.origin import is_users
from .binding import dressed
from .objects import twin_class
from .places import Place, Wrapper, is_constant
from .printed import shown as printed
from .purity import is_followed
from .tiny import is_tiny
from .twin_scan import TwinScan, faults, is_lazy_namespace, numpys_for

_OF_MODULES = ("__builtins__", "__name__")


class FunctionTwin:
    """A copy of a function with other globals, and what it stands on."""

    def __init__(self, function: types.FunctionType, scan: TwinScan, given: Iterable[Any]) -> None:
        self._checks: list[list[Any]] = []  # globals, a name, what it means, and the twins' globals
        self._codes = [
            (f, f.__code__, f.__defaults__, f.__kwdefaults__, dict(f.__kwdefaults__ or {}))
            for f in scan.reads.functions.values()
        ]
        self._spaces: dict[int, dict[str, Any]] = {}
        self._done: dict[int, types.FunctionType] = {}
        self._modules: dict[int, types.ModuleType] = {}
        self._classes: list[tuple[type, int]] = []  # and how much they hold
        self.arrays: list[tuple[dict[str, Any], str, Array]] = []
        self._known = scan.reads.functions
        self.is_tiny = is_tiny(function, scan.reads)
        self.originals: dict[int, Any] = {}  # what stands under names, by the identity of twins
        self.function = self._copied(function)
        self.kinds: dict[Any, Any] = {kind: kind.kind for kind in scan.generators}
        for kind, found in scan.members.items():
            self.kinds[kind] = twin_class(kind, found, self._copied)
        for one in given:
            made = self.kinds[one] = self._copied(one)
            self.originals[id(made)] = one
        for kind, found in scan.members.items():
            for base in kind.__mro__[:-1]:
                self._classes.append((base, len(vars(base))))
            for name in found:
                base = next(b for b in kind.__mro__ if name in vars(b))
                self._checks.append([vars(base), name, vars(base)[name], None])
        for place, _ in scan.reads.values.values():
            self._enter(place)
        for place, array in scan.arrays.values():
            self._checks.append([place.root, place.name, array, None])
            self.arrays.append((self._space(place.root), place.name, array))

    def holds(self) -> bool:
        """True while all that the function reads by name is what it was, or another constant."""
        for check in self._checks:
            space, name, seen, own = check
            now = space.get(name)
            if now is not seen:
                if isinstance(seen, Wrapper) and seen.function is now:  # it has stepped aside
                    check[2] = now
                    continue
                if own is None or name not in space or not _may_follow(now, seen):
                    return False
                check[2], own[name] = now, self._copied(now)
                if isinstance(seen, Drawing) and all([c[2] is not seen for c in self._checks]):
                    del self.originals[id(seen._numpy)]
        for kind, count in self._classes:
            if len(vars(kind)) != count:
                return False
        for function, code, defaults, named, values in self._codes:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__ is not named:
                return False
            if named is not None and any(named.get(k, values) is not v for k, v in values.items()):
                return False
        return True

    def _space(self, real: dict[str, Any]) -> dict[str, Any]:
        """The globals of the twins of functions with the globals ``real``."""
        space = self._spaces.get(id(real))
        if space is None:
            space = {name: value for name, value in real.items() if name in _OF_MODULES}
            self._spaces[id(real)] = space
        return space

    def _copied(self, value: Any) -> Any:
        """The twin of a function, NumPy's own generator; other values are themselves."""
        if isinstance(value, Drawing):
            self.originals[id(value._numpy)] = value
            return value._numpy
        function = value.function if isinstance(value, Wrapper) else value
        if id(function) not in self._known:
            return numpys_for(value)
        made = self._done.get(id(function))
        if made is None:
            space = self._space(function.__globals__)
            name, defaults = function.__name__, function.__defaults__
            made = types.FunctionType(function.__code__, space, name, defaults)
            made.__kwdefaults__ = function.__kwdefaults__
            dressed(made, function)
            self._done[id(function)] = made
            named = function.__globals__.get(name)
            is_named = isinstance(named, Wrapper) and named.function is function
            self.originals[id(made)] = named if is_named else function
        return made

    def _enter(self, place: Place) -> None:
        """Let the twins find at ``place`` what stands for what the function finds there."""
        if place.kind == "builtin":
            self._checks.append([place.hidden_by, place.name, None, None])
            if place.name == "print":
                self._space(place.hidden_by)[place.name] = printed
        if place.kind != "global":
            return
        first = place.root.get(place.name)
        space = self._space(place.root)
        own = space if _may_follow(first, first) else None
        self._checks.append([place.root, place.name, first, own])
        if not place.steps or not isinstance(first, types.ModuleType) or is_lazy_namespace(first):
            space[place.name] = self._copied(first)
            return
        shown = space[place.name] = self._module(first)
        for _, name in place.steps:
            inner = getattr(first, name)
            self._checks.append([vars(first), name, inner, None])
            if shown is first:  # a library's own
                return
            outer, first = shown, inner
            is_module = isinstance(inner, types.ModuleType) and not is_lazy_namespace(inner)
            shown = self._module(inner) if is_module else self._copied(inner)
            setattr(outer, name, shown)
            if not is_module:
                return

    def _module(self, module: types.ModuleType) -> types.ModuleType:
        """What stands for a module, with the parts that are read."""
        if not is_users(module.__name__):
            return module
        return self._modules.setdefault(id(module), types.ModuleType(module.__name__))


def _may_follow(now: Any, seen: Any) -> bool:
    """True if a twin may read ``now`` where it has read ``seen``."""
    if isinstance(seen, Drawing):
        return type(now) is type(seen)
    return is_constant(seen) and is_constant(now)


def twin_of(
    function: types.FunctionType, kinds: Iterable[type] = (),
    given: Collection[Any] = (),
) -> FunctionTwin | str:  # fmt: skip
    """The twin of ``function``, or why it has none.

    It is given objects of ``kinds``, and functions among ``given``.
    """
    if not all(map(is_followed, given)):
        return "it is given functions of others"
    scan = TwinScan()
    scan.pending.append((function, False))
    scan.run()
    functions = (one.function if isinstance(one, Wrapper) else one for one in given)
    scan.pending.extend((one, False) for one in functions)
    scan.run()
    scan.names.add(function.__name__)  # it may be a method
    scan.of_objects(kinds)
    return next(faults(scan), None) or FunctionTwin(function, scan, given)
