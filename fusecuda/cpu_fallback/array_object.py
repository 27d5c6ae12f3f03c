"""Array objects: where an ndarray holds its data pointer and its layout, as NumPy's ABI says."""

from __future__ import annotations

import ctypes
import sys

import numpy as np

_POINTER = ctypes.sizeof(ctypes.c_void_p)


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
    for probe in (np.empty((2, 3)), np.empty((4, 6), np.int8)[1:, ::-2]):
        words = (ctypes.c_int64 * 7).from_address(id(probe) + data)
        kind = ctypes.c_void_p.from_address(id(probe) + data - _POINTER).value
        rank = ctypes.c_int.from_address(ctypes.addressof(words) + 8).value
        flags = ctypes.c_int.from_address(ctypes.addressof(words) + 48).value
        if (kind, rank, flags) != (id(np.ndarray), probe.ndim, probe.flags.num):
            return False
        if words[5] != id(probe.dtype) or not words[2] or not words[3]:
            return False
        extents = [(ctypes.c_int64 * probe.ndim).from_address(words[k]) for k in (2, 3)]
        if [tuple(e) for e in extents] != [probe.shape, probe.strides]:
            return False
    return True
