"""``bench``: times every named program unfused, fused and by peers, and writes what was found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...cpu_fallback.program import thread_count
from ...emit_cuda.backend import has_device
from .. import tables
from ..programs.program import SIZES
from ..programs.rows import PROGRAMS
from ..usage import UsageError, one_line
from . import compare, pictures, report
from .facts import ceilings, facts_of, file_name
from .peers import OURS, PLAIN, present
from .rounds import Effort, Process, measure, worker_of
from .rows import Row, Table

Start = Callable[[str, str, int], Process]


FULL, QUICK = Effort(2.0, 5e-3, 2), Effort(0.2, 1e-3, 1)


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "bench", help="times of named programs unfused, fused and by what else is installed"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="N,N", help="elements of the largest argument"
    )
    parser.add_argument("--quick", action="store_true", help="one size, short samples")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="a GPU where there is one")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER",
        help="where JSON, Markdown and SVG go; part of the programs, and --quick, write only there",
    )  # fmt: skip
    parser.set_defaults(run=run)
    further = parser.add_subparsers(dest="bench_command", metavar="compare A B", title="or")
    two = further.add_parser("compare", help="the ratios of two runs")
    two.add_argument("before", type=Path, metavar="A", help="a table's JSON, or its folder")
    two.add_argument("after", type=Path, metavar="B")
    two.set_defaults(run=compare.run)


def _sizes(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError("must be whole numbers, parted by commas")
    return sorted({int(part) for part in parts})


def run(arguments: argparse.Namespace, start: Start = worker_of) -> int:
    """Measure, print and write; 1 if a fused result is wrong."""
    device = arguments.device or ("cuda" if has_device() else "cpu")
    if device == "cuda" and not has_device():
        raise UsageError("there is no GPU, or no CuPy to use it")
    programs = [p for p in PROGRAMS if arguments.only.lower() in p.name.lower()]
    if not programs:
        raise UsageError(f"no program's name has {arguments.only!r}")
    sizes = arguments.sizes or list(SIZES[1:2] if arguments.quick else SIZES)
    effort = QUICK if arguments.quick else FULL
    names, absent = present(device)
    facts = facts_of(device) | ceilings(device)
    facts |= {"sets of processes": effort.processes, "absent": absent}
    threads = thread_count()
    rows: list[Row] = []

    def begin(name: str) -> Process:
        return start(name, device, threads)

    for program in programs:
        for row, versions in measure(program, sizes, names, begin, effort):
            rows.append(row)
            facts |= {n: v for n, v in versions.items() if n not in (OURS, PLAIN)}
            print(f"{row.program} {row.size:,}", file=sys.stderr)
    table = Table(facts, rows)
    show(table)
    if arguments.out or not (arguments.only or arguments.quick):
        print(*write(table, arguments.out or default_folder()), sep="\n")
    return 1 if any(OURS in row.wrong for row in rows) else 0


def show(table: Table) -> None:
    """Print the table and what it comes to."""
    head, rows = report.screen(table)
    title = f"unfused ÷ fused on {table.facts['machine']}, {table.facts['threads']} thread(s)"
    tables.show_table(title, head, rows)
    print("\n".join([*report.summary(table), *report.absences(table)]))


def default_folder() -> Path:
    """``bench/results`` of the checkout that this package is run from, else the current folder."""
    root = Path(__file__).resolve().parents[3]
    is_checkout = (root / "pyproject.toml").is_file() and (root / "bench" / "results").is_dir()
    return root / "bench" / "results" if is_checkout else Path.cwd()


def write(table: Table, folder: Path) -> Sequence[Path | str]:
    """Write JSON, Markdown and, where matplotlib is there, pictures; the files, or why not."""
    name = file_name(table.facts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            drawn = pictures.draw(table, folder, name)
            note = []
        except ImportError:
            drawn, note = [], ["no pictures: they need matplotlib, pip install 'fusecuda[tools]'"]
        data, text = folder / f"{name}.json", folder / f"{name}.md"
        data.write_text(table.text(), encoding="utf-8")
        text.write_text(report.markdown(table, [p.name for p in drawn]), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write: {one_line(error)}") from None
    return [data, text, *drawn, *note]
