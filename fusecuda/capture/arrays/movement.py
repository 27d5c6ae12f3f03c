"""Movement: other shapes, permuted, flipped and broadcast axes; views where NumPy gives views."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...graph import build
from ...graph.index_map import IndexMap, axis_map, broadcast, contiguous_strides
from ..record.view import View
from .array import Array
from .kept_order import axes_by
from .table import handles
from .values import array_of, axes_of, of_node


@handles(np.reshape)
def reshape(
    a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    """Another shape: a view where NumPy gives one, else a copy."""
    x = array_of(a)
    wanted = shape if newshape is None else newshape
    if order == "F" or (order == "A" and axes_by(x, "A") is not None):
        columns = tuple(wanted) if hasattr(wanted, "__iter__") else (wanted,)
        return reshape(x.transpose(), columns[::-1], copy=copy).transpose()
    if order not in ("C", "A"):
        return NotImplemented
    target = np.broadcast_to(np.False_, x.shape)
    if type(wanted) is not tuple:
        wanted = tuple(wanted) if hasattr(wanted, "__iter__") else (wanted,)
    full = _resolved_shape(target.size, tuple(int(n) for n in wanted))
    if x.is_scalar and not full:
        return x
    view = x.view_of_storage.reshaped(full, x.storage.buffer)
    if view is not None and copy is not True:
        return x.seen_through(view)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return of_node(build.reshape(x.read_node(), full), is_scalar=False)


def _resolved_shape(size: int, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """``wanted`` with its -1 worked out; raises NumPy's ValueError if the sizes differ."""
    known = math.prod(n for n in wanted if n != -1)
    unknown = wanted.count(-1)
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown and known and size % known == 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if -1 in wanted or math.prod(wanted) != size or any(n < 0 for n in wanted):
        raise ValueError(f"cannot reshape array of size {size} into shape {wanted}") from None
    return wanted


@handles(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    """One axis, of neighbours in memory: a view of what lies so, else a copy."""
    x = array_of(a)
    axes = axes_by(x, order) if order == "K" else None
    laid = x if axes is None else transpose(x, axes)
    flat = reshape(laid, -1, "C" if order == "K" else order)
    if flat is NotImplemented or flat.storage is not x.storage or flat.size < 2:
        return flat
    in_a_row = flat.will_lie().strides == (flat.itemsize,)
    return flat if in_a_row else of_node(flat.read_node(), is_scalar=False)


@handles(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Array:
    """A view with permuted axes."""
    x = array_of(a)
    order = tuple(range(x.ndim))[::-1] if axes is None else normalize_axis_tuple(axes, x.ndim)
    if len(order) != x.ndim:
        raise ValueError("axes don't match array")
    if x.is_scalar:
        return x
    return x.seen_through(x.view_of_storage.transposed(order))


@handles(np.matrix_transpose)
def matrix_transpose(x: Any) -> Array:
    """The last two axes exchanged."""
    return swapaxes(array_of(x), -1, -2)


@handles(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    x = array_of(a)
    i, j = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


@handles(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Array:
    """A view without axes of extent 1; where there are none, the array itself."""
    x = array_of(a)
    if axis is None:
        axes = tuple(d for d, n in enumerate(x.shape) if n == 1)
    else:
        axes = normalize_axis_tuple(axis, x.ndim)
        if any(x.shape[d] != 1 for d in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    if x.is_scalar or not axes:
        return x
    return x[*(0 if d in axes else slice(None) for d in range(x.ndim)), ...]


@handles(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Array:
    """A view with new axes of extent 1."""
    x = array_of(a)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    count = len(given)
    axes = normalize_axis_tuple(given, x.ndim + count)
    return x[(*(None if d in axes else slice(None) for d in range(x.ndim + count)), ...)]


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
    """A view of the memory of ``x`` with the given shape and strides; NumPy's where it is not ours.

    NumPy's function of the name looks at memory; in a fused function this stands for it.
    """
    made = _strided(x, shape, strides) if type(x) is Array and not subok else None
    if made is None:
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable)
    made.writeable = x.writeable and writeable
    return made


def _strided(x: Array, shape: Any, strides: Any) -> Array | None:
    extents = x.shape if shape is None else tuple(operator.index(n) for n in shape)
    steps = x.strides if strides is None else tuple(operator.index(s) for s in strides)
    memory, item = x.storage.buffer, x.dtype.itemsize
    if memory is not None and not memory.flags.c_contiguous:
        return None
    if x.dtype != x.storage.dtype or len(steps) != len(extents) or any(s % item for s in steps):
        return None
    view = x.view_of_storage
    start = view.map.offset(contiguous_strides(view.base_shape))
    steps = tuple(s // item for s in steps)
    ends = [(n - 1) * s for n, s in zip(extents, steps, strict=True)]
    first, last = start + sum(e for e in ends if e < 0), start + sum(e for e in ends if e > 0)
    size = math.prod(view.base_shape)
    if 0 in extents or first < 0 or last >= size:
        return None
    return x.seen_through(View((size,), IndexMap(len(extents), (start,), (steps,)), extents))


@handles(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view of a larger shape."""
    x = array_of(array)
    wanted = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if build.broadcast_shapes(x.shape, wanted) != wanted:
        raise ValueError(f"could not broadcast array from shape {x.shape} into {wanted}")
    result = x.seen_through(x.view_of_storage.mapped(broadcast(x.shape, wanted), wanted))
    result.writeable = False
    return result


@handles(np.flip)
def flip(m: Any, axis: Any = None) -> Array:
    """A view with axes reversed."""
    x = array_of(m)
    axes = axes_of(x, axis)
    return x[tuple(slice(None, None, -1 if d in axes else 1) for d in range(x.ndim))]


@handles(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A view of a diagonal, along the last axis."""
    x = array_of(a)
    first, second = (normalize_axis_index(axis, x.ndim) for axis in (axis1, axis2))
    if first == second:
        return NotImplemented
    i, j = max(-offset, 0), max(offset, 0)
    count = max(min(x.shape[first] - i, x.shape[second] - j), 0)
    others = [d for d in range(x.ndim) if d not in (first, second)]
    starts = {first: i if count else 0, second: j if count else 0}
    rows = [
        (starts[d], 1, len(others)) if d in starts else (0, 1, others.index(d))
        for d in range(x.ndim)
    ]
    shape = (*(x.shape[d] for d in others), count)
    result = x.seen_through(x.view_of_storage.mapped(axis_map(rows, len(shape)), shape))
    result.writeable = False
    return result


@handles(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    found = diagonal(a, operator.index(offset), axis1, axis2)
    return found if found is NotImplemented else np.sum(found, axis=-1, dtype=dtype)
