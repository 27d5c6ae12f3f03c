"""Handing: the containers that opaque code is given, which it may keep, and those that it gives.

A twin is gone after the call. Where opaque code may keep one the call is made plainly; or, if it is
too late for that, what the twin stands for is changed as the twin has been, and handed over.
Containers that come from opaque code are the user's own. What the function has written to them is
put right before other opaque code looks, and when the call has been computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..record.structure import walk
from ..record.user_frames import user_line
from .inputs import Inputs
from .outliving import Outliving

InMemory = Callable[[Any, dict[int, Any]], Any]  # what opaque code takes, with originals of twins


class Handing:
    """What goes to opaque code, and comes from it, in one call; ``give_up`` starts it again."""

    def __init__(
        self, inputs: Inputs, outliving: Outliving, give_up: Callable[[str], None]
    ) -> None:
        self.inputs = inputs
        self.outliving = outliving
        self.give_up = give_up

    def over(self, value: Any, in_memory: InMemory) -> dict[int, Any]:
        """The originals, by the identity of their twins, if there is a twin in ``value``."""
        twins = {id(t.built): t.original for t in self.inputs.twins if t.kind.changes}
        found = next((twins[id(part)] for part in walk(value) if id(part) in twins), None)
        if found is None:
            return {}
        self.give_up(f"it gives a {type(found).__name__} to what may keep it ({user_line()})")
        self.inputs.write_back(lambda part: in_memory(part, twins))
        for twin in self.inputs.twins:
            twin.before = twin.kind.parts(twin.built)
        return twins

    def taken(self, value: Any) -> None:
        """Opaque code has given ``value``, with containers in it."""
        self.outliving.note(value)

    def settle(self, in_memory: InMemory) -> None:
        """Let other opaque code see what has been written to what was `taken`."""
        self.outliving.finish_noted(lambda part: in_memory(part, {}))
