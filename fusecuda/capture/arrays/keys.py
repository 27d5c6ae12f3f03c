"""Keys of indexing: which are integer arrays, and along which axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.dtypes import INT64
from ...graph.node import Node
from . import ufuncs
from .array import Array


def expanded(keys: tuple[Any, ...], ndim: int) -> list[Any] | None:
    """One entry for each axis, None for a full slice; None if any key is something else."""
    found: list[Any] = []
    consumed = sum(k is not Ellipsis for k in keys)
    for k in keys:
        if k is Ellipsis:
            found += [None] * (ndim - consumed)
        elif isinstance(k, slice) and k == slice(None):
            found.append(None)
        elif _is_index_array(k):
            found.append(k)
        else:
            return None
    found += [None] * (ndim - len(found))
    if len(found) != ndim or all(k is None for k in found):
        return None
    return found


def has_arrays(key: Any) -> bool:
    """True if a part of ``key`` is an array: NumPy copies what one of rank 0 shows."""
    parts = key if type(key) is tuple else (key,)
    return any(type(p) is np.ndarray or (type(p) is Array and not p.is_scalar) for p in parts)


def _is_index_array(key: Any) -> bool:
    if isinstance(key, list):
        key = np.asarray(key)
        return key.dtype.kind in "iu"
    dtype = getattr(key, "dtype", None)
    return dtype is not None and dtype.kind in "iu" and dtype.itemsize <= 8


def index_node(key: Any) -> Node:
    """The node of an integer array, or a list of integers, as indices."""
    return ufuncs.node_of(np.asarray(key) if isinstance(key, list) else key, INT64)
