"""Watch: who is told of what happens: counters, profilers, logs. With nobody there it costs a test.

A *watcher* is told of runs of executables and of *spans*: recording, planning, compiling. The list
of watchers is looked at where a run or a span begins, and nothing else is done while it is empty.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

Lap = Callable[[], None]


class Watcher:
    """Told of everything between `begin` and `end`; by default it makes nothing of it."""

    def begin(self) -> None:
        """From now on it is told."""
        with _lock:
            watchers.append(self)

    def end(self) -> None:
        """From now on it is not; ending twice does no harm."""
        with _lock:
            watchers[:] = [w for w in watchers if w is not self]

    def enters(self) -> None:
        """This thread begins to do work of ours: a run or a span."""

    def leaves(self) -> None:
        """That work is done."""

    def runs(self, executable: Any) -> Lap | None:
        """``executable`` is about to run; what is returned is called at its start and each step."""

    def ran(self, executable: Any, lap: Lap | None) -> None:
        """It has run, without an error."""

    def failed(self, executable: Any, lap: Lap | None) -> None:
        """Its run has raised one."""

    def spent(self, kind: str, title: str, begin: float, end: float) -> None:
        """A span has ended; times are those of `time.perf_counter`."""

    def launched(self, name: str) -> None:
        """A library has launched something of its own."""


watchers: list[Watcher] = []  # the very same list, so that it can be imported by name
_lock = threading.RLock()


def told(executable: Any, run: Callable[[Lap | None], Any]) -> Any:
    """What ``run`` gives, a run of ``executable`` of which all watchers are told."""
    listening = tuple(watchers)
    for watcher in listening:
        watcher.enters()
    try:
        laps = [(w, w.runs(executable)) for w in listening]
        wanted = [lap for _, lap in laps if lap is not None]
        try:
            result = run(_together(wanted) if wanted else None)
        except BaseException:
            for watcher, lap in laps:
                watcher.failed(executable, lap)
            raise
        for watcher, lap in laps:
            watcher.ran(executable, lap)
    finally:
        for watcher in listening:
            watcher.leaves()
    return result


def _together(laps: list[Lap]) -> Lap:
    def lap() -> None:
        for each in laps:
            each()

    return laps[0] if len(laps) == 1 else lap


@contextlib.contextmanager
def span(kind: str, title: str) -> Iterator[None]:
    """A piece of work, ``kind`` one of "record", "plan" and "compile".

    While something is recorded the user's own code runs; all else is ours alone.
    """
    listening = tuple(watchers)
    ours = listening if kind != "record" else ()
    for watcher in ours:
        watcher.enters()
    begin = perf_counter()
    try:
        yield
    finally:
        end = perf_counter()
        for watcher in ours:
            watcher.leaves()
        for watcher in listening:
            watcher.spent(kind, title, begin, end)


def launched(name: str) -> None:
    """Tell that a library launches ``name``."""
    for watcher in tuple(watchers):
        watcher.launched(name)


# --- logs

_loggers: dict[str, Any] = {}  # asked for once: that takes a lock of the whole process
LOGGERS = {"retraces": "capture", "plans": "plan", "kernels": "compile", "runs": "run"}


def logs(kind: str) -> bool:
    """True if somebody reads the logger ``fusecuda.KIND``.

    Nobody does in a process that has not loaded `logging`, so we do not load it either.
    """
    logger = _loggers.get(kind)
    if logger is None:
        found = getattr(sys.modules.get("logging"), "getLogger", None)  # it comes late
        if found is None:
            return False
        logger = _loggers[kind] = found(f"fusecuda.{kind}")
    return bool(logger.isEnabledFor(20))


def log(kind: str, message: str, *values: Any) -> None:
    """Write to the logger ``fusecuda.KIND`` if somebody reads it."""
    if logs(kind):
        _loggers[kind].info(message, *values)


@contextlib.contextmanager
def timed(kind: str, title: str, what: Callable[[], str]) -> Iterator[None]:
    """A span that is logged with its time and, told when it has ended, ``what`` it was."""
    begin = perf_counter()
    with span(kind, title):
        yield
    if logs(kind):
        log(kind, "%s: %s in %.1f ms", title, what(), 1e3 * (perf_counter() - begin))


class _RunLog(Watcher):
    """Logs each run of an executable."""

    def ran(self, executable: Any, lap: Lap | None) -> None:
        log("run", "%s: %s", executable.graph.name, ", ".join(executable.names))


def print_logs(words: str) -> None:
    """Print the logs that ``words`` names, parted by commas, to standard error."""
    if not words:
        return
    import logging  # noqa: PLC0415 - only for who asks for it

    chosen = {word.strip() for word in words.split(",")} - {""}
    if unknown := chosen - {*LOGGERS, "tracebacks", "all"}:
        known = ", ".join([*LOGGERS, "tracebacks", "all"])
        message = f"FUSECUDA_LOG names logs among {known}, not {', '.join(sorted(unknown))}"
        warnings.warn(message, stacklevel=3)
    kinds = (
        set(LOGGERS.values()) if "all" in chosen else {LOGGERS[w] for w in chosen & set(LOGGERS)}
    )
    if not kinds:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
    for kind in sorted(kinds):
        logger = logging.getLogger(f"fusecuda.{kind}")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    if "run" in kinds:
        _RunLog().begin()
