"""What calls of functions and blocks need where there are CuPy's arrays."""

from __future__ import annotations

from typing import Any

from ..record.structure import walk
from .calls import CupyCall
from .internals import ndarray
from .patches import open_region


def holds_array(args: Any) -> bool:
    """True if there is a CuPy array in ``args``."""
    return any(isinstance(part, ndarray) for part in walk(args))


__all__ = ["CupyCall", "holds_array", "ndarray", "open_region"]
