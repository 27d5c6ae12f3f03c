"""Edited sources: kernels of a dump as the user has changed them, in place of those emitted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from ..back_ends import BACK_ENDS
from ..capture.record.dumping import MARK
from ..cpu_fallback.loader import KernelSource
from ..emit_cuda.source import CudaSource
from ..engine import Executable
from ..errors import CompilerError
from ..fusion.together import Company
from .usage import UsageError, one_line


def use_edited(executable: Executable, path: Path) -> list[str]:
    """Put the kernels of the file ``path`` in place of those emitted; names those that differ.

    Raises UsageError if a kernel is missing there, its entry or its parameters are others, or it
    does not compile.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(one_line(error)) from None
    head = BACK_ENDS[executable.options.device].head
    kernels, lines = {}, {}
    for symbol, line, body in _kernels(text):
        kernels[symbol], lines[symbol] = body.replace(head, "\n" * head.count("\n")), line
    changed = []
    for i, source in enumerate(executable.sources):
        if source is None:
            continue
        body = _body(kernels, source, path)
        if _stripped(body) != _stripped(source.text):
            name, _, _ = source.symbol.rpartition("_")
            symbol = f"{name}_{hashlib.sha256(body.encode()).hexdigest()[:12]}"
            told = f"#line {lines[source.symbol]} {json.dumps(str(path))}\n"
            text = told + body.replace(source.symbol, symbol)
            executable.sources[i] = replace(source, symbol=symbol, text=text)
            changed.append(source.symbol)
    planned, options = executable.plan(), executable.options
    if changed:  # what joins kernels to one text does not know of it
        steps = range(len(planned.assembly.steps))
        apart: list[Company] = [(number,) for number in steps]
        planned = planned._replace(assembly=replace(planned.assembly, companies=apart))
    executable.planned = planned
    make = BACK_ENDS[options.device].program
    executable.native = partial(make, planned.assembly, executable.sources, planned.memory, options)
    try:
        executable.native()
    except CompilerError as error:
        said = [line.strip() for line in str(error).splitlines() if "error" in line]
        blamed = [line for line in said if line.startswith(str(path))]
        raise UsageError(blamed[0] if blamed else f"{path}: {one_line(error)}") from None
    return changed


def _body(kernels: Mapping[str, str], source: KernelSource | CudaSource, path: Path) -> str:
    """The text that stands for ``source`` among the ``kernels`` of ``path``, or a UsageError."""
    if source.symbol not in kernels:
        known = ", ".join(kernels) or "none"
        raise UsageError(
            f"{path} has no kernel {source.symbol}, which the graph launches; kernels there, "
            f"each behind a line '{MARK}NAME': {known}"
        )
    body = kernels[source.symbol]
    want, have = _entry(source.text, source.symbol), _entry(body, source.symbol)
    if have is None:
        raise UsageError(f"{path} does not define the function {source.symbol}")
    if have != want:
        raise UsageError(f"{path}: {source.symbol} has to take ({want}), not ({have})")
    return body


def _kernels(text: str) -> Iterator[tuple[str, int, str]]:
    """The symbol of each kernel, the number of its first line, and its text."""
    above, *parts = re.split(rf"^{re.escape(MARK)}(\S+)[^\n]*\n", text, flags=re.MULTILINE)
    line = 1 + above.count("\n")
    for symbol, body in zip(parts[::2], parts[1::2], strict=True):
        line += 1
        yield symbol, line, body
        line += body.count("\n")


def _entry(text: str, symbol: str) -> str | None:
    """The parameters of the function ``symbol``, or None if it is not defined."""
    found = re.search(
        rf"\bvoid\s+(?:__launch_bounds__\([^)]*\)\s*)?{symbol}\s*\(([^)]*)\)\s*\{{", text
    )
    return " ".join(found[1].split()) if found else None


def _stripped(text: str) -> list[str]:
    """The lines that matter: without comments, includes and blanks at either end."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("//", "#include"))]
