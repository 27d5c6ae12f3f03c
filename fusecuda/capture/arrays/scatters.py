"""Scatters: writes at integer arrays, ``ufunc.at``, and the counts that are made of them.

Whether indices are within bounds is told by their operations, else by their values, which are
looked at. Where they are not, NumPy does it all: it knows the error, or how long a result is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.bounds import bounds
from ...graph.dtypes import FLOAT64, INT64, DType, is_numeric, is_supported
from ...graph.index_map import Shape, axis_map
from ...graph.library import SCATTERS
from ...graph.node import Node
from ..record.flight import atomic
from ..record.recorder import current_recorder
from ..record.user_frames import user_line
from . import movement, ufuncs
from .array import Array
from .keys import index_node, parted, shown_by
from .table import entry, handles
from .values import array_of, is_given, of_node, plain, seen

_MOST_CHOICES = 32


def write_at(array: Array, keys: tuple[Any, ...], value: Any, kind: str, fitted: Any) -> bool:
    """Write ``value`` at ``array[keys]``, or combine it by ``kind`` with what is there.

    False, with nothing done, for keys without integer arrays. ``fitted`` makes the node of a value
    from the dtype and the shape that NumPy would broadcast it to.
    """
    found = parted(keys, array.ndim)
    if found is None or not is_supported(array.dtype) or not array.size:
        return False
    shown = shown_by(array, found)
    indexed = [a for a, k in enumerate(found.picks) if k is not None]
    rest = [a for a in range(shown.ndim) if a not in indexed]
    if not shown.size or not all(reaches(found.picks[a], shown.shape[a]) for a in indexed):
        return False
    indices = [index_node(found.picks[a]) for a in indexed]  # read when all has been looked at
    common = np.broadcast_shapes(*(i.shape for i in indices))
    extents = [shown.shape[a] for a in rest]
    node = _in_order(fitted, value, array.dtype, extents, common, found.lead)
    if not node.size:
        return False
    target = movement.transpose(shown, indexed + rest)
    written = build.scatter(kind, target.read_node(), node, indices, user_line())
    target.write_node(written)
    return True


def reaches(key: Any, extent: int, low: int | None = None) -> bool:
    """False if an index is out of bounds: then it is NumPy that raises the error.

    The least index is ``low``, else the one that counts from the end to the first element.

    Where a call that fails is made again, plainly, that need not be known beforehand.
    """
    recorder = current_recorder()
    if recorder.transparent and not recorder.catches:
        return True
    return is_within(key, extent, low)


def is_within(key: Any, extent: int, low: int | None = None) -> bool:
    """As `reaches`, where it has to be known."""
    return _are_within(array_of(key), -extent if low is None else low, extent)


def _are_within(values: Array, low: int, high: int) -> bool:
    """True if all ``values`` are in [``low``, ``high``): their operations tell, or they do."""
    node, seen_within = values.read_node(), current_recorder().within
    known = [b for b in (bounds(node), seen_within.get(node)) if b is not None]
    if any(low <= least and most < high for least, most in known):
        return True
    inside = bool(np.all((values >= low) & (values < high)))
    if inside and current_recorder().transparent:  # nobody else writes to what a call is given
        seen_within[values.read_node()] = low, high - 1
    return inside


def _in_order(
    fitted: Any, value: Any, dtype: DType, rest: Sequence[int], common: Shape, lead: int
) -> Node:
    """The node of ``value`` with the axes of the indices first, not ``lead`` others as in NumPy."""
    node: Node = fitted(value, dtype, (*rest[:lead], *common, *rest[lead:]))
    if not lead:
        return node
    rank = len(common)
    order = [*range(lead, lead + rank), *range(lead), *range(lead + rank, rank + len(rest))]
    rows = [(0, 1, order.index(a)) for a in range(len(order))]
    return build.index(node, axis_map(rows, len(order)), tuple(node.shape[a] for a in order))


@entry
@atomic
def applied_at(ufunc: np.ufunc, array: Array, key: Any, *values: Any) -> bool:
    """Record ``ufunc.at(array, key, *values)``; False if it cannot be."""
    if ufunc.__name__ not in SCATTERS or len(values) != 1 or array.is_loose:
        return False
    (value,) = values
    keys = key if isinstance(key, tuple) else (key,)
    given = value if isinstance(value, Array | np.ndarray) else np.asarray(plain(value))
    if any(type(k) is Array and k.is_loose for k in (*keys, given)):
        return False
    if not is_numeric(given.dtype) or array.dtype.kind == "c":
        return False
    if type(given) is np.ndarray and not given.ndim and array.dtype.kind == "f":
        given = _as_narrow(given, array.dtype)
    loop = build.resolve(ufunc, array.dtype, given.dtype)
    if not _computes_alike(ufunc.__name__, loop[-1], array.dtype):
        return False
    if not build.fusible(ufunc.__name__, (array.dtype, array.dtype)):
        return False
    return write_at(array, keys, given, ufunc.__name__, _broadcast)


def _computes_alike(name: str, loop: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """True if ``dtype`` gives the bits that ``loop`` gives when its result is cast to ``dtype``."""
    if loop == dtype:
        return True
    modular = name in ("add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor")
    are_integers = loop.kind in "iu" and dtype.kind in "iu"
    return modular and are_integers and loop.itemsize >= dtype.itemsize


def _as_narrow(number: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``number`` as one of ``dtype``, if it is that.

    NumPy computes with a wider type, and rounds: for one operation that is the same.
    """
    with np.errstate(all="ignore"):
        narrow = number.astype(dtype)
    return narrow if number.dtype.kind in "iuf" and narrow == number else number


