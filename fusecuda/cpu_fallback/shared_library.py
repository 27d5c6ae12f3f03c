"""A shared library as bytes: whether it is a whole one, and the library opened from it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
import tempfile

from fusecuda.errors import CompilerError

_MODE = os.RTLD_NOW | os.RTLD_LOCAL  # a library's names are its own
_MACH_O = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
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
    """The library loaded from the bytes, its names private; no file of it stays behind."""
    if not is_shared_library(payload):
        raise CompilerError("a compiled kernel is no shared library of this platform")
    try:
        return _open_from_file(payload)
    except OSError as error:
        if sys.platform != "linux":
            raise CompilerError(f"a compiled kernel cannot be loaded: {error}") from error
    try:
        return _open_from_memory(payload)
    except OSError as error:
        raise CompilerError(f"a compiled kernel cannot be loaded: {error}") from error


def _open_from_file(payload: bytes) -> ctypes.CDLL:
    descriptor, path = tempfile.mkstemp(prefix="fusecuda-", suffix=".so")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(payload)
        return ctypes.CDLL(path, mode=_MODE)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _open_from_memory(payload: bytes) -> ctypes.CDLL:
    """The library, where the temporary folder is full or forbids execution.

    The descriptor stays open: the loader knows a library by its path, so a path that came to
    name another descriptor would give back the library that had it first.
    """
    descriptor = os.memfd_create("fusecuda")
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(payload)
        return ctypes.CDLL(f"/proc/self/fd/{descriptor}", mode=_MODE)
    except OSError:
        os.close(descriptor)
        raise


def address_of(library: ctypes.CDLL, name: str) -> int:
    """The address of an exported function, or 0 if the library has none of that name."""
    try:
        function = library[name]
    except AttributeError:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0
