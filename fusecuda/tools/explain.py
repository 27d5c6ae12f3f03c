"""``explain``: the plan of a dumped graph, or of a function for arguments that need not exist."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..api import ArraySpec, lower, spec
from ..capture.calls.fused import fused
from ..engine import Executable
from ..errors import NotFusedError
from ..graph.dtypes import parse_dtype
from .dumps import build_case, read_case
from .usage import UsageError, one_line

_EPILOG = """\
TARGET is a dumped graph (FILE.hlo) or a function (FILE.py:NAME or MODULE:NAME), whose arguments are
given by --arg, in order: an array as TYPE[EXTENTS], such as f8[1000,1000], or a Python literal.
"""
_LONGEST = 1000  # operations of one plan; what is longer is called, and repeats are told once
_SPEC = re.compile(r"([A-Za-z]\w*)\[([\d,\s]*)\]")


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "explain", help="what shares a kernel and why, with HLO and sources", epilog=_EPILOG
    )
    parser.add_argument("target", metavar="TARGET", help="FILE.hlo, FILE.py:NAME or MODULE:NAME")
    parser.add_argument(
        "--arg", action="append", default=[], metavar="SPEC", help="f8[1000,1000], 2.0, …"
    )
    parser.add_argument("--source", action="store_true", help="print the kernels' sources too")
    parser.add_argument("--full", action="store_true", help="each step and each reason")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the graph of a function, the plan, and if asked the sources."""
    target: str = arguments.target
    if target.endswith(".hlo"):
        if arguments.arg:
            raise UsageError("--arg goes with a function; a dumped graph has its shapes in it")
        executable: Executable | None = build_case(read_case(target))
    else:
        function = find_function(target)
        values = [parse_argument(text) for text in arguments.arg]
        executable = lower_target(target, function, values)
        if executable is None:
            print(called(target, function, values, arguments.full), end="")
            return 0
        print(executable.hlo)
    assert executable is not None
    print(executable.explain(arguments.full), end="")
    if arguments.source:
        for kernel in executable.kernels:
            print(f"\n{kernel.source.rstrip()}")
    return 0


# --- functions


def lower_target(target: str, function: Callable[..., Any], values: list[Any]) -> Executable | None:
    """The executable that ``function`` becomes for ``values``; None if it is no single plan."""
    try:
        return lower(function, *values, longest=_LONGEST)
    except NotFusedError:
        return None
    except Exception as error:  # the user's function may raise anything
        raise UsageError(f"{target} raised {one_line(error)}") from None


def called(target: str, function: Callable[..., Any], values: list[Any], full: bool) -> str:
    """What `explain` says after a call of ``function`` with arrays of ones."""
    made = [np.ones(v.shape, v.dtype) if isinstance(v, ArraySpec) else v for v in values]
    tried = fused(function)
    try:
        tried(*made)
    except Exception as error:  # the user's function may raise anything
        raise UsageError(f"{target} raised {one_line(error)}") from None
    return str(tried.explain(full))


def find_function(target: str) -> Callable[..., Any]:
    """The function that ``target`` names."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"{target!r} is neither FILE.hlo, FILE.py:NAME nor MODULE:NAME")
    found: Any = _load(place)
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {name!r}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{target} is a {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def _load(place: str) -> Any:
    """The module of a file or of a dotted name, whatever it does when it is imported."""
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, "")
            return importlib.import_module(place)
        path = Path(place).resolve(strict=True)
        found = importlib.util.spec_from_file_location(path.stem, path)
        if found is None or found.loader is None:
            raise ImportError(place)
        module = importlib.util.module_from_spec(found)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent))
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"cannot import {place}: {one_line(error)}") from None
    return module


def parse_argument(text: str) -> Any:
    """The array stand-in or the literal that ``text`` describes."""
    match = _SPEC.fullmatch(text.strip())
    if match:
        try:
            dtype = parse_dtype(match[1])
        except TypeError:
            raise UsageError(f"--arg {text}: there is no dtype {match[1]!r}") from None
        return spec(tuple(int(n) for n in match[2].split(",") if n.strip()), dtype)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"--arg {text}: neither TYPE[EXTENTS] nor a Python literal") from None
