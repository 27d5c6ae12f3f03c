"""`numpy.linalg` for lazy arrays: products are recorded, all else NumPy computes at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from ..capture.arrays.wrapping import member

_RECORDED = ("matmul", "matrix_transpose", "tensordot", "vecdot")  # as in the main namespace

__all__ = ["LinAlgError"]
__all__ += list(sorted(set(np.linalg.__all__) - {"LinAlgError"}))


def __getattr__(name: str) -> Any:
    if name in _RECORDED:
        from .. import numpy as namespace  # noqa: PLC0415 - it imports this module

        found = getattr(namespace, name)
    else:
        found = member(np.linalg, name, __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
