"""Arrays made of other data, of one value, and like another array."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import is_numeric, is_supported
from ...graph.index_map import Shape
from ...graph.node import Node
from ..record.numbers import TracedScalar
from ..record.structure import rebuilt
from ..record.view import union, view_in
from .array import Array
from .gathering import gathered, of_object
from .kept_order import axes_of_new, filled_in_order
from .memory import in_force, new
from .table import TABLE, handles
from .ufuncs import node_of
from .values import handed_over, of_node, plain, rank_of
from .wrapping import lazy

NDArray = np.ndarray[Any, Any]

# --- from data


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None,
    copy: bool | None = None, like: None = None,
) -> Any:  # fmt: skip
    """Convert the input to a lazy array.

    NumPy's memory is copied, so that what happens to it later does not matter. With ``copy=False``
    the array is that memory: its reads and writes happen at once, and ValueError is raised where
    only a copy would do. A lazy array is returned as it is, unless ``copy=True`` or another dtype.
    """
    check_device(device)
    if type(a) is Array:
        return _converted(a, dtype, copy, order)
    if type(a) is np.ndarray and dtype is order is None and copy is not False:
        return lazy(np.array(a))
    if type(a) is TracedScalar and copy is not False:
        kind = np.dtype(dtype) if dtype is not None else np.dtype(a.type)
        if is_supported(kind):
            return of_node(node_of(a, kind), is_scalar=False)
    if copy is False:
        return share(np.asarray(a, dtype, order, copy=False))
    if type(made := gathered(a, dtype)) is Array:
        return made
    if type(made := of_object(a, dtype)) is Array:
        return _converted(made, dtype, copy, order)
    value = a if made is None else made
    result = np.array(plain(value), dtype, order=order or "K")
    if result.dtype.hasobject and any(type(held) is np.ndarray for held in result.flat):
        result = np.array(rebuilt(value, handed_over), dtype, order=order or "K")
    return lazy(result)


def _converted(a: Array, dtype: Any, copy: bool | None, order: Any) -> Any:
    if a.is_scalar:
        a = TABLE[np.copy](a)
    if dtype is not None and np.dtype(dtype) != a.dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while converting the dtype of an array")
        return a.astype(dtype, order=order or "K")
    if not copy and order in ("C", "F") and a.ndim and not a.flags[order]:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        copy = True
    return a.copy(order or "K") if copy else a


def array(
    object: Any,
    dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False,
    ndmin: int = 0, ndmax: int | None = None, like: None = None,
) -> Any:  # fmt: skip
    """Create a lazy array."""
    if ndmax is not None:  # which newer ones of NumPy take
        limits: dict[str, Any] = {"ndmin": ndmin, "ndmax": ndmax}
        return lazy(np.array(plain(object), dtype, copy=copy, order=order, **limits))
    result = asarray(object, dtype, order, copy=copy)
    missing = ndmin - result.ndim
    return result.reshape((1,) * missing + result.shape) if missing > 0 else result


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None,
    copy: bool | None = None, like: None = None,
) -> Any:  # fmt: skip
    """Convert the input to a lazy array."""
    return asarray(a, dtype, order, device=device, copy=copy)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: None = None) -> Any:
    """Return a lazy array of at least one axis, whose values lie in row-major order."""
    x = asarray(a, dtype)
    if type(x) is not Array:
        return np.ascontiguousarray(x)
    return np.atleast_1d(x if x.lies_in_rows() else x.copy())


def asfortranarray(a: Any, dtype: Any = None, *, like: None = None) -> Any:
    """Return a lazy array of at least one axis, whose values lie in column-major order."""
    x = asarray(a, dtype)
    if type(x) is not Array:
        return np.asfortranarray(x)
    return np.atleast_1d(x if x.T.lies_in_rows() else x.copy("F"))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Create an array from an object with ``__dlpack__``: the same memory unless ``copy``."""
    check_device(device)
    if type(x) is Array:
        return x.copy() if copy else x[...]
    try:
        return share(np.from_dlpack(x) if copy is None else np.from_dlpack(x, copy=copy))
    except TypeError:
        if not copy:
            raise
        return share(np.from_dlpack(x).copy())  # of a NumPy that does not take ``copy``


def share(values: NDArray) -> Any:
    """The lazy array that is the memory of ``values``; others may write to it at any time.

    Raises ValueError for elements that do not lie at whole multiples of their size.
    """
    if values.dtype.hasobject:
        return values
    view = None
    if not values.flags.c_contiguous:
        if any(s % values.itemsize for s in values.strides):
            raise ValueError("Unable to avoid copy of elements that are not a whole number apart")
        flat = union(values)
        values, view = flat, view_in(values, flat)
    result = Array.of_array(values, copy=False)
    storage = result.storage
    storage.held = storage.escaped = storage.shared = True
    return result if view is None else result.seen_through(view)


# --- of one value


def zeros(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: None = None
) -> Any:
    """Return a new array of given shape and type, filled with zeros."""
    return _of_one(np.zeros, 0, shape, dtype, order, device)


