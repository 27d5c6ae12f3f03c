"""Dumps: with ``FUSECUDA_DUMP`` set, each new plan leaves its graph, sources and reasons there."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...engine import Executable
from ...options import dump_folder


def dump(executable: Executable) -> None:
    """Write ``NAME.hlo``, ``NAME.c`` and ``NAME.txt`` for ``executable`` if dumps are wanted."""
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
