"""Functions that the Array API standard asks more of than NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..capture.arrays.array import Array
from ..capture.arrays.creation import asarray, check_device
from ..capture.arrays.wrapping import lift


def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *,
    stable: bool | None = None, descending: bool = False,
) -> Any:  # fmt: skip
    """Return a sorted copy of an array."""
    found = np.sort(asarray(a), axis=axis, kind=kind, order=order, stable=stable)
    return np.flip(found, -1 if axis is None else axis) if descending else found


def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *,
    stable: bool | None = None, descending: bool = False,
) -> Any:  # fmt: skip
    """Return the indices that would sort an array; descending, equal elements keep their order."""
    x = asarray(a)
    if not descending:
        return np.argsort(x, axis=axis, kind=kind, order=order, stable=stable)
    if axis is None:
        x, axis = np.ravel(x), 0
    # Equal elements keep their order if both the array and the result are reversed.
    backward = np.argsort(np.flip(x, axis), axis=axis, order=order, stable=True)
    return x.shape[axis] - 1 - np.flip(backward, axis)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Copy an array to a specified data type."""
    check_device(device)
    return np.astype(lift(x), dtype, copy=copy)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return True if a cast between data types can occur according to the casting rule."""
    return np.can_cast(_dtype_of(from_), to, casting)


def finfo(type: Any) -> Any:
    """Machine limits of a floating-point type, or of an array's."""
    return np.finfo(_dtype_of(type))


def iinfo(type: Any) -> Any:
    """Machine limits of an integer type, or of an array's."""
    return np.iinfo(_dtype_of(type))


def _dtype_of(value: Any) -> Any:
    return value.dtype if isinstance(value, Array | np.ndarray) else value


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Split an array into a sequence of arrays along the given axis."""
    parts = asarray(x)
    if parts.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    moved = np.moveaxis(parts, axis, 0)
    return tuple(moved[i] for i in range(moved.shape[0]))


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Broadcast any number of arrays against each other."""
    arrays = [asarray(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return tuple(np.broadcast_to(a, shape) for a in arrays)
