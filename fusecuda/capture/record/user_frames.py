"""User frames: which frames, and lines, are the user's own."""

from __future__ import annotations

import sys
from functools import lru_cache
from types import FrameType

_NOT_USER = (__name__.partition(".")[0], "cupy.", "cupyx.")


def user_line(*others: str) -> str:
    """The file and line of the innermost frame outside this package, CuPy and ``others``."""
    frame = user_frame(*others)
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def user_frame(*others: str) -> FrameType | None:
    """The innermost frame outside this package, CuPy and ``others``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_frame(frame, *others):
            break
        frame = frame.f_back
    return frame


def is_users_frame(frame: FrameType, *others: str) -> bool:
    """True for a frame outside this package, CuPy and ``others``."""
    return _is_users(frame.f_globals.get("__name__", ""), others)


@lru_cache(maxsize=4096)
def _is_users(module: str, others: tuple[str, ...]) -> bool:
    return not module.startswith((*_NOT_USER, *others))
