"""`numpy.testing` for lazy arrays, which are computed, and numbers where NumPy has numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.arrays.wrapping import member

__all__ = [name for name in np.testing.__all__ if name != "test" and not name.startswith("_")]


def __getattr__(name: str) -> Any:
    found = member(np.testing, name, __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
