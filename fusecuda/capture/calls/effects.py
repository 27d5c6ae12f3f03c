"""Effects: what a call changes in the containers that it was given, and how that is done to them.

The function changes twins of them. When it has ended they are compared with what they held before;
what differs is done to the originals, and again by each replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..arrays.array import Array
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.structure import (
    DICT,
    HEIR_OF_DICT,
    HEIR_OF_LIST,
    HEIR_OF_TUPLE,
    INSTANCE,
    LIST,
    NAMESPACE,
    Kind,
    Parts,
    Step,
    kind_of,
    mapped,
)
from .identity import Identity
from .places import MISSING

CHANGED_BY_PARTS = (DICT, INSTANCE, NAMESPACE, HEIR_OF_DICT, HEIR_OF_LIST, HEIR_OF_TUPLE)


@dataclass(slots=True)
class Twin:
    """What stands for a container in a call, and what it held when the call began."""

    name: str
    original: Any
    built: Any
    kind: Kind
    before: Parts


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a container: a part that is set, or gone, or all that it holds now."""

    twin: Twin
    step: Step | None  # None: the container is filled anew
    value: Any  # the part, the parts, or nothing


def effects_of(twins: Iterable[Twin]) -> Iterator[Effect]:
    """The changes of the containers that ``twins`` stand for."""
    for twin in twins:
        if not twin.kind.changes:
            continue
        now = [(plain_step(s), v) for s, v in twin.kind.parts(twin.built)]
        if are_alike(twin.before, now):
            continue
        steps = [s for s, _ in twin.before]
        grown = [s for s, _ in now][: len(steps)] == steps
        if grown and twin.kind is LIST:
            more = [v for _, v in now[len(steps) :]]
            if all(a is b for (_, a), (_, b) in zip(now, twin.before, strict=False)):
                yield Effect(twin, ("grow", None), more)
                continue
        if not grown or twin.kind not in CHANGED_BY_PARTS:
            yield Effect(twin, None, now)
            continue
        old = dict(twin.before)
        for step, value in now:
            if old.get(step, MISSING) is not value:
                yield Effect(twin, step, value)


def are_alike(before: Sequence[tuple[Any, Any]], now: Sequence[tuple[Any, Any]]) -> bool:
    """True if the same objects stand behind equal steps, or under equal names."""
    return len(before) == len(now) and all(
        s == t and a is b for (s, a), (t, b) in zip(before, now, strict=True)
    )


def apply_effect(container: Any, step: Step | None, value: Any) -> None:
    """Set the part of ``container`` behind ``step``, or without one fill it anew."""
    if step is None:
        kind = kind_of(container)
        assert kind is not None
        kind.fill(container, value)
    elif step[0] == "grow":
        container.extend(value)
    elif step[0] == "item":
        container[step[1]] = value
    elif step[0] == "entry":
        dict.__setitem__(container, step[1], value)
    elif step[0] == "place" and step[1] == list.__len__(container):
        list.append(container, value)
    elif step[0] == "place":
        list.__setitem__(container, step[1], value)
    elif step[0] == "attribute":
        container.__dict__[step[1]] = value
    else:
        object.__setattr__(container, step[1], value)


def plain_step(step: Step) -> Step:
    """A step whose key has numbers, which are looked at, for lazy and followed ones."""
    kind, key = step
    plain = plain_key(key)
    return step if plain is key else (kind, plain)


def plain_key(key: Any) -> Any:
    """A key, or an element of a set, with numbers for lazy and followed ones."""
    return mapped(key, _plain_part) if isinstance(key, tuple | frozenset) else _plain_part(key)


def _plain_part(key: Any) -> Any:
    if type(key) is Array:
        return current_recorder().seen(key, _itself)
    if type(key) is Identity:
        return key.value
    return key.seen() if type(key) is TracedScalar else key


def _itself(value: Any) -> Any:
    return value
