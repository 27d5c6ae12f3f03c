"""Dumps: with ``FUSECUDA_DUMP`` set, each new plan leaves its graph, sources and reasons there."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from ...engine import Executable
from ...fusion.page import page, section
from ...options import dump_folder

_SECTIONS = 60  # plans that the page shows, the newest
_sections: dict[str, dict[str, str]] = {}  # by folder and name
_lock = threading.Lock()


def dump(executable: Executable) -> None:
    """Write ``NAME.hlo``, ``NAME.c`` and ``NAME.txt`` for ``executable`` if dumps are wanted.

    ``index.html`` shows the plans that this process has left in the folder.
    """
    folder = dump_folder()
    if folder is None:
        return
    text = executable.hlo
    name = f"{executable.graph.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / f"{name}.hlo").write_text(text, encoding="utf-8")
    (path / f"{name}.c").write_text("\n".join(executable.emit("c")), encoding="utf-8")
    (path / f"{name}.txt").write_text(executable.explain(full=True), encoding="utf-8")
    with _lock:
        shown = _sections.setdefault(str(path.absolute()), {})
        shown.pop(name, None)
        shown[name] = _section(executable, name)
        newest = list(shown.values())[: -_SECTIONS - 1 : -1]
        (path / "index.html").write_text(page("fusecuda: plans", newest), encoding="utf-8")


def _section(executable: Executable, name: str) -> str:
    launched = [
        kernel.source
        for kernel, step in zip(executable.kernels, executable.assembly.steps, strict=True)
        if getattr(step, "launched", True)
    ]
    return section(executable.assembly, launched, executable.memory.peak_bytes, name)
