"""Pictures of a run as SVG, drawn by matplotlib: bars by program, roofline, ratio by size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .peers import OURS, PLAIN
from .report import programs_of
from .rows import Row, Table, geometric_mean

INK, FAINT = "#1f2933", "#b8c2cc"
Draw = Callable[[Any, Table], bool]
COLOURS = ("#1f77b4", "#d1495b", "#edae49", "#3a7d44", "#6f4e7c", "#8c6d46")


def draw(table: Table, folder: Path, name: str, wanted: Mapping[str, Draw]) -> list[Path]:
    """The files of the pictures ``wanted`` that the table has figures for.

    Raises ImportError without matplotlib.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    found = []
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "fusecuda", "font.size": 8.0}
    with mpl.rc_context(style):
        for title, draw_one in wanted.items():
            figure = Figure(layout="constrained")
            if draw_one(figure, table):
                path = folder / f"{name}-{title}.svg"
                figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
                found.append(path)
    return found


def _timed(table: Table, size: int) -> list[Row]:
    rows = (table.of(program, size) for program in programs_of(table))
    return [row for row in rows if row is not None]


def axes_of(figure: Any, title: str) -> Any:
    """Axes with a title, in the style of all pictures."""
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, which="both")
    return axes


def times(value: float, _: Any = None) -> str:
    """A ratio, as it stands at an axis."""
    return f"{value:g}×"


def draw_bars(figure: Any, table: Table) -> bool:
    """Of each program at the largest size: how much longer it takes unfused, and by peers."""
    rows = _timed(table, table.sizes[-1])[::-1]
    if not rows:
        return False
    figure.set_size_inches(7.5, 1.1 + 0.19 * len(rows))
    axes = axes_of(figure, f"time ÷ fused, {table.sizes[-1]:,} elements")
    places = list(range(len(rows)))
    ratios = [row.ratio() for row in rows]
    noise = [row.ratio() * min(row.spread(), 0.9) for row in rows]
    axes.barh(places, [r - 1 for r in ratios], left=1.0, color=COLOURS[0], alpha=0.75, height=0.7,
              xerr=noise, error_kw={"ecolor": INK, "elinewidth": 0.6}, label=PLAIN)  # fmt: skip
    for number, peer in enumerate((p for p in table.peers if p != PLAIN), 1):
        points = [(row.ratio(peer), y) for y, row in enumerate(rows) if peer in row.times]
        axes.plot(*zip(*points, strict=True), "o", ms=3.5, label=peer,
                  color=COLOURS[number % len(COLOURS)])  # fmt: skip
    axes.set_yticks(places, [row.program for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(times)
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.set_xlabel("to the right of 1 fused is faster")
    axes.legend(loc="lower right", frameon=False)
    return True


def draw_sizes(figure: Any, table: Table) -> bool:
    """How the ratio depends on the size: each program faint, the geometric means strong."""
    sizes = table.sizes
    if len(sizes) < 2 or not any(_timed(table, size) for size in sizes):
        return False
    figure.set_size_inches(7.5, 4.5)
    axes = axes_of(figure, "time ÷ fused by size")
    for program in programs_of(table):
        rows = [row for size in sizes if (row := table.of(program, size))]
        axes.plot([r.size for r in rows], [r.ratio() for r in rows], color=FAINT, linewidth=0.7)
    for number, peer in enumerate(table.peers):
        means = []
        for size in sizes:
            ratios = [r.ratio(peer) for r in _timed(table, size) if peer in r.times]
            means += [(size, geometric_mean(ratios))] if ratios else []
        axes.plot(*zip(*means, strict=True), "o-", color=COLOURS[number % len(COLOURS)],
                  label=f"{peer}, geometric mean")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(times)
    axes.axhline(1.0, color=INK, linewidth=0.8)
    axes.set_xlabel("elements of the largest argument; a faint line is a program, unfused")
    axes.legend(loc="upper left", frameon=False)
    return True


def draw_roofline(figure: Any, table: Table) -> bool:
    """Operations a second of each fused program at the largest size, under what was measured."""
    rows = [r for r in _timed(table, table.sizes[-1]) if r.bytes and r.flops]
    moved, computed = (table.facts.get(n) for n in ("copy, bytes/s", "operations/s"))
    if not rows or not moved or not computed:
        return False
    figure.set_size_inches(7.5, 5.5)
    axes = axes_of(figure, f"operations/s of fused programs, {table.sizes[-1]:,} elements")
    points = [_point(row) for row in rows]
    ridge = computed / moved
    low = min(*(x for x, _ in points), ridge) / 2
    high = max(*(x for x, _ in points), ridge) * 2
    axes.plot([low, ridge, high], [low * moved, computed, computed], color=INK, linewidth=1.0,
              label="this device's own copy; independent polynomials in cache")  # fmt: skip
    axes.plot(*zip(*points, strict=True), "o", color=COLOURS[0], ms=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _name_points(axes, [row.program for row in rows], points)
    axes.set_xlabel("operations for each byte that launches have to move (in caches: faster)")
    axes.set_ylabel("operations/s")
    axes.legend(loc="upper left", frameon=False)
    return True


def _name_points(axes: Any, names: list[str], points: list[tuple[float, float]]) -> None:
    """Each name beside its point, on the first side where it covers no other and no point."""
    at = [tuple(axes.transData.transform(point)) for point in points]
    wide, high = axes.bbox.width / 250, axes.bbox.height / 60  # of a letter
    taken = [(x - wide, y - high / 2, x + wide, y + high / 2) for x, y in at]
    for name, point, (x, y) in zip(names, points, at, strict=True):
        width = wide * len(name)
        sides = {
            "left": (x + 2 * wide, y - high / 2), "right": (x - 2 * wide - width, y - high / 2),
            "above": (x - width / 2, y + high / 2), "below": (x - width / 2, y - 1.5 * high),
        }  # fmt: skip
        boxes = {side: (a, b, a + width, b + high) for side, (a, b) in sides.items()}
        free = [s for s, one in boxes.items() if not any(_meet(one, other) for other in taken)]
        side = free[0] if free else "left"
        taken.append(boxes[side])
        offset = {"left": (4, 0), "right": (-4, 0), "above": (0, 5), "below": (0, -5)}[side]
        axes.annotate(
            name, point, textcoords="offset points", xytext=offset, fontsize=5, va="center",
            ha=side if side in ("left", "right") else "center",
        )  # fmt: skip


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _point(row: Row) -> tuple[float, float]:
    assert row.bytes is not None and row.flops is not None
    return row.flops / row.bytes, row.flops / row.times[OURS].median


PICTURES: dict[str, Draw] = {
    "bars": draw_bars,
    "roofline": draw_roofline,
    "sizes": draw_sizes,
}
