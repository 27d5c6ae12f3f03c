"""Twins: a function and those that it calls, with NumPy under the name of the lazy namespace.

A twin reads what the function reads: constants, functions of the user, lazy arrays by name. Not
every function has one: see `twin_scan`.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterable
from typing import Any

from ...text_codes import showing
from ..arrays.wrapping import Drawing
from ..record.origin import is_users
from .binding import dressed
from .objects import is_given, kinds_of, twin_class
from .places import MISSING, Place, Wrapper, is_constant, unwrapped
from .printed import SHOWING, STAND_INS
from .purity import is_followed
from .tiny import is_tiny
from .twin_scan import TwinScan, faults, is_lazy_namespace, is_numpys_too, numpys_for

_OF_MODULES = ("__builtins__", "__name__")
_KINDS_LIMIT = 32  # of functions and classes of objects that a twin is given


class ClosureVariable:
    """A closure variable as the one item of a dictionary."""

    __slots__ = ("cell",)

    def __init__(self, cell: types.CellType) -> None:
        self.cell = cell

    def get(self, name: str) -> Any:
        """What the variable is, None if it has no value."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return None

    def __contains__(self, name: str) -> bool:
        try:
            return self.cell.cell_contents is not MISSING
        except ValueError:
            return False

    def __setitem__(self, name: str, value: Any) -> None:
        self.cell.cell_contents = value


Variables = dict[str, Any] | ClosureVariable


def variables(place: Place) -> Variables:
    """Where the function finds what is at ``place``."""
    return ClosureVariable(place.root) if place.kind == "cell" else place.root


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
        self._cells: dict[int, types.CellType] = {}  # of the twins, by the identity of the others
        self._modules: dict[int, types.ModuleType] = {}
        self._classes: list[tuple[type, int]] = []  # and how much they hold
        self.named: list[tuple[Variables, str, Any]] = []  # arrays and containers that it reads
        self._known = scan.reads.functions
        self.is_tiny = is_tiny(function, scan, given)
        self.originals: dict[int, Any] = {}  # what stands under names, by the identity of twins
        self.function = self._copied(function)
        self.kinds: dict[Any, Any] = {kind: kind.kind for kind in scan.generators}
        self.kinds.update((kind, kind) for kind in scan.tuples)
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
        for place, kind, found in scan.classes_by_name.values():
            self._enter_class(place, kind, found)
        for place, value in scan.named.values():
            self._checks.append([variables(place), place.name, value, None])
            self.named.append((self._variables(place), place.name, value))
        self.keeps = bool(self._cells) or len(scan.arrays) < len(self.named)

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
            space.update(SHOWING)
            self._spaces[id(real)] = space
            self.originals[id(space)] = real
        return space

    def _variables(self, place: Place) -> Variables:
        """Where the twins find what the function finds at ``place``."""
        if place.kind == "cell":
            return ClosureVariable(self._cell(place.root))
        return self._space(place.root)

    def _cell(self, real: types.CellType) -> types.CellType:
        """The closure variable of the twins of functions with the variable ``real``."""
        made = self._cells.setdefault(id(real), types.CellType())
        self.originals[id(made)] = real
        return made

    def _copied(self, value: Any) -> Any:
        """The twin of a function, NumPy's own generator; other values are themselves."""
        if isinstance(value, Drawing):
            self.originals[id(value._numpy)] = value
            return value._numpy
        function = unwrapped(value)
        if id(function) not in self._known:
            return numpys_for(value)
        made = self._done.get(id(function))
        if made is None:
            space = self._space(function.__globals__)
            name, defaults = function.__name__, function.__defaults__
            cells = tuple(map(self._cell, function.__closure__ or ())) or None
            code = showing(function.__code__) or function.__code__
            made = types.FunctionType(code, space, name, defaults, cells)
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
            builtin = place.read()
            if builtin in STAND_INS:
                made = self._space(place.hidden_by)[place.name] = STAND_INS[builtin]
                self.originals[id(made)] = builtin
        if place.kind not in ("global", "cell"):
            return
        outer_space, space = variables(place), self._variables(place)
        first = outer_space.get(place.name)
        own = space if _may_follow(first, first) else None
        self._checks.append([outer_space, place.name, first, own])
        if not place.steps or not isinstance(first, types.ModuleType) or is_lazy_namespace(first):
            space[place.name] = self._copied(first)
            value = place.read()
            if is_numpys_too(value):
                self.originals[id(numpys_for(value))] = value
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

    def _enter_class(self, place: Place, kind: type, found: dict[str, Any]) -> None:
        """Let the twins find in the place of a class what is read of it."""
        shown = types.SimpleNamespace()
        for name, value in found.items():
            base = next(b for b in kind.__mro__ if name in vars(b))
            own = vars(shown) if is_constant(value) else None
            self._checks.append([vars(base), name, vars(base)[name], own])
            inner = value.__func__ if isinstance(value, staticmethod) else value
            setattr(shown, name, self._copied(inner))
        self._classes += [(base, len(vars(base))) for base in kind.__mro__[:-1]]
        self._space(place.root)[place.name] = shown

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
    function: types.FunctionType, kinds: Iterable[Any] = (), shows: bool = True,
    objects: Collection[str] = (),
) -> FunctionTwin | str:  # fmt: skip
    """The twin of ``function``, or why it has none.

    It is given objects of ``kinds``, and functions among them; by the variables ``objects`` it is
    given nothing but objects. Texts that it makes show values through stand-ins, if it ``shows``
    them.
    """
    scan = TwinScan(function, shows, objects)
    scan.follow(function, False)
    scan.run()
    scan.of_classes()
    scan.names.add(function.__name__)  # it may be a method
    known = dict.fromkeys(kinds)
    before = -1
    while before < len(known) <= _KINDS_LIMIT:
        before = len(known)
        given = [one for one in known if is_given(one)]
        if not all(is_followed(one) or is_numpys_too(one) for one in given):
            return "it is given functions of others"
        functions = [one for one in map(unwrapped, given) if is_followed(one)]
        for one in functions:
            scan.follow(one, False)
        scan.names.update(one.__name__ for one in functions)  # they may be methods
        scan.run()
        scan.of_objects(kind for kind in known if not is_given(kind))
        scan.of_classes()
        known.update(dict.fromkeys(kinds_of(value for _, value in scan.named.values())))
    if len(known) > _KINDS_LIMIT:
        return "it is given functions and objects of many kinds"
    return next(faults(scan), None) or FunctionTwin(function, scan, given)