def ones(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: None = None
) -> Any:
    """Return a new array of given shape and type, filled with ones."""
    return _of_one(np.ones, 1, shape, dtype, order, device)


def empty(
    shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: None = None
) -> Any:
    """Return a new array of given shape and type; what it holds may be anything (it is zeros)."""
    return _of_one(np.empty, 0, shape, dtype, order, device)


def _of_one(make: Any, value: int, shape: Any, dtype: Any, order: Any, device: Any) -> Any:
    """As `full`; what NumPy's function ``make`` gives where the elements are no numbers."""
    kind = float if dtype is None else dtype
    if kind is not float and not is_numeric(np.dtype(kind)):
        check_device(device)
        return lazy(make(shape_of(shape), kind, order or "C"))
    return full(shape, value, kind, order, device=device)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None,
    like: None = None,
) -> Any:  # fmt: skip
    """Return a new array of given shape and type, filled with ``fill_value``."""
    check_device(device)
    limit = in_force().at_once_below
    if limit and type(shape) in (int, tuple) and type(fill_value) in (int, float, bool):
        sizes = shape if type(shape) is tuple else (shape,)
        if all([type(n) is int for n in sizes]) and math.prod(sizes) * 8 <= limit:
            made = np.full(sizes, fill_value, dtype, order)
            return new(Array, made) if is_numeric(made.dtype) else made
    if dtype is not None and not is_supported(np.dtype(dtype)):
        return lazy(np.full(shape, plain(fill_value), dtype, order))
    extents = shape_of(shape)
    if order == "F" and not rank_of(fill_value):
        axes = tuple(range(len(extents)))[::-1]
        return filled_in_order(lambda laid: full(laid, fill_value, dtype), extents, axes)
    node = _filling(gathered(fill_value), None if dtype is None else np.dtype(dtype))
    if node is None:
        return lazy(np.full(shape, plain(fill_value), dtype, order))
    if build.broadcast_shapes(node.shape, extents) != extents:
        raise ValueError(
            f"could not broadcast input array from shape {node.shape} into shape {extents}"
        )
    return of_node(build.broadcast_to(node, extents), is_scalar=False)


def _filling(value: Any, dtype: Any) -> Node | None:
    """The node of a filling value in ``dtype``, or None if NumPy has to make it."""
    if type(value) in (Array, TracedScalar):
        own = value.dtype if type(value) is Array else np.dtype(value.type)
        supported = is_supported(own) and (dtype is None or is_supported(dtype))
        return node_of(value, dtype or own) if supported else None
    probe = np.full(np.shape(value), value, dtype)  # NumPy's own cast, with its errors
    if not is_supported(probe.dtype):
        return None
    return node_of(probe) if probe.shape else build.constant(probe[()], probe.dtype)


# --- like another array


def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """Return an array of zeros with the same shape and type as a given array."""
    return _like(np.zeros_like, 0, a, dtype, order, shape, device)


def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """Return an array of ones with the same shape and type as a given array."""
    return _like(np.ones_like, 1, a, dtype, order, shape, device)


def empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
    *, device: Any = None,
) -> Any:  # fmt: skip
    """Return an array of the same shape and type as a given array; it may hold anything."""
    return _like(np.empty_like, 0, prototype, dtype, order, shape, device)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Any:  # fmt: skip
    """One value in the shape (and dtype) of another array."""

    def make(laid_out: Any, **how: Any) -> Any:
        return np.full_like(laid_out, plain(fill_value), **how)

    return _like(make, fill_value, a, dtype, order, shape, device)


def _like(
    make: Any, fill_value: Any, a: Any, dtype: Any, order: Any, shape: Any, device: Any
) -> Any:
    """As `full_like`; what NumPy's function ``make`` gives where the elements are no numbers."""
    like = a if hasattr(a, "dtype") and hasattr(a, "shape") else np.asarray(plain(a))
    extents = shape_of(like.shape if shape is None else shape)
    kind = like.dtype if dtype is None else dtype
    if not is_numeric(np.dtype(kind)):
        laid_out = like.will_lie() if type(like) is Array else like
        return lazy(make(laid_out, dtype=kind, order=order, shape=extents))
    axes = None if rank_of(fill_value) else axes_of_new(like, order, len(extents))
    if axes is None:
        return full(extents, fill_value, kind, "F" if order == "F" else "C", device=device)
    return filled_in_order(lambda laid: full(laid, fill_value, kind, device=device), extents, axes)


for _function in (zeros_like, ones_like, empty_like, full_like):
    handles(getattr(np, _function.__name__))(_function)


# --- arguments


def shape_of(shape: Any) -> Shape:
    """A shape given as NumPy takes it; raises NumPy's errors."""
    try:
        extents: Shape = (operator.index(shape),)
    except TypeError:
        extents = tuple(operator.index(n) for n in shape)
    if any(n < 0 for n in extents):
        raise ValueError("negative dimensions are not allowed")
    if math.prod(n for n in extents if n) > sys.maxsize // 16:
        raise ValueError("array is too big")
    return extents


def check_device(device: Any) -> None:
    """Raise NumPy's ValueError for a device that is not the CPU."""
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
