"""Compiles translation units and the runtime, once for each text and process."""

import atexit
import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.emulator.source import find_kernels, translation_unit

HERE = Path(__file__).parent
_PLAIN = ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]
_PLAIN += ["-fno-strict-aliasing", "-x", "c++", "-c"]
# Scalar replacement would split a 16-byte access into its parts.
_KERNEL = ["-Og", "-fno-tree-sra", "-g1", "-w", "-ffp-contract=off", "-fwrapv", "-fno-gnu-unique"]
_KERNEL += ["-fsanitize=thread,bounds", "-fsanitize-undefined-trap-on-error"]
_KERNEL += ["--param", "tsan-instrument-func-entry-exit=0"]
_KERNEL += ["--param", "tsan-distinguish-volatile=1"]


class EmulatorError(Exception):
    """A kernel that does not compile, or that did what a GPU may not forgive."""


@functools.cache
def _folder() -> Path:
    """A folder of this process that goes with it."""
    folder = tempfile.mkdtemp(prefix="cuda-emulator-")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


@functools.cache
def compiler() -> str | None:
    """A GCC for C++: its sanitizer reports the copy of a 16-byte struct as one access."""
    for name in (os.environ.get("CXX", ""), "g++", "c++", "gcc", "cc"):
        path = shutil.which(name) if name else None
        if path is None:
            continue
        command = [path, "-x", "c++", "-dM", "-E", os.devnull]
        macros = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if "__GNUC__" in macros and "__clang__" not in macros:
            return path
    return None


def _run(arguments: list[str], source: str = "") -> None:
    path = compiler()
    if path is None:
        raise EmulatorError("no GCC for C++ was found")
    result = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise EmulatorError(_with_line(result.stderr or f"{path} failed", source))


def _with_line(message: str, source: str) -> str:
    """A compiler's text, headed by the source line that it is about."""
    match = re.search(r"^kernel\.cu:(\d+)(?::\d+)?: (?:fatal )?error: (.*)$", message, re.MULTILINE)
    if match is None:
        return message
    number = int(match.group(1))
    return f"{match.group(2)}\n{marked(source, number)}\n\n{message}"


def marked(source: str, number: int) -> str:
    """A source line and its neighbours, with a mark at the line."""
    lines = source.split("\n")
    shown = range(max(1, number - 2), min(len(lines), number + 2) + 1)
    return "\n".join(f"{'>' if n == number else ' '} {n:4} | {lines[n - 1]}" for n in shown)


@functools.cache
def _runtime() -> str:
    target = _folder() / "runtime.o"
    path = HERE / "runtime" / "runtime.cpp"
    _run([*_PLAIN, "-O2", "-w", "-o", str(target), str(path)])
    return str(target)


@functools.cache
def _header() -> str:
    """The device header, precompiled: what to include before every source."""
    copy = _folder() / "device.h"
    for path in HERE.glob("device*.h"):
        shutil.copy(path, _folder() / path.name)
    _run([*_PLAIN[:-3], *_KERNEL, "-x", "c++-header", "-o", f"{copy}.gch", str(copy)])
    return str(copy)


@functools.cache
def compiled(source: str) -> ctypes.CDLL:
    """A source as a loaded library."""
    return ctypes.CDLL(str(compile_library(source)))


def compile_library(source: str) -> Path:
    """A source as a library file in the process's folder."""
    stem = _folder() / hashlib.sha256(source.encode()).hexdigest()[:24]
    unit, part, library = (stem.with_suffix(s) for s in (".cu", ".o", ".so"))
    unit.write_text(translation_unit(source, find_kernels(source)))
    _run([*_PLAIN, *_KERNEL, "-include", _header(), "-o", str(part), str(unit)], source)
    _run(["-shared", "-Wl,-Bsymbolic", "-o", str(library), str(part), _runtime(), "-lm"])
    part.unlink()
    return library


@functools.cache
def available() -> bool:
    """Whether kernels can be compiled and loaded here."""
    try:
        compiled('extern "C" __global__ void probe(int *x) { *x = 1; }')
    except (EmulatorError, OSError):
        return False
    return True


def source_line(library: ctypes.CDLL, address: int) -> int | None:
    """The kernel's source line that an address in its library belongs to."""
    tool = shutil.which("addr2line")
    if tool is None:
        return None
    command = [tool, "-i", "-e", library._name, hex(address - 1)]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    match = re.search(r"kernel\.cu:(\d+)", text)
    return int(match.group(1)) if match else None
