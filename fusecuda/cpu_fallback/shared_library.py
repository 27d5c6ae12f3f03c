"""A shared library as bytes: whether it is a whole one, and the library opened from it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import struct
import sys
from pathlib import Path

from fusecuda.errors import CompilerError

_MODE = os.RTLD_NOW | os.RTLD_LOCAL  # a library's names are its own
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_numbers = itertools.count(1)
_ELF_SHARED = 3
_ELF_HEADER_BYTES, _ELF_SEGMENT_BYTES = 64, 56


def is_shared_library(payload: bytes) -> bool:
    """Whether the bytes are a shared library of this platform, not cut short."""
    if sys.platform == "darwin":
        return payload[:4] in _MACH_O
    word = struct.calcsize("P")
    order = 1 if sys.byteorder == "little" else 2
    if len(payload) < _ELF_HEADER_BYTES or payload[:6] != b"\x7fELF" + bytes((word // 4, order)):
        return False
    if struct.unpack_from("=H", payload, 16) != (_ELF_SHARED,):
        return False
    return word == 4 or _segments_end(payload) <= len(payload)


def _segments_end(payload: bytes) -> int:
    """Where the last segment of a 64-bit ELF file ends: to map one past the file would crash."""
    (table,) = struct.unpack_from("=Q", payload, 32)
    size, count = struct.unpack_from("=HH", payload, 54)
    end: int = table + size * count
    if end > len(payload) or size < _ELF_SEGMENT_BYTES:
        return len(payload) + 1
    for index in range(count):
        (offset,) = struct.unpack_from("=Q", payload, table + size * index + 8)
        (length,) = struct.unpack_from("=Q", payload, table + size * index + 32)
        end = max(end, offset + length)
    return end


def open_library(payload: bytes) -> ctypes.CDLL:
    """The library loaded from the bytes, its names private; no file of it stays behind.

    It is loaded from memory where the system can: nobody can exchange a file that has no name.
    """
    if not is_shared_library(payload):
        raise CompilerError("a compiled kernel is no shared library of this platform")
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return _open_from_memory(payload)
    try:
        return _open_from_file(payload)
    except OSError as error:
        raise CompilerError(f"a compiled kernel cannot be loaded: {error.strerror}") from error


def _open_from_memory(payload: bytes) -> ctypes.CDLL:
    """The library, from a file in memory that the process alone can name.

    The loader knows a library by its path, and would give back an earlier one that was loaded from
    a descriptor of the same number; so each path is spelled in a way of its own.
    """
    spelled = format(next(_numbers), "b").replace("0", "/").replace("1", "./")
    descriptor = os.memfd_create("fusecuda")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(payload)
        return ctypes.CDLL(f"/proc/self/fd/{spelled}{descriptor}", mode=_MODE)
    finally:
        os.close(descriptor)


def _open_from_file(payload: bytes) -> ctypes.CDLL:
    """The library, where there are no files in memory or such a file may not be run."""
    from .scratch import in_scratch_folder  # noqa: PLC0415 - loaded where it is needed

    def work(folder: Path) -> ctypes.CDLL:
        path = folder / "kernel.so"
        path.write_bytes(payload)
        try:
            return ctypes.CDLL(str(path), mode=_MODE)
        except OSError as error:  # without the path, which differs each time: it is told once
            raise OSError(errno.ENOEXEC, str(error).replace(str(path), "the library")) from None

    return in_scratch_folder(work)


def address_of(library: ctypes.CDLL, name: str) -> int:
    """The address of an exported function, or 0 if the library has none of that name."""
    try:
        function = library[name]
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0
