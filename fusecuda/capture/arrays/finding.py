"""Finding: NumPy's functions that pick elements by values, or tell where they are.

They give picks, as ``a[mask]`` does: a kernel writes them when the program asks for the elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, is_supported
from .array import Array
from .computed import eager
from .movement import ravel
from .picks import picked, places
from .table import handles
from .values import array_of, of_node

_ARRAYS = (Array, np.ndarray)
_MANY = 1 << 13  # elements from which on a kernel saves what it takes to put its results together


@handles(np.nonzero)
def nonzero(a: Any) -> Any:
    """The indices, along each axis, of the elements that are not zero."""
    mask = _holds(a)
    found = None if mask is None else places(mask)
    return NotImplemented if found is None else found


@handles(np.argwhere)
def argwhere(a: Any) -> Any:
    """The index of each element that is not zero, one a row; NumPy finds them among few."""
    if np.ndim(a) == 1 and (mask := _holds(a)) is not None:
        found = picked(of_node(build.iota((mask.size, 1), 0), is_scalar=False), mask)
        return NotImplemented if found is None else found
    found = nonzero(a) if np.size(a) >= _MANY else NotImplemented
    return NotImplemented if found is NotImplemented else eager(_rows, *found)


def _rows(*indices: Any) -> Any:
    return np.transpose(indices)


@handles(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: None = None) -> Any:
    """The elements, or rows, at which the condition, of all of them, holds."""
    mask = _holds(condition)
    if mask is None or mask.ndim != 1 or not isinstance(a, _ARRAYS):
        return NotImplemented
    x = ravel(a) if axis is None else array_of(a)
    if type(axis) not in (int, type(None)) or axis not in (None, 0, -x.ndim):
        return NotImplemented
    found = picked(x, mask)
    return NotImplemented if found is None else found


@handles(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The elements at which the condition, of as many, holds."""
    mask = _holds(condition)
    if mask is None or not isinstance(arr, _ARRAYS) or mask.size != arr.size:
        return NotImplemented
    found = picked(ravel(arr), ravel(mask))
    return NotImplemented if found is None else found


def _holds(a: Any) -> Array | None:
    """Where ``a`` is not zero; None for what NumPy knows better."""
    if not isinstance(a, _ARRAYS) or not is_supported(a.dtype) or not a.ndim or not a.size:
        return None
    x = array_of(a)
    return x if x.dtype == BOOL else array_of(x != 0)
