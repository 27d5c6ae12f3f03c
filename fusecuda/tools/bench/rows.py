"""Rows: what was measured of one program at one size, and the file that keeps all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...words import counted
from ..timing import Timing
from ..usage import UsageError, one_line
from .peers import OURS, PLAIN


@dataclass(frozen=True)
class Figure:
    """The seconds of a call: median, fastest, slowest, and half the distance of the quartiles."""

    median: float
    low: float
    high: float
    spread: float  # as a share of the median
    runs: int

    @classmethod
    def of(cls, runs: Sequence[float]) -> Figure:
        """That of the samples."""
        t = Timing(tuple(runs))
        return cls(_short(t.median), _short(t.low), _short(t.high), _short(t.spread), len(runs))


def _short(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


@dataclass(frozen=True)
class Row:
    """One program at one size: who was timed, and why others were not."""

    program: str
    size: int
    times: dict[str, Figure] = field(default_factory=dict)
    launches: dict[str, int] = field(default_factory=dict)  # of `unfused` and `fused`
    first: float = 0.0  # seconds of the first fused call, planned and compiled or read from disk
    bytes: int | None = None  # that the fused launches move at least
    flops: int | None = None
    missing: dict[str, str] = field(default_factory=dict)  # why a peer cannot run it
    wrong: dict[str, str] = field(default_factory=dict)  # what differed; it was not timed
    remark: str = ""

    @property
    def is_timed(self) -> bool:
        """True if there are times to compare."""
        return OURS in self.times and PLAIN in self.times

    def ratio(self, peer: str = PLAIN) -> float:
        """How many times as long as ours a peer takes."""
        return self.times[peer].median / self.times[OURS].median

    def spread(self, peer: str = PLAIN) -> float:
        """The uncertainty of `ratio`, as a share of it."""
        return math.hypot(self.times[peer].spread, self.times[OURS].spread)

    def is_behind(self, peer: str = PLAIN) -> bool:
        """True if ours takes longer, by more than the uncertainty."""
        return self.ratio(peer) < 1 - self.spread(peer)

    @property
    def fastest(self) -> str:
        """The fastest of all others."""
        return min((p for p in self.times if p != OURS), key=self.ratio)


@dataclass(frozen=True)
class Table:
    """All rows of a run, and the facts that they depend on."""

    facts: dict[str, Any]
    rows: list[Row]

    @property
    def where(self) -> str:
        """The machine, and how much of it was used."""
        return f"{self.facts['machine']}, {counted(self.facts['threads'], 'thread')}"

    @property
    def sizes(self) -> list[int]:
        """The sizes, the smallest first."""
        return sorted({row.size for row in self.rows})

    @property
    def peers(self) -> list[str]:
        """All that were timed besides ours, in their order."""
        return list(dict.fromkeys(p for row in self.rows for p in row.times if p != OURS))

    def of(self, program: str, size: int) -> Row | None:
        """The row of the program at that size, if it was timed."""
        found = (r for r in self.rows if (r.program, r.size) == (program, size) and r.is_timed)
        return next(found, None)

    def text(self) -> str:
        """JSON, times in seconds."""
        rows = [asdict(row) for row in self.rows]
        return json.dumps({"facts": self.facts, "rows": rows}, indent=1) + "\n"


def read(path: Path) -> Table:
    """The table in a file that `bench` has written; raises UsageError if it is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            Row(**{**row, "times": {n: Figure(**f) for n, f in row["times"].items()}})
            for row in data["rows"]
        ]
        return Table(data["facts"], rows)
    except OSError as error:
        raise UsageError(one_line(error)) from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is no table that `bench` has written") from None


def geometric_mean(ratios: Sequence[float]) -> float:
    """Of at least one."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
