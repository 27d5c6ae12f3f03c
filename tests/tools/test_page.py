"""The page that dumps leave: self-contained, whole, and each link leads somewhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.capture.record import plans

X = np.linspace(0, 1, 64).reshape(8, 8)
SVG = "{http://www.w3.org/2000/svg}"


def attention(x: np.ndarray, w: np.ndarray) -> Any:
    s = (x @ w) / 8.0
    e = np.exp(s - s.max(axis=1, keepdims=True))
    hot = np.where(e > 0.5, e, 0.0)
    return e / e.sum(axis=1, keepdims=True), hot.sum(axis=0)


def steps(x: np.ndarray) -> Any:
    x[1:-1] += x[:-2] * 0.25
    return x.max()


class Reader(HTMLParser):
    """What a page has: tags that are not closed, ids, links, and whatever comes from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href" and value is not None:
                self.links.append(value)
            if name == "src" or (value or "").startswith(("http", "//")):
                self.outside.append(f"{tag} {name}={value}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plans.forget()
    monkeypatch.setenv("FUSECUDA_DUMP", str(tmp_path))
    return tmp_path


def read(folder: Path) -> tuple[str, Reader]:
    text = (folder / "index.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    return text, reader


def test_the_page_is_whole_and_needs_nothing_from_outside(folder: Path) -> None:
    fc.fused(strict=True)(attention)(X, X)
    text, reader = read(folder)
    assert reader.open == [] and reader.outside == []
    assert not re.search(r"url\(|@import|<link|<iframe", text)
    assert len(set(reader.ids)) == len(reader.ids)
    for link in reader.links:
        assert link.startswith("#") and link[1:] in reader.ids, link
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)


def test_each_launch_is_a_box_around_its_operations(folder: Path) -> None:
    fused = fc.fused(strict=True)(attention)
    fused(X, X)
    exe = fc.lower(attention, X, X)
    text, reader = read(folder)
    svg = ET.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0])
    boxes = [g for g in svg.iter("g") if g.get("class", "").startswith("box")]
    assert len(boxes) == exe.launches
    areas = [next(box.iter("rect")).attrib for box in boxes]
    for chip in (g for g in svg.iter("g") if g.get("class") == "chip"):
        rect = next(chip.iter("rect")).attrib
        assert sum(inside(rect, area) for area in areas) == 1, chip[0].text
    for i, one in enumerate(areas):
        for other in areas[:i]:
            assert apart(one, other), (one, other)
    ends = [g for g in svg.iter("g") if g.get("class") == "end"]
    names = {"".join(next(g.iter("text")).itertext()).partition(":")[0] for g in ends}
    assert names == {"argument 0", "result 0", "result 1"}  # X is given twice
    for end in ends:
        assert all(apart(next(end.iter("rect")).attrib, area) for area in areas)
    for kernel in exe.kernels:
        assert kernel.name in reader.text
    assert "static" in reader.text or "void " in reader.text  # the emitted code
    assert "e = np.exp(s - s.max(axis=1, keepdims=True))" in reader.text


def inside(a: Any, b: Any) -> bool:
    x, y, w, h = (float(a[k]) for k in ("x", "y", "width", "height"))
    left, top, width, height = (float(b[k]) for k in ("x", "y", "width", "height"))
    return left <= x and top <= y and x + w <= left + width and y + h <= top + height


def apart(a: Any, b: Any) -> bool:
    x, y, w, h = (float(a[k]) for k in ("x", "y", "width", "height"))
    left, top, width, height = (float(b[k]) for k in ("x", "y", "width", "height"))
    return x + w <= left or left + width <= x or y + h <= top or top + height <= y


def test_many_arguments_are_read_above_what_reads_them(folder: Path) -> None:
    """In rows no wider than the boxes; what is overwritten is no result."""

    def adam(x: np.ndarray, *rest: np.ndarray) -> None:
        total = sum(a * 0.5 for a in rest)
        x += total @ x

    fc.fused(strict=True)(adam)(np.ones((8, 8)), *(np.ones((8, 8)) for _ in range(12)))
    text, _ = read(folder)
    svg = ET.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[0])
    found = {
        "".join(next(g.iter("text")).itertext()).partition(":")[0]: next(g.iter("rect")).attrib
        for g in svg.iter("g")
        if g.get("class") == "end"
    }
    assert len(found) == 14 and "argument 0 written" in found
    boxes = [g[0].attrib for g in svg.iter("g") if g.get("class", "").startswith("box")]
    for i, one in enumerate([*found.values(), *boxes]):
        assert all(apart(one, other) for other in [*found.values(), *boxes][:i])
        assert float(one["x"]) >= 0
        assert float(one["x"]) + float(one["width"]) <= float(svg.get("width", 0)) <= 2000
    first, second = (float(found[f"argument {n}"]["y"]) for n in (1, 0))
    assert first < second < float(found["argument 0 written"]["y"])


def test_hostile_names_are_text(folder: Path) -> None:
    def plan(x: np.ndarray) -> Any:
        return x * 2.0 + 1.0  # <script>alert("&")</script>

    plan.__name__ = "<b>&'\""
    fc.fused(strict=True)(plan)(X)
    text, reader = read(folder)
    assert reader.open == [] and "<b>&" not in text
    assert '<script>alert("&")' in reader.text and text.count("<script>") == 1


def test_all_plans_of_the_process_are_there_the_newest_first(folder: Path) -> None:
    fc.fused(strict=True)(attention)(X, X)
    fc.fused(strict=True)(steps)(X.copy())
    text, reader = read(folder)
    assert reader.text.index("steps") < reader.text.index("attention")
    assert text.count("<section") == len(list(folder.glob("*.hlo")))
    assert reader.open == []
    for link in reader.links:
        assert link[1:] in reader.ids, link
