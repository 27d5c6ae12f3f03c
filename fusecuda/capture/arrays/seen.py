"""Seen: views by slices, and writes to them, of arrays and keys that have been met before."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import FLOAT64
from ...graph.index_map import Shape, broadcast
from ..record.flight import recording
from ..record.run import Kind, Maker, kind_of
from ..record.view import View, basic_index
from .array import Array
from .makers import filled, operand, told, written
from .table import TABLE, entry

_LIMIT = 4096
_EXACT = 1 << 53  # up to which integers are doubles, too
_views: dict[tuple[int, Any], tuple[View, View | None]] = {}  # by a view's identity and a key
_new = object.__new__


@entry
def shown(array: Array, key: Any) -> Array | None:
    """The view ``array[key]`` for slices, integers, None and Ellipsis; None for other keys."""
    if array.pick is not None or array.loose is not None or array.is_scalar:
        return None
    own = array._own or array._storage
    view = _view(array._shown or array._view, key)
    if view is None or not view.shape:  # a number
        return None
    return _showing(array, own, view)


@entry
def shown_by(array: Array, name: str, args: tuple[Any, ...]) -> Array | None:
    """What NumPy's method gives for integers, and tuples of them, if it is a view."""
    odd = array.pick is not None or array.loose is not None or array.is_scalar
    own = None if odd else array._storage
    if own is None or not (own.buffer is None or own.buffer.flags.c_contiguous):
        return None
    parent = array._shown or array._view
    for part in args:
        if type(part) is not int and not (type(part) is tuple and set(map(type, part)) <= {int}):
            return None
    known = _views.get((id(parent), (name, args)))
    if known is None:
        function = np.reshape if name == "reshape" else np.transpose
        made = TABLE[function](array, args[0] if len(args) == 1 else args or None)
        is_view = type(made) is Array and made._own is own and not made.is_scalar
        known = _remembered(parent, (name, args), made._shown if is_view else None)
    return None if known[1] is None else _showing(array, own, known[1])


def _showing(array: Array, own: Any, view: View) -> Array:
    """Another array over the storage of ``array``."""
    made: Array = _new(Array)
    made._own, made._shown = own, view
    made._node = made._from = made._base = made._values = made.loose = made.pick = None
    made._part = array._part
    made.writeable = array.writeable
    made.is_scalar = False
    return made


@entry
def assigned(recorder: Any, array: Array, key: Any, value: Any) -> bool:
    """Record ``array[key] = value`` for such a key; False if it is to be recorded otherwise."""
    if array.pick is not None or array.loose is not None or array.is_scalar:
        return False
    if type(value) is Array and value._own is array._own is not None:
        own, view = array._own, _view(array._shown or array._view, key)
        if value._shown is view and value._part == array._part and view is not None:
            is_written = own.version is not None or own.writeable
            return array.writeable and is_written  # Python's, after an operator in place
    with recording:
        own, run = array._storage, recorder.run
        view = _view(array._shown or array._view, key)
        if view is None:
            return False
        if type(value) is Array:
            node = operand(recorder, run, value)
        elif own.dtype == FLOAT64 and (  # or an object of its own
            type(value) is float or (type(value) is int and -_EXACT < value < _EXACT)
        ):
            node = filled(run, float(value), view.shape)
        else:
            return False
        if node is None or node.dtype != own.dtype or recorder.run is not run:
            return False
        if node.shape != view.shape:
            try:
                spread = _spread(told(run, node)[0], view.shape)
            except ValueError:  # which NumPy says in its words
                return False
            node = run.make(spread, (node,), (spread, told(run, node)[1]))
        return written(recorder, array, view, node, told(run, node)[1])


@functools.lru_cache(maxsize=1024)
def _spread(kind: Kind, shape: Shape) -> Maker:
    """What makes a value of ``kind`` one of ``shape``; raises ValueError where they do not fit."""
    if build.broadcast_shapes(kind.shape, shape) != shape:
        raise ValueError
    return Maker("index", (), kind_of(shape, kind.dtype), broadcast(kind.shape, shape))


def _view(view: View, key: Any) -> View | None:
    """What ``key`` shows of ``view``, the same object each time, or None for keys of other kinds.

    So for keys that do not fit: others know the error.
    """
    frozen: Any
    if type(key) is slice:
        start, stop, step = key.start, key.stop, key.step
        plain = (
            (start is None or type(start) is int)
            and (stop is None or type(stop) is int)
            and (step is None or type(step) is int)
        )
        frozen = ((start, stop, step),) if plain else None
    else:
        frozen = _frozen(key)
    if frozen is None:
        return None
    known = _views.get((id(view), frozen))
    if known is None:
        try:
            found = basic_index(view.shape, key if type(key) is tuple else (key,))
        except IndexError:
            return None
        known = _remembered(view, frozen, None if found is None else view.mapped(*found))
    return known[1]


def _remembered(parent: View, key: Any, view: View | None) -> tuple[View, View | None]:
    """What is known from now on for that very ``parent``, which is kept: its identity tells it."""
    if len(_views) >= _LIMIT:
        _views.clear()
    known = _views[id(parent), key] = parent, view
    return known


def _frozen(key: Any) -> Any:
    """``key``, no slice, as something that tells it from others; None if there is an array."""
    kind = type(key)
    if kind is int:
        return (key,)
    if kind is not tuple:
        return None
    parts: list[Any] = []
    for part in key:
        kind = type(part)
        if kind is slice:
            bounds = _frozen_slice(part)
            if bounds is None:
                return None
            parts.append(bounds)
        elif kind is int or part is None or part is Ellipsis:
            parts.append(part)
        else:
            return None
    return tuple(parts)


def _frozen_slice(key: slice) -> Any:
    start, stop, step = key.start, key.stop, key.step
    plain = (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or type(step) is int)
    )
    return (start, stop, step) if plain else None
