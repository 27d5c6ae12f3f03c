"""Summaries: what many plans did, in one screen: the same plans together, the hottest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...words import counted

if TYPE_CHECKING:
    from ...engine import Executable


SCREEN = 44  # lines


def summary(reports: Sequence[Executable], full: bool = False) -> str:
    """Text on ``reports``, plans in the order of their runs; all of it if ``full``."""
    runs: dict[int, list[Executable]] = {}
    for executable in reports:
        runs.setdefault(id(executable), []).append(executable)
    hottest = sorted(runs.values(), key=lambda same: -len(same) * _bytes(same[0]))
    if len(runs) == 1 and len(reports) == 1:
        text = reports[0].explain(full).splitlines()
    else:
        launches = sum(executable.launches for executable in reports)
        text = [
            f"{counted(len(reports), 'run')} of {counted(len(runs), 'plan')}, "
            f"{counted(launches, 'launch')}"
        ]
        for same in hottest:
            title = f"run {len(same):,} times" if len(same) > 1 else "run once"
            text += ["", f"a plan {title}:", *same[0].explain(full).splitlines()]
    if not full and len(text) > SCREEN:
        more = len(text) - SCREEN + 1
        text = [*text[: SCREEN - 1], f"… and {counted(more, 'line')} more, by explain(full=True)"]
    return "".join(f"{line}\n" for line in text)


def _bytes(executable: Executable) -> int:
    return sum(kernel.bytes_read + kernel.bytes_written for kernel in executable.kernels)
