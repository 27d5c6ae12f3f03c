"""Identity: what ``id`` gives in a function that is recorded.

Of what the function was given it is the identity of that, not of the twin, and then the trace holds
for that object alone. Of what the function made it is a number that each replay would find to be
another: it may be kept and compared, and whatever else is done with it cannot be replayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_LOOKS = (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "mod", "rmod", "floordiv", "rfloordiv"),
    *("truediv", "rtruediv", "pow", "rpow", "divmod", "rdivmod", "lshift", "rshift", "rlshift"),
    *("rrshift", "and", "rand", "or", "ror", "xor", "rxor", "neg", "abs", "invert", "index"),
    *("int", "float", "lt", "le", "gt", "ge", "str", "repr", "format", "round", "trunc"),
)


class Identity(int):
    """The identity of an object that was made while the function was recorded."""

    looked: Callable[[str], None]

    @property
    def value(self) -> int:
        """The number, at which somebody looks."""
        self.looked("it looks at the identity of an object that it made")
        return int.__add__(self, 0)


def _looking(name: str) -> Callable[..., Any]:
    def method(self: Identity, *args: Any) -> Any:
        return getattr(self.value, name)(*args)

    return method


for _name in _LOOKS:
    setattr(Identity, f"__{_name}__", _looking(f"__{_name}__"))


def identities(known: Callable[[Any], Any], looked: Callable[[str], None]) -> Callable[[Any], int]:
    """What stands for ``id``; ``known`` gives what an object stands for, None for a new one."""

    def identity(obj: Any, /) -> int:
        found = known(obj)
        if found is not None:
            return id(found)
        made = Identity(id(obj))
        made.looked = looked
        return made

    return identity
