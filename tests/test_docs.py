"""README and docs: their Python runs as it stands, links lead somewhere, tables are as generated.

A comment before a block may say what the reader is taken to have (``<!-- given: x = … -->``), and
what the block needs besides NumPy and a compiler (``<!-- needs: cupy -->``). Blocks on CuPy arrays
run on host memory.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import fusecuda as fc
from fusecuda import options
from fusecuda.back_ends import BACK_ENDS
from fusecuda.graph.dtypes import BY_HLO_NAME
from fusecuda.graph.text import print_hlo
from tests import pages, stubs
from tests.marks import one_in

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
@one_in(8)
def test_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each block, in one program for a page."""
    monkeypatch.setenv("FUSECUDA_DEVICE", "cpu")
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "back_end"))
    with patch.dict(BACK_ENDS), patch.dict(options.DEVICES):
        monkeypatch.chdir(tmp_path)  # blocks write files
        run_blocks(page)


def run_blocks(page: Path) -> None:
    """Execute the blocks of ``page``, but for those that need what is missing."""
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


# --- what is generated


@pytest.mark.parametrize("name", pages.PARTS)
def test_tables_are_what_is_generated(name: str, update_goldens: bool) -> None:
    """``python -m tests.pages`` would change nothing; `make golden` does the same."""
    if f"NumPy {stubs.NUMPY};" not in (stubs.FOLDER / "__init__.pyi").read_text(encoding="utf-8"):
        pytest.skip("the tables are those of another NumPy")
    made = pages.page(name)
    if update_goldens:
        (pages.DOCS / name).write_text(made, encoding="utf-8")
    there = (pages.DOCS / name).read_text(encoding="utf-8")
    if "bf16" not in BY_HLO_NAME:  # without ml_dtypes
        there = re.sub(r"^\| `bf16` .*\n", "", there, flags=re.MULTILINE)
    assert there == made, f"docs/{name} is not up to date; `make golden` writes it"


def test_the_picture_is_what_is_generated(update_goldens: bool) -> None:
    if update_goldens:
        pages.PICTURE.write_text(pages.picture(), encoding="utf-8")
    assert pages.PICTURE.read_text(encoding="utf-8") == pages.picture()


@pytest.mark.parametrize(("op", "line"), [(row.name, row.example) for row in pages.in_graphs()])
def test_the_lines_of_the_reference_are_hlo(op: str, line: str) -> None:
    """Each is read, and written as it is."""
    if op == "parameter":
        line = line.replace("(0)", "(5)")
    given = {"%0": "f64[6] parameter(0)", "%1": "f64[] parameter(1)", "%2": "s64[4] parameter(2)",
             "%3": "f64[6] parameter(3)", "%4": "s64[4] parameter(4)"}  # fmt: skip
    lines = [f"  {name} = {text}" for name, text in given.items()]
    graph = fc.parse_hlo("\n".join(["HloModule one", *lines, f"  %5 = {line}", "ROOT (%5)", ""]))
    assert graph.outputs[0].op == op
    assert f" = {line}" in print_hlo(graph)


def test_hlo_of_the_pages_is_read() -> None:
    """Each block of HLO, and what is printed of it is read again."""
    found = 0
    for page in PAGES:
        for text in re.findall(r"^```hlo\n(.*?)^```$", page.read_text("utf-8"), re.M | re.DOTALL):
            graph = fc.parse_hlo(text)
            assert print_hlo(fc.parse_hlo(print_hlo(graph))) == print_hlo(graph)
            found += 1
    assert found


def test_reasons_are_those_that_are_given() -> None:
    """What "Why did it not fuse?" quotes stands in the texts of the program."""
    folders = ("fusion", "capture", "graph")
    files = (f for name in folders for f in (ROOT / "fusecuda" / name).rglob("*.py"))
    program = re.sub(
        r"\{[^{}]*\}|%d|\"\n\s*f?\"", "…", "".join(f.read_text("utf-8") for f in files)
    )
    page = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \|", page, re.MULTILINE)
    quoted = [part for row in rows if row != "it says" for part in row.split("; ")]
    assert len(quoted) > 20
    for phrase in quoted:
        for part in re.split(r"…|320", phrase):
            assert part.strip(" ,") in program, phrase


# --- links, and the site

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
TEXTS = [*PAGES, ROOT / "ARCHITECTURE.md"]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as its generator and forges make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads)
    return {re.sub(r"[-\s]+", "-", word) for word in words}


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: p.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """To files and headings that are there; pages link to pages only, which are on the site."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "code", text)
    for target in LINK.findall(text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        assert there.exists(), f"{page.name}: {target}"
        if page.parent.name == "docs":
            assert there.is_relative_to(ROOT / "docs"), f"{page.name}: {target} is not on the site"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


def test_the_navigation_names_each_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^\s+- .*: (\w+\.md)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in PAGES if page.parent.name == "docs")


@pytest.mark.slow
def test_the_site_is_built(tmp_path: Path) -> None:
    """Strictly: without a warning, a dead link, or a name of the interface that is not found."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reference = (tmp_path / "api" / "index.html").read_text(encoding="utf-8")
    assert all(f'id="fusecuda.{name}"' in reference for name in fc.__all__)
