"""Endings: what is raised where a recording ends before the function does, and why."""

from __future__ import annotations

import traceback

from ..record.user_frames import is_users_frame
from .path import Path

NO_TIME = "planning and compiling takes too long"
RECORDING_IS_SLOW = f"{NO_TIME}: so does recording"
TAKES_MEMORY = "it takes an array's memory"
ASKS_BY_NAME = "it computes the name of an attribute"
KERNELS_ARE_COMPILED = "its kernels are being compiled"


class Unfollowed(BaseException):
    """Raised in a trace that cannot go on and has had no effect yet: the call is made again."""

    def told(self) -> str:
        """Why, and the line of the user's code that it comes from."""
        frames = traceback.walk_tb(self.__traceback__)
        lines = [f"{f.f_code.co_filename}:{n}" for f, n in frames if is_users_frame(f, "numpy.")]
        return f"{self} ({lines[-1]})" if lines and not str(self).endswith(")") else str(self)


class RaisedLater(BaseException):
    """Raised in a trace where an element cannot be computed.

    The call is recorded again from the last piece of ``path`` on, operation by operation, so that
    the error is raised where the program makes it, and is NumPy's.
    """

    def __init__(self, path: Path) -> None:
        values = path.seen if path.looked_at else path.seen[:-1]
        self.path = type(path)(path.fragments, values, path.environment)
