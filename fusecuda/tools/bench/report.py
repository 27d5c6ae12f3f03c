"""The report of a run: its table for the screen, and all of it as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ..tables import seconds
from .peers import OURS, PLAIN, named
from .rows import Row, Table, geometric_mean

NOTES = (
    "Each contender is a process of its own, and all take turns, round after round; the samples of "
    "two places in memory are put together. Figures are medians, ± is half the distance of "
    "the quartiles. A column “÷ fused” says how many times as long as fused it takes: above 1, "
    "fused is faster. Results were compared with NumPy's before anything was timed: fused to the "
    "bit or within each program's tolerance, peers within 1e-9 of the largest element. Calls are "
    "warm, and planning and compiling had all the time they take. With * fusing does not pay, as "
    "fusecuda has measured, and the plain function is called: what such a row differs from 1 is "
    "what two processes differ. A peer takes part where the plain program runs through its own "
    "namespace or decorator, unchanged; nothing is written by hand for it."
)


def columns(table: Table) -> list[str]:
    """The headings of `cells`."""
    sizes = [f"{size:,} elements" for size in table.sizes]
    return ["program", "launches", *sizes]


def cells(table: Table, program: str) -> list[str]:
    """A program's launches, and how much longer it takes unfused, at each size."""
    rows = [row for row in table.rows if row.program == program]
    return [program, launches(rows[-1]), *(_ratio_at(table, program, s) for s in table.sizes)]


def launches(row: Row) -> str:
    """Unfused and fused ones."""
    both = [str(row.launches[n]) if n in row.launches else "?" for n in (PLAIN, OURS)]
    return " → ".join(both)


def _ratio_at(table: Table, program: str, size: int) -> str:
    row = table.of(program, size)
    if row is not None:
        return f"{ratio(row, PLAIN)}{'*' * bool(row.remark)}"
    rows = [r for r in table.rows if (r.program, r.size) == (program, size)]
    return "–" if not rows else "wrong" if OURS in rows[0].wrong else "not run"


def ratio(row: Row, peer: str) -> str:
    """How many times as long as fused the peer takes, with its uncertainty."""
    return f"{row.ratio(peer):.2f} ±{100 * row.spread(peer):.0f}%"


def programs_of(table: Table) -> list[str]:
    """The names of the programs, in their order."""
    return list(dict.fromkeys(row.program for row in table.rows))


def summary(table: Table) -> list[str]:
    """Sentences: geometric means, where fused is slower, what is passed through, what is wrong."""
    lines = []
    for size in table.sizes:
        rows = [r for r in table.rows if r.size == size and r.is_timed]
        for peer in table.peers:
            mine = [r for r in rows if peer in r.times]
            if mine:
                worst = min(mine, key=lambda r, p=peer: r.ratio(p))  # type: ignore[misc]
                slower = sum(r.is_behind(peer) for r in mine)
                mean = geometric_mean([r.ratio(peer) for r in mine])
                lines.append(
                    f"{size:,} elements: {peer} takes {mean:.2f} times as long as fused in "
                    f"geometric mean of {len(mine)}, {worst.ratio(peer):.2f} times at "
                    f"worst ({worst.program}); fused is slower on {slower}"
                )
    passed = [r for r in table.rows if r.remark]
    if passed:
        lines.append(
            f"* called as it is, since fusing does not pay there: {_places(table, passed)}"
        )
    for row in table.rows:
        lines += [
            f"wrong, not timed: {row.program} at {row.size:,} elements by {peer}: {why}"
            for peer, why in row.wrong.items()
        ]
    return lines


BEHIND = ("program", "elements", OURS, "the fastest", "÷ fused")


def behind(table: Table) -> list[list[str]]:
    """Where a peer is faster by more than the noise, the most first, by the headings `BEHIND`."""
    rows = [r for r in table.rows if r.is_timed and r.is_behind(r.fastest)]
    return [
        [row.program, f"{row.size:,}", seconds(row.times[OURS].median),
         f"{row.fastest} {seconds(row.times[row.fastest].median)}", ratio(row, row.fastest)]
        for row in sorted(rows, key=lambda r: r.ratio(r.fastest))
    ]  # fmt: skip


def absences(table: Table) -> list[str]:
    """Sentences: who does not take part, and which programs a peer cannot run, and why."""
    absent: dict[str, str] = table.facts.get("absent", {})
    lines = [f"{peer} takes no part: it {why}" for peer, why in absent.items()]
    reasons: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        for peer, why in row.missing.items():
            reasons.setdefault((peer, why), []).append(row)
    for (peer, why), rows in sorted(reasons.items(), key=lambda entry: entry[0][0]):
        lines.append(f"{peer} does not run {_places(table, rows)}: {why}")
    return lines


