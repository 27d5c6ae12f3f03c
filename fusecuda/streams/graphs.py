"""CUDA graphs of a timeline: which kernels are replayed at once, and which instance is given what.

Kernels that follow each other without a library call become one graph, from the second call on. It
is made of nodes and edges, nothing is captured: so what other threads do cannot get into it. An
*instance* of it has one set of parameters, those of a *key*: all addresses and numbers of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..errors import GraphRefusedError
from ..options import graphs_enabled
from .timeline import RECORD, RUN, Command

LEAST = 3  # kernels: fewer are started one by one
INSTANCES = 4  # of a graph that are kept, for addresses that come again
_REMEMBERED = 16  # keys that have come once


class GraphNode(NamedTuple):
    """A step in a graph; ``after`` are the places, in the graph, of those that it waits for."""

    step: int
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Commands that follow each other: a graph of ``nodes``, or issued one by one without any."""

    commands: tuple[Command, ...]
    nodes: tuple[GraphNode, ...] = ()

    def replay(self, make: Callable[[], Instance]) -> Replay:
        """What replays it by instances that ``make`` gives."""
        return Replay(make)


def parts_of(commands: Iterable[Command], kernels: Collection[int]) -> list[Part]:
    """``commands`` in parts; of the steps that they run, ``kernels`` may be nodes of a graph.

    On several lanes all or nothing is a graph, for its nodes know nothing of events.
    """
    issued = tuple(commands)
    if not graphs_enabled():
        return [Part(issued)]
    if any(command.lane for command in issued):
        runs = [c for c in issued if c.kind == RUN]
        fits = len(runs) >= LEAST and all(c.number in kernels for c in runs)
        return [Part(issued, _nodes(issued) if fits else ())]
    parts: list[list[Command]] = []
    was_kernel = None
    for command in issued:
        is_kernel = command.number in kernels
        if is_kernel != was_kernel:
            parts.append([])
        parts[-1].append(command)
        was_kernel = is_kernel
    found: list[Part] = []
    for part in map(tuple, parts):
        if len(part) >= LEAST and part[0].number in kernels:
            found.append(Part(part, _nodes(part)))
        elif found and not found[-1].nodes:
            found[-1] = Part(found[-1].commands + part)
        else:
            found.append(Part(part))
    return found


def _nodes(commands: Sequence[Command]) -> tuple[GraphNode, ...]:
    """The steps as nodes: each waits for what its lane and the events before it have told it."""
    last: dict[int, frozenset[int]] = {}  # of each lane: the nodes that its next command follows
    recorded: dict[int, frozenset[int]] = {}
    found: list[GraphNode] = []
    for kind, lane, number in commands:
        known = last.get(lane, frozenset())
        if kind == RUN:
            last[lane] = frozenset((len(found),))
            found.append(GraphNode(number, tuple(sorted(known))))
        elif kind == RECORD:
            recorded[number] = known
        else:
            last[lane] = known | recorded.get(number, frozenset())
    return tuple(found)


def told(parts: Sequence[Part], names: Sequence[str]) -> str:
    """What is replayed, or why nothing is; ``names`` are those of library calls, else empty."""
    counts = [str(len(part.nodes)) for part in parts if part.nodes]
    calls = [names[c.number] for p in parts for c in p.commands if c.kind == RUN]
    library = next((name for name in calls if name), "")
    if counts:
        whose = f"{' and '.join(counts)} kernels are each one" if counts[1:] else ""
        whose = whose or f"{counts[0]} kernels are one"
        return f"CUDA graph: {whose}, from the second call on"
    if not graphs_enabled():
        return "no CUDA graph: FUSECUDA_GRAPHS=0"
    if not library:
        return f"no CUDA graph: fewer than {LEAST} launches"
    if any(c.lane for p in parts for c in p.commands):
        return f"no CUDA graph: {library} is a library call, and several streams are used"
    return f"no CUDA graph: fewer than {LEAST} kernels between library calls, such as {library}"


class Instance(Protocol):
    """One instance of a graph on a device. All raise GraphRefusedError where it cannot be."""

    def update(self) -> None:
        """Give each node the parameters that are in its frame now; launches so far keep theirs."""

    def launch(self, stream: int) -> None:
        """Start all nodes on ``stream``, behind what it has been told."""


class Replay:
    """The instances of one part, for one call after the other; few, for keys that come again."""

    def __init__(self, make: Callable[[], Instance]) -> None:
        self._make = make
        self._known: dict[bytes, Instance] = {}  # the one that has waited longest comes first
        self._seen: dict[bytes, None] = {}  # keys that had no instance when they last came
        self.refusal = ""

    def __call__(self, key: bytes, stream: int) -> bool:
        """Launch the instance that has the parameters of ``key``; False, nothing done, if none."""
        found = self._known.get(key)
        return found is not None and self._launched(key, found, stream)

    def renew(self, key: bytes, stream: int) -> bool:
        """Launch an instance for ``key``, whose parameters are in the frames; False if refused.

        The one that has waited longest is updated, or one is made for a key that comes again.
        """
        if self.refusal:
            return False
        try:
            comes_again = key in self._seen and len(self._known) < INSTANCES
            if comes_again or not self._known:
                instance = self._make()
            else:
                instance = self._known.pop(next(iter(self._known)))
                instance.update()
        except GraphRefusedError as error:
            self._refuse(error)
            return False
        self._seen.pop(key, None)
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._known[key] = instance
        return self._launched(key, instance, stream)

    def _launched(self, key: bytes, instance: Instance, stream: int) -> bool:
        try:
            instance.launch(stream)
        except GraphRefusedError as error:
            self._refuse(error)
            return False
        return True

    def _refuse(self, error: GraphRefusedError) -> None:
        self.refusal = str(error)
        self._known.clear()
