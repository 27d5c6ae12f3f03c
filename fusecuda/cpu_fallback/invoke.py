"""One run of a compiler: a library's bytes, or an error that says why there is none."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from fusecuda.cpu_fallback.runs import Patience, SourceRejectedError, TimedOutError
from fusecuda.cpu_fallback.scratch import in_scratch_folder, refuse_full
from fusecuda.cpu_fallback.shared_library import is_shared_library
from fusecuda.errors import CompilerError
from fusecuda.words import counted

_SOURCE, _PRODUCT = "kernel.c", "kernel.so"
_PRINTED_BYTES = 64 * 1024  # what is kept of what a compiler prints
_CHUNKS = 64  # read at once, before the clock is looked at again
_TICK_S = 0.02  # how often a process is looked at where the system cannot tell of its end
_BURIAL_S = 5.0
_SHOWN_LINES, _SHOWN_COLUMNS, _SHOWN_ERRORS, _CONTEXT_LINES = 20, 300, 3, 2
_FULL = ("No space left on device", "Disk quota exceeded")


class _Running:
    """The compilers that run in this process's name, and whether no more may be started."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """There are none: true at first, and in a forked child, whose parent's they are."""
        self.lock = threading.Lock()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.stopped = False


_running = _Running()
os.register_at_fork(after_in_child=_running.begin_anew)


def stop() -> None:
    """Kill each compiler that runs, and start none for threads that end with the process."""
    with _running.lock:
        _running.stopped = True
        for process in _running.processes:
            _kill_group(process)


def build(
    command: Sequence[str], source: str, libraries: Sequence[str], patience: Patience
) -> bytes:
    """The bytes of the library that `command` makes of `source`, linked with `libraries`.

    Each way that there can be none is a CompilerError with a reason.
    """
    full = [*command, "-o", _PRODUCT, _SOURCE, *libraries]
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise SourceRejectedError(f"the C source is not valid Unicode: {error}") from None

    def work(folder: Path) -> bytes:
        (folder / _SOURCE).write_bytes(data)
        code, log = _run(full, folder, patience)
        if code != 0:
            refuse_full(folder)
            if any(text in log for text in _FULL):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            raise SourceRejectedError(_describe(_exit(code), full, log, source))
        product = folder / _PRODUCT
        if not product.is_file():
            raise CompilerError(_describe("reported success but wrote no library", full, log))
        payload = product.read_bytes()
        if not is_shared_library(payload):
            problem = "reported success but what it wrote is no shared library of this platform"
            raise CompilerError(_describe(problem, full, log))
        return payload

    try:
        return in_scratch_folder(work)
    except OSError as error:
        # Without the names of files, which differ each time: a problem is told once.
        problem = f"could not be used: {error.strerror or error}"
        raise CompilerError(_describe(problem, full)) from error


def version(argv: Sequence[str], patience: Patience) -> str:
    """The first line that --version prints, or "unknown"; raises TimedOutError."""
    try:
        code, log = in_scratch_folder(lambda folder: _run([*argv, "--version"], folder, patience))
    except TimedOutError:
        raise
    except (CompilerError, OSError):
        return "unknown"
    return log.splitlines()[0].strip() if code == 0 and log.strip() else "unknown"


def _run(command: Sequence[str], folder: Path, patience: Patience) -> tuple[int, str]:
    """Exit code and output of a command run in `folder`; past the time, its group is killed."""
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}  # its litter goes with ours
    process = _started(command, folder, environment)
    watch = _Watch(process)
    start = time.monotonic()
    try:
        in_time = watch.wait(start + min(patience.limit_s, patience.quiet_s))
        if not in_time and patience.quiet_s < patience.limit_s:
            patience.complain()
            in_time = watch.wait(start + patience.limit_s)
    finally:
        if process.returncode is None:  # out of time, or interrupted
            _kill(process)
        _running.processes.discard(process)
        watch.close()
    text = watch.printed.decode("utf-8", "replace")
    if not in_time:
        raise TimedOutError(_describe(f"timed out after {patience.limit_s:g} s", command, text))
    if _running.stopped and process.returncode == -signal.SIGKILL:  # no fault of the text
        raise CompilerError(_describe("was stopped: the process ends", command))
    return process.returncode, text


def _started(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """The command, running in `folder`, in a group of its own."""
    with _running.lock:  # so that `stop` sees it, or it is not started
        if _running.stopped and threading.current_thread().daemon:
            raise CompilerError(_describe("is not started any more: the process ends", command))
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise CompilerError(_describe(f"cannot be started: {error}", command)) from error
        _running.processes.add(process)
        return process


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and its children are killed; one that the system does not let go is left."""
    _kill_group(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_BURIAL_S)


class _Watch:
    """The end of a process, waited for while the start of what it prints is kept.

    What it prints beyond that is thrown away, so a compiler that never stops fills nothing.
    Popen.wait() would poll, up to 50 ms too long.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.printed = bytearray()
        self._process, self._pipe = process, process.stdout
        os.set_blocking(self._pipe.fileno(), False)
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)
        self._end: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # not Linux, or an old one
            self._end = os.pidfd_open(process.pid)
            self._poll.register(self._end, select.POLLIN)

    def wait(self, until: float) -> bool:
        """Whether the process ended before the clock shows `until`."""
        while True:
            ended = self._process.poll() is not None
            self._read()
            left = until - time.monotonic()
            if ended or left <= 0:
                return ended
            self._poll.poll(1000 * (left if self._end is not None else min(left, _TICK_S)))

    def _read(self) -> None:
        for _ in range(_CHUNKS):
            try:
                data = os.read(self._pipe.fileno(), _PRINTED_BYTES)
            except BlockingIOError:
                return
            if not data:  # nobody has the other end any more
                with contextlib.suppress(KeyError):
                    self._poll.unregister(self._pipe)
                return
            self.printed += data[: _PRINTED_BYTES - len(self.printed)]

    def close(self) -> None:
        self._pipe.close()
        if self._end is not None:
            os.close(self._end)


# --- what went wrong --------------------------------------------------------------------------


def _exit(code: int) -> str:
    if code < 0:
        return f"was killed by signal {-code}"
    return f"failed with exit code {code}"


def _describe(problem: str, command: Sequence[str], log: str = "", source: str = "") -> str:
    """One message: what happened, the command, what it printed, and the lines it blames."""
    lines = [f"the C compiler {problem}", f"  command: {shlex.join(command)}"]
    printed = [line[:_SHOWN_COLUMNS] for line in log.splitlines() if line.strip()]
    lines += [f"  {line}" for line in printed[:_SHOWN_LINES]]
    if len(printed) > _SHOWN_LINES:
        lines.append(f"  ... and {counted(len(printed) - _SHOWN_LINES, 'line')} more")
    lines += _excerpt(source, log)
    return "\n".join(lines)


def _excerpt(source: str, log: str) -> list[str]:
    """The source lines around those that errors name, each of those marked."""
    text = source.split("\n")
    pattern = rf"^{re.escape(_SOURCE)}:(\d+)(?::\d+)?: (?:fatal )?error"
    named = sorted({int(number) for number in re.findall(pattern, log, re.MULTILINE)})
    blamed = [number for number in named if 1 <= number <= len(text)][:_SHOWN_ERRORS]
    around = range(-_CONTEXT_LINES, _CONTEXT_LINES + 1)
    shown = sorted({number + step for number in blamed for step in around})
    return ["  source:"] * bool(blamed) + [
        f"  {'>' if number in blamed else ' '} {number:5d} | {text[number - 1][:_SHOWN_COLUMNS]}"
        for number in shown
        if 1 <= number <= len(text)
    ]
