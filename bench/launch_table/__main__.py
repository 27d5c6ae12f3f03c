"""``python -m bench.launch_table``: count all programs, print the table, write it as files."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path

import numpy

from fusecuda.tools import tables
from fusecuda.tools.programs.rows import PROGRAMS

from . import report
from .count import count

BENCH = Path(__file__).parent.parent
RESULTS, README = BENCH / "results", BENCH.parent / "README.md"


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench.launch_table", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    options = parser.parse_args(argv)
    rows = []
    for program in PROGRAMS:
        if options.only.lower() in program.name.lower():
            rows.append(count(program))
            print(program.name, file=sys.stderr)
    shown = [[cell.strip("*") for cell in report.cells(row)] for row in rows]
    tables.show_table("launches", report.COLUMNS, shown)
    for row in rows:
        if row.fused > row.minimum:
            print(f"{row.program}: {row.above}")
    print(report.summary(rows))
    if not options.only:
        facts = {"NumPy": numpy.__version__, "Python": platform.python_version()}
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "launch-table.md"
        path.write_text(report.markdown(facts, rows), encoding="utf-8")
        data = json.dumps(report.as_json(facts, rows), indent=1)
        path.with_suffix(".json").write_text(data, encoding="utf-8")
        document = report.inserted(README.read_text(encoding="utf-8"), rows)
        README.write_text(document, encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
