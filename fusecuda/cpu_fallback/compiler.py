"""The system's C compiler: which it is, what it can do, and a shared library from one text.

The compiler is probed once, when it is first needed, and what the probe found is kept in the disk
cache, so that a later process whose kernels are all cached runs no compiler at all. It does not
even need to have one: the compiler that a command led to last is remembered, and what it built
still serves.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shlex
import threading
import time
import warnings
from dataclasses import dataclass, field
from functools import partial

from fusecuda.codegen.cache import default_cache, digest_of
from fusecuda.codegen.compilations import count_compilation, say_compiling
from fusecuda.cpu_fallback import texts
from fusecuda.cpu_fallback.commands import (
    candidates,
    command_of,
    libraries,
    stamps,
    target_features,
)
from fusecuda.cpu_fallback.runs import Patience, SourceRejectedError, TimedOutError
from fusecuda.errors import CompilerError

COMPILE_TIMEOUT_S = 120.0
PROBE_TIMEOUT_S = 20.0  # after which a slow probe is spoken of; it is waited for as a kernel is
PROGRESS_AFTER_S = 1.0  # a compilation that takes longer is spoken of on a terminal
_REST = 10  # times as long as a hanging compiler has cost, it is not tried again


@dataclass(frozen=True)
class Flag:
    """A compiler flag, why it is there, and whether results would be wrong without it."""

    text: str
    why: str
    required: bool


THREADS = "-pthread"
_CHOICES = "-fno-thread-jumps"
_NO_REST = "--param=vect-epilogues-nomask=0"
_CHOICE = re.compile(r" = v\d+ \? v\d+ : ")  # of kernels, not of functions in headers
_CHAINS = 16
_WIDE = (
    "vectors of 256 bits, which some processors' settings prefer, take half as long again or twice"
)
_X86 = platform.machine().lower() in ("x86_64", "amd64")
_FOR_X86 = (Flag("-mprefer-vector-width=512", _WIDE, False),) if _X86 else ()
FLAGS = (
    Flag("-std=c11", "the language we write; narrow floats round at each statement", True),
    Flag("-O3", "vectorises the loops", True),
    Flag("-march=native", "uses all of this CPU; its features are in the fingerprint", False),
    *_FOR_X86,
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
    Flag(
        "-fno-gcse-after-reload", "a fifth of the time for large kernels, of no use to them", False
    ),
    Flag(
        "-fno-tree-sink",
        "a call moves into no branch of a choice, which would keep its loop from vectors",
        False,
    ),
    Flag(
        "-fno-tree-pre",
        "a choice of floats whose bits are looked at next stays one, an instruction of its own",
        False,
    ),
    Flag("-w", "warnings about generated text help no user; errors still show", False),
    Flag("-pipe", "the assembler reads along: a tenth of the time", False),
    Flag(_CHOICES, "choices by one test after another are no branches", False),
    Flag(_NO_REST, "choices are not made into vectors a second time, for a loop's rest", False),
    Flag(THREADS, "kernels share their work among threads", False),
)

_FORMAT = "fusecuda-compiler-7"  # changes with the probe or with what it keeps
_FOR_CLANG = {  # what Clang is given instead of flags that are gcc's own
    "-fno-tree-loop-distribute-patterns": "-fno-unroll-loops",  # else it takes ten times as long
    _CHOICES: "",
    _NO_REST: "",
    "-fno-tree-sink": "",
    "-fno-tree-pre": "",
}


class _RestingError(CompilerError):
    """The compiler hung in this process or another one, and is not to be tried for a while."""

    def __init__(self, problem: str, left_s: float) -> None:
        super().__init__(f"{problem}\n  It is tried again in {left_s:.0f} s.")
        self.left_s = left_s


@dataclass(frozen=True)
class Compiler:
    """A C compiler on this machine, and the flags that it takes."""

    argv: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    threads: bool
    fingerprint: str  # alike only where a library built by one may be loaded for the other
    problem: str = ""  # why it cannot be run now, though it once built what is cached
    built: tuple[str, bytes] | None = field(default=None, compare=False, repr=False)

    def _flags_for(self, source: str) -> tuple[str, ...]:
        """All flags; but the rest of a loop is one of smaller vectors if its choices are few.

        Chains of them take the compiler as long again for these.
        """
        is_chain = len(_CHOICE.findall(source)) >= _CHAINS
        return tuple([f for f in self.flags if is_chain or f != _NO_REST])

    def compile(self, source: str) -> bytes:
        """The shared library that `source` compiles to; CompilerError says why there is none."""
        if self.built is not None and self.built[0] == source:
            return self.built[1]
        if self.problem:
            raise CompilerError(self.problem)
        count_compilation()
        try:
            say = partial(say_compiling, self.argv[0])
            patience = Patience(COMPILE_TIMEOUT_S, PROGRESS_AFTER_S, say)
            return _built(self.argv, self._flags_for(source), source, patience)
        except TimedOutError:
            _doubt(self)
            raise


@dataclass(frozen=True)
class _Found:
    """What the search for a compiler came to, and until when that holds."""

    environment: tuple[str | None, str | None]
    compiler: Compiler | None
    problem: str = ""
    until: float = float("inf")

    def holds(self) -> bool:
        return self.environment == _environment() and time.monotonic() < self.until


class _Process:
    """What this process knows of its compiler."""

    def __init__(self) -> None:
        self.found: _Found | None = None
        self.free_locks()

    def free_locks(self) -> None:
        """Nobody holds the lock: true at first, and in a forked child."""
        self.finding = threading.Lock()


_process = _Process()
os.register_at_fork(after_in_child=_process.free_locks)


# --- which compiler ---------------------------------------------------------------------------


def find_compiler() -> Compiler | None:
    """The compiler of $FUSECUDA_CC, else cc, gcc or clang on PATH; None if there is none."""
    return _search().compiler


def is_compiler_known() -> bool:
    """Whether `find_compiler` answers without running any."""
    found = _process.found
    if found is not None and found.holds():
        return True
    first = next(candidates(), None)
    try:
        return first is None or _load_probed(first) is not None
    except _RestingError:  # the next one has to be tried
        return False


def why_no_compiler() -> str:
    """Why no compiler can be run, or "" if one can."""
    found = _search()
    return found.compiler.problem if found.compiler else found.problem


def _environment() -> tuple[str | None, str | None]:
    return os.environ.get("FUSECUDA_CC"), os.environ.get("PATH")


def _search() -> _Found:
    """What is known of the compiler, searched for if nothing is known, or nothing that holds."""
    found = _process.found
    if found is not None and found.holds():
        return found
    lock = _process.finding
    # Where a search is only repeated, those who come meanwhile go on with what it found before.
    repeated = found is not None and found.environment == _environment()
    if not lock.acquire(blocking=not repeated):
        assert found is not None
        return found
    try:
        found = _process.found
        if found is None or not found.holds():
            _process.found = found = _find()
        return found
    finally:
        lock.release()


def _find() -> _Found:
    """The first compiler that works, else what the last one that did has left in the cache."""
    environment = _environment()
    problem, again = "", float("inf")
    for argv in candidates():
        try:
            compiler = _load_probed(argv) or _probe(argv)
        except _RestingError as error:
            problem = problem or str(error)
            again = min(again, time.monotonic() + error.left_s)
        except CompilerError as error:
            problem = problem or str(error)
        else:
            _remember(compiler)
            return _Found(environment, compiler)
    problem = problem or _nothing_found()
    return _Found(environment, _remembered(problem), problem, again)


def _nothing_found() -> str:
    chosen = os.environ.get("FUSECUDA_CC", "").strip()
    if chosen:
        return f"the C compiler that FUSECUDA_CC names cannot be run: {chosen!r}"
    return "no C compiler: neither cc, gcc nor clang is on PATH, and FUSECUDA_CC is not set"


# --- what it can do ---------------------------------------------------------------------------


def _probe(argv: tuple[str, ...]) -> Compiler:
    """The compiler with the flags that it takes; CompilerError says why it is of no use."""
    from .invoke import version  # noqa: PLC0415 - as in `_built`

    patience = Patience(COMPILE_TIMEOUT_S, PROBE_TIMEOUT_S, lambda: _say_slow(argv))
    start = time.monotonic()
    try:
        named = version(argv, patience)
        flags, library = _accepted_flags(argv, patience)
    except TimedOutError as error:
        rest = _REST * (time.monotonic() - start)
        default_cache().store(_probe_key(argv), _record_of_hang(str(error), rest))
        raise _RestingError(str(error), rest) from None
    compiler = _make(argv, named, flags, built=(texts.probe(), library))
    default_cache().store(_probe_key(argv), _record(compiler))
    return compiler


_slow: set[tuple[str, ...]] = set()  # compilers of which it was said


def _say_slow(argv: tuple[str, ...]) -> None:
    if argv not in _slow:
        _slow.add(argv)
        warnings.warn(
            f"the C compiler {shlex.join(argv)} is slow: it has been tried out for"
            f" {PROBE_TIMEOUT_S:g} s. It is waited for up to {COMPILE_TIMEOUT_S:g} s.",
            RuntimeWarning,
            stacklevel=2,
        )


def _built(argv: tuple[str, ...], flags: tuple[str, ...], source: str, patience: Patience) -> bytes:
    from .invoke import build  # noqa: PLC0415 - most processes run no compiler

    *alone, words = libraries(argv, source)
    for few in alone:
        with contextlib.suppress(SourceRejectedError):
            return build(command_of(argv, flags), source, few, patience)
    return build(command_of(argv, flags), source, words, patience)


def _accepted_flags(argv: tuple[str, ...], patience: Patience) -> tuple[tuple[str, ...], bytes]:
    """All flags if they build the probe, else those that do one at a time; and what was built.

    The flags for Clang are tried in between.
    """

    def tried(flags: tuple[str, ...]) -> bytes | None:
        try:
            return _built(argv, flags, texts.probe(), patience)
        except SourceRejectedError:
            return None

    every = tuple(flag.text for flag in FLAGS)
    clangs = tuple(known for text in every if (known := _FOR_CLANG.get(text, text)))
    for flags in (every, clangs):
        library = tried(flags)
        if library is not None:
            return flags, library
    required = tuple(flag.text for flag in FLAGS if flag.required)
    plain = _built(argv, required, texts.probe(), patience)
    optional = [flag.text for flag in FLAGS if not flag.required]
    usable = {text for text in optional if tried((*required, text)) is not None}
    chosen = tuple(flag.text for flag in FLAGS if flag.required or flag.text in usable)
    library = tried(chosen)
    return (required, plain) if library is None else (chosen, library)


def _make(
    argv: tuple[str, ...],
    named: str,
    flags: tuple[str, ...],
    built: tuple[str, bytes] | None = None,
) -> Compiler:
    identity = (_FORMAT, json.dumps(stamps(argv)), named, *flags, target_features())
    return Compiler(argv, named, flags, THREADS in flags, digest_of(*identity), built=built)


def _doubt(compiler: Compiler) -> None:
    """It ran out of time: it is probed anew before it is used again, in case it hangs."""
    default_cache().remove(_probe_key(compiler.argv))
    _process.found = None


# --- what is kept of it -----------------------------------------------------------------------


def _record(compiler: Compiler) -> bytes:
    kept = {
        "argv": compiler.argv,
        "version": compiler.version,
        "flags": compiler.flags,
        "fingerprint": compiler.fingerprint,
    }
    return json.dumps(kept).encode()


def _record_of_hang(problem: str, rest_s: float) -> bytes:
    return json.dumps({"problem": problem, "since": time.time(), "rest": rest_s}).encode()


def _load_probed(argv: tuple[str, ...]) -> Compiler | None:
    """The compiler as an earlier process probed it, if the program has not changed since."""
    payload = default_cache().load(_probe_key(argv))
    if payload is None:
        return None
    try:
        kept = json.loads(payload)
        if "problem" in kept:
            gone = time.time() - kept["since"]
            if 0 <= gone < kept["rest"]:
                raise _RestingError(str(kept["problem"]), kept["rest"] - gone)
            return None
        return _make(argv, kept["version"], tuple(kept["flags"]))
    except (ValueError, KeyError, TypeError):  # whole, but not what we store
        return None


def _remember(compiler: Compiler) -> None:
    """The compiler is the one that a later process goes by if it has none."""
    key, record = _memory_key(), _record(compiler)
    if default_cache().load(key) != record:
        default_cache().store(key, record)


def _remembered(problem: str) -> Compiler | None:
    """The compiler that the same setting led to when there was one; it builds nothing now."""
    payload = default_cache().load(_memory_key())
    if payload is None:
        return None
    try:
        kept = json.loads(payload)
        flags = tuple(map(str, kept["flags"]))
        argv, named, fingerprint = tuple(kept["argv"]), kept["version"], str(kept["fingerprint"])
    except (ValueError, KeyError, TypeError):
        return None
    return Compiler(argv, named, flags, THREADS in flags, fingerprint, problem)


def _probe_key(argv: tuple[str, ...]) -> str:
    flags = (*(flag.text for flag in FLAGS), *_FOR_CLANG.values())
    words = json.dumps(stamps(argv))
    above, kernels, below = texts.probed()
    return digest_of(_FORMAT, words, *flags, target_features(), above, *kernels, below)


def _memory_key() -> str:
    chosen = os.environ.get("FUSECUDA_CC", "").strip()
    return digest_of(_FORMAT, "last", chosen, target_features())
