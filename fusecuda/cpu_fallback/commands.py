"""Commands that run a compiler: which to try, how their words are put together, what they name."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator

from fusecuda.codegen.cache import digest_of

_CANDIDATES = ("cc", "gcc", "clang")
_OF_LIBRARIES = ("<math.h>", "<pthread.h>")  # headers of what is linked with
_CALLING_NOTHING = ("-O", "-m")  # how flags begin that put in no calls
_ALONE, _WITH_LIBM = ("-nostdlib", "-lgcc"), ("-lm",)
_FEATURES = ("flags", "features")  # how the line of /proc/cpuinfo begins on x86 and on Arm


def candidates() -> Iterator[tuple[str, ...]]:
    """The commands to try, in order, each with the absolute path of its program."""
    chosen = os.environ.get("FUSECUDA_CC", "").strip()
    try:
        commands = [shlex.split(chosen)] if chosen else [[name] for name in _CANDIDATES]
    except ValueError:  # an unclosed quote
        return
    for command in commands:
        program = shutil.which(command[0]) if command else None
        if program:
            with contextlib.suppress(OSError):  # relative to a folder that is gone
                # Absolute, since compilations run in a folder of their own.
                yield (os.path.abspath(program), *command[1:])


def command_of(argv: tuple[str, ...], flags: tuple[str, ...]) -> tuple[str, ...]:
    """The words to run: the user's arguments stand behind our flags, so that theirs win.

    They begin behind the last word that names a program: "ccache gcc -O1", "nice -n 5 gcc".
    """
    programs = [i for i, word in enumerate(argv) if _program(word)]
    end = max(programs, default=0) + 1
    return (*argv[:end], *flags, *argv[end:])


def libraries(argv: tuple[str, ...], source: str) -> list[tuple[str, ...]]:
    """What ``source`` is linked with: words to try in turn.

    A text that includes none of their headers needs no library that is not in the process anyway,
    and the linker a third of its time to find out. Who gives the compiler flags of their own may
    have put in calls.
    """
    own = any(w.startswith("-") and not w.startswith(_CALLING_NOTHING) for w in argv)
    alone = sys.platform == "linux" and not own and not any(h in source for h in _OF_LIBRARIES)
    return [_ALONE, _WITH_LIBM] if alone else [_WITH_LIBM]


def stamps(argv: tuple[str, ...]) -> list[tuple[str, str, int, int]]:
    """Each word with the path, time and size of the program it names: "ccache gcc" names two."""
    found = []
    for word in argv:
        path = _program(word)
        stamp = (word, "", 0, 0)
        if path:
            with contextlib.suppress(OSError):
                status = os.stat(path)
                stamp = (word, os.path.realpath(path), status.st_mtime_ns, status.st_size)
        found.append(stamp)
    return found


@functools.cache
def target_features() -> str:
    """What a library depends on besides its compiler: the CPU that -march=native meant, and libc.

    A home folder may serve machines that are unlike.
    """
    features = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            features = next((line for line in lines if line.lower().startswith(_FEATURES)), "")
    except OSError:  # not Linux
        features = platform.processor()
    names = sorted(features.partition(":")[2].split()) or [features]
    libc = ""
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not GNU's
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    return digest_of(sys.platform, platform.machine(), libc, *names)


def _program(word: str) -> str | None:
    """The path of the program that a word of a command names."""
    return None if word.startswith("-") else shutil.which(word)
