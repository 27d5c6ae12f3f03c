"""The system's C compiler: which it is, what it can do, and a shared library from one text.

The compiler is probed once, when it is first needed, and what the probe found is kept in the disk
cache, so that a later process whose kernels are all cached runs no compiler at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fusecuda.codegen.cache import default_cache, digest_of
from fusecuda.codegen.compilations import count_compilation
from fusecuda.cpu_fallback.shared_library import is_shared_library
from fusecuda.errors import CompilerError

COMPILE_TIMEOUT_S = 120.0
PROBE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Flag:
    """A compiler flag, why it is there, and whether results would be wrong without it."""

    text: str
    why: str
    required: bool


THREADS = "-pthread"
FLAGS = (
    Flag("-std=c11", "the language we write; narrow floats round at each statement", True),
    Flag("-O3", "vectorises the loops", True),
    Flag("-march=native", "uses all of this CPU; its features are in the fingerprint", False),
    Flag("-fPIC", "a shared library may lie at any address", True),
    Flag("-shared", "the product is loaded, not run", True),
    Flag("-fwrapv", "signed overflow wraps, as NumPy's does", True),
    Flag("-ffp-contract=off", "a*b + c rounds twice, as NumPy's does", True),
    Flag("-fno-math-errno", "nobody reads errno, and sqrt becomes a vector instruction", False),
    Flag("-fno-trapping-math", "nobody unmasks traps, and a branch may become a select", False),
    Flag(
        "-fno-tree-loop-distribute-patterns",
        "a hundred results of one loop are not compared pairwise, to copy with memcpy",
        False,
    ),
    Flag("-w", "warnings about generated text help no user; errors still show", False),
    Flag(THREADS, "kernels share their work among threads", False),
)

_FORMAT = "fusecuda-compiler-3"  # changes with the probe or with what it keeps
_CANDIDATES = ("cc", "gcc", "clang")
_SOURCE, _PRODUCT, _LOG = "kernel.c", "kernel.so", "compiler.log"
_FEATURES = ("flags", "features")  # how the line of /proc/cpuinfo begins on x86 and on Arm
_LOG_BYTES = 64 * 1024
_SHOWN_LINES, _SHOWN_COLUMNS, _SHOWN_ERRORS, _CONTEXT_LINES = 20, 300, 3, 2
_PROBE = """
#include <math.h>
#include <stdint.h>
#ifdef _REENTRANT
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
double fc_probe(double *x, int64_t n) {
#ifdef _REENTRANT
    pthread_mutex_trylock(&lock);
#endif
    for (int64_t i = 0; i < n; i++) x[i] = sin(x[i]);
    return n ? x[0] : 0.0;
}
"""


class SourceRejectedError(CompilerError):
    """The compiler ran and refused the text; another text may well compile."""


class TimedOutError(CompilerError):
    """The compiler did not finish in time and was killed."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler on this machine, and the flags that it takes."""

    argv: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    threads: bool
    fingerprint: str  # alike only where a library built by one may be loaded for the other

    def compile(self, source: str) -> bytes:
        """The shared library that `source` compiles to; CompilerError says why there is none."""
        count_compilation()
        return _build(self.argv, self.flags, source, COMPILE_TIMEOUT_S)


class _Process:
    """What this process knows of its compiler."""

    def __init__(self) -> None:
        self.found: tuple[_Environment, Compiler | None] | None = None
        self.free_locks()

    def free_locks(self) -> None:
        """Nobody holds the lock: true at first, and in a forked child."""
        self.finding = threading.Lock()


_Environment = tuple[str | None, str | None]
_process = _Process()
os.register_at_fork(after_in_child=_process.free_locks)


# --- which compiler ---------------------------------------------------------------------------


def find_compiler() -> Compiler | None:
    """The compiler of $FUSECUDA_CC, else cc, gcc or clang on PATH; None if there is none."""
    environment = (os.environ.get("FUSECUDA_CC"), os.environ.get("PATH"))
    found = _process.found
    if found is None or found[0] != environment:
        with _process.finding:
            found = _process.found
            if found is None or found[0] != environment:
                _process.found = found = (environment, _find())
    return found[1]


def why_no_compiler() -> str:
    """What to tell the user when find_compiler() gives None."""
    chosen = os.environ.get("FUSECUDA_CC", "").strip()
    if chosen:
        return f"the C compiler that FUSECUDA_CC names cannot be run: {chosen!r}"
    return "no C compiler: neither cc, gcc nor clang is on PATH, and FUSECUDA_CC is not set"


def _find() -> Compiler | None:
    fallback = None
    for argv in _candidates():
        kept = _load_probed(argv)
        compiler, works = (kept, True) if kept else _probe(argv)
        if works:
            return compiler
        fallback = fallback or compiler  # it will say what is wrong when it is asked to compile
    return fallback


def _candidates() -> Iterator[tuple[str, ...]]:
    """The commands to try, in order, each with the absolute path of its program."""
    chosen = os.environ.get("FUSECUDA_CC", "").strip()
    try:
        commands = [shlex.split(chosen)] if chosen else [[name] for name in _CANDIDATES]
    except ValueError:  # an unclosed quote
        return
    for command in commands:
        program = shutil.which(command[0]) if command else None
        if program:  # absolute, since compilations run in a folder of their own
            yield (os.path.abspath(program), *command[1:])


# --- what it can do ---------------------------------------------------------------------------


