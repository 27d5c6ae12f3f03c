"""Indexing: what ``a[key]`` and ``a[key] = value`` record."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, DType, is_numeric, is_supported
from ...graph.index_map import Shape, axis_map
from ...graph.node import Node
from ..record.flight import atomic
from ..record.numbers import TracedScalar
from ..record.recorder import current_recorder
from ..record.structure import LISTS
from ..record.user_frames import user_line
from ..record.view import basic_index
from . import movement, ufuncs
from .array import Array
from .computed import as_changed, eager, loosely, update_loosely
from .gathering import gathered, listed, of_object
from .held import compute_first
from .keys import has_arrays, index_node, parted, shown_by
from .picks import picked, put_picked, spread
from .scatters import is_within, write_at
from .table import as_numpy_fails, entry
from .values import complete_together, plain


@entry
@atomic
@functools.partial(as_numpy_fails, operator.getitem)
def getitem(array: Array, key: Any) -> Array:
    """A view for basic indices, a gather for integer arrays; else NumPy decides, on values."""
    pick = picked(array, key)
    if pick is not None:
        return pick
    if current_recorder().loose:
        made = loosely(operator.getitem, (array, key), {})
        if made is not NotImplemented:
            return made  # type: ignore[no-any-return]
    keys = _as_tuple(key)
    view = array.view_of_storage
    found = basic_index(view.shape, keys)
    if found is not None:
        result = array.seen_through(view.mapped(*found))
        if found[1] == () and Ellipsis not in keys:
            return type(array).of_node(result.read_node())  # a scalar: no view, does not change
        return result.copy("K") if has_arrays(key) else result
    made = _gather(array, keys)
    if made is not None:
        return made
    chosen: Array = eager(operator.getitem, array, keys)
    return chosen


@entry
@atomic
@functools.partial(as_numpy_fails, operator.setitem)
def setitem(array: Array, key: Any, value: Any) -> None:
    """A write to a region for basic indices, a selection for a mask; else NumPy's own write.

    The value is taken as it is before the write, however it overlaps with the array. Raises
    NumPy's errors for a key or value that does not fit; the array is then unchanged.
    """
    if array.is_scalar:
        scalar: Any = array.dtype.type(0)
        scalar[key] = 0  # raises: NumPy's scalars take no items
    if type(value) is Array and value.pick is not None and put_picked(array, key, value):
        return
    if update_loosely(operator.setitem, array, key, value):
        return
    keys = _as_tuple(key)
    compute_first((array, *keys, value))
    found = basic_index(array.shape, keys)
    if found is not None:
        region = array.seen_through(array.view_of_storage.mapped(*found))
        _check_rank(value, region, not region.ndim and Ellipsis not in keys)
        region.write_node(_fitted(value, region.dtype, region.shape))
        return
    mask: Any = keys[0] if len(keys) == 1 else None
    is_mask = getattr(mask, "dtype", None) == BOOL and mask.shape != ()
    is_mask = is_mask and mask.shape == array.shape[: mask.ndim]
    if is_mask and np.ndim(value) == 0 and is_supported(array.dtype):
        node = spread(ufuncs.node_of(mask, BOOL), array.shape)
        chosen = _fitted(value, array.dtype, array.shape)
        array.write_node(build.where(node, chosen, array.read_node()))
        return
    if write_at(array, keys, value, "set", _fitted):
        return
    complete_together(array, keys, value)  # for no other thread's write is to be lost
    changed = eager(as_changed(operator.setitem), array, keys, value)
    array.write_node(ufuncs.node_of(changed, array.dtype))


def _check_rank(value: Any, region: Array, is_element: bool) -> None:
    """Raise or warn as this NumPy does where a list is deeper than the ``region`` that is written.

    Nor is an array one element: what is written to a view of one may be an array.
    """
    is_list = isinstance(value, list | tuple)
    rank = _depth(value) if is_list or is_element else 0
    if rank > region.ndim:
        given = np.zeros((min(len(value), 2), *[1] * (rank - 1)), region.dtype)
        target = np.zeros((1,) * (region.ndim + is_element), region.dtype)
        target[0 if is_element else ...] = given.tolist() if is_list else given


def _depth(value: Any) -> int:
    """How many axes a value has; a list as many as its first parts tell."""
    if isinstance(value, list | tuple):
        return 1 + _depth(value[0]) if value else 1
    return int(getattr(value, "ndim", 0))


def _as_tuple(key: Any) -> tuple[Any, ...]:
    keys = key if isinstance(key, tuple) else (key,)
    return tuple(_settled(k) for k in keys)


def _settled(key: Any) -> Any:
    """A key with numbers that a trace follows, and 0-d integer arrays, as plain numbers.

    A list with lazy arrays in it is the array that it stands for, and so is an object that says
    what it is as an array, such as a column of a table.
    """
    kind = type(key)
    if kind in LISTS:
        return gathered(key)
    if kind is range:
        return np.array(key, np.intp)
    if kind is int or key is None or key is Ellipsis:
        return key
    if kind is TracedScalar:
        return key.seen()
    if kind is slice:
        if all(p is None or type(p) is int for p in (key.start, key.stop, key.step)):
            return key
        return slice(*(None if p is None else _settled(p) for p in (key.start, key.stop, key.step)))
    if isinstance(key, Array) and key.ndim == 0 and key.dtype.kind in "iu":
        return int(key)
    is_known = isinstance(key, Array | np.ndarray | np.generic) or not hasattr(key, "__array__")
    return key if is_known else _as_array(key)


def _as_array(key: Any) -> Any:
    """What an object says that it is: no number of one element, though it has a dtype."""
    made = of_object(key, None)
    return np.asarray(key) if made is None else made


def _fitted(value: Any, dtype: DType, shape: Shape) -> Node:
    """``value`` cast to ``dtype`` and broadcast to ``shape``; raises NumPy's errors."""
    if isinstance(value, list | tuple):
        value = listed(value, dtype)
    if not isinstance(
        value, Array | np.ndarray | TracedScalar | np.generic | int | float | complex
    ):
        value = np.asarray(value, dtype)
    kind: Any = type(value)
    is_number = kind is float or issubclass(kind, np.floating)
    if (dtype.kind in "iu" and is_number) or _is_no_number(value):
        fitted = np.empty((), dtype)
        with np.errstate(all="ignore"):
            fitted[()] = value  # NumPy knows which are errors: int(nan), int(1e300), int(timedelta)
        value = fitted
    own = dtype if kind is TracedScalar else getattr(value, "dtype", dtype)
    if is_supported(own) and is_supported(dtype):
        node = ufuncs.node_of(value, dtype)
    elif isinstance(value, Array | np.ndarray):
        node = ufuncs.converted(ufuncs.node_of(value), dtype)
    else:
        node = ufuncs.node_of(np.asarray(plain(value)).astype(dtype))
    lead = len(node.shape) - len(shape)
    if lead > 0 and all(n == 1 for n in node.shape[:lead]):
        node = build.reshape(node, node.shape[lead:])
    try:
        fits = np.broadcast_shapes(node.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {node.shape} into shape {shape}"
        )
    return build.broadcast_to(node, shape)


