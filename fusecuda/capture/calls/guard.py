"""Guards: the conditions of a trace and what runs it again, as one Python function made for it.

The function's text holds every condition under which the trace stands; `MISS` is its answer where
one fails. Text is made once for each trace, so that a call costs its comparisons and no more.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ...cpu_fallback.looks import looks_of
from ...watch import watchers
from ..arrays.dispatch import raising
from ..record.numbers import TracedScalar, cast
from ..record.view import memory_in_order, union
from .exchange import held
from .inputs import Inputs
from .memory import HostMemory, Memory
from .overlap import Overlaps, overlaps_of
from .places import MISSING, same, same_text
from .reads import Reads

MISS: Any = object()


_CONDITIONS = {  # of a name, by kind; 1 is an object, 2 what stands in the text itself
    "type": "type({0}) is {1}",
    "length": "len({0}) == {2}",
    "keys": "list({0}) == {1}",
    "entries": "list(dict.keys({0})) == {1}",
    "places": "list.__len__({0}) == {2}",
    "is": "{0} is {1}",
    "elements": "type({0}) is set and same(tuple({0}), {1})",
    "same keys": "same(tuple({0}), {1})",
    "without": "not hasattr({0}, {2!r})",
    "same object": "{0} is {2}",
}


class Guard:
    """Collects the text of one replay function, and the objects that it names."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = memory or HostMemory()
        self.space: dict[str, Any] = {
            "__name__": __name__,  # what is made is no code of the user's
            "ndarray": np.ndarray,
            "MISS": MISS,
            "MISSING": MISSING,
            "same": same,
            "raising": raising,
            "held": held,
            "union": union,
            "overlaps_of": overlaps_of,
            "memory_of": memory_in_order,
        }
        self.lines: list[str] = []
        self.reading: list[str] = []  # of the lines those that read places
        self._names: dict[int, str] = {}
        self._numbers: dict[int, str] = {}  # local variables with what was attempted
        self.arrays: dict[str, int] = {}  # the lines with the layouts of arrays, by their names
        self._apart = range(0), frozenset[str](), frozenset[str]()  # see `kept_apart`
        self._left_out: set[int] = set()  # lines with what a run, or the driver, looks at itself
        self._looked: list[str] = []  # the line by which the driver does

    def constant(self, value: Any) -> str:
        """A name for an object."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._names)}"
            self.space[name] = value
        return name

    def demand(self, condition: str) -> None:
        """The trace stands only if ``condition`` does."""
        self.lines.append(f"if not ({condition}): return MISS")

    # --- conditions

    def inputs(self, inputs: Inputs) -> None:
        """Demand of all parts of the inputs what a trace of them supposes."""
        self.space.update(inputs.constants)
        for kind, name, value in inputs.conditions:
            self._condition(kind, name, value)

    def _condition(self, kind: str, name: str, value: Any) -> None:
        if kind == "read":
            line = f"{name} = {value.text(self.constant)}"
            self.lines.append(line)
            self.reading.append(line)
        elif kind == "array":
            self.arrays[name] = len(self.lines)
            self.memory.array(self, name, value)
        elif kind == "same":
            self.equal(name, value)
        else:
            text = _CONDITIONS[kind]
            known = self.constant(value) if "{1}" in text else ""
            self.demand(text.format(name, known, value))

    def equal(self, name: str, value: Any) -> None:
        """Demand an equal simple value."""
        self.demand(same_text(name, name, self.constant(value), value))

    def reads(self, reads: Reads) -> None:
        """Demand that what is read by name is as it was."""
        for place, seen in reads.values.values():
            self.demand(place.condition(self.constant, seen))
        for kind, name, seen in reads.members:
            known = self.constant(kind)
            there = self.constant(seen)
            now = f"{known}.__dict__.get({name!r}, MISSING) is {there}"
            self.demand(f"{now} or held({known}, {name!r}) is {there}")
        for kind, names, mro in reads.classes:
            known = self.constant(kind)
            self.demand(f"{known}.__dict__.keys() == {self.constant(names)}")
            self.demand(f"{known}.__mro__ is {self.constant(mro)}")
        for setting, seen in reads.settings:
            known = self.constant(seen)
            self.demand(f"(v := {self.constant(setting)}()) is {known} or v == {known}")

    def identities(self, named: Sequence[tuple[str, Any]]) -> None:
        """Demand that the same of the arrays are one object."""
        first: dict[int, str] = {}
        for name, array in named:
            known = first.setdefault(id(array), name)
            if known != name:
                self.demand(f"{name} is {known}")

    def distinct(self, names: Sequence[str]) -> None:
        """Demand that no two of the objects are one."""
        if len(names) in (2, 3):  # the quickest
            self.demand(" is not ".join([*names, names[0]][: 2 * len(names) - 2]))
        elif len(names) > 3:
            every = ", ".join(f"id({name})" for name in names)
            self.demand(f"len({{{every}}}) == {len(names)}")

    def overlapping(self, names: Sequence[str], overlaps: Overlaps) -> None:
        """Demand that the arrays overlap as given."""
        known = self.constant(overlaps)
        self.demand(f"overlaps_of(({', '.join(names)},)) == {known}")

    def kept_apart(self, start: int, written: Sequence[str], names: Sequence[str]) -> None:
        """The lines from ``start`` on keep those ``written`` apart from all of ``names``."""
        self._apart = range(start, len(self.lines)), frozenset(written), frozenset(names)

    def let_run_look(self, seen: set[str], overwritten: set[str]) -> None:
        """A run looks at the arrays ``seen`` itself, and keeps those ``overwritten`` apart."""
        lines, written, names = self._apart
        self._left_out = {self.arrays[name] for name in seen}
        if written <= overwritten and names <= seen:
            self._left_out.update(lines)

    def let_driver_look(self, arrays: Mapping[str, Any]) -> bool:
        """Whether the driver looks at all ``arrays`` at once, and who is kept apart.

        It does where it knows them and more is left than layouts that a run looks at.
        """
        lines, written, _ = self._apart
        if self._left_out.issuperset(lines) and self._left_out:
            return False
        if not isinstance(self.memory, HostMemory) or not self.arrays.keys() <= arrays.keys():
            return False
        names = list({id(arrays[name]): name for name in reversed(self.arrays)}.values())
        looks = looks_of([arrays[name] for name in names], [name in written for name in names])
        if looks is None:
            return False
        self.let_run_look(set(self.arrays), set(written))
        self.space["looks"] = looks
        self._looked = [f"if not looks({', '.join(names)}): return MISS"]
        return True

    # --- numbers

    def scalar(self, value: Any) -> str:
        """Text that computes a followed number again."""
        if type(value) is not TracedScalar:
            return self.constant(value)
        if id(value) in self._numbers:
            return self._numbers[id(value)]
        if isinstance(value.recipe, str):
            return value.recipe
        if callable(value.recipe):
            return f"{self.constant(value.recipe)}(env)"
        function, args = value.recipe
        return f"{self.constant(function)}({', '.join(self.scalar(a) for a in args)})"

    def attempted(self, numbers: Iterable[TracedScalar]) -> None:
        """Compute numbers, which must raise no error and be of the types that they were."""
        for number in numbers:
            name = f"t{len(self.lines)}"
            self.lines.append(f"{name} = {self.scalar(number)}")
            self.demand(f"type({name}) is {self.constant(type(number.value))}")
            self._numbers[id(number)] = name

    def cast_scalar(self, value: TracedScalar, dtype: np.dtype[Any]) -> str:
        """A local variable with a followed number, cast; it must be of the type that it was."""
        name = f"s{len(self.lines)}"
        self.lines.append(f"{name} = {self.scalar(value)}")
        if not isinstance(value.recipe, str) and id(value) not in self._numbers:
            self.demand(f"type({name}) is {self.constant(type(value.value))}")
        if isinstance(value.value, np.generic):
            self.space["cast"] = cast
            return f"cast({name}, {self.constant(dtype)})"
        return f"{self.constant(dtype.type)}({name})"

    # --- functions

    def function(
        self, count: int, inside: Iterable[str], ending: Iterable[str]
    ) -> Callable[[tuple[Any, ...]], Any]:
        """The replay function for ``count`` arguments.

        ``inside`` are lines that may fail as conditions do, ``ending`` what is done if all hold.
        """
        inside, ending = list(inside), list(ending)
        lines = [line for i, line in enumerate(self.lines) if i not in self._left_out]
        lines += self._looked
        made = self.made("replay", "args", _guarded(count, [*lines, *inside], ending))
        self.space["text of the guard"] = _function(  # for `why`, with all conditions
            "replay", "args", _guarded(count, [*self.lines, *inside], ending)
        )
        return made

    def made(self, name: str, parameters: str, text: Iterable[str]) -> Callable[..., Any]:
        """A function of the lines ``text``."""
        source = _function(name, parameters, text)
        exec(compile(source, f"<fusecuda {name}>", "exec"), self.space)
        return self.space[name]  # type: ignore[no-any-return]


def _function(name: str, parameters: str, text: Iterable[str]) -> str:
    return f"def {name}({parameters}):\n" + "".join(f"    {line}\n" for line in text)


def _guarded(count: int, inside: Iterable[str], ending: Iterable[str]) -> list[str]:
    """The lines of a replay with ``count`` arguments."""
    text = [f"if len(args) != {count}: return MISS", *unpacked(count), "try:"]
    text += [f"    {line}" for line in ("if raising(): return MISS", *inside)]
    return [*text, "except Exception: return MISS", *ending]


def while_it_has_turns(replay: Callable[..., Any], turns: Iterator[bool]) -> Callable[..., Any]:
    """``replay`` as often as there are ``turns``, then MISS."""
    if operator.length_hint(turns, -1) < 0:  # there is no end to them
        return replay

    def call(args: tuple[Any, ...]) -> Any:
        return replay(args) if next(turns, False) else MISS

    return call


def plain_until(function: Callable[..., Any], end: float) -> Callable[..., Any]:
    """What calls ``function`` as it is, up to ``end`` or until somebody counts; then MISS."""

    def call(args: tuple[Any, ...]) -> Any:
        return MISS if watchers or perf_counter() > end else function(*args)

    return call


def plain_call(
    function: Callable[..., Any], args: tuple[Any, ...], turns: Iterator[bool]
) -> Callable[..., Any]:
    """What calls ``function`` as it is with arguments of the shapes and types of ``args``.

    That is done as often as there are ``turns``.
    """
    guard = Guard()
    guard.space |= {"function": function, "turns": turns}
    conditions = [f"len(args) == {len(args)}"]
    for i, a in enumerate(args):
        conditions.append(f"type(args[{i}]) is {guard.constant(type(a))}")
        if type(a) is np.ndarray:
            conditions.append(f"args[{i}].shape == {a.shape}")
    conditions.append("next(turns, False)")
    text = [f"if {' and '.join(conditions)}: return function(*args)", "return MISS"]
    return guard.made("plain", "args", text)


def direct_call(
    function: Any, args: tuple[Any, ...], turns: Iterator[bool], otherwise: Callable[..., Any]
) -> Callable[..., Any] | None:
    """As `plain_call`, with the parameters of ``function``, and ``otherwise`` called for others.

    None for a function that may be called in several ways.
    """
    code = getattr(function, "__code__", None)
    if type(function) is not types.FunctionType or code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    several = function.__defaults__ or code.co_kwonlyargcount or code.co_flags & _VARIABLE
    if several or code.co_posonlyargcount or len(args) != len(names):
        return None
    guard = Guard()
    space: dict[str, Any] = {f"fusecuda_type{i}": type(a) for i, a in enumerate(args)}
    space |= {"fusecuda_plain": function, "fusecuda_otherwise": otherwise}
    space |= {"fusecuda_turns": turns, "fusecuda_next": next}
    if "type" in names or not space.keys().isdisjoint(names):
        return None
    guard.space |= space
    conditions = [f"type({name}) is fusecuda_type{i}" for i, name in enumerate(names)]
    conditions += [
        f"{name}.nbytes == {a.nbytes}"
        for name, a in zip(names, args, strict=True)
        if type(a) is np.ndarray
    ]
    conditions.append("fusecuda_next(fusecuda_turns, False)")
    listed = ", ".join(names)
    text = [
        f"if {' and '.join(conditions)}: return fusecuda_plain({listed})",
        f"return fusecuda_otherwise({listed})",
    ]
    made = guard.made("plain", listed, text)
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    return made


_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def unpacked(count: int) -> list[str]:
    """The line that gives ``count`` arguments their names."""
    return [f"{''.join(f'a{i}, ' for i in range(count))}= args"] * bool(count)
