"""UsageError: what the user asked for cannot be done, and one line says why."""

from __future__ import annotations


class UsageError(Exception):
    """Ends a command with its message on one line and exit status 2, without a traceback."""


def one_line(error: BaseException) -> str:
    """The first line of an error's message, headed by its type unless that says nothing."""
    lines = str(error).splitlines()
    text = lines[0] if lines else ""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
