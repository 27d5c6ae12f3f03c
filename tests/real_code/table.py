"""What becomes of every piece: ``python -m tests.real_code.table [--json FILE] [TEXT]``.

A row for each piece whose name has TEXT: whether it was right, the outcome that is wanted and that
which came, how long a warm call takes against the plain program, and the reason given. Each piece
runs in a process of its own, under a time limit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from tests.real_code import running

LIMIT = 120  # seconds for a piece


def row(field: str, name: str) -> dict[str, Any]:
    """One piece, in this process."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = running.run(field, name)
    taken = time.perf_counter() - start
    ratio = None if report.faults else warm_ratio(field, name)
    return {"wanted": report.piece.outcome, "outcome": report.outcome, "reason": report.reason,
            "faults": report.faults, "late": report.late, "warm": ratio,
            "seconds": taken}  # fmt: skip


def warm_ratio(field: str, name: str) -> float:
    """How many times as long as the plain program a warm call takes, by the fastest of each."""
    with running.program(field) as theirs, running.program(field) as ours:
        worlds = running.World(theirs, name, False), running.World(ours, name, True)
        best = [float("inf")] * 2
        for turn in range(12):
            for i, world in enumerate(worlds):
                start = time.perf_counter()
                world.call()
                taken = time.perf_counter() - start
                if turn >= 3:
                    best[i] = min(best[i], taken)
    return best[1] / best[0]


def in_a_process(field: str, name: str) -> dict[str, Any]:
    """`row` in a process of its own; what stopped it if it does not end well."""
    command = [sys.executable, "-m", "tests.real_code.table", "--row", field, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"faults": [f"not done after {LIMIT} s"]}
    if done.returncode:
        return {"faults": [(done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--row", nargs=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.row:
        print(json.dumps(row(*options.row)))
        return
    rows = []
    print("| piece | numbers | wanted | outcome | warm | seconds | why |")
    print("|---|---|---|---|---:|---:|---|")
    for field in running.FIELDS:
        for name in running.names_of(field):
            if options.text not in f"{field} {name}":
                continue
            found = in_a_process(field, name)
            rows.append({"field": field, "piece": name, **found})
            right = "WRONG" if found["faults"] else "right"
            warm = f"{found['warm']:.2f}" if found.get("warm") else "–"
            why = " / ".join(found["faults"]) or found["reason"]
            if found.get("late"):
                why += f" ({found['late']} late recordings)"
            why = " ".join(why.replace("|", "\\|").split())
            cells = (name, right, found.get("wanted", "?"), found.get("outcome") or "–", warm,
                     f"{found.get('seconds', 0):.1f}", why)  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
