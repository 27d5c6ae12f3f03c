"""Numbers laid out in memory for kernels, by their types."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..graph.dtypes import DType, part_of_complex

NUMBER_BYTES = 16  # room for a number of any type


@cache
def packer(dtype: DType) -> Callable[[Any, int, Any], None]:
    """What writes a number of ``dtype`` into a buffer from a byte on: (buffer, byte, number)."""
    if dtype.kind == "V":  # void to NumPy, and nothing to `struct`
        bits = struct.Struct(f"={dtype.itemsize}s").pack_into
        return lambda buffer, at, number: bits(buffer, at, np.array(number, dtype).tobytes())
    if dtype.kind != "c":
        return struct.Struct(f"={_code(dtype)}").pack_into
    both = struct.Struct(f"=2{_code(part_of_complex(dtype))}").pack_into
    return lambda buffer, at, number: both(buffer, at, number.real, number.imag)


def words_of(dtype: DType, name: str) -> tuple[str, list[str]]:
    """The struct codes of a number of ``dtype``, and the texts of what they take of ``name``.

    They tell numbers apart that `packer` writes otherwise.
    """
    if dtype.kind == "V":
        return "d", [f"float({name})"]
    if dtype.kind != "c":
        return _code(dtype), [name]
    return 2 * _code(part_of_complex(dtype)), [f"{name}.real", f"{name}.imag"]


def _code(dtype: DType) -> str:
    """The struct code of ``dtype`` under standard sizes."""
    return "?" if dtype.kind == "b" else {"l": "q", "L": "Q"}.get(dtype.char, dtype.char)
