"""Recordings: one trace of a function as a graph that knows its arguments and results by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NotFusedError
from ...graph.node import Graph
from ...options import Options
from ..arrays.array import Array
from ..arrays.dispatch import raising
from ..record.leaf import Leaf
from ..record.numbers import TracedScalar, value_of
from ..record.plans import graph_of
from ..record.storage import Storage
from .effects import Effect
from .endings import Unfollowed
from .function import FusedFunction
from .host import HostCall


@dataclass(frozen=True)
class Given:
    """An array argument: its name, an array like it, and its parameter in the graph, if it is used.

    ``is_written`` tells that the function writes into it.
    """

    name: str
    like: np.ndarray[Any, Any]
    number: int | None
    is_written: bool


@dataclass(frozen=True)
class Recording:
    """A function as one graph, of C-contiguous arguments that share no memory.

    ``leaves`` are what its parameters stand for; ``numbers`` are the arguments that are followed,
    by the names of recipes (see `TracedScalar`), ``fixed`` the others that are no arrays.
    The first outputs of the graph are the ``results``, by name, and in ``returned`` stand the
    arguments that the function returns as they are.
    """

    name: str
    graph: Graph
    leaves: list[Leaf]
    arrays: list[Given]
    numbers: dict[str, tuple[str, Any]]
    fixed: dict[str, Any]
    results: list[str]
    returned: dict[str, str]


def record_function(function: Any, args: Sequence[Any], options: Options) -> Recording:
    """What ``function`` does with arguments like ``args``: arrays, containers of them, and numbers.

    Raises NotFusedError where that is no single graph of the arguments.
    """
    owner: FusedFunction[..., Any] = FusedFunction(function, options)
    call = _Recorded(owner, (*owner.head, *args), execute=False)
    if call.unfusable or raising():
        raise NotFusedError(f"{owner.__name__} cannot be fused: {call.unfusable or 'errstate'}")
    try:
        call.run()
    except Unfollowed as unfollowed:
        why = f"{owner.__name__} is no single graph: {unfollowed.told()}"
        raise NotFusedError(
            f"{why}: do that outside, and record what is before and after"
        ) from None
    return call.recording(_names(function, args), args, len(owner.head))


class _Recorded(HostCall):
    """A call that ends with its graph, and computes nothing."""

    def _replayable(self, result: Any, effects: list[Effect], returned: list[Storage]) -> Any:
        name = self.owner.__name__
        if effects:
            raise NotFusedError(f"{name} changes a container, which only Python can")
        whole = {id(lazy): a for lazy, a in zip(self.lazies, self.arrays, strict=True)}
        self.found: list[tuple[str, Any]] = []
        self.own: dict[str, Any] = {}
        for path, value in _flat(result, ""):
            if type(value) is not Array:
                kind = type(value_of(value)).__name__
                raise NotFusedError(f"{name} returns a {kind}, which is no array")
            if id(value) in whole:
                self.own["out" + path] = whole[id(value)]
            else:
                self.found.append(("out" + path, value))
        self.written = [s for s in self.shared if s.storage.pending]
        nodes = [value.read_node() for _, value in self.found]
        nodes += [s.storage.node for s in self.written]
        own: list[Leaf | None] = [None] * len(self.found)
        own += [Leaf(s.memory, s.memory.shape, s.memory.dtype) for s in self.written]
        if not nodes:
            raise NotFusedError(f"{name} computes nothing")
        self.leaves, self.graph = graph_of(nodes, own, name)

    def recording(self, names: Sequence[str], args: Sequence[Any], head: int) -> Recording:
        """The recording, whose arguments have ``names`` but for the first, of the ``head``."""
        numbers = {id(leaf.array): i for i, leaf in enumerate(self.leaves)}
        written = {id(s.memory) for s in self.written}
        arrays, known = [], {}
        for name, arg in zip(names, args, strict=True):
            for path, value in _flat(arg, ""):
                if isinstance(value, np.ndarray):
                    known[id(value)] = name + path
                    number = numbers.get(id(value))
                    arrays.append(Given(name + path, value, number, id(value) in written))
        own = {f"a{head + i}": name for i, name in enumerate(names)}
        observed = self.trace.observed_arguments
        followed = {
            name: (own[name], value)
            for name, value in self.inputs.scalars
            if name in own and name not in observed
        }
        moving = {name for name, _ in followed.values()}
        fixed = {
            name + path: value
            for name, arg in zip(names, args, strict=True)
            for path, value in _flat(arg, "")
            if not isinstance(value, np.ndarray) and name not in moving
        }
        self._refuse_others(known)
        returned = {path: known[id(array)] for path, array in self.own.items()}
        results = [path for path, _ in self.found]
        return Recording(
            self.graph.name, self.graph, self.leaves, arrays, followed, fixed, results, returned
        )

    def _refuse_others(self, known: dict[int, str]) -> None:
        """Raise NotFusedError if the graph reads or returns an array that is no argument."""
        read = [leaf.array for leaf in self.leaves if type(leaf.array) is not TracedScalar]
        for array in (*read, *self.own.values()):
            if id(array) not in known:
                raise NotFusedError(
                    f"{self.owner.__name__} reads an array of {array.dtype}{list(array.shape)} that"
                    " is no argument: make it one"
                )


def _names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """The names of the parameters that ``args`` are for."""
    try:
        bound = inspect.signature(function).bind(*args).arguments
    except (TypeError, ValueError):
        return [f"arg{i}" for i in range(len(args))]
    kinds = inspect.signature(function).parameters
    found: list[str] = []
    for name, value in bound.items():
        if kinds[name].kind is inspect.Parameter.VAR_POSITIONAL:
            found += [f"{name}{i}" for i in range(len(value))]
        else:
            found.append(name)
    return found


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The parts of ``value`` that are no lists, tuples, dicts or None, and how to find them."""
    if isinstance(value, tuple | list):
        for i, part in enumerate(value):
            yield from _flat(part, f"{path}_{i}" if path else f"{i}")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(part, f"{path}_{key}")
    elif value is not None:
        yield path, value


__all__ = ["Given", "Recording", "record_function"]
