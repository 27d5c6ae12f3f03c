"""Kept plans: what one process has planned, a second one finds on the disk.

An entry of the cache is what planning comes to: the names of launches, the sources of kernels and
the blueprint of the program, as records. Its key is the graph, to the bit, and all that its plan
depends on: layouts, options, the machine, threads, NumPy's version and our own files; of the lines
that recorded it only which are the same, so that a program may be edited around it. What tells
about a plan, such as `Executable.explain`, plans again. Nothing is kept where somebody wants to see
planning done: under `FUSECUDA_VERIFY`, `FUSECUDA_DUMP`, `FUSECUDA_FUSE=0` and ``check``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from . import options as settings
from .back_ends import BACK_ENDS
from .codegen.cache import default_cache, digest_of
from .codegen.records import from_text, to_text
from .executable import Executable, Strides
from .graph.dtypes import is_numeric
from .graph.node import Graph
from .graph.text import print_hlo
from .options import IMPORTED, Options

Build = Callable[[Graph, Strides, Options], Executable]

IS_ON = True  # False where tests count plans
_ROOMS = ("", "graph", "fusion", "codegen", "cpu_fallback", "emit_cuda", "streams")


def key_of(graph: Graph, strides: Strides, options: Options) -> str | None:
    """The key of the plan of ``graph``, or None where it is not to be kept."""
    back_end = BACK_ENDS[options.device]
    is_watched = settings.verify_enabled() or settings.dump_folder() or options.check
    if not IS_ON or is_watched or back_end.keeps is None or not settings.fusion_enabled():
        return None
    files, nodes = own_files(), graph.nodes()
    if files is None or not all(is_numeric(node.dtype) for node in nodes):
        return None  # names of other types may tell less than all of them
    chosen = options.device, options.contract, options.streams
    depends = sorted(strides.items()), chosen, back_end.machine(), back_end.keeps.facts()
    numbers = _numbers_of_lines(graph)
    same = [node.line and numbers[node.line] for node in nodes]
    texts = map(repr, (same, *depends, files, np.__version__))
    return digest_of("plan", print_hlo(graph), *texts)


def _numbers_of_lines(graph: Graph) -> dict[str, str]:
    """A number for each line that recorded something, in order."""
    lines = dict.fromkeys(node.line for node in graph.nodes() if node.line)
    return {line: str(number) for number, line in enumerate(lines)}


def found(
    key: str, graph: Graph, strides: Strides, options: Options, build: Build
) -> Executable | None:
    """The executable that was kept under ``key``, if there is one; what cannot be read is removed.

    It is planned by ``build`` when somebody asks about its plan.
    """
    cache_ = default_cache()
    text = cache_.load(key)
    keeps = BACK_ENDS[options.device].keeps
    if text is None or keeps is None:
        return None
    try:
        names, sources, largest, blueprint = from_text(text)
        lines = list(_numbers_of_lines(graph))
        for node in blueprint.named:
            node.line = node.line and lines[int(node.line)]
    except Exception:  # by whatever wrote it: an entry is right or not there
        cache_.remove(key)
        return None
    native = partial(keeps.program, blueprint, sources)
    return Executable(graph, strides, options, names, sources, largest, native, build)


def keep(key: str, graph: Graph, executable: Executable) -> None:
    """Let ``executable``, of ``graph``, be found under ``key`` if all of it can be written."""
    keeps = BACK_ENDS[executable.options.device].keeps
    assert keeps is not None
    made = executable.assembly, executable.sources, executable.memory
    try:
        blueprint = keeps.blueprint(*made, _numbers_of_lines(graph))
        text = to_text((executable.names, executable.sources, executable.largest, blueprint))
    except (TypeError, KeyError):  # a library call's argument, or a line that is not the graph's
        return
    default_cache().store(key, text.encode(), quietly=True)  # of kernels it is told


@cache
def own_files() -> str | None:
    """A digest of this package's files by size and time; None if these may not be what was loaded.

    So tells Python itself whether a module has to be compiled again.
    """
    package = os.path.dirname(os.path.abspath(__file__))
    seen: list[Any] = [package]
    try:
        for room in _ROOMS:
            with os.scandir(os.path.join(package, room)) as files:
                for file in sorted(files, key=lambda file: file.name):
                    if file.is_file():
                        status = file.stat()
                        if status.st_mtime_ns >= IMPORTED:
                            return None
                        seen.append((room, file.name, status.st_size, status.st_mtime_ns))
    except OSError:  # the package is no folder
        return None
    return digest_of(repr(seen))
