"""Shapes: every program at odd sizes, drawn at random, so that no cliff hides between a few."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from ..programs.program import Program
from . import pictures, report
from .peers import OURS, PLAIN
from .rows import Row, Table, geometric_mean

LEAST, MOST = 300, 3_000_000  # elements of the largest argument


def drawn(programs: Sequence[Program], count: int) -> dict[str, list[int]]:
    """``count`` sizes in all, the same in each run: as many small ones as large ones."""
    draw = numpy.random.default_rng(17)
    sizes = numpy.exp(draw.uniform(math.log(LEAST), math.log(MOST), count)).astype(int)
    turns = [programs[k % len(programs)].name for k in draw.permutation(count)]
    found: dict[str, list[int]] = {name: [] for name in dict.fromkeys(turns)}
    for name, size in zip(turns, sizes.tolist(), strict=True):
        found[name].append(size | 1)
    return found


def markdown(table: Table, files: Sequence[str]) -> str:
    """The report: means by the power of ten, where another is faster, all that was drawn."""
    rows = [row for row in table.rows if row.is_timed]
    powers = sorted({_power(row) for row in rows})
    head = ["elements", "shapes", f"{PLAIN} ÷ {OURS}", f"the fastest ÷ {OURS}", "behind"]
    means = [[f"{10**p:,} to {10 ** (p + 1):,}", *_means([r for r in rows if _power(r) == p])]
             for p in powers]  # fmt: skip
    lines = ["# Odd sizes", "", f"Sizes drawn at random, on {table.where}. {report.NOTES}", ""]
    lines += report.as_table(head, [*means, ["all", *_means(rows)]])
    lines += ["", *(f"![shapes]({picture})" for picture in files)]
    lines += ["", "## Where another is faster", ""]
    return "\n".join([*lines, *report.as_table(report.BEHIND, report.behind(table))]) + "\n"


def _power(row: Row) -> int:
    return len(str(row.size)) - 1


def _means(rows: Sequence[Row]) -> list[str]:
    plain = geometric_mean([row.ratio() for row in rows])
    best = geometric_mean([row.ratio(row.fastest) for row in rows])
    behind = sum(row.is_behind(row.fastest) for row in rows)
    return [str(len(rows)), f"{plain:.2f}", f"{best:.2f}", str(behind)]


def draw(figure: Any, table: Table) -> bool:
    """A point for each shape: how many times as long the fastest other one takes."""
    rows = [row for row in table.rows if row.is_timed]
    if not rows:
        return False
    figure.set_size_inches(7.5, 4.5)
    axes = pictures.axes_of(figure, "the fastest other ÷ fused, sizes drawn at random")
    others = list(dict.fromkeys(row.fastest for row in rows))
    for number, peer in enumerate(others):
        points = [(row.size, row.ratio(peer)) for row in rows if row.fastest == peer]
        axes.plot(*zip(*points, strict=True), "o", ms=3.5, label=peer,
                  color=pictures.COLOURS[number % len(pictures.COLOURS)])  # fmt: skip
    for row in sorted(rows, key=lambda r: r.ratio(r.fastest))[:_NAMED]:
        axes.annotate(row.program, (row.size, row.ratio(row.fastest)), fontsize=5,
                      textcoords="offset points", xytext=(4, -2))  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(pictures.times)
    axes.axhline(1.0, color=pictures.INK, linewidth=0.8)
    axes.set_xlabel("elements of the largest argument; above 1 fused is faster")
    axes.legend(loc="upper left", frameon=False)
    return True


_NAMED = 8  # points that stand lowest
PICTURES = {"shapes": draw}
