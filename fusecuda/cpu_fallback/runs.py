"""Runs of a compiler: how long one may take, and how it fails.

What runs them (`invoke.py`) is loaded where there is something to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fusecuda.errors import CompilerError


class SourceRejectedError(CompilerError):
    """The compiler ran and refused the text; another text may well compile."""


class TimedOutError(CompilerError):
    """The compiler did not finish in time and was killed."""


@dataclass(frozen=True)
class Patience:
    """How long a run may take, and after how long `complain` is called, once."""

    limit_s: float
    quiet_s: float = float("inf")
    complain: Callable[[], None] = lambda: None
