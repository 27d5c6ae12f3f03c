"""Tables and quantities for people: by rich where it is installed, else plain text."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

_PIPE_WIDTH = 140


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are figures, aligned to the right."""
    print(table_text(title, columns, rows, sys.stdout.isatty()), end="")


def table_text(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], terminal: bool = False
) -> str:
    """The table as text, for a ``terminal`` as wide as that and in its colours."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        return plain_table(title, columns, rows) + "\n"
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    text = io.StringIO()
    width = None if terminal else _PIPE_WIDTH
    Console(file=text, width=width, markup=False, force_terminal=terminal).print(table)
    return text.getvalue()


def plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as text, without rich."""
    lines = [columns, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = []
    for line in lines:
        first, *rest = (
            c.rjust(w) if i else c.ljust(w)
            for i, (c, w) in enumerate(zip(line, widths, strict=True))
        )
        text.append("  ".join([first, *rest]).rstrip())
    rule = "-" * max(map(len, text))
    return "\n".join([title, text[0], rule, *text[1:]])


def places(lines: Sequence[str]) -> str:
    """Lines given as FILE:NUMBER, each file named once."""
    files: dict[str, list[str]] = {}
    for line in lines:
        file, _, number = line.rpartition(":")
        files.setdefault(os.path.basename(file), []).append(number)
    return "; ".join(f"{f}:{','.join(dict.fromkeys(n))}" for f, n in files.items())


def seconds(value: float) -> str:
    """A duration in the unit that suits it, three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{_digits(value * scale)} {unit}"
    return f"{value * 1e9:.0f} ns"


def size(count: float) -> str:
    """A number of bytes in the unit that suits it, three digits."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{_digits(count / scale)} {unit}"
    return f"{count:.0f} B"


def _digits(value: float) -> str:
    return (
        f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
    )