def _places(table: Table, rows: Iterable[Row]) -> str:
    """Programs, and if it is not all of them, their sizes."""
    sizes: dict[str, list[int]] = {}
    for row in rows:
        sizes.setdefault(row.program, []).append(row.size)
    words = []
    for name, found in sizes.items():
        of = " and ".join(f"{size:,}" for size in found)
        words.append(name if sorted(found) == table.sizes else f"{name} ({of})")
    return "; ".join(words)


def markdown(table: Table, pictures: Sequence[str]) -> str:
    """The whole report; ``pictures`` are files beside it."""
    facts = {name: value for name, value in table.facts.items() if name != "absent"}
    peers = [p for p in table.peers if p != PLAIN]
    shown = {n: f"{v:,}" if isinstance(v, int) else v for n, v in facts.items()}
    lines = ["# Unfused against fused", "", *(f"- {n}: {v}" for n, v in shown.items())]
    lines += ["", NOTES, ""]
    lines += [f"- {p}: {named(p).how}" for p in [OURS, *table.peers]]
    lines += ["", *short(table)]
    lines += ["", *(f"![{picture.rpartition('-')[2][:-4]}]({picture})" for picture in pictures)]
    lines += ["", "## Unfused ÷ fused", "", *as_table(columns(table), _all_cells(table))]
    lines += ["", *(f"- {line}" for line in summary(table))]
    for size in table.sizes:
        head = ["program", OURS, *(f"{p} ÷ {OURS}" for p in [PLAIN, *peers])]
        lines += ["", f"## {size:,} elements", ""]
        rows = [r for r in table.rows if r.size == size and r.is_timed]
        lines += as_table(head, [_timed(r, [PLAIN, *peers]) for r in rows])
    lines += ["", "## Where another is faster", "", *as_table(BEHIND, behind(table))]
    lines += ["", "## Who takes no part", "", *(f"- {line}" for line in absences(table))]
    return "\n".join(lines) + "\n"


def _all_cells(table: Table) -> list[list[str]]:
    return [cells(table, program) for program in programs_of(table)]


def _timed(row: Row, peers: Sequence[str]) -> list[str]:
    own = row.times[OURS]
    shown = [row.program, f"{seconds(own.median)} ±{100 * own.spread:.0f}%"]
    return shown + [ratio(row, p) if p in row.times else "–" for p in peers]


def as_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table, figures to the right."""
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def screen(table: Table) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of the table that is printed."""
    return columns(table), _all_cells(table)


# --- the table in a document

BEGIN, END = "<!-- bench table -->", "<!-- end of the bench table -->"


def short(table: Table) -> list[str]:
    """A Markdown table of geometric means, one line for each contender and one for the fastest."""
    head = [f"time ÷ {OURS}", *(f"{size:,} elements" for size in table.sizes)]
    plain = f"{PLAIN} {'CuPy' if table.facts.get('device') == 'cuda' else 'NumPy'}"
    rows = [
        [plain if peer == PLAIN else peer, *(_mean(table, size, peer) for size in table.sizes)]
        for peer in table.peers
    ]
    if len(rows) > 1:
        rows.append(["the fastest of them", *(_mean(table, size) for size in table.sizes)])
    return as_table(head, rows)


def _mean(table: Table, size: int, peer: str = "") -> str:
    """How many times as long a peer takes, or the fastest one, of how many programs."""
    rows = [
        r for r in table.rows if r.size == size and r.is_timed and (not peer or peer in r.times)
    ]
    if not rows:
        return "–"
    pairs = [(row, peer or row.fastest) for row in rows]
    slower = sum(row.is_behind(p) for row, p in pairs)
    mean = geometric_mean([row.ratio(p) for row, p in pairs])
    return f"{mean:.2f} (of {len(rows)}, faster in {slower})"


def inserted(document: str, table: Table, name: str) -> str:
    """``document`` with the table between its two marks, and where the whole report ``name`` is.

    A document without the marks stays as it is.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return document
    text = (
        f"Geometric means over the named programs on {table.where}: how many times as long as "
        f"fused each takes, of how many programs that it runs, and in how many of them it is "
        f"faster by more than the noise. `python -m fusecuda bench` writes this table and [each "
        f"program's](bench/results/{name}.md)."
    )
    lines = [
        *textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False),
        "",
        *short(table),
    ]
    return "\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"])
