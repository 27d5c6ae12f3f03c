"""``bench``: times every named program unfused, fused and by peers, and writes what was found."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...cpu_fallback.program import thread_count
from ...emit_cuda.backend import has_device
from .. import tables
from ..programs.program import Program
from ..programs.rows import PROGRAMS
from ..usage import UsageError, one_line
from . import compare, pictures, report, shapes
from .facts import ceilings, facts_of, file_name
from .peers import OURS, PLAIN, present
from .rounds import Contenders, Effort, Process, measure, worker_of
from .rows import Row, Table

Start = Callable[[str, str, int], Process]


FULL, QUICK = Effort(1.2, 5e-3, 2), Effort(0.2, 1e-3, 1)
# What a core's cache holds, what that of all holds, and what memory alone does.
SIZES = {"cpu": (1_000, 100_000, 4_000_000), "cuda": (1_000, 100_000, 10_000_000)}


def add_parser(commands: Any) -> None:
    """Add the command to the parser's ``commands``."""
    parser = commands.add_parser(
        "bench", help="times of named programs unfused, fused and by what else is installed"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has TEXT")
    parser.add_argument(
        "--sizes", type=_sizes, metavar="N,N", help="elements of the largest argument"
    )
    parser.add_argument(
        "--shapes", type=_count, metavar="N", help="N sizes drawn at random over all programs"
    )
    parser.add_argument("--quick", action="store_true", help="one size, short samples")
    parser.add_argument(
        "--minutes", type=float, default=10.0, metavar="N",
        help="for all programs, about; with fewer, peers that compile long are left out "
             "(default: %(default)g)",
    )  # fmt: skip
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


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number from 1 on")
    return int(text)


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
    sizes = arguments.sizes or list(SIZES[device][1:2] if arguments.quick else SIZES[device])
    effort = QUICK if arguments.quick else FULL
    threads, (names, absent) = thread_count(), present(device)
    facts = facts_of(device) | ceilings(device) | {"absent": absent}
    contenders = Contenders(lambda name: start(name, device, threads))
    try:
        if arguments.shapes:
            sizes_of = shapes.drawn(programs, arguments.shapes)
        else:
            sizes_of = {program.name: sizes for program in programs}
        seconds = 60 * arguments.minutes
        table = measured(programs, sizes_of, names, contenders, effort, seconds)
    finally:
        contenders.close()
    table = Table(facts | table.facts, table.rows)
    if arguments.shapes:
        folder = arguments.out or default_folder()
        print(*write(table, folder, "-shapes", shapes.PICTURES, shapes.markdown), sep="\n")
        return 1 if any(OURS in row.wrong for row in table.rows) else 0
    show(table)
    whole = not (arguments.only or arguments.quick or arguments.sizes)
    if arguments.out or whole:
        folder = arguments.out or default_folder()
        print(*write(table, folder), sep="\n")
        if folder == checkout():
            write_readme(table, folder.parents[1] / "README.md")
    print(*report.short(table), sep="\n")
    return 1 if any(OURS in row.wrong for row in table.rows) else 0


def measured(
    programs: Sequence[Program],
    sizes_of: Mapping[str, Sequence[int]],
    names: Sequence[str],
    contenders: Contenders,
    effort: Effort,
    seconds: float,
) -> Table:
    """All rows, in about so many ``seconds``, and the versions of who took part.

    What a program leaves of its share, the later ones have.
    """
    rows: list[Row] = []
    facts: dict[str, str] = {}
    end = time.monotonic() + seconds
    wanted = [program for program in programs if sizes_of.get(program.name)]
    for number, program in enumerate(wanted):
        share = max(0.0, end - time.monotonic()) / (len(wanted) - number)
        for row, versions in measure(
            program, sizes_of[program.name], names, contenders, effort.within(share)
        ):
            rows.append(row)
            facts |= {n: v for n, v in versions.items() if n not in (OURS, PLAIN)}
        print(f"{number + 1}/{len(wanted)} {program.name}", file=sys.stderr, flush=True)
    return Table(facts, rows)


def show(table: Table) -> None:
    """Print the table and what it comes to."""
    head, rows = report.screen(table)
    tables.show_table(f"unfused ÷ fused on {table.where}", head, rows)
    slower = report.behind(table)
    if slower:
        tables.show_table("where another is faster, by more than the noise", report.BEHIND, slower)
    print("\n".join([*report.summary(table), *report.absences(table)]))


def write_readme(table: Table, path: Path) -> None:
    """The document's table is that of this run."""
    document = path.read_text(encoding="utf-8")
    path.write_text(report.inserted(document, table, file_name(table.facts)), encoding="utf-8")


def default_folder() -> Path:
    """``bench/results`` of the checkout that this package is run from, else the current folder."""
    return checkout() or Path.cwd()


def checkout() -> Path | None:
    """``bench/results`` of the checkout that this package is run from."""
    root = Path(__file__).resolve().parents[3]
    folder = root / "bench" / "results"
    return folder if (root / "pyproject.toml").is_file() and folder.is_dir() else None


def write(
    table: Table,
    folder: Path,
    kind: str = "",
    wanted: Mapping[str, pictures.Draw] = pictures.PICTURES,
    text_of: Callable[[Table, Sequence[str]], str] = report.markdown,
) -> Sequence[Path | str]:
    """Write JSON, Markdown and, where matplotlib is there, pictures; the files, or why not."""
    name = file_name(table.facts)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            drawn = pictures.draw(table, folder, name, wanted)
            note = []
        except ImportError:
            drawn, note = [], ["no pictures: they need matplotlib, pip install 'fusecuda[tools]'"]
        data, text = folder / f"{name}{kind}.json", folder / f"{name}{kind}.md"
        data.write_text(table.text(), encoding="utf-8")
        text.write_text(text_of(table, [p.name for p in drawn]), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write: {one_line(error)}") from None
    return [data, text, *drawn, *note]
