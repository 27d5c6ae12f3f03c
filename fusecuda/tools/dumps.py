"""Dumps: the cases that a command is given, their inputs, and the executables of them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cases.case import Case, read
from ..cpu_fallback.compiler import find_compiler, why_no_compiler
from ..emit_cuda.backend import has_device
from ..engine import Executable, build
from ..errors import FusecudaError, GraphError
from ..graph.dtypes import kind_of
from ..graph.node import Graph, Node, topological
from ..options import DEVICES
from .usage import UsageError, one_line

Array = np.ndarray[Any, Any]


def add_dump(parser: argparse.ArgumentParser) -> None:
    """Add what names a dump, and says what it is run with."""
    parser.add_argument("dump", metavar="DIR_OR_HLO", help="FILE.hlo, or a folder of such files")
    parser.add_argument("--device", choices=DEVICES, help="where it runs; that of the dump")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of random inputs, where none were kept"
    )


def cases(arguments: argparse.Namespace) -> list[tuple[Path, Case]]:
    """The cases that ``arguments`` name, each with its file, inputs, and a device that is there."""
    found = []
    for path in _files(arguments.dump):
        case = read_case(path)
        if arguments.device:
            case = replace(case, options=replace(case.options, device=arguments.device))
        if case.options.device == "cuda" and not has_device():
            raise UsageError(f"{path} is for a GPU, and there is none; --device cpu runs it here")
        if case.inputs is None:
            case = replace(case, inputs=random_inputs(case.graph, arguments.seed))
        found.append((path, case))
    return found


def _files(dump: str) -> list[Path]:
    path = Path(dump)
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.hlo"))
    if not found:
        raise UsageError(f"there is no .hlo file in {dump}")
    return found


def read_case(path: str | Path) -> Case:
    """The case in the file ``path`` of HLO text, with the inputs beside it."""
    try:
        return read(Path(path))
    except GraphError as error:
        raise UsageError(f"{path}: {error}") from None
    except Exception as error:  # a file that is no archive, or none of ours
        raise UsageError(one_line(error)) from None


def build_case(case: Case) -> Executable:
    """The executable of ``case``."""
    try:
        return build(case.graph, case.strides, case.options)
    except FusecudaError as error:
        raise UsageError(one_line(error)) from None


def refuse_without_compiler(case: Case) -> None:
    """Raise UsageError where kernels cannot be compiled, so that there are none to look at."""
    if case.options.device == "cpu" and find_compiler() is None:
        raise UsageError(f"there are no kernels to look at: {why_no_compiler().splitlines()[0]}")


def array_module(device: str) -> Any:
    """What makes the arrays that executables for ``device`` take."""
    if device == "cpu":
        return np
    from ..emit_cuda import cupy_device

    return cupy_device.array_module()


# --- inputs


def random_inputs(graph: Graph, seed: int) -> list[Any]:
    """An argument for each parameter: floats around 0, small integers that fit as indices."""
    rng = np.random.default_rng(seed)
    limits = index_limits(graph)
    count = 1 + max((p.parameter.number for p in graph.parameters), default=-1)
    inputs: list[Any] = [None] * count
    for node in graph.parameters:
        values = _random(rng, node, limits.get(node, 100))
        inputs[node.parameter.number] = values[()] if node.parameter.scalar else values
    return inputs


def index_limits(graph: Graph) -> dict[Node, int]:
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
    if kind_of(dtype) == "f":
        return np.asarray(rng.normal(size=shape), dtype)
    if dtype.kind == "c":
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)
    raise UsageError(f"there are no random values of dtype {dtype}")
