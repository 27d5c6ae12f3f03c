"""Compiles translation units and the runtime, once for each text.

For a process only, or where FUSECUDA_TEST_CACHE is set for all that find it there: what is compiled
goes by its text, the emulator's own, and the compiler. FUSECUDA_TEST_EMULATED names another folder.
"""

import atexit
import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
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
    """A folder that is kept, or one of this process that goes with it."""
    kept = os.environ.get("FUSECUDA_TEST_EMULATED") or os.environ.get("FUSECUDA_TEST_CACHE")
    if kept:
        place = Path(kept).absolute() / f"emulated-{_identity()}"
        place.mkdir(parents=True, exist_ok=True)
        return place
    folder = tempfile.mkdtemp(prefix="cuda-emulator-")
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


def _identity() -> str:
    """What a library depends on beside its text: the emulator's sources, and the compiler."""
    files = sorted(f for f in HERE.rglob("*") if f.suffix in (".py", ".h", ".cpp"))
    texts = [f.read_bytes() for f in files]
    path = compiler()
    if path is not None:
        version = subprocess.run([path, "--version"], capture_output=True, check=False)
        texts += [path.encode(), version.stdout]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def _made(name: str, make: Callable[[Path], None]) -> Path:
    """The file of that name in the folder, whole: what is being made has another name."""
    target = _folder() / name
    if not target.exists():
        part = target.with_name(f"{os.getpid()}-{threading.get_ident()}-{name}")
        make(part)
        part.replace(target)
    return target


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
    path = HERE / "runtime" / "runtime.cpp"
    flags = [*_PLAIN, "-O2", "-w"]
    return str(_made("runtime.o", lambda part: _run([*flags, "-o", str(part), str(path)])))


@functools.cache
def _header() -> str:
    """The device header, precompiled: what to include before every source."""
    for path in HERE.glob("device*.h"):
        _made(path.name, lambda part, path=path: shutil.copy(path, part))
    copy = _folder() / "device.h"
    flags = [*_PLAIN[:-3], *_KERNEL, "-x", "c++-header"]
    _made("device.h.gch", lambda part: _run([*flags, "-o", str(part), str(copy)]))
    return str(copy)


@functools.cache
def compiled(source: str) -> ctypes.CDLL:
    """A source as a loaded library."""
    return ctypes.CDLL(str(compile_library(source)))


def compile_library(source: str) -> Path:
    """A source as a library file in the folder."""
    stem = hashlib.sha256(source.encode()).hexdigest()[:24]

    def make(library: Path) -> None:
        unit, part = (library.with_suffix(s) for s in (".cu", ".o"))
        unit.write_text(translation_unit(source, find_kernels(source)))
        try:
            _run([*_PLAIN, *_KERNEL, "-include", _header(), "-o", str(part), str(unit)], source)
            _run(["-shared", "-Wl,-Bsymbolic", "-o", str(library), str(part), _runtime(), "-lm"])
        finally:
            part.unlink(missing_ok=True)
            unit.unlink()

    return _made(f"{stem}.so", make)


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
