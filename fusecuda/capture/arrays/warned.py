"""Warned: what NumPy warns of where we call it is said of the user's line, as NumPy alone says it.

Its C code names the frame that called it, which is ours, and tells by that frame what it has said
before. A frame of the user's in between would cost each operation more than NumPy takes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ..record.user_frames import is_users_frame

_PACKAGE = Path(__file__).parents[2]
_OURS = tuple([f"{_PACKAGE / room}/" for room in ("capture", "numpy")])
_Show = Callable[[warnings.WarningMessage], None]


def follow() -> None:
    """From now on, say what is warned of in frames of ours of the user's."""
    show: _Show | None = getattr(warnings, "_showwarnmsg", None)
    if show is not None:
        # Private, but the one place that C code asks: `showwarning` is not told of sources.
        warnings._showwarnmsg = _followed(show)  # type: ignore[attr-defined]


def _followed(show: _Show) -> _Show:
    def shown(message: warnings.WarningMessage) -> None:
        ours = _frame_of(message) if message.filename.startswith(_OURS) else None
        users = ours
        while users is not None and not is_users_frame(users):
            users = users.f_back
        if ours is None or users is None:
            show(message)
            return
        ours.f_globals.get("__warningregistry__", {}).clear()  # of what has not been said yet
        space = users.f_globals
        warnings.warn_explicit(
            message.message, message.category, users.f_code.co_filename, users.f_lineno,
            space.get("__name__"), space.setdefault("__warningregistry__", {}),
            source=message.source,
        )  # fmt: skip

    return shown


def _frame_of(message: warnings.WarningMessage) -> FrameType | None:
    """The frame that a warning names, of those that run now."""
    frame: FrameType | None = sys._getframe(2)
    place = (message.filename, message.lineno)
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != place:
        frame = frame.f_back
    return frame


follow()
