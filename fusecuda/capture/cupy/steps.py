"""Steps: what is known of recordings, a tree; see `tape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...graph.dtypes import DType
from ...graph.index_map import Shape
from ...graph.node import Node

if TYPE_CHECKING:
    from ...engine import Executable

Key = tuple[Any, ...]
BRANCHES = 16  # after one step: what differs more often is not learned
BEGINNINGS = 1024  # then all of them are forgotten
_STEPS_LIMIT = 1 << 15  # in all; then everything is forgotten
_steps = 0


class Slot(Node):
    """Stands for the memory of a storage from before the recording."""

    __slots__ = ("number",)

    def __init__(self, number: int, shape: Shape, dtype: DType) -> None:
        super().__init__("slot", (), shape, dtype)
        self.number = number


class Number(Node):
    """Stands for one of the tape's numbers, as a constant of a type."""

    __slots__ = ("number",)

    def __init__(self, number: int, dtype: DType) -> None:
        super().__init__("number", (), (), dtype)
        self.number = number


class Step:
    """What one operation does: to which storages, and what it gives."""

    __slots__ = (
        *("added", "cut", "flushes", "made", "next", "noted", "result", "sequence", "single"),
        *("versions", "written"),
    )

    def __init__(self) -> None:
        self.noted: list[int] = []  # the storages with a new version, in order
        self.versions: list[Node] = []  # theirs; of slots and numbers, once the step is known
        self.written: list[int] = []  # those of them that were there before
        self.added: list[None] = []  # room for the others
        self.made: list[tuple[int, Shape, DType]] = []  # new storages that the result shows
        self.result: Any = None
        # If that is a new array, whole, and nothing else is done: its storage's number, and bytes.
        self.single: tuple[int, Shape, DType, int] | None = None
        self.sequence: list[int] = []
        self.cut = 0
        self.flushes = False
        self.next = State()


class End:
    """What a flush does after certain steps, if certain storages are alive."""

    __slots__ = ("arguments", "bits", "executable", "free", "outputs")

    def __init__(self, outputs: tuple[int, ...], bits: bytes) -> None:
        self.outputs = outputs  # the storages that get a value
        self.bits = bits  # of the numbers
        self.free: frozenset[int] = frozenset()  # numbers that the executable takes as arguments
        self.executable: Executable | None = None
        self.arguments: list[Callable[[Any], Any]] = []  # each of the tape of now


class State:
    """Where a recording stands: the steps that are known from here, and what a flush would do."""

    __slots__ = ("ends", "steps")

    def __init__(self) -> None:
        self.steps: dict[Key, Step] = {}
        self.ends: dict[tuple[int, ...], End] = {}


_roots: dict[Key, State] = {}


def forget() -> None:
    """Learn everything anew from now on."""
    global _steps  # noqa: PLW0603
    _roots.clear()
    _steps = 0


def root(key: Key) -> State:
    """Where recordings under the conditions of ``key`` begin."""
    return _roots.get(key) or _roots.setdefault(key, State())


def attach(fresh: Sequence[tuple[State, Key, Step]]) -> None:
    """Let steps that follow one another be known from now on."""
    global _steps  # noqa: PLW0603
    state, key, _ = fresh[0]
    if key in state.steps:
        return
    if _steps > _STEPS_LIMIT:
        forget()
    _steps += len(fresh)
    for state, key, step in fresh:
        state.steps[key] = step
