"""`numpy.fft` for lazy arrays: NumPy computes the transforms at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.arrays.wrapping import member

__all__ = list(sorted(np.fft.__all__))


def __getattr__(name: str) -> Any:
    found = member(np.fft, name, __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
