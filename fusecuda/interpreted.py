"""What runs a graph without kernels: where there is no compiler, no time, or none has ended yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .errors import CompilerError, mark_before_effects
from .graph.dtypes import kind_of
from .graph.interpret import PLAIN, Meaning, interpret
from .graph.node import Graph, Node
from .graph.structure import operations
from .graph.tree import CHUNK

if TYPE_CHECKING:
    from .cpu_fallback.background import Job

Array = np.ndarray[Any, Any]

# Measured, beyond what NumPy's own functions take.
_SECONDS_AN_ELEMENT = {"f": 3e-7, "c": 1.5e-6}
_SECONDS_A_PLACE = 3e-9  # of a sum, whose rows are filled up to chunks of the tree
_SECONDS_A_BYTE = 1e-10  # read or written by an operation of NumPy's
_SECONDS_OF_TRANSLATION = 0.06  # of the functions' C texts, once
_MOST_SECONDS = 0.02  # that a run may spend on it


class Patience(Protocol):
    """Tells for how long a program may be held up."""

    def wait_for(self, job: Job, seconds: float, otherwise: float) -> None:
        """Return when ``job``, which takes about so many seconds, is over, or time is.

        ``otherwise`` is how long what waits for it takes without it.
        """

    def affords(self, seconds: float) -> bool:
        """True, and they are spent, if there is plenty of time for what takes so many seconds."""


class Interpreted:
    """A graph that the interpreter computes, to the bit as the kernels that it could become.

    If ``patience`` has no time for that, functions and sums are NumPy's own.
    """

    meanwhile = 0  # runs in this process of graphs whose kernels were not there yet

    names: Sequence[str] = ()
    launches = 0

    def __init__(self, graph: Graph, patience: Patience | None = None) -> None:
        self.graph = graph
        self._patience = patience

    @cached_property
    def seconds_of_bits(self) -> float:
        """About how much longer it takes than NumPy, for the sake of the kernels' bits."""
        nodes = self.graph.nodes()
        seconds = math.fsum(map(_seconds_of, nodes))
        if any(map(_is_translated, nodes)):
            seconds += _seconds_of_translation()
        return seconds

    def run(self, arguments: Sequence[Any]) -> list[Array | None]:
        """The results, None where an argument was overwritten, which is done last.

        So what is raised before is known to come before arguments are overwritten.
        """
        taken = [a for a in arguments if isinstance(a, np.ndarray)]
        results: list[Array | None] = []
        meaning = _kernels() if self._has_time() else PLAIN
        try:
            values = interpret(self.graph, arguments, meaning)
        except Exception as error:
            mark_before_effects(error)
            raise
        for value in values:
            shared = any(np.may_share_memory(value, other) for other in taken)
            fresh = np.array(value) if shared else np.asarray(value)
            taken.append(fresh)
            results.append(np.require(fresh, requirements=["C", "W"]))
        for i, result in enumerate(results):
            target = self.graph.target(i)
            if target is not None:
                arguments[target][...] = result
                results[i] = None
        return results

    def _has_time(self) -> bool:
        """True if it is to have the kernels' bits."""
        patience, seconds = self._patience, self.seconds_of_bits
        return patience is None or (seconds <= _MOST_SECONDS and patience.affords(seconds))

    def explain(self) -> str:
        """Text: that no kernel was made."""
        return "computed by the interpreter: planning and compiling would have taken too long\n"


def seconds_of_numpy(nodes: Sequence[Node]) -> float:
    """About how long NumPy takes for ``nodes``, one operation at a time; rather less than it does.

    Functions are taken for copies.
    """
    moved = sum(n.nbytes + sum([o.nbytes for o in n.operands]) for n in operations(nodes))
    return moved * _SECONDS_A_BYTE


def _kernels() -> Meaning:
    """The meaning that has the kernels' bits; its module is loaded where it is first asked for."""
    from .cpu_fallback.interpreted import KERNELS  # noqa: PLC0415

    return KERNELS


def _seconds_of_translation() -> float:
    """How long it takes until what the functions' C texts say can be computed."""
    from .cpu_fallback.interpreted import is_translated  # noqa: PLC0415

    return 0.0 if is_translated() else _SECONDS_OF_TRANSLATION


def _is_translated(node: Node) -> bool:
    """True for a function that the interpreter computes by a translation of its C text."""
    return (
        node.is_elementwise and (node.op, kind_of(node.operands[0].dtype)) in _kernels().elementwise
    )


def _seconds_of(node: Node) -> float:
    """About how much longer ``node`` takes to the bit than by NumPy's own function."""
    if _is_translated(node):
        kind = kind_of(node.operands[0].dtype)
        return _SECONDS_AN_ELEMENT[kind] * node.size
    if node.op == "reduce" and node.reduction.kind in ("sum", "prod"):
        (operand,) = node.operands
        length = operand.size // max(node.size, 1)
        return _SECONDS_A_PLACE * node.size * CHUNK * -(-length // CHUNK)
    return 0.0


_warned: set[str] = set()


def warn_interpreted(error: CompilerError) -> None:
    """Say once for each cause that kernels cannot be compiled and NumPy computes instead."""
    import warnings  # noqa: PLC0415

    text = str(error)
    if text not in _warned:
        _warned.add(text)
        message = f"fusecuda computes with NumPy, unfused, because kernels do not compile: {text}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
