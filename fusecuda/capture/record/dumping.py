"""Dumps: with ``FUSECUDA_DUMP`` set, each new plan leaves its graph, sources and reasons there."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

from ...cases.case import Case
from ...cases.checked import Kept
from ...engine import Executable, build
from ...fusion.page import page, section
from ...graph.node import Graph
from ...graph.text import print_hlo
from ...options import dump_folder

MARK = "// kernel: "  # begins a kernel of a file of sources; its symbol follows
_SECTIONS = 60  # plans that the page shows, the newest
_sections: dict[str, dict[str, str]] = {}  # by folder and name
_lock = threading.Lock()


def dump(executable: Executable, graph: Graph) -> None:
    """Write ``executable``, made of ``graph``, to the folder for dumps if there is one.

    ``NAME.hlo`` is the graph as it was recorded, ``NAME.c`` (and ``NAME.cu``) the sources,
    ``NAME.txt`` the reasons; the first run adds its arguments in ``NAME.npz``. ``index.html`` shows
    the plans that this process has left in the folder.
    """
    folder = dump_folder()
    if folder is None:
        return
    name = f"{graph.name}_{hashlib.sha256(print_hlo(graph).encode()).hexdigest()[:12]}"
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    hlo = path / f"{name}.hlo"
    Case(graph, executable.strides, executable.options).write(hlo)
    executable.around.append(partial(Kept, graph=graph, path=hlo))
    host = executable
    if executable.options.device != "cpu":
        hlo.with_suffix(".cu").write_text(_sources(executable), encoding="utf-8")
        host = build(graph, executable.strides, replace(executable.options, device="cpu"))
    hlo.with_suffix(".c").write_text(_sources(host), encoding="utf-8")
    hlo.with_suffix(".txt").write_text(executable.explain(full=True), encoding="utf-8")
    with _lock:
        shown = _sections.setdefault(str(path.absolute()), {})
        shown.pop(name, None)
        shown[name] = _section(executable, name)
        newest = list(shown.values())[: -_SECTIONS - 1 : -1]
        (path / "index.html").write_text(page("fusecuda: plans", newest), encoding="utf-8")


def _sources(executable: Executable) -> str:
    """The kernels one after the other, each behind a line with its symbol."""
    pairs = zip(executable.kernels, executable.sources, strict=True)
    return "\n".join(f"{MARK}{s.symbol}\n{kernel.source}" for kernel, s in pairs if s)


def _section(executable: Executable, name: str) -> str:
    launched = [
        kernel.source
        for kernel, step in zip(executable.kernels, executable.assembly.steps, strict=True)
        if getattr(step, "launched", True)
    ]
    return section(executable.assembly, launched, executable.memory.peak_bytes, name)
