"""As user: functions that name the line of their caller, called as the user's own code calls them.

Warnings and logs count frames up to the one that they name (``stacklevel``). Among the user's are
frames of ours, and in a replay those inside the function are missing.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from ...graph.library import called_at
from ..record.user_frames import is_users_frame

_RUNS = "fusecuda.capture.calls.call"  # the module that calls a function to record it
Place = tuple[types.CodeType, int, dict[str, Any]]  # of a frame: code, line and globals


def as_user() -> Callable[[Any, Any, Any], Any]:
    """What calls a function as the user's code that runs now would, whenever it is called."""
    inside, _ = _places()
    at_once = called_at(*inside[0])

    def call(function: Any, args: Any, kwargs: Any) -> Any:
        level, given, named = _levelled(function, args, kwargs)
        if level < 2:
            return at_once(function, args, kwargs)
        now, outside = _places()
        codes = [code for code, _, _ in inside]
        if [code for code, _, _ in now] != codes:  # in a replay, whose own callers these are
            outside = [*now, *outside]
        places = [*inside, *outside]
        if level > len(places):
            return at_once(function, args, kwargs)
        return called_at(*places[level - 1])(function, given, named)

    return call


def _levelled(function: Any, args: Any, kwargs: Any) -> tuple[int, Any, Any]:
    """The frame that a call is to name, the innermost being 1, and the call that names that one."""
    if function is warnings.warn and len(args) > 2:
        return args[2], (*args[:2], 1, *args[3:]), kwargs
    return kwargs.get("stacklevel", 1), args, {**kwargs, "stacklevel": 1}


def _places() -> tuple[list[Place], list[Place]]:
    """The user's frames that run now, the innermost first: in what is recorded, and around that."""
    inside: list[Place] = []
    outside: list[Place] = []
    found = inside
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_frame(frame):
            found.append((frame.f_code, frame.f_lineno, frame.f_globals))
        elif found is inside and inside and frame.f_globals["__name__"] == _RUNS:
            found = outside
        frame = frame.f_back
    return inside, outside