def _probe(argv: tuple[str, ...]) -> tuple[Compiler, bool]:
    """The compiler with the flags that it takes, and whether it built anything at all."""
    required = tuple(flag.text for flag in FLAGS if flag.required)
    try:
        version = _version(argv)
        flags = _accepted_flags(argv)
    except TimedOutError:  # no point in waiting for it again
        return _make(argv, "unknown", required), False
    if flags is None:
        return _make(argv, version, required), False
    compiler = _make(argv, version, flags)
    kept = json.dumps({"version": version, "flags": flags})
    default_cache().store(_probe_key(argv), kept.encode())
    return compiler, True


def _load_probed(argv: tuple[str, ...]) -> Compiler | None:
    """The compiler as an earlier process probed it, if the program has not changed since."""
    payload = default_cache().load(_probe_key(argv))
    if payload is None:
        return None
    try:
        kept = json.loads(payload)
        return _make(argv, kept["version"], tuple(kept["flags"]))
    except (ValueError, KeyError, TypeError):  # whole, but not what we store
        return None


def _make(argv: tuple[str, ...], version: str, flags: tuple[str, ...]) -> Compiler:
    identity = (_FORMAT, json.dumps(_stamps(argv)), version, *flags, _target_features())
    return Compiler(argv, version, flags, THREADS in flags, digest_of(*identity))


def _probe_key(argv: tuple[str, ...]) -> str:
    flags = (flag.text for flag in FLAGS)
    return digest_of(_FORMAT, json.dumps(_stamps(argv)), *flags, _target_features())


def _stamps(argv: tuple[str, ...]) -> list[tuple[str, str, int, int]]:
    """Each word with the path, time and size of the program it names: "ccache gcc" names two."""
    stamps = []
    for word in argv:
        path = None if word.startswith("-") else shutil.which(word)
        stamp = (word, "", 0, 0)
        if path:
            with contextlib.suppress(OSError):
                status = os.stat(path)
                stamp = (word, os.path.realpath(path), status.st_mtime_ns, status.st_size)
        stamps.append(stamp)
    return stamps


def _target_features() -> str:
    """What -march=native depends on: a home folder may serve machines with unlike CPUs."""
    features = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            features = next((line for line in lines if line.lower().startswith(_FEATURES)), "")
    except OSError:  # not Linux
        features = platform.processor()
    names = sorted(features.partition(":")[2].split()) or [features]
    return digest_of(sys.platform, platform.machine(), *names)


def _version(argv: tuple[str, ...]) -> str:
    """The first line that --version prints, or "unknown"."""
    with tempfile.TemporaryDirectory(prefix="fusecuda-") as folder:
        try:
            code, log = _run([*argv, "--version"], Path(folder), PROBE_TIMEOUT_S)
        except TimedOutError:
            raise
        except CompilerError:
            return "unknown"
    return log.splitlines()[0].strip() if code == 0 and log.strip() else "unknown"


def _accepted_flags(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """All flags if they build the probe, else those that do one at a time; None: none does."""
    every = tuple(flag.text for flag in FLAGS)
    if _builds(argv, every):
        return every
    required = tuple(flag.text for flag in FLAGS if flag.required)
    if not _builds(argv, required):
        return None
    optional = [flag.text for flag in FLAGS if not flag.required]
    usable = {text for text in optional if _builds(argv, (*required, text))}
    chosen = tuple(flag.text for flag in FLAGS if flag.required or flag.text in usable)
    return chosen if _builds(argv, chosen) else required


def _builds(argv: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    try:
        _build(argv, flags, _PROBE, PROBE_TIMEOUT_S)
    except TimedOutError:
        raise
    except CompilerError:
        return False
    return True


# --- one run ----------------------------------------------------------------------------------


def _build(argv: Sequence[str], flags: Sequence[str], source: str, timeout_s: float) -> bytes:
    """The library's bytes; each way that there can be none is a CompilerError with a reason."""
    command = [*argv, *flags, "-o", _PRODUCT, _SOURCE, "-lm"]
    try:
        with tempfile.TemporaryDirectory(prefix="fusecuda-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / _SOURCE).write_bytes(source.encode())
            code, log = _run(command, folder, timeout_s)
            if code != 0:
                raise SourceRejectedError(_describe(_exit(code), command, log, source))
            product = folder / _PRODUCT
            payload = product.read_bytes() if product.is_file() else None
    except UnicodeEncodeError as error:
        raise SourceRejectedError(f"the C source is not valid Unicode: {error}") from None
    except OSError as error:
        raise CompilerError(_describe(f"could not be used: {error}", command)) from error
    if payload is None:
        raise CompilerError(_describe("reported success but wrote no library", command, log))
    if not is_shared_library(payload):
        problem = "reported success but what it wrote is no shared library of this platform"
        raise CompilerError(_describe(problem, command, log))
    return payload


def _run(command: Sequence[str], folder: Path, timeout_s: float) -> tuple[int, str]:
    """Exit code and output of a command run in `folder`; past the time, its group is killed."""
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}  # its litter goes with ours
    log = folder / _LOG
    with log.open("wb") as sink:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise CompilerError(_describe(f"cannot be started: {error}", command)) from error
    try:
        in_time = _wait(process, timeout_s)
    finally:
        if process.returncode is None:  # out of time, or interrupted
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    with log.open("rb") as file:
        text = file.read(_LOG_BYTES).decode("utf-8", "replace")
    if not in_time:
        raise TimedOutError(_describe(f"timed out after {timeout_s:g} s", command, text))
    return process.returncode, text


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Whether the process ended in time. Popen.wait() would poll, up to 50 ms too long."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        in_time = bool(poll.poll(max(1, round(timeout_s * 1000))))
    finally:
        os.close(descriptor)
    if in_time:
        process.wait()
    return in_time


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
        lines.append(f"  ... and {len(printed) - _SHOWN_LINES} lines more")
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
