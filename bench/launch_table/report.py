"""The launch table as cells, as Markdown and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .count import COUNTED, Row

COLUMNS = ("program", "operations", "unfused", "fused", "on CUDA", "minimum", "bytes ÷ least")
NOTES = (
    f"Arguments of about {COUNTED:,} elements, a call that is replayed. Fused is by the C back "
    "end, on CUDA by its plans for an H100: there running sums are library calls, and what waits "
    "for a reduction over everything, or over few long rows, is a launch more. Unfused are NumPy's "
    "own launches: ufuncs, reductions and other functions that go over an array. Library "
    "calls count one each. The minimum is what no plan can go below; bytes are those that the "
    "launches have to move at least, each array once a launch, against arguments read once and "
    "results written once; – where NumPy itself computes a part.",
)


def cells(row: Row) -> list[str]:
    """The figures of a line as texts."""
    ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
    counts = [str(n) if n <= row.minimum else f"**{n}**" for n in (row.fused, row.cuda)]
    figures = [str(row.operations), str(row.unfused), *counts, str(row.minimum)]
    return [row.program, *figures, ratio]


def summary(rows: Sequence[Row]) -> str:
    """A sentence: how many are at the minimum, and launches altogether."""
    at, at_gpu = (sum(getattr(r, f) <= r.minimum for r in rows) for f in ("fused", "cuda"))
    unfused, fused, gpu, least = (sum(getattr(r, f) for r in rows) for f in _TOTALS)
    return (
        f"Of {len(rows)} programs {at} take the minimum of launches, {at_gpu} on CUDA; all "
        f"together {fused:,} launches, {gpu:,} on CUDA, instead of {unfused:,}; "
        f"{least:,} cannot be avoided."
    )


_TOTALS = ("unfused", "fused", "cuda", "minimum")


def table(rows: Sequence[Row]) -> list[str]:
    """The lines of the table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|---|{'---:|' * (len(COLUMNS) - 1)}"]
    return [*lines, *(f"| {' | '.join(cells(row))} |" for row in rows)]


def markdown(facts: dict[str, Any], rows: Sequence[Row]) -> str:
    """The whole report, with the reasons."""
    lines = ["# Launch table", "", *(f"- {name}: {value}" for name, value in facts.items())]
    lines += ["", *NOTES, "", summary(rows), "", *table(rows), ""]
    lines += [
        "| program | why the minimum is what it is | why it is not reached |",
        "|---|---|---|",
    ]
    lines += [f"| {row.program} | {row.why} | {row.above or '–'} |" for row in rows]
    return "\n".join(lines) + "\n"


def as_json(facts: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """The table as plain data."""
    return {"facts": facts, "rows": [dataclasses.asdict(row) for row in rows]}


# --- the table in a document

BEGIN, END = "<!-- launch table -->", "<!-- end of the launch table -->"


def short(rows: Sequence[Row]) -> str:
    """The table of a document: two programs a line."""
    head = COLUMNS[:6]
    half = (len(rows) + 1) // 2
    texts = [cells(row)[: len(head)] for row in rows]
    texts += [[""] * len(head)] * (2 * half - len(rows))
    lines = [f"| {' | '.join(head * 2)} |", "|" + ("---|" + "---:|" * (len(head) - 1)) * 2]
    pairs = zip(texts[:half], texts[half:], strict=True)
    lines += [f"| {' | '.join([*left, *right])} |" for left, right in pairs]
    return "\n".join([summary(rows), "", *lines])


def inserted(document: str, rows: Sequence[Row]) -> str:
    """``document`` with the table between its two marks; raises ValueError without them."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document has no {BEGIN} … {END}")
    return f"{before}{BEGIN}\n{short(rows)}\n{END}{after}"


def launches_in(document: str) -> dict[str, tuple[int, ...]]:
    """Launches unfused, fused, on CUDA and minimum of each program in a document's table."""
    found: dict[str, tuple[int, ...]] = {}
    for line in document.partition(BEGIN)[2].partition(END)[0].splitlines():
        parts = [c.strip().strip("*") for c in line.strip("|").split("|")]
        for name, _, *figures in (parts[:6], parts[6:]) if len(parts) == 12 else ():
            if name and figures[0].isdigit():
                found[name] = tuple(map(int, figures))
    return found
