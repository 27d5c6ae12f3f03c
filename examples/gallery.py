"""Runs all examples and writes their pictures and the table of docs/gallery.md."""

import importlib
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np

import fusecuda as fc
from fusecuda.tools import tables
from fusecuda.tools.bench import facts
from fusecuda.words import counted

EXAMPLES = (
    "sum_of_product", "dense_softmax", "softmax", "digits", "lstm", "residual_block", "transformer",
    "black_scholes", "seawater_density", "heat_equation", "shallow_water", "gray_scott",
    "image_pipeline", "nbody",
)  # fmt: skip
DOCS = Path(__file__).resolve().parent.parent / "docs"
TABLE = re.compile(r"(?<=<!-- gallery table -->\n).*?(?=<!-- end -->)", re.DOTALL)


def line(name, row):
    """The row of the page for a program of an example."""
    plain, fused = row.launches
    figures = [*map(tables.seconds, row.seconds), *map(tables.size, row.peak_bytes)]
    figures = [figure.replace(" ", "\N{NO-BREAK SPACE}") for figure in figures]
    title = name if name == row.program else f"{name}: {row.program}"
    cells = (title, f"{row.operations:,}", f"{plain:,}", f"{fused:,}", *figures)
    return f"| {' | '.join(cells)} |"


def main():
    lines = [
        "| program | operations | launches | fused | time | fused | peak memory | fused |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in EXAMPLES:
            run = importlib.import_module(name).main(["--out", folder])
            lines += [line(name, row) for row in run.rows]
        for made in Path(folder).iterdir():
            if made.suffix in (".svg", ".png", ".gif"):
                shutil.copy(made, DOCS / "pictures")
    machine = f"{facts.machine()}, {counted(fc.info()['threads'], 'thread')}"
    lines += ["", f"Plain is NumPy {np.__version__}; times are medians on {machine}."]
    page = DOCS / "gallery.md"
    text = "\n".join([*lines, ""])
    page.write_text(TABLE.sub(lambda _: text, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
