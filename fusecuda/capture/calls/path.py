"""Paths: what a call runs, piece by piece, and which piece comes next.

A call that looks at values is a path of fragments. Each runs the kernels up to a look (or a
function that NumPy computes itself), and the value seen there leads to the next one. Calls that
have seen other values are other paths of the same tree. A replay follows the tree without running
the user's function; where it comes to a value that was not seen before, the function is recorded
again with what has been computed already, and the tree grows.

All that fragments work on stands in one list, the *environment*: the memory of the arguments, the
numbers given, then the results of each fragment.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import is_before_effects
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar, cast
from ..record.storage import Storage

Environment = list[Any]
Source = int | Callable[[Environment], Any]
ANEW = "recorded anew at each call"  # what is told of a function whose paths are not replayed
LENGTH_LIMIT = 4096  # fragments of one path
BRANCHES = 64  # values that lead on from one look


class Raised:
    """An error, seen where a value was to be seen."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error.with_traceback(None)

    def __repr__(self) -> str:
        return repr(self.error)


def outcome(function: Callable[..., Any], *values: Any) -> Any:
    """What ``function`` gives for ``values``, or that it has raised an error."""
    try:
        return function(*values)
    except Exception as error:
        return Raised(error)


def outcome_of(outcome: Any) -> Any:
    """The value, or the error raised."""
    if type(outcome) is Raised:
        raise outcome.error
    return outcome


class Computed(NamedTuple):
    """What a flush has computed.

    Cycles that nobody can reach are collected at any time: recorded again, a function may have more
    or fewer arrays pending that nobody asks for.
    """

    operations: int  # recorded in the call before it
    places: tuple[int, ...]  # of what its results are the values of, among all recorded since then


class Fragment:
    """What is run up to a look, and what follows for each value seen there."""

    __slots__ = (
        "computed", "drops", "finish", "look", "loosen", "next", "run", "sources", "stores",
    )  # fmt: skip

    def __init__(self, run: Callable[[Sequence[Any]], Sequence[Any]], sources: list[Source]):
        self.run = run
        self.sources = sources
        self.computed: Computed | None = None  # whose values its results are, where it is known
        self.stores: list[tuple[int, int]] = []  # results to be written to other memory
        self.drops: list[int] = []  # what no later fragment needs
        self.look: Callable[[Environment], Any] | None = None  # what is seen after it
        self.loosen: Callable[[Any], Any] | None = None  # what matters if it differs
        self.next: dict[Any, list[tuple[dict[int, Any], Fragment]]] = {}
        self.finish: Callable[[Environment, tuple[Any, ...]], Any] | None = None

    def after(self, environment: Environment, seen: Any) -> Fragment | None:
        """The fragment that follows where ``seen`` is seen, None if it has not been before."""
        for wanted, fragment in self.next.get(key_of(seen), ()):
            if all(_alike(environment[slot], value) for slot, value in wanted.items()):
                return fragment
        return None

    def lead_to(self, key: Any, wanted: dict[int, Any], fragment: Fragment) -> bool:
        """Let ``fragment`` follow where ``key`` is seen; False if there are too many already."""
        if len(self.next) >= BRANCHES and key not in self.next:
            return False
        self.next.setdefault(key, []).append((wanted, fragment))
        return True


def follow(
    first: Fragment, environment: Environment, args: tuple[Any, ...]
) -> tuple[list[Fragment], list[Any], Any]:
    """The fragments that a replay has run, what it has seen after each, and the result.

    The last of the fragments has `finish` if there is a result; else the value seen after it leads
    nowhere yet, or the next one has raised an error.
    """
    trail: list[Fragment] = []
    values: list[Any] = []
    fragment: Fragment | None = first
    while fragment is not None:
        given = None
        try:
            given = [environment[s] if type(s) is int else s(environment) for s in fragment.sources]  # type: ignore[operator]
            environment += fragment.run(given)
        except Exception as error:
            if given is not None and not is_before_effects(error):
                raise
            break  # recorded again, it is raised where the program can catch it
        trail.append(fragment)
        for target, source in fragment.stores:
            environment[target][...] = environment[source]
        if fragment.finish is not None:
            return trail, values, fragment.finish(environment, args)
        try:
            seen = None if fragment.look is None else fragment.look(environment)
        except Exception:  # so it is where it is recorded
            break
        for slot in fragment.drops:
            environment[slot] = None
        following = fragment.after(environment, seen)
        if following is None and fragment.loosen is not None and fragment.next:
            seen = fragment.loosen(seen)
            following = fragment.after(environment, seen)
        values.append(seen)
        fragment = following
    return trail, values, None


