"""The benchmark's table: as Markdown, as JSON, and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fusecuda.tools.tables import seconds
from fusecuda.tools.timing import Timing

OURS = "fusecuda"


@dataclass(frozen=True)
class Row:
    """One program at one size: the times of all that ran it, and why others did not."""

    program: str
    size: int
    launches: int
    times: dict[str, Timing]
    missing: dict[str, str]

    def ratio(self, rival: str) -> float:
        """How many times as long as fusecuda ``rival`` takes."""
        return self.times[rival].median / self.times[OURS].median

    def ratio_of_fastest(self) -> float:
        """As `ratio` for the best rival, by the fastest runs, which noise disturbs least."""
        return min(t.low for n, t in self.times.items() if n != OURS) / self.times[OURS].low

    def best(self) -> str:
        """The fastest of the rivals."""
        rivals = (r for r in self.times if r != OURS)
        return min(rivals, key=lambda r: self.times[r].median)

    def spread(self, rival: str) -> float:
        """The uncertainty of `ratio`, as a share of it."""
        return math.hypot(self.times[rival].spread, self.times[OURS].spread)


def cells(row: Row, rivals: Sequence[str]) -> list[str]:
    """The row as texts: our time, and of each rival how much longer it takes."""
    own = row.times[OURS]
    shown = [row.program, f"{row.size:,}", str(row.launches)]
    shown.append(f"{seconds(own.median)} ±{100 * own.spread:.0f}%")
    for rival in rivals:
        if rival in row.times:
            shown.append(f"{row.ratio(rival):.2f} ±{100 * row.times[rival].spread:.0f}%")
        else:
            shown.append("–")
    return shown


def columns(rivals: Sequence[str]) -> list[str]:
    """The headings of `cells`."""
    return ["program", "elements", "launches", OURS, *(f"{r} ÷ ours" for r in rivals)]


def summary(rows: Sequence[Row], rivals: Sequence[str]) -> list[str]:
    """Sentences: geometric means against each rival and the best, and where we lose."""
    lines = []
    for rival in rivals:
        ratios = [r.ratio(rival) for r in rows if rival in r.times]
        if ratios:
            lines.append(f"{_geomean(ratios):.2f}× the speed of {rival} (geometric mean of "
                         f"{len(ratios)}, worst {min(ratios):.2f}×)")  # fmt: skip
    by_median = _geomean([r.ratio(r.best()) for r in rows])
    by_fastest = _geomean([r.ratio_of_fastest() for r in rows])
    lines.append(f"{by_median:.2f}× the best of them each time, {by_fastest:.2f}× by fastest runs")
    for row in rows:
        rival = row.best()
        ratio = row.ratio(rival)
        if ratio < 1 - row.spread(rival):
            lines.append(f"slower than {rival}: {row.program}, {row.size:,} elements, "
                         f"by a factor of {1 / ratio:.2f}")  # fmt: skip
    return lines


def _geomean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def markdown(facts: dict[str, Any], rows: Sequence[Row], rivals: Sequence[str]) -> str:
    """The whole report."""
    lines = ["# CPU benchmark", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items()]
    lines += [
        "",
        "Medians of runs in turn in one process; ± is half the distance of the quartiles.",
    ]
    lines += ["A rival's column says how many times as long as fusecuda it takes.", ""]
    head = columns(rivals)
    lines += [f"| {' | '.join(head)} |", f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|"]
    lines += [f"| {' | '.join(cells(row, rivals))} |" for row in rows]
    lines += ["", *(f"- {line}" for line in summary(rows, rivals))]
    gaps = {f"{r.program} by {n}: {why}" for r in rows for n, why in r.missing.items()}
    lines += [f"- not run: {gap}" for gap in sorted(gaps)]
    return "\n".join(lines) + "\n"


def as_json(facts: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """The report as plain data, times in seconds."""
    return {"facts": facts, "rows": [_plain(row) for row in rows]}


def _plain(row: Row) -> dict[str, Any]:
    figures = ("median", "low", "high", "spread")
    times = {
        name: {"runs": len(t.runs), **{f: float(f"{getattr(t, f):.4g}") for f in figures}}
        for name, t in row.times.items()
    }
    return {"program": row.program, "size": row.size, "launches": row.launches,
            "times": times, "missing": row.missing}  # fmt: skip
