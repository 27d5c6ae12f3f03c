"""``replay``: run the kernels of a dumped graph on random inputs, and check them."""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..cpu_fallback.interpreted import KERNELS
from ..engine import Executable
from ..graph.dtypes import hlo_name
from ..graph.interpret import interpret
from ..graph.node import Graph, Node, topological
from . import tables
from .compare import close, compare, is_exact
from .explain import build_graph, read_graph
from .timing import side_by_side
from .usage import UsageError, one_line

Array = np.ndarray[Any, Any]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser("replay", help="run a dumped graph on random inputs")
    parser.add_argument("file", metavar="FILE.hlo")
    parser.add_argument("--check", action="store_true", help="compare with the interpreter")
    parser.add_argument("--repeat", type=_positive, default=10, metavar="N", help="timed runs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random inputs")
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Print the results' checksums and the time; 1 if a result is not the interpreter's."""
    graph = read_graph(arguments.file)
    inputs = random_inputs(graph, arguments.seed)
    executable = build_graph(graph)
    results = results_of(executable, inputs)
    for i, (node, result) in enumerate(zip(graph.outputs, results, strict=True)):
        print(f"result {i}: {_type(node)}  sha256 {_checksum(result)}{_range(result)}")
    scratch = copies(inputs)
    timing = side_by_side(
        {"run": lambda: executable.run(scratch)}, 0, arguments.repeat, arguments.repeat
    )["run"]
    print(
        f"{executable.launches} launches, median {tables.seconds(timing.median)} of "
        f"{arguments.repeat} ({tables.seconds(timing.low)} – {tables.seconds(timing.high)})"
    )
    return check(graph, inputs, results) if arguments.check else 0


def check(graph: Graph, inputs: Sequence[Any], results: Sequence[Array]) -> int:
    """0 if ``results`` are the interpreter's; else 1, and the first that is not is shown."""
    try:
        expected = interpret(graph, inputs, KERNELS)
    except (IndexError, ValueError) as error:
        raise UsageError(f"the interpreter fails: {one_line(error)}") from None
    for i, (node, want, have) in enumerate(zip(graph.outputs, expected, results, strict=True)):
        difference = compare(have, want)
        exact = is_exact(node)
        if difference.first is not None and (exact or not close(have, want)):
            at = difference.first
            print(
                f"MISMATCH: result {i} {_type(node)} differs in {difference.differing:,} of "
                f"{want.size:,} elements, {difference}; first at {list(at)}: "
                f"{have[at]!r}, not {want[at]!r}"
            )
            return 1
        print(f"result {i}: {difference}" + ("" if exact else " (equal bits are not promised)"))
    print("check passed")
    return 0


def results_of(executable: Executable, inputs: Sequence[Any]) -> list[Array]:
    """All results on copies of ``inputs``, those that overwrite an argument too."""
    arguments = copies(inputs)
    try:
        found = executable.run(arguments)
    except (IndexError, ValueError) as error:
        raise UsageError(f"the random inputs do not fit this graph: {one_line(error)}") from None
    results = []
    for i, result in enumerate(found):
        target = executable.graph.target(i)
        results.append(result if target is None else arguments[target])
    return [np.asarray(r) for r in results]


def copies(inputs: Sequence[Any]) -> list[Any]:
    """The inputs, arrays in memory of their own."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in inputs]


# --- inputs


def random_inputs(graph: Graph, seed: int) -> list[Any]:
    """An argument for each parameter: floats around 0, small integers that fit as indices."""
    rng = np.random.default_rng(seed)
    limits = _index_limits(graph)
    count = 1 + max((p.parameter.number for p in graph.parameters), default=-1)
    inputs: list[Any] = [None] * count
    for node in graph.parameters:
        values = _random(rng, node, limits.get(node, 100))
        inputs[node.parameter.number] = values[()] if node.parameter.scalar else values
    return inputs


def _index_limits(graph: Graph) -> dict[Node, int]:
    """For each parameter that an index depends on, the smallest extent that it is to fit."""
    limits: dict[Node, int] = {}
    for node in graph.nodes():
        if node.op == "gather":
            source, *indices = node.operands
            for axis, index in enumerate(indices):
                for origin in topological([index]):
                    if origin.op == "parameter":
                        extent = source.shape[axis]
                        limits[origin] = min(limits.get(origin, extent), extent)
    return limits


def _random(rng: np.random.Generator, node: Node, limit: int) -> Array:
    dtype, shape = node.dtype, node.shape
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0, max(1, limit), shape), dtype)
    if dtype.kind == "f":
        return np.asarray(rng.normal(size=shape), dtype)
    if dtype.kind == "c":
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)
    raise UsageError(f"there are no random values of dtype {dtype}")


# --- texts


def _type(node: Node) -> str:
    return f"{hlo_name(node.dtype)}[{','.join(map(str, node.shape))}]"


def _checksum(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def _range(array: Array) -> str:
    if not array.size or array.dtype.kind not in "iuf":
        return ""
    nan = np.isnan(array)
    nans, some = int(np.count_nonzero(nan)), array[~nan]
    text = f"  from {some.min():.6g} to {some.max():.6g}" if some.size else ""
    return text + (f", {nans:,} NaN" if nans else "")