def nothing(values: Sequence[Any]) -> Sequence[Any]:
    """What a fragment runs that is only there for a look."""
    return ()


def key_of(value: Any) -> Any:
    """What tells values of a look apart: types, and all bits of floats."""
    kind = type(value)
    if kind is tuple or kind is list:  # which are mostly of names and extents
        return kind, *[(k, v) if (k := type(v)) is str or k is int else key_of(v) for v in value]
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if kind is Raised:
        return kind, type(value.error), str(value.error)
    return kind, value


def _alike(a: Any, b: Any) -> bool:
    return bool(key_of(a) == key_of(b))


class Tree:
    """All paths that begin alike: their first fragment, and who records a new one."""

    def __init__(self, first: Fragment, path_type: type[Path], resume: Callable[..., Any]) -> None:
        self.first = first
        self.path_type = path_type
        self.resume = resume

    def __call__(self, environment: Environment, args: tuple[Any, ...]) -> Any:
        """The result of a replay."""
        trail, values, result = follow(self.first, environment, args)
        if trail and trail[-1].finish is not None:
            return result
        return self.resume(self, self.path_type(trail, values, environment), args)


class Path:
    """The path of one call while it is recorded; ``broken`` says why it cannot be replayed."""

    def __init__(
        self,
        trail: Sequence[Fragment] = (),
        values: Sequence[Any] = (),
        environment: Sequence[Any] = (),
    ) -> None:
        self.trail = trail  # run by a replay already, to be recorded again
        self.values = values  # seen after each of them
        self.given = environment  # what they have computed
        self.fragments: list[Fragment] = []
        self.seen: list[Any] = []  # after each fragment
        self.looked_at = True  # whether something has been seen after the last one
        self.environment: Environment = []
        self.broken = ""
        self._slots: dict[int, int] = {}  # arrays by identity, their places in the environment
        self._owners: dict[int, Callable[[], Any]] = {}  # of results: None when they may go
        self._names: dict[str, int] = {}

    def enter(self, value: Any, name: str = "") -> int:
        """The slot of something that is there from the beginning."""
        self.environment.append(value)
        slot = len(self.environment) - 1
        if name:
            self._names[name] = slot
        else:
            self._place(value, slot)
        return slot

    def _place(self, array: Any, slot: int) -> None:
        self._slots[id(array)] = slot

    def _take_away(self, slot: int) -> None:
        key = id(self.environment[slot])
        if self._slots.get(key) == slot:  # it may have been given on to a later one
            del self._slots[key]

    def _blank(self, shape: Any, dtype: Any) -> Any:
        """An array that nobody looks at."""
        return np.empty(shape, dtype)

    def blank_at(self, slot: int, shape: Any, dtype: Any) -> Any:
        """An array that nobody looks at, in the place of the one in ``slot``."""
        self._take_away(slot)
        array = self.environment[slot] = self._blank(shape, dtype)
        self._place(array, slot)
        return array

    def _owner(self, storage: Storage) -> Callable[[], Any]:
        """What gives None when nobody can ask for the value of ``storage`` any more."""
        return weakref.ref(storage)

    def slot_named(self, name: str) -> int:
        """Where what was entered under ``name`` stands in the environment."""
        return self._names[name]

    def slot_of(self, array: Any) -> int | None:
        """Where ``array`` stands in the environment."""
        return self._slots.get(id(array))

    @property
    def replaying(self) -> bool:
        """True while what is recorded has been run before."""
        return len(self.fragments) < len(self.trail)

    @property
    def next_computed(self) -> Computed | None:
        """What the next piece of a replay has computed, if it is a flush."""
        return self.trail[len(self.fragments)].computed if self.replaying else None

    def known_results(self, shapes: Sequence[Any]) -> list[Any]:
        """What a replay has computed where the recording is now; memory for what it has dropped.

        ``shapes`` are shapes and dtypes, None for a result that lies in memory from before.
        """
        start = len(self.environment)
        results = self.given[start : start + len(shapes)]
        return [
            self._blank(*known) if r is None and known else r
            for r, known in zip(results, shapes, strict=True)
        ]

    def ran(
        self,
        run: Callable[[Sequence[Any]], Sequence[Any]],
        sources: list[Source],
        results: Sequence[Any],
        storages: Sequence[Storage | None],
        complete: bool = False,
        computed: Computed | None = None,
    ) -> None:
        """A piece has been run: its ``results`` are the values of ``storages``.

        ``complete`` says that nothing is pending, which might read what nobody holds any more.
        """
        number = len(self.fragments)
        fragment = self.trail[number] if number < len(self.trail) else Fragment(run, sources)
        fresh = number >= len(self.trail)
        if fresh:
            fragment.computed = computed
        start = len(self.environment)
        for i, (result, storage) in enumerate(zip(results, storages, strict=True)):
            self.environment.append(result)
            if result is None:
                continue
            self._place(result, start + i)
            if storage is None:
                continue
            if storage.held and storage.buffer is not None:
                target = self.slot_of(storage.buffer)
                if target is None:
                    self.broken = self.broken or "it writes to memory from elsewhere"
                elif fresh:
                    fragment.stores.append((target, start + i))
            else:
                self._owners[start + i] = self._owner(storage)
        if fresh and complete:
            fragment.drops = self._dead()
        self.fragments.append(fragment)
        self.seen.append(None)
        self.looked_at = False
        if number >= LENGTH_LIMIT:
            self.broken = self.broken or f"it looks at more than {LENGTH_LIMIT} values"

    def keep(self, slot: int, owner: Any) -> None:
        """The result in ``slot`` is that of ``owner`` from now on."""
        self._owners[slot] = self._owner(owner)

    def _dead(self) -> list[int]:
        """The results that nobody can ask for any more."""
        dead = [slot for slot, owner in self._owners.items() if owner() is None]
        for slot in dead:
            del self._owners[slot]
            self._take_away(slot)
            self.environment[slot] = None
        return dead

    def known_value(self) -> tuple[bool, Any]:
        """Whether a replay has looked at a value where the recording is now, and the value."""
        number = len(self.fragments) - 1
        return (True, self.values[number]) if number < len(self.values) else (False, None)

    def looked(
        self,
        look: Callable[[Environment], Any],
        value: Any,
        loosen: Callable[[Any], Any] | None = None,
    ) -> None:
        """After the last piece, ``value`` has been seen by ``look``.

        Where another value is seen later, what ``loosen`` leaves of it leads on.
        """
        if len(self.fragments) > len(self.trail):
            self.fragments[-1].look = look
            self.fragments[-1].loosen = loosen
        self.seen[-1] = value
        self.looked_at = True

    def source(self, leaf: Leaf) -> Source:
        """Where a replay finds what ``leaf`` stands for."""
        if type(leaf.array) is TracedScalar:
            return self._number(leaf.array, leaf.dtype)
        array = leaf.array
        if isinstance(leaf.source, tuple):  # a part of another array
            whole, part = leaf.source
            place = self._slots.get(id(whole))
            if place is not None:
                return lambda environment: environment[place][part]
        slot = self._slots.get(id(array))
        return slot if slot is not None else lambda environment: array

    def _number(self, number: TracedScalar, dtype: Any) -> Source:
        evaluate = self.evaluated(number)
        return lambda environment: cast(evaluate(environment), dtype)

    def evaluated(self, number: Any) -> Callable[[Environment], Any]:
        """What computes a followed number again."""
        if type(number) is not TracedScalar:
            return lambda environment: number
        if isinstance(number.recipe, str):
            slot = self._names[number.recipe]
            return lambda environment: environment[slot]
        if callable(number.recipe):
            return number.recipe
        return self.calling(*number.recipe)

    def calling(
        self, function: Callable[..., Any], args: Sequence[Any]
    ) -> Callable[[Environment], Any]:
        """What calls ``function`` with numbers, which are computed again."""
        parts = [self.evaluated(a) for a in args]
        return lambda environment: function(*[part(environment) for part in parts])

    def slots_of(self, observed: dict[str, Any]) -> dict[int, Any]:
        """Conditions on arguments, by their slots."""
        return {self._names[name]: value for name, value in observed.items()}


def looker(
    slot: int, shown: Callable[[Any], Any], scalar: bool, kind: Callable[[Any], Any]
) -> Callable[[Environment], Any]:
    """What sees, in a replay, ``kind`` of what is ``shown`` of the array in ``slot``."""

    def look(environment: Environment) -> Any:
        value = shown(environment[slot])
        return outcome(kind, value[()] if scalar else value)

    return look
