"""`export`: a function ahead of time, as source, header and build file."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from ...api import ArraySpec, mapped, unfused
from ...capture.calls.recording import Recording, record_function
from ...cpu_fallback.program import thread_count
from ...engine import Executable, build
from ...errors import NotFusedError
from ...graph.node import Node
from ...options import Choices, Options
from ...streams.memory_plan import plan_memory
from ...words import counted
from .c_text import CText
from .cuda_text import CudaText
from .makefile import c_makefile, cuda_makefile
from .signature import Signature, signature_of


@dataclass(frozen=True)
class Exported:
    """What `export` has written: ``source``, ``header``, ``makefile`` and the graph, ``hlo``.

    ``name`` is the C function's, ``signature`` its declaration.
    """

    name: str
    signature: str
    source: Path
    header: Path
    makefile: Path
    hlo: Path


def export(
    function: Callable[..., Any],
    *args: Any,
    path: str | Path,
    target: str = "c",
    name: str | None = None,
    threads: int | None = None,
    **options: Unpack[Choices],
) -> Exported:
    """The files of a C or CUDA function that does what ``function`` does, written to ``path``.

    ``args`` are arrays, or `spec` stand-ins, whose shapes and dtypes hold for every call (they are
    C-contiguous and share no memory), lists, tuples and dicts of such, and numbers. A number is a
    parameter of the C function, unless ``function`` looks at its value: that is fixed, as is all
    that it reads besides its arguments. The folder ``path`` is made if it is missing. ``name`` is
    the C function's, by default that of ``function``; ``threads`` are the most that a call may use
    (of C; by default those that a call here uses). ``target`` is "c", for whatever has a C11
    compiler and make, or "cuda", for nvcc: arrays are on a device then.
    ``options`` are those of `fused`.

    Results are parameters too, in the order in which they are returned; an argument that is
    overwritten is not const. The header tells how to call the function. Its results have the same
    bits as the function's here. Raises NotFusedError, naming operation and line, for what no
    kernel computes (a product of matrices, a sort), what is no single graph, and what reads an
    array that is no argument; ValueError for an unknown target; OSError if nothing can be written.
    """
    if target not in _DEVICES:
        raise ValueError(f"target must be {' or '.join(map(repr, _DEVICES))}, not {target!r}")
    plain, own_options = unfused(function, options)
    chosen = replace(own_options, device=_DEVICES[target], streams=1)
    recording = record_function(plain, [mapped(_like, a) for a in args], Options(device="cpu"))
    executable = build(recording.graph, {}, chosen)
    _refuse_library_calls(executable, recording.name)
    own = signature_of(recording, name)
    if target == "cuda":
        files = _cuda_files(executable, recording, own)
    else:
        files = _c_files(executable, recording, own, threads)
    return _written(Path(path), own, files, executable)


_DEVICES = {"c": "cpu", "cuda": "cuda"}


def _like(value: Any) -> Any:
    """For an array or a stand-in an array of its own."""
    is_array = isinstance(value, np.ndarray | ArraySpec)
    return np.empty(value.shape, value.dtype) if is_array else value


def _refuse_library_calls(executable: Executable, name: str) -> None:
    """Raise NotFusedError if a step is no kernel."""
    for step in executable.assembly.steps:
        if isinstance(step, Node):
            called = getattr(step.attr, "name", step.op)
            where = f" ({step.line})" if step.line else ""
            raise NotFusedError(
                f"{name} calls numpy.{called}{where}, which is no kernel and is not"
                " exported: export what comes before and after it, with a library's call between"
            )


def _c_files(
    executable: Executable, recording: Recording, own: Signature, threads: int | None
) -> dict[str, str]:
    """The texts of an export to C, by what they are."""
    most = thread_count() if threads is None else threads
    if most < 1:
        raise ValueError(f"threads must be at least 1, not {most}")
    memory = plan_memory(executable.assembly, most)
    text = CText(executable, memory, recording.leaves, own)
    opening = f"{recording.name}: {_of(executable)}, by fusecuda; no Python is needed."
    return {
        "source": text.source(_head(executable, own, "make")),
        "header": text.header(opening),
        "makefile": c_makefile(own.name),
        "signature": own.declared(["void *workspace"]),
    }


def _cuda_files(executable: Executable, recording: Recording, own: Signature) -> dict[str, str]:
    """The texts of an export to CUDA, by what they are."""
    text = CudaText(executable, recording.leaves, own)
    opening = f"{recording.name}: {_of(executable)}, by fusecuda; no Python is needed."
    return {
        "source": text.source(_head(executable, own, "make, which calls nvcc")),
        "header": text.header(opening),
        "makefile": cuda_makefile(own.name, executable.options.contract),
        "signature": own.declared(["void *workspace", "cudaStream_t stream"]),
    }


def _of(executable: Executable) -> str:
    return counted(executable.launches, "kernel")


def _head(executable: Executable, own: Signature, how: str) -> str:
    """The comment at the top of a source: what it computes, on which shapes, how it is built."""
    lines = [f"{own.name}: {_of(executable)}, made by fusecuda. Build: {how}.", ""]
    lines += [f"  {p.name}: {p.about}" for p in own.parameters]
    lines += ["", "What it computes:"]
    graph = executable.hlo.rstrip().splitlines()
    lines += [f"  {line}" for line in graph]
    kept = [part for line in lines for part in textwrap.wrap(line, 97) or [""]]
    return "".join(f"// {line}".rstrip() + "\n" for line in kept)


def _written(
    folder: Path, own: Signature, files: dict[str, str], executable: Executable
) -> Exported:
    folder.mkdir(parents=True, exist_ok=True)
    ending = "cu" if executable.options.device == "cuda" else "c"
    made = {
        "source": folder / f"{own.name}.{ending}",
        "header": folder / f"{own.name}.h",
        "makefile": folder / "Makefile",
        "hlo": folder / f"{own.name}.hlo",
    }
    for kind, text in {**files, "hlo": executable.hlo}.items():
        if kind in made:
            made[kind].write_text(text, encoding="utf-8")
    return Exported(own.name, files["signature"], **made)


__all__ = ["Exported", "export"]
