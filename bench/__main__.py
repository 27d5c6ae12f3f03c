"""``python -m bench``: run all programs at all sizes, print the table, write it as a file."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import fusecuda as fc
from fusecuda.cpu_fallback.program import thread_count
from fusecuda.tools import tables
from fusecuda.tools.bench.facts import machine
from fusecuda.tools.timing import side_by_side

from . import report
from .programs import PROGRAMS, Program
from .rivals import available, by_numpy, versions

RESULTS = Path(__file__).parent / "results"


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size, short runs, no files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    parser.add_argument("--budget", type=float, default=1.5, metavar="S", help="seconds per row")
    options = parser.parse_args(argv)

    rivals = available(thread_count())
    names = list(rivals)
    facts = facts_of(names)
    rows = []
    for program in PROGRAMS:
        if options.only.lower() in program.name.lower():
            for size in program.sizes[1:2] if options.quick else program.sizes:
                rows.append(
                    measure(program, size, rivals, 0.3 if options.quick else options.budget)
                )
                print(f"{program.name} {size:,}", file=sys.stderr)
    others = names[1:]
    title = f"{facts['machine']}, {facts['threads']} thread(s)"
    tables.show_table(title, report.columns(others), [report.cells(r, others) for r in rows])
    print("\n".join(report.summary(rows, others)))
    data = json.dumps(report.as_json(facts, rows), indent=1)
    if options.json:
        options.json.write_text(data, encoding="utf-8")
    if not options.quick and not options.only:
        RESULTS.mkdir(exist_ok=True)
        machine = re.sub(r"\W+", "-", facts["machine"]).strip("-").lower()
        path = RESULTS / f"cpu-{machine}-{facts['date']}"
        path.with_suffix(".json").write_text(data, encoding="utf-8")
        path.with_suffix(".md").write_text(report.markdown(facts, rows, others), encoding="utf-8")
        print(path.with_suffix(".md"))
    return 0


def measure(program: Program, size: int, rivals: dict[str, Any], budget: float) -> report.Row:
    """The times of one program at one size; a rival whose result is wrong does not count."""
    inputs = program.arguments(size)
    expected = by_numpy(program, inputs)()
    calls, missing = {}, {}
    for name, rival in rivals.items():
        try:
            call = rival(program, inputs)
            if call is None:
                missing[name] = "it has no such operations"
                continue
            agree(expected, call())
        except Exception as error:  # whatever a rival fails with, the others go on
            if name == report.OURS:
                raise
            missing[name] = (str(error).strip() or type(error).__name__).splitlines()[0]
            continue
        calls[name] = call
    with fc.count_launches() as launches:
        calls[report.OURS]()
    times = side_by_side(calls, budget, least=7, shortest=2e-4)
    return report.Row(program.name, size, launches.total, times, missing)


def agree(expected: Any, found: Any) -> None:
    """Raise AssertionError unless the results are equal but for rounding."""
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = found if isinstance(found, tuple | list) else (found,)
    for a, b in zip(expected, found, strict=True):
        scale = float(np.max(np.abs(a)))
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-9, atol=1e-9 * scale)


def facts_of(names: list[str]) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "threads": thread_count(),
        "load average before": f"{os.getloadavg()[0]:.1f}",
        "compiler": fc.info()["compiler"],
        "python": platform.python_version(),
        **versions(names),
    }


if __name__ == "__main__":
    sys.exit(main())
