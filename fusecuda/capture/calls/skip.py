"""Skip: how the body of a ``with`` statement is not run, when that has been done otherwise.

An error is raised at its first line, which the block's ``__exit__`` swallows: by a trace function
of the frame up to Python 3.11, by a monitored line of the code from 3.12 on. Whether that line is
seen is tried first (`watch`), for a body that ran although it has been done would be done twice.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


class Skipped(BaseException):
    """Raised at the first line of a body that is not to run."""


class _Awaited(threading.local):
    """The line of a frame that is awaited, and what is done then."""

    frame: FrameType | None = None
    line = 0
    heard = False  # that the probe was called
    then: Callable[[], None]


_awaited = _Awaited()


def _reached(frame: FrameType) -> None:
    """A line begins in ``frame``."""
    if _awaited.frame is frame and _awaited.line == frame.f_lineno:
        _awaited.frame = None
        _awaited.then()


def _raise() -> None:
    raise Skipped


def skip(frame: FrameType, line: int) -> None:
    """Raise `Skipped` when ``frame`` comes to ``line``, the first one of a body."""
    watch(frame, line, _raise)


def end(frame: FrameType) -> None:
    """The block in ``frame`` has been left: nothing there is awaited any more."""
    if _awaited.frame is frame:
        forget(frame)


if sys.version_info >= (3, 12):
    _monitoring: Any = sys.monitoring
    _tool: int | None = None
    _begins: dict[int, set[int]] = {}  # of codes by identity: the lines where bodies begin
    _kept: list[CodeType] = []  # whose identities these are

    def _line_event(code: CodeType, line: int) -> Any:
        if line not in _begins.get(id(code), ()):
            return _monitoring.DISABLE
        _reached(sys._getframe(1))
        return None

    def _probe() -> None:
        return None

    def _heard(code: CodeType, at: int) -> None:
        _awaited.heard = True

    def _start() -> int | None:
        """The number under which lines are monitored, None if there is none left."""
        events = _monitoring.events
        for number in (4, 3):
            if _monitoring.get_tool(number) is None:
                _monitoring.use_tool_id(number, "fusecuda")
                _monitoring.register_callback(number, events.LINE, _line_event)
                _monitoring.register_callback(number, events.PY_START, _heard)
                _monitoring.set_local_events(number, _probe.__code__, events.PY_START)
                return number
        return None

    def watch(frame: FrameType, line: int, then: Callable[[], None]) -> None:
        """Call ``then`` when ``frame`` comes to ``line``, the first one of a body."""
        code = frame.f_code
        begins = _begins.get(id(code))
        if begins is None or line not in begins:
            if begins is None:
                _kept.append(code)
                begins = _begins[id(code)] = set()
            begins.add(line)
            _monitoring.set_local_events(_tool, code, _monitoring.events.LINE)
            _monitoring.restart_events()
        _awaited.frame, _awaited.line, _awaited.then = frame, line, then

    def forget(frame: FrameType) -> None:
        """Await nothing any more."""
        _awaited.frame = None

    def is_possible() -> bool:
        """False while somebody looks at each line, another frame is awaited, or nobody is told.

        A signal's handler may be called where lines are being told of, and those of its own are
        not then.
        """
        global _tool
        if _tool is None and (_tool := _start()) is None:
            return False
        debugger = _monitoring.get_tool(_monitoring.DEBUGGER_ID)
        if sys.gettrace() is not None or debugger is not None or _awaited.frame is not None:
            return False
        _awaited.heard = False
        _probe()
        return _awaited.heard

else:

    def _trace_line(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            _reached(frame)  # if that raises, there is no trace function any more
            if _awaited.frame is None:
                forget(frame)
        return _trace_line

    def _trace_nothing(frame: FrameType, event: str, arg: object) -> None:
        return None

    def watch(frame: FrameType, line: int, then: Callable[[], None]) -> None:
        """Call ``then`` when ``frame`` comes to ``line``, the first one of a body."""
        _awaited.frame, _awaited.line, _awaited.then = frame, line, then
        frame.f_trace = _trace_line
        sys.settrace(_trace_nothing)

    def forget(frame: FrameType) -> None:
        """Await nothing any more."""
        _awaited.frame = frame.f_trace = None
        if sys.gettrace() is _trace_nothing:
            sys.settrace(None)

    def is_possible() -> bool:
        """False while somebody else looks at each line."""
        return sys.gettrace() is None
