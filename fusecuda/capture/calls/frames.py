"""Frames: how variables of a running frame are given values."""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any


def put(frame: types.FrameType, space: dict[str, Any], made: dict[str, Any]) -> None:
    """Give variables of ``frame``, which ``space`` shows, new values."""
    if sys.version_info < (3, 13) and space is not frame.f_globals:
        space.clear()
        space.update(made)
        _to_fast(frame, 0)
    else:
        space.update(made)


if sys.version_info < (3, 13):
    _to_fast = ctypes.pythonapi.PyFrame_LocalsToFast
    _to_fast.argtypes, _to_fast.restype = [ctypes.py_object, ctypes.c_int], None
