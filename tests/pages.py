"""Writes what the documentation has of the tables, and its picture: ``python -m tests.pages``."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc
import fusecuda.numpy  # its handlers are entered
from fusecuda.capture.arrays.table import TABLE
from fusecuda.fusion.assembly import assemble
from fusecuda.fusion.explain import bytes_alone
from fusecuda.graph.dtypes import ELEMENT_TYPES, FLOAT64
from fusecuda.graph.node import REDUCTIONS
from fusecuda.graph.ops import OWN, ROWS, SPECIAL, OpRow
from fusecuda.graph.structural import Structure
from fusecuda.graph.structure import STRUCTURES
from fusecuda.graph.structure import operations as work_of
from tests import programs

DOCS = Path(__file__).resolve().parent.parent / "docs"
EXAMPLE = DOCS.parent / "examples" / "back_end" / "numpy_back_end.py"
PICTURE = DOCS / "fusion.svg"


def structure() -> str:
    """The operations that are no rows of the op table."""
    rows = ((f"`{r.name}`", f"`{r.example}`", str(r.__doc__)) for r in in_graphs())
    return table(("operation", "for example", "meaning"), rows)


def in_graphs() -> list[Structure]:
    """The structural operations that are not plans' alone."""
    return [row for row in STRUCTURES.values() if not row.in_plans]


def types() -> str:
    """The element types of kernels."""
    rows = []
    for row in ELEMENT_TYPES.values():
        reduces = [k for k in REDUCTIONS if k in row.reduces]
        shown = "all" if len(reduces) == len(REDUCTIONS) else ", ".join(reduces)
        same = row.value == row.memory
        text = f"`{row.value}`" if same else f"`{row.value}`, in memory `{row.memory}`"
        rows.append((f"`{row.hlo}`", row.dtype.name, text, shown))
    return table(("HLO", "NumPy", "C", "reductions with kernels"), rows)


def operations() -> str:
    """The rows of the op table."""
    rows = ((f"`{r.name}`", _home(r), _kinds(r), str(r.cost), f"`{_text(r)}`") for r in ROWS)
    return table(("operation", "of", "types", "cost", "C"), rows)


def _home(row: OpRow) -> str:
    own = {"join": "complex numbers of two parts", "convert": "`astype`"}
    homes = {SPECIAL: "SciPy", OWN: "random numbers"}
    return own.get(row.name) or homes.get(row.home, "NumPy")


def _kinds(row: OpRow) -> str:
    return "".join(k for k in ("biufc" if row.home != OWN else row.text) if row.text.get(k))


def _text(row: OpRow) -> str:
    text = row.c_text(FLOAT64) or next(iter(filter(None, row.text.values())))
    suffix = "f64" if row.c_text(FLOAT64) else "s64" if row.text.get("i") else "c128"
    shown = text.format("a", "b", "c", T="T", U="U", t=suffix)
    return shown.replace("|", r"\|")


def functions() -> str:
    """The functions with handlers, by the file that records them."""
    found: dict[str, set[str]] = defaultdict(set)
    for target, handler in TABLE.items():
        name = getattr(target, "__name__", "")
        if getattr(np, name, None) is target:
            found[handler.__module__.rpartition(".")[2]].add(name)
    rows = [(f"`{file}.py`", _listed(names)) for file, names in sorted(found.items())]
    return table(("handlers", "functions"), rows)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def first() -> str:
    """What four programs launch and move, one operation at a time and fused."""
    x, v = fc.spec((1000, 1000)), fc.spec(1000)
    many = fc.spec(1_000_000)
    rows = []
    for name, function, arguments in (
        ("softmax of 1000 × 1000 doubles", programs.softmax, (x,)),
        ("layer norm of 1000 × 1000", programs.layer_norm, (x, v, v)),
        ("Black-Scholes, a million options", programs.black_scholes, (many, many, many)),
        ("sum of x + y z, 1000 × 1000", programs.sum_of_product, (x, x, x)),
    ):
        exe = fc.lower(function, *arguments)
        nodes = work_of(exe.graph.nodes())
        moved = sum(k.bytes_read + k.bytes_written for k in exe.kernels)
        alone = sum(bytes_alone([n]) for n in nodes)
        figures = len(nodes), exe.launches, f"{alone / _MEGA:,.0f} MB", f"{moved / _MEGA:,.0f} MB"
        rows.append((name, *map(str, figures)))
    head = ("", "launches, one operation at a time", "fused", "bytes through memory", "fused")
    return table(head, rows).replace("|---|---|---|---|---|", "|---|---:|---:|---:|---:|")


