"""The programs whose times are taken: those that the rivals know too."""

from __future__ import annotations

from dataclasses import replace

from fusecuda.tools.programs.program import Program
from fusecuda.tools.programs.rows import named

__all__ = ["PROGRAMS", "Program"]

_NAMES = ("chain of 12", "Black-Scholes", "seawater density", "softmax", "layer norm",
          "sum of x + y z", "three metrics", "heat equation", "n-body", "column sum",
          "hillshade")  # fmt: skip
PROGRAMS = tuple(replace(named(name), sizes=(1_000, 100_000, 4_000_000)) for name in _NAMES)
