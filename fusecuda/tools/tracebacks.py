"""Tracebacks: what is printed of an error that nobody catches has the user's frames only."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from ..options import log_words

_OURS = __name__.partition(".")[0]
Hook = Callable[[type[BaseException], BaseException, types.TracebackType | None], Any]


def install() -> None:
    """Have our frames folded in what the interpreter prints, unless they are asked for."""
    if not {"tracebacks", "all"} & {word.strip() for word in log_words().split(",")}:
        sys.excepthook = _folding(sys.excepthook)


def _folding(hook: Hook) -> Hook:
    def folded_hook(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        count = _fold_all(error.with_traceback(trace))
        hook(kind, error, error.__traceback__)
        if count and sys.stderr is not None:
            frames = "frame" if count == 1 else "frames"
            print(
                f"({count} {frames} of {_OURS} left out; FUSECUDA_LOG=tracebacks shows them)",
                file=sys.stderr,
            )

    return folded_hook


def _fold_all(error: BaseException) -> int:
    """Fold the frames of ``error`` and of what it comes from; how many were left out."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    count = 0
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        kept, out = folded(one.__traceback__)
        one.__traceback__ = kept
        count += out
        waiting += [one.__cause__, one.__context__]
    return count


def folded(
    trace: types.TracebackType | None,
) -> tuple[types.TracebackType | None, int]:
    """``trace`` without our frames, and how many those are; as it is where all are ours."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    users = [t for t in frames if not _is_ours(t.tb_frame)]
    kept = users or frames
    linked: types.TracebackType | None = None
    for t in reversed(kept):
        linked = types.TracebackType(linked, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return linked, len(frames) - len(kept)


def _is_ours(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == _OURS or (
        frame.f_code.co_filename.startswith(f"<{_OURS} ")  # the text of a guard
    )