# --- the picture

_WIDTH, _LEFT, _TALL, _MEGA = 760, 20, 46, 1e6
_COLOURS = {"read": "#5b7db1", "write": "#d9622b"}


def picture() -> str:
    """Bytes through memory: layer norm one operation at a time, and by its one kernel."""
    x, v = fc.spec((1000, 1000)), fc.spec(1000)
    exe = fc.lower(programs.layer_norm, x, v, v)
    nodes = work_of(exe.graph.nodes())
    alone = [(n.reduction.kind if n.op == "reduce" else n.op, bytes_alone([n]),
              n.nbytes) for n in nodes]  # fmt: skip
    fused = [(k.name, k.bytes_read + k.bytes_written, k.bytes_written) for k in exe.kernels]
    moved = [sum(b for _, b, _ in parts) for parts in (alone, fused)]
    scale = (_WIDTH - 2 * _LEFT) / moved[0]
    heads = [
        f"one operation at a time: {len(alone)} launches, {moved[0] / _MEGA:.0f} MB through memory",
        f"fused: {len(fused)} launch, {moved[1] / _MEGA:.0f} MB",
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 246" '
        f'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="246" rx="8" fill="#fbfaf7"/>',
        f'<text x="{_LEFT}" y="27" font-weight="bold">layer norm of 1000 × 1000 doubles</text>',
        *_legend(),
    ]
    for top, head, parts in ((60, heads[0], alone), (158, heads[1], fused)):
        lines.append(f'<text x="{_LEFT}" y="{top}" fill="#555">{head}</text>')
        lines += _bar(parts, top + 8, scale)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend() -> list[str]:
    return [
        f'<rect x="{_WIDTH - 180 + 80 * i}" y="17" width="11" height="11" fill="{colour}"/>'
        f'<text x="{_WIDTH - 164 + 80 * i}" y="27" fill="#555">{name}</text>'
        for i, (name, colour) in enumerate(_COLOURS.items())
    ]


def _bar(parts: list[tuple[str, int, int]], top: int, scale: float) -> list[str]:
    """A bar of the launches, each as wide as what it reads and writes; its name where it fits."""
    lines, x = [], float(_LEFT)
    for name, moved, written in parts:
        widths = (moved - written) * scale, written * scale
        for width, colour in zip(widths, _COLOURS.values(), strict=True):
            if width >= 0.5:
                lines.append(
                    f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_TALL}" '
                    f'fill="{colour}"/>'
                )
            x += width
        start = x - sum(widths)
        lines.append(
            f'<path d="M{x:.1f} {top - 2}v{_TALL + 4}" stroke="#fbfaf7" stroke-width="3"/>'
        )
        if len(name) * 7.2 < sum(widths) or len(parts) == 1:
            lines.append(
                f'<text x="{start + 2:.1f}" y="{top + _TALL + 16}" font-size="11" fill="#333">'
                f"{escape(name)}</text>"
            )
    return lines


# --- pages


def kernel() -> str:
    """A kernel of the worked third back end."""
    spec = importlib.util.spec_from_file_location("numpy_back_end", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        exe = fc.lower(normalized, fc.spec((20, 30)))
        plan = assemble(exe.assembly.plan, {}, module.bind)
    finally:
        del sys.modules[spec.name]
    text = "".join(module.emit(step).text for step in plan.steps)
    return f"```py\n{text}```\n"


def normalized(x: np.ndarray) -> Any:
    """Rows of length one."""
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "../README.md": {"first table": first},
    "extend.md": {"kernel": kernel},
    "hlo.md": {"structure": structure, "types": types},
    "ops.md": {"operations": operations, "functions": functions},
}


def page(name: str) -> str:
    """The page as it should be: what stands between its marks made anew."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for mark, make in PARTS[name].items():
        begin, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
        assert text.count(begin) == text.count(end) == 1, mark
        pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
        made = make()
        text = pattern.sub(lambda _, made=made: made, text)
    return text


def main() -> None:
    """Write the pages and the picture."""
    for name in PARTS:
        (DOCS / name).write_text(page(name), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
