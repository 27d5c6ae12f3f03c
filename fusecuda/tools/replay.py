"""``replay``: run the kernels of dumped graphs on the inputs kept with them, and check them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..cases.case import Case, digest, on_host
from ..cases.checked import meaning_of
from ..cases.checked import results_of as all_results
from ..cases.compare import compare, first_difference, is_exact
from ..engine import Executable
from ..errors import CompilerError
from ..graph.dtypes import hlo_name, kind_of
from ..graph.interpret import interpret
from ..graph.library import steady
from ..graph.node import Graph, Node
from ..words import counted
from . import tables
from .dumps import add_dump, array_module, build_case, cases
from .edited import use_edited
from .timing import side_by_side
from .usage import UsageError, one_line

Array = np.ndarray[Any, Any]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "replay", help="run a dumped graph on its inputs, or on random ones"
    )
    add_dump(parser)
    parser.add_argument("--check", action="store_true", help="compare with the interpreter")
    parser.add_argument(
        "--edited", action="store_true", help="run the sources in NAME.c (or NAME.cu) of the dump"
    )
    parser.add_argument("--repeat", type=_positive, default=10, metavar="N", help="timed runs")
    parser.set_defaults(run=run)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Print the results' checksums and the time; 1 if a result is not the interpreter's."""
    found = cases(arguments)
    status = 0
    for path, case in found:
        if len(found) > 1:
            print(f"{path.name}:")
        status |= replay(path, case, arguments.check, arguments.edited, arguments.repeat)
    return status


def replay(path: Path, case: Case, checked: bool, edited: bool, repeat: int) -> int:
    """Run ``case``, which is that of ``path``, and tell of it; 1 if its results are wrong."""
    executable = build_case(case)
    if edited:
        source = path.with_suffix(".cu" if case.options.device == "cuda" else ".c")
        changed = use_edited(executable, source)
        print(f"edited: {', '.join(changed) or 'nothing'}")
    with steady():
        results = results_of(executable, case)
        _tell(case, results)
        scratch = case.arguments(array_module(case.options.device))
        timing = side_by_side({"run": lambda: executable.run(scratch)}, 0, repeat, repeat)["run"]
        print(
            f"{counted(executable.launches, 'launch')}, median {tables.seconds(timing.median)} of "
            f"{repeat} ({tables.seconds(timing.low)} – {tables.seconds(timing.high)})"
        )
        if not checked:
            return 0
        return check(case.graph, case.arguments(), results, case.options.device)


def _tell(case: Case, results: Sequence[Array]) -> None:
    """Print each result's digest, and whether the dumped run had the same."""
    digests = [digest(result) for result in results]
    for i, (node, result) in enumerate(zip(case.graph.outputs, results, strict=True)):
        then = ""
        if len(case.digests) == len(results):
            same = case.digests[i] == digests[i]
            then = "  as dumped" if same else "  NOT as dumped"
            if not same and not is_exact(node):
                then += " (libraries do not promise it)"
        print(f"result {i}: {_type(node)}  sha256 {digests[i]}{then}{_range(result)}")


def check(
    graph: Graph, inputs: Sequence[Any], results: Sequence[Array], device: str = "cpu"
) -> int:
    """0 if ``results`` are the interpreter's; else 1, and the first that is not is shown."""
    try:
        expected = interpret(graph, inputs, meaning_of(device))
    except (IndexError, ValueError) as error:
        raise UsageError(f"the interpreter fails: {one_line(error)}") from None
    difference = first_difference(graph, results, expected, exact=device == "cpu")
    if difference is not None:
        print(f"MISMATCH: {difference}")
        return 1
    note = "" if device == "cpu" else " (equal bits are not promised)"
    for i, (want, have) in enumerate(zip(expected, results, strict=True)):
        print(f"result {i}: {compare(have, want)}{note}")
    print("check passed")
    return 0


def results_of(executable: Executable, case: Case) -> list[Array]:
    """All results on copies of the inputs, those that overwrite an argument too."""
    arguments = case.arguments(array_module(case.options.device))
    try:
        found = executable.run(arguments)
    except (IndexError, ValueError) as error:
        raise UsageError(f"the inputs do not fit this graph: {one_line(error)}") from None
    except CompilerError as error:
        raise UsageError(one_line(error)) from None
    return [np.asarray(on_host(r)) for r in all_results(case.graph, found, arguments)]


# --- texts


def _type(node: Node) -> str:
    return f"{hlo_name(node.dtype)}[{','.join(map(str, node.shape))}]"


def _range(array: Array) -> str:
    if not array.size or kind_of(array.dtype) not in "iuf":
        return ""
    nan = np.isnan(array)
    nans, some = int(np.count_nonzero(nan)), array[~nan]
    text = f"  from {some.min():.6g} to {some.max():.6g}" if some.size else ""
    return text + (f", {nans:,} NaN" if nans else "")