def _is_no_number(value: Any) -> bool:
    """True for text, dates and other scalars of NumPy's, of which it makes a number in a write."""
    # By its type: a number that stands for an argument's would be looked at.
    return issubclass(type(value), np.generic) and not is_numeric(value.dtype)


def _gather(array: Array, keys: tuple[Any, ...]) -> Array | None:
    """``array[keys]`` with integer index arrays beside basic indices, or None for other keys."""
    found = parted(keys, array.ndim)
    if found is None or not is_supported(array.dtype):
        return None
    shown = shown_by(array, found)
    indexed = [a for a, k in enumerate(found.picks) if k is not None]
    rest = [a for a in range(shown.ndim) if a not in indexed]
    nothing = any(shown.shape[a] == 0 for a in rest)  # is read, so no kernel looks at the indices
    if nothing and not all(is_within(found.picks[a], shown.shape[a]) for a in indexed):
        return None
    indices = [index_node(found.picks[a]) for a in indexed]
    source = movement.transpose(shown, indexed + rest).read_node()
    node = build.gather(source, indices, user_line())
    rank, lead = len(node.shape) - len(rest), found.lead
    # NumPy puts the index's axes where the indexed ones were. (In memory it leaves them in front;
    # ours lie row by row, which takes a quarter of the time.)
    if lead:
        axes = [*range(rank, rank + lead), *range(rank), *range(rank + lead, len(node.shape))]
        rows = [(0, 1, axes.index(a)) for a in range(len(axes))]
        shape = tuple(node.shape[a] for a in axes)
        node = build.index(node, axis_map(rows, len(axes)), shape)
    return type(array).of_node(node)
