"""Outliving: what a call may write that no twin stands for, and that is there after it.

Globals, closure variables, attributes of classes and modules, and containers that methods read by
name, or that opaque code gives, are the user's own while a call is recorded. What was written to
them is put right when the call has been computed: lazy arrays and followed numbers become what they
stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.structure import Parts, kind_of, walk
from .effects import apply_effect, are_alike, plain_step
from .exchange import contents
from .places import MISSING, Place
from .reads import Reads


class Outliving:
    """What ``reads`` tells that may be written, as it is when the call begins."""

    def __init__(self, reads: Reads) -> None:
        self._places: list[tuple[Place, Any]] = [(p, p.read()) for p in reads.written.values()]
        self._classes = [(kind, contents(kind)) for kind, _, _ in reads.classes]
        self._containers: list[tuple[Any, Parts]] = []
        for _, value in reads.constants.values():
            self.note(value)

    def note(self, value: Any) -> None:
        """The containers in ``value`` may be written to, too."""
        for part in walk(value):
            kind = kind_of(part)
            if kind is not None and kind.changes:
                self._containers.append((part, kind.parts(part)))

    def changed(self) -> str:
        """What has been written, or an empty string."""
        for place, before in self._places:
            if place.read() is not before:
                return f"it writes {place.title}"
        for kind, before in self._classes:
            now = [(k, v) for k, v in contents(kind).items() if k not in _OF_COPIES]
            if not are_alike([(k, v) for k, v in before.items() if k not in _OF_COPIES], now):
                return f"it writes to the class {kind.__name__}"
        for value, parts in self._containers:
            if not are_alike(parts, _parts(value)):
                return f"it writes to a {type(value).__name__} that a method reads by name"
        return ""

    def restore(self) -> None:
        """Take back what has been written: the call is made again, and writes it then.

        Nothing had been written when recording was given up; what was left of the call, a
        ``finally`` or the end of a ``with``, has run all the same.
        """
        for place, before in self._places:
            if place.read() is not before and before is not MISSING:
                place.write(before)
        for kind, before in self._classes:
            now = contents(kind)
            for name in [n for n in now if n not in before]:
                type.__delattr__(kind, name)
            for name, value in before.items():
                if now.get(name, MISSING) is not value:
                    type.__setattr__(kind, name, value)
        for container, parts in self._containers:
            if not are_alike(parts, _parts(container)):
                apply_effect(container, None, parts)

    def finish(self, finished: Callable[[Any], Any]) -> None:
        """Put real arrays and numbers where lazy and followed ones have been written."""
        for place, before in self._places:
            value = place.read()
            if value is not before and value is not MISSING:
                place.write(finished(value))
        for kind, before in self._classes:
            for name, value in contents(kind).items():
                if before.get(name, MISSING) is not value:
                    made = finished(value)
                    if made is not value:
                        setattr(kind, name, made)
        self.finish_noted(finished)

    def finish_noted(self, finished: Callable[[Any], Any]) -> None:
        """As `finish`, of containers alone."""
        for container, parts in self._containers:
            now = _parts(container)
            if not are_alike(parts, now):
                apply_effect(container, None, [(plain_step(s), finished(v)) for s, v in now])


_OF_COPIES = ("__slotnames__",)  # which `copy` notes in a class


def _parts(value: Any) -> Parts:
    kind = kind_of(value)
    return [] if kind is None else kind.parts(value)
