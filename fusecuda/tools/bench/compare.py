"""``bench compare A B``: two runs by their ratios, for seconds of two machines say nothing."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from .. import tables
from ..usage import UsageError
from .peers import OURS, PLAIN
from .rows import Row, Table, geometric_mean, read

CLEAR = 2.0  # times the uncertainty, from which on a change counts
OWN = ("date", "load average before", "absent")  # facts that differ anyway


def run(arguments: argparse.Namespace) -> int:
    """Print how the ratios of two runs compare."""
    tables_read = [read(path_of(path)) for path in (arguments.before, arguments.after)]
    print("\n".join(compared(*tables_read)))
    return 0


def path_of(path: Path) -> Path:
    """The file itself, or the only table in a folder; raises UsageError if that is not clear."""
    if not path.is_dir():
        return path
    found = sorted(path.glob("bench-*.json"))
    if len(found) != 1:
        raise UsageError(f"{path} has {len(found)} tables of `bench`: name one")
    return found[0]


def change(a: Row, b: Row, peer: str = PLAIN) -> tuple[float, bool]:
    """By what factor the ratio has grown, and if that is more than noise."""
    grown = b.ratio(peer) / a.ratio(peer)
    noise = math.hypot(a.spread(peer), b.spread(peer))
    return grown, abs(math.log(grown)) > CLEAR * noise


def compared(before: Table, after: Table) -> list[str]:
    """The lines to be printed; raises UsageError if nothing was measured in both."""
    pairs = [(a, b) for b in after.rows if b.is_timed and (a := before.of(b.program, b.size))]
    if not pairs:
        raise UsageError("the two runs have no program and size in common")
    rows = []
    for a, b in pairs:
        grown, is_clear = change(a, b)
        word = "" if not is_clear else "better" if grown > 1 else "worse"
        launches = " → ".join(dict.fromkeys(str(r.launches.get(OURS, "?")) for r in (a, b)))
        cells = [f"{a.ratio():.2f}", f"{b.ratio():.2f}", f"{grown:.2f}", word]
        rows.append([a.program, f"{a.size:,}", launches, *cells])
    head = ("program", "elements", "launches", "A", "B", "B ÷ A", "")
    text = tables.plain_table("unfused ÷ fused: ratios within each run", head, rows)
    return [text, *_means(pairs), *_differences(before, after)]


def _means(pairs: list[tuple[Row, Row]]) -> list[str]:
    """Geometric means over what both have, against each peer."""
    lines = []
    for peer in dict.fromkeys(p for _, b in pairs for p in b.times if p != OURS):
        both = [(a, b) for a, b in pairs if peer in a.times and peer in b.times]
        if both:
            a, b = (geometric_mean([pair[i].ratio(peer) for pair in both]) for i in (0, 1))
            lines.append(
                f"{peer} ÷ {OURS}, geometric mean of {len(both)}: {a:.2f}, then {b:.2f}; "
                f"B ÷ A {b / a:.2f}"
            )
    words = [change(a, b) for a, b in pairs]
    better, worse = (sum(c and (g > 1) == up for g, c in words) for up in (True, False))
    lines.append(
        f"beyond {CLEAR:.0f} times the noise: {better} better, {worse} worse of {len(pairs)}"
    )
    return lines


def _differences(before: Table, after: Table) -> list[str]:
    """The facts in which the runs differ; rates are measured, and always do."""
    names = [n for n in {**before.facts, **after.facts} if n not in OWN and not n.endswith("/s")]
    found = [(n, before.facts.get(n, "none"), after.facts.get(n, "none")) for n in names]
    return [f"{name}: {a}, then {b}" for name, a, b in found if a != b]
