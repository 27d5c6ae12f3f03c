"""The Python in README and docs runs as it stands, in the order in which it is read.

A comment before a block may say what the reader is taken to have (``<!-- given: x = … -->``), and
what the block needs besides NumPy and a compiler (``<!-- needs: cupy -->``). Blocks on CuPy arrays
run on host memory.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"((?:^<!--[^\n]*-->\n)*)^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- (\w+): (.*?) -->")


def blocks(page: Path) -> list[tuple[list[tuple[str, str]], str, int]]:
    """The comments before each block of Python, its text, and its first line."""
    text = page.read_text(encoding="utf-8")
    return [
        (COMMENT.findall(found[1]), found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in BLOCK.finditer(text)
    ]


def is_missing(need: str) -> bool:
    """True for what cannot be imported here."""
    return importlib.util.find_spec(need) is None


def host(value: Any) -> Any:
    """A CuPy array over a copy of ``value``."""
    from tests import cupy_host

    cupy_host.install()
    return cupy_host.host(value)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block, in one program for a page."""
    monkeypatch.setenv("FUSECUDA_DEVICE", "cpu")
    space: dict[str, Any] = {"__name__": page.stem, "np": np, "host": host}
    for comments, source, line in blocks(page):
        assert {kind for kind, _ in comments} <= {"given", "needs"}
        if any(kind == "needs" and is_missing(what) for kind, what in comments):
            continue
        for kind, what in comments:
            if kind == "given":
                exec(what, space)
        exec(compile("\n" * (line - 1) + source, str(page), "exec"), space)


def test_there_are_blocks() -> None:
    """So that the pattern is known to find them."""
    assert len(blocks(PAGES[0])) == PAGES[0].read_text(encoding="utf-8").count("```python") > 2