def _broadcast(value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Node:
    """``value`` cast to ``dtype`` and broadcast to ``shape``, to which its axes must fit."""
    if np.broadcast_shapes(value.shape, shape) != shape:
        raise ValueError("array is not broadcastable to correct shape")
    return build.broadcast_to(build.convert(ufuncs.node_of(value), dtype), shape)


# --- counts


@handles(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each integer below ``minlength`` occurs, or the sum of its weights.

    NumPy computes it where a larger one may occur, for the result is longer then.
    """
    if not is_given(minlength):
        return NotImplemented
    values, count = array_of(x), operator.index(seen(minlength))
    if values.ndim != 1 or not values.size or not are_integers(values):
        return NotImplemented
    if weights is not None:
        given = array_of(weights)
        if given.shape != values.shape or not np.can_cast(given.dtype, FLOAT64, "safe"):
            return NotImplemented
    if count < 1 or not _are_within(values, 0, count):
        return NotImplemented
    index = build.convert(values.read_node(), INT64)
    if weights is None:
        return sums(index, build.constant(1, INT64), count, INT64)
    return sums(index, build.convert(given.read_node(), FLOAT64), count, FLOAT64)


def are_integers(values: Array) -> bool:
    """True if NumPy takes ``values``, or bools, for numbers of places."""
    return np.can_cast(values.dtype, np.intp, "safe")


def sums(index: Node, added: Node, count: int, dtype: np.dtype[Any]) -> Array:
    """What is ``added`` at each of ``count`` places."""
    zeros = build.broadcast_to(build.constant(0, dtype), (count,))
    found = build.scatter("add", zeros, added, [index], user_line())
    return of_node(found, is_scalar=False)


# --- choices


@handles(np.choose)
def choose(a: Any, choices: Any, out: None = None, mode: Any = "raise") -> Any:
    """Of each element the choice that its integer names, if they are known to name one."""
    given = array_of(a)
    if not isinstance(choices, list | tuple) or not 0 < len(choices) <= _MOST_CHOICES:
        return NotImplemented
    known_kinds = all(isinstance(c, Array | np.ndarray | np.generic) for c in choices)
    if mode != "raise" or not are_integers(given) or not known_kinds:
        return NotImplemented
    known = bounds(given.read_node())
    if known is None or known[0] < 0 or known[1] >= len(choices):
        return NotImplemented
    kinds = [c.dtype for c in choices]
    dtype = np.result_type(*kinds)
    if not all(map(is_supported, (dtype, *kinds))):
        return NotImplemented
    nodes = [build.convert(ufuncs.node_of(c), dtype) for c in choices]
    index = build.convert(given.read_node(), INT64)
    chosen = nodes[-1]
    for number in reversed(range(len(nodes) - 1)):
        named = build.elementwise("equal", [index, build.constant(number, INT64)], np.dtype(bool))
        chosen = build.where(named, nodes[number], chosen)
    shape = np.broadcast_shapes(index.shape, *(n.shape for n in nodes))
    return of_node(build.broadcast_to(chosen, shape), is_scalar=not shape)
