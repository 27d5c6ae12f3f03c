"""NumPy's arrays seen through index maps, and written through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .index_map import IndexMap, Shape
from .node import Node

Array = np.ndarray[Any, Any]


def view(array: Array, view_map: IndexMap, shape: Shape) -> Array:
    """``array`` seen through ``view_map`` as a NumPy view of ``shape``, sharing its memory."""
    if 0 in shape:
        return np.empty(shape, array.dtype)
    assert view_map.fits(shape, array.shape)
    starts: Any = (*(slice(o, None) for o in view_map.offsets), ...)  # `...`: a view, 0-d too
    strides = view_map.strides(array.strides)
    return np.lib.stride_tricks.as_strided(array[starts], shape, strides)


def written(node: Node, old: Array, value: Array) -> Array:
    """``old``, with ``value`` in the place of the update ``node``."""
    if value.size:
        view(old, node.map, value.shape)[...] = value
    return old
