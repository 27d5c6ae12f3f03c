"""Array objects: where an ndarray holds its pointer and layout, and what memory it shows."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_ORDER = _POINTER + 2  # from the scalar type of a dtype on: behind its kind and its character
_FOREIGN = ord(">" if sys.byteorder == "little" else "<")


def data_offset() -> int | None:
    """Where an ndarray object holds its data pointer: behind the head, as NumPy's ABI says.

    None where it does not, or where `id` is no address; then NumPy is asked at each call.
    """
    offset = object.__basicsize__
    if sys.implementation.name != "cpython" or np.ndarray.__basicsize__ < offset + _POINTER:
        return None
    for probe in (np.empty(3), np.empty((2, 2), np.int8)[1:]):
        if ctypes.c_void_p.from_address(id(probe) + offset).value != probe.ctypes.data:
            return None
    return offset


def shows_layouts(data: int | None) -> bool:
    """True if all that `fc_fits` reads of an array object is where it looks."""
    if data is None:
        return False
    for probe in (np.empty((2, 3)), np.empty((4, 6), ">i2")[1:, ::-2], np.empty(2, "<i2")):
        words = (ctypes.c_int64 * 7).from_address(id(probe) + data)
        kind = ctypes.c_void_p.from_address(id(probe) + data - _POINTER).value
        rank = ctypes.c_int.from_address(ctypes.addressof(words) + 8).value
        flags = ctypes.c_int.from_address(ctypes.addressof(words) + 48).value
        if (kind, rank, flags) != (id(np.ndarray), probe.ndim, probe.flags.num):
            return False
        if words[5] != id(probe.dtype) or not words[2] or not words[3]:
            return False
        if not _shows_dtype(probe.dtype, data):
            return False
        extents = [(ctypes.c_int64 * probe.ndim).from_address(words[k]) for k in (2, 3)]
        if [tuple(e) for e in extents] != [probe.shape, probe.strides]:
            return False
    return True


def _shows_dtype(dtype: np.dtype[Any], data: int) -> bool:
    """True if a dtype holds its scalar type and the order of its bytes where `fc_fits` looks."""
    kind = ctypes.c_void_p.from_address(id(dtype) + data).value
    order = ctypes.c_char.from_address(id(dtype) + data + _ORDER).value
    return kind == id(dtype.type) and order == dtype.byteorder.encode()


def offsets_of(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Where the first byte of an array lies, and the one behind its last, from its data pointer."""
    if 0 in shape:
        return 0, 0
    steps = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
    return sum(min(s, 0) for s in steps), sum(max(s, 0) for s in steps) + itemsize


def layout_words(
    layouts: Sequence[tuple[Sequence[int], Sequence[int], Any]], written: Sequence[bool]
) -> list[int]:
    """What `fc_fits` compares arrays with: shapes, strides and dtypes, and which are written to.

    Dtypes are those of numbers, of which the scalar type tells all but the order of bytes.
    """
    words = [len(layouts), id(np.ndarray), sum(written), _FOREIGN, *map(int, written)]
    for shape, strides, dtype in layouts:
        words += [len(shape), id(dtype.type), *offsets_of(shape, strides, dtype.itemsize)]
        words += [*shape, *strides]
    return words


def bounds_of(a: Any) -> tuple[int, int]:
    """The address of the first byte of ``a`` and of the one behind the last."""
    if not a.flags.c_contiguous:
        return byte_bounds(a)
    start = a.__array_interface__["data"][0]
    return start, start + a.nbytes


def are_apart(arrays: Sequence[Any], written: int) -> bool:
    """True if none of the first ``written`` arrays shares memory with any other one.

    By their bounds, as `numpy.may_share_memory`; in the order of these, so that each is looked at
    once.
    """
    spans = sorted([(*bounds_of(a), k < written) for k, a in enumerate(arrays) if a.size])
    end = end_of_written = 0
    for low, high, is_written in spans:
        if low < (end if is_written else end_of_written):
            return False
        end = max(end, high)
        if is_written:
            end_of_written = max(end_of_written, high)
    return True
