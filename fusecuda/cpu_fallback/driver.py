"""The driver as Python calls it: one function for all programs, given the address of a frame."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

from ..errors import CompilerError
from .kernels import load_driver

_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
NOTHING: Callable[[int], None] = _RUN()  # what programs without kernels have, and never call
POINTER_BYTES = struct.calcsize("P")


def refuse_unfit() -> None:
    """Raise CompilerError where kernels cannot be called: frames hold pointers in 64-bit words."""
    if POINTER_BYTES != 8:
        raise CompilerError(
            f"kernels need 64-bit pointers, and those of this Python have {8 * POINTER_BYTES} bits"
        )


_driver: list[Callable[[int], None]] = []


def run_function() -> Callable[[int], None]:
    """The process's one driver, whose threads all launches share."""
    if not _driver:
        _driver.append(_RUN(load_driver().address()))
    return _driver[0]
