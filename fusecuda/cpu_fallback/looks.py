"""Looks: many arrays are looked at by the driver at once, where no run of one program sees them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import CompilerError
from .array_object import data_offset, layout_words, shows_layouts
from .driver import POINTER_BYTES, run_function

FEWEST = 4  # arrays: of fewer Python's own conditions take less time
FRAME_WORDS = 12  # of fc_frame
_UNRESOLVED = 9  # the word of it that says how many bases are array objects
_DATA = data_offset()
LAYOUTS = POINTER_BYTES == 8 and shows_layouts(_DATA)


def looks_of(arrays: Sequence[Any], written: Sequence[bool]) -> Callable[..., bool] | None:
    """What tells whether others are laid out as ``arrays``, those ``written`` apart from all.

    None where it would not know, or where that takes longer than to look at each.
    """
    if not LAYOUTS or len(arrays) < FEWEST or not all(map(_is_known, arrays)):
        return None
    try:
        run = run_function()
    except CompilerError:
        return None
    words = layout_words([(a.shape, a.strides, a.dtype) for a in arrays], written)
    layouts = (ctypes.c_int64 * len(words))(*words)
    kept = layouts, [a.dtype.type for a in arrays]
    count = len(arrays)
    pack = struct.Struct(f"={3 + count}q").pack_into
    known = count, _DATA, ctypes.addressof(layouts)
    frames = [_frame(count)]

    def looks(*given: Any) -> bool:
        """Nothing is run: there are no launches."""
        try:
            frame = frames.pop()
        except IndexError:
            frame = _frame(count)
        pack(frame, 8 * _UNRESOLVED, *known, *map(id, given))
        fits = not run(ctypes.addressof(frame))
        frames.append(frame)
        return fits

    looks.kept = kept  # type: ignore[attr-defined]
    return looks


def _is_known(array: Any) -> bool:
    """True for a plain array, aligned and writeable, of a dtype that its scalar type tells."""
    is_plain = type(array) is np.ndarray and array.dtype == np.dtype(array.dtype.type)
    return is_plain and bool(array.flags.behaved)


def _frame(count: int) -> ctypes.Array[ctypes.c_char]:
    """A frame without launches, and room for where so many arrays begin and end."""
    frame = ctypes.create_string_buffer(8 * (FRAME_WORDS + 3 * count))
    bases = ctypes.addressof(frame) + 8 * FRAME_WORDS
    struct.pack_into("=4q", frame, 0, 0, 0, bases + 8 * count, bases)
    return frame
