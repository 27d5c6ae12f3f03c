"""Keys of indexing: which are integer arrays, and along which axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.dtypes import INT64
from ...graph.node import Node
from ..record.view import basic_index
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


class Parted(NamedTuple):
    """A key in two steps: what is ``shown`` of an array, and what of that is picked by arrays.

    ``picks`` has an entry for each axis of what is shown, None for all of it; ``lead`` axes of
    these come before those of the picks in what NumPy gives. Nothing is ``shown`` by full slices.
    """

    shown: tuple[Any, ...]
    picks: list[Any]
    lead: int


def parted(keys: tuple[Any, ...], ndim: int) -> Parted | None:
    """A key with integer arrays beside slices, numbers and new axes; None for any other one.

    Numbers beside arrays count as arrays: what is picked stands where these stood, or in front if
    anything is between them.
    """
    found = expanded(keys, ndim)
    if found is not None:
        indexed = [axis for axis, k in enumerate(found) if k is not None]
        return Parted((), found, _lead(indexed, indexed[0]))
    consumed = sum(k is not None and k is not Ellipsis for k in keys)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    whole = [*keys[:at], *[slice(None)] * (ndim - consumed), *keys[at + 1 :]]
    if consumed > ndim or (consumed == ndim and 0 < at < len(keys) - 1):  # stands for no axis
        return None
    picking = [i for i, k in enumerate(whole) if _is_number(k) or _is_index_array(k)]
    others = [k for i, k in enumerate(whole) if i not in picking]
    if not all(k is None or isinstance(k, slice) for k in others):
        return None
    picks = [None if k is None or isinstance(k, slice) else k for k in whole if not _is_number(k)]
    if all(k is None for k in picks):
        return None
    shown = [slice(None) if _is_index_array(k) else k for k in whole]
    return Parted(tuple(shown), picks, _lead(picking, picking[0]))


def shown_by(array: Array, key: Parted) -> Array:
    """The view that ``key`` picks from."""
    if not key.shown:
        return array
    view = array.view_of_storage
    found = basic_index(view.shape, key.shown)
    assert found is not None
    return array.seen_through(view.mapped(*found))


def _lead(places: Sequence[int], before: int) -> int:
    """How many axes come before those of the indices at ``places`` of a key."""
    return before if places[-1] - places[0] == len(places) - 1 else 0


def _is_number(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def has_arrays(key: Any) -> bool:
    """True if a part of ``key`` is an array: NumPy copies what one of rank 0 shows."""
    parts = key if type(key) is tuple else (key,)
    return any(type(p) is np.ndarray or (type(p) is Array and not p.is_scalar) for p in parts)


def _is_index_array(key: Any) -> bool:
    if isinstance(key, list):
        key = np.asarray(key)
        return key.dtype.kind in "iu"
    if not isinstance(key, Array | np.ndarray | np.generic):  # others have dtypes, too: NumPy's
        return False
    return key.dtype.kind in "iu" and key.dtype.itemsize <= 8


def index_node(key: Any) -> Node:
    """The node of an integer array, or a list of integers, as indices."""
    return ufuncs.node_of(np.asarray(key) if isinstance(key, list) else key, INT64)
