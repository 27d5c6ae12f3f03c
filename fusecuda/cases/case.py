"""Case: a graph, how its arguments lie in memory, for which options, and with which values.

On disk it is ``NAME.hlo``, whose first line says in a comment what is not as usual, and with the
values ``NAME.npz``: ``p0``, ``p1``, … by parameter number, and digests of the results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..errors import GraphError
from ..graph.dtypes import hlo_name
from ..graph.node import Graph, Node
from ..graph.text import parse_hlo, print_hlo
from ..options import Options

Array = np.ndarray[Any, Any]
Strides = Mapping[int, Sequence[int]]
LARGEST = 1 << 28  # bytes of values that are kept in a file


@dataclass(frozen=True)
class Case:
    """A graph with layouts and options; ``inputs``, by parameter number, where they are known."""

    graph: Graph
    strides: Strides = field(default_factory=dict)
    options: Options = field(default_factory=lambda: Options(check=0.0))
    inputs: Sequence[Any] | None = None
    digests: Sequence[str] = ()  # of the results that the inputs gave

    def arguments(self, module: Any = np) -> list[Any]:
        """The inputs as arrays of ``module``, in memory of their own, laid out as they were."""
        inputs = self.inputs or ()
        found: list[Any] = [None] * len(inputs)
        for node in self.graph.parameters:
            number = node.parameter.number
            value = inputs[number]
            if not node.parameter.scalar:
                value = lay_out(value, self.strides.get(number), module)
            found[number] = value
        return found

    @property
    def text(self) -> str:
        """The graph with the user's lines, and what is not as usual behind the first."""
        head, _, rest = print_hlo(self.graph, lines=True).partition("\n")
        unusual: dict[str, Any] = {}
        if self.strides:
            unusual["strides"] = {str(n): list(s) for n, s in self.strides.items()}
        if self.options.device != "cpu":
            unusual["device"] = self.options.device
        if self.options.contract:
            unusual["contract"] = True
        return f"{head}{f' // {json.dumps(unusual)}' if unusual else ''}\n{rest}"

    def write(self, path: Path) -> None:
        """Write ``path``, and next to it the values if there are any."""
        path.write_text(self.text, encoding="utf-8")
        if self.inputs is not None:
            write_inputs(path, self.graph, self.inputs, self.digests)


def lay_out(value: Any, strides: Sequence[int] | None, module: Any = np) -> Any:
    """A copy of ``value`` whose ``strides`` are these, in elements; C-contiguous if None."""
    array = module.array(value, order="C")
    if strides is None or not array.size:
        return array
    reach = [(n - 1) * s for n, s in zip(array.shape, strides, strict=True)]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    memory = module.zeros(high - low + 1, array.dtype)
    steps = tuple(s * array.itemsize for s in strides)
    placed = module.lib.stride_tricks.as_strided(memory[-low:], array.shape, steps)
    placed[...] = array
    return placed


def on_host(value: Any) -> Any:
    """``value`` in memory of its own, as NumPy's if it is a device's array; numbers as they are."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.get() if hasattr(value, "get") and hasattr(value, "shape") else value


def digest(array: Any) -> str:
    """A digest of the bytes of ``array``, in order."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def write_inputs(
    path: Path, graph: Graph, inputs: Sequence[Any], digests: Sequence[str] = ()
) -> None:
    """Write the values beside the graph in ``path``, unless they are too large."""
    kept: dict[str, Any] = {
        f"p{n.parameter.number}": np.asarray(inputs[n.parameter.number], n.dtype)
        for n in graph.parameters
    }
    if sum(array.nbytes for array in kept.values()) <= LARGEST:
        with path.with_suffix(".npz").open("wb") as file:
            np.savez(file, **kept, digests=np.array(digests, "U16"))


def read(path: Path) -> Case:
    """The case in ``path``; raises OSError, GraphError, or ValueError for values that do not fit.

    Without a file of values ``inputs`` is None.
    """
    text = path.read_text(encoding="utf-8")
    graph = parse_hlo(text)
    case = _with_unusual(Case(graph), text.partition("\n")[0].partition("//")[2].strip())
    values = path.with_suffix(".npz")
    if not values.exists():
        return case
    try:
        with np.load(values, allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
    except (ValueError, AttributeError, EOFError, BadZipFile) as error:
        raise ValueError(f"{values} is no archive of arrays: {error}") from None
    inputs: list[Any] = [None] * (
        1 + max((p.parameter.number for p in graph.parameters), default=-1)
    )
    for node in graph.parameters:
        inputs[node.parameter.number] = _value(values, node, kept)
    return replace(case, inputs=inputs, digests=[str(d) for d in kept.get("digests", ())])


def _with_unusual(case: Case, comment: str) -> Case:
    if not comment.startswith("{"):
        return case
    try:
        known = json.loads(comment)
        strides = {int(n): tuple(map(int, s)) for n, s in known.get("strides", {}).items()}
        ranks = {p.parameter.number: len(p.shape) for p in case.graph.parameters}
        if any(ranks.get(n) != len(s) for n, s in strides.items()):
            raise ValueError("strides do not fit the parameters")
        options = replace(
            case.options,
            device=known.get("device", "cpu"),
            contract=bool(known.get("contract")),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise GraphError(f"HLO text, line 1: {comment!r}: {error}") from None
    return replace(case, strides=strides, options=options)


def _value(path: Path, node: Node, kept: Mapping[str, Array]) -> Any:
    name = f"p{node.parameter.number}"
    if name not in kept:
        raise ValueError(f"{path} has no {name}, which the graph takes")
    value = kept[name]
    if value.dtype == np.dtype(("V", node.dtype.itemsize)):  # NumPy's files know no bfloat16
        value = value.view(node.dtype)
    if (value.shape, value.dtype) != (node.shape, node.dtype):
        raise ValueError(f"{path}: {name} is {_type(value)}, and the graph takes {_type(node)}")
    return value[()] if node.parameter.scalar else value


def _type(value: Any) -> str:
    return f"{hlo_name(value.dtype)}[{','.join(map(str, value.shape))}]"
