"""At once: indexing, ufuncs and functions that NumPy does on the memory of arrays, without a node.

Each answers None, False or NotImplemented for what is to be recorded: where an array is pending,
where more is touched than a limit says, and for arguments with rules of their own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ..record.flight import is_idle
from ..record.flight import recording as writing
from ..record.numbers import TracedScalar
from ..record.structure import leaves
from ..record.view import View, basic_index, is_writeable, view_within
from .array import Array
from .gathering import gathered
from .keys import has_arrays
from .memory import NDArray, new, operand, values, view
from .resting import EXACT, by_numpy, rests
from .table import TABLE, entry

_ndarray = np.ndarray
_PARTS = frozenset((int, type(None), np.int64))
_OTHERS = (str, bytes, type(None), type, np.dtype, type(...), slice)


# --- indexing


@entry
def item_at_once(array: Array, key: Any, limit: int) -> Any:
    """``array[key]``, or None if it is to be recorded."""
    kind = type(key)
    basic = kind is int or _is_basic(key)
    own = array._own
    if own is None or (own.version is None and own.buffer is array._base):
        shown = array._values
    else:
        shown = _completed(array, key) if basic else values(array)
    if type(shown) is not _ndarray:
        return None
    if basic:
        found = shown[key]
        if type(found) is _ndarray:
            return view(array, found, (_view_by_key, array, key))
        return new(Array, found)
    plain = _plain_key(key)
    if plain is None:
        return None
    if _is_basic(plain):
        made = item_at_once(array, plain, limit)
        return made.copy("K") if made is not None and has_arrays(key) else made
    if shown.nbytes > limit:  # unless one array of indices picks little of it
        index, rest = plain[0], shown.nbytes // len(shown) if len(shown) else 0
        if len(plain) != 1 or type(index) is not _ndarray or index.dtype.kind == "b":
            return None
        if index.size * rest > limit:
            return None
    found = shown[plain]
    return new(Array, found)


@entry
def set_at_once(array: Array, key: Any, value: Any, limit: int) -> bool:
    """Write ``array[key] = value``; False if that is to be recorded."""
    if array.is_scalar or not array.writeable:
        return False
    if type(value) is tuple or type(value) is list:
        value = gathered(value)
    given = operand(value, Array)
    if type(given) is complex and array.dtype.kind != "c":
        return False
    basic = type(key) is int or _is_basic(key)
    if given is None or (not basic and (key := _plain_key(key)) is None):
        rests(None, None, limit)
        return False
    with writing:
        shown = _completed(array, key)
        own = array._own
        if shown is None or not (own is None or own.unread):
            rests(None, given, limit)
            return False
        if type(given) is _ndarray and given.dtype.kind == "c" and shown.dtype.kind != "c":
            return False
        if shown.nbytes > limit:
            region = shown[key] if basic or _is_basic(key) else shown
            is_large = type(region) is _ndarray and region.nbytes > limit
            if is_large and not rests(region, given, limit):
                return False
        shown[key] = given
    return True


def _completed(array: Array, key: Any) -> Any:
    """What ``array`` shows; if one element is meant, what is pending is computed first."""
    shown = values(array)
    if shown is None:
        keys = key if type(key) is tuple else (key,)
        is_element = len(keys) == array.ndim and all(isinstance(k, int | np.integer) for k in keys)
        if is_element and array.storage.waits and is_idle():
            array.storage.complete()
            shown = values(array)
    return shown


def _is_basic(key: Any) -> bool:
    """True for plain integers, slices of such, None and Ellipsis, and tuples of them."""
    kind = type(key)
    if kind is tuple:
        for k in key:
            part = type(k)
            if part is int:
                continue
            if part is slice:
                if not (
                    type(k.start) in _PARTS and type(k.stop) in _PARTS and type(k.step) in _PARTS
                ):
                    return False
            elif k is not None and k is not Ellipsis and part is not np.int64:
                return False
        return True
    if kind is slice:
        return type(key.start) in _PARTS and type(key.stop) in _PARTS and type(key.step) in _PARTS
    return kind is int or key is None or key is Ellipsis or kind is np.int64


def _plain_key(key: Any) -> Any:
    """``key`` with the values of its arrays, or None if there is something else in it."""
    kind = type(key)
    if kind is tuple:
        parts = tuple([_plain_part(k) for k in key])
        return None if any(p is _ndarray for p in parts) else parts
    part = _plain_part(key)
    return None if part is _ndarray else (part,)


def _plain_part(part: Any) -> Any:
    """A part of a key with the values of arrays; the type of arrays if it is something else."""
    kind = type(part)
    if kind is int or part is None or part is Ellipsis:
        return part
    if kind is slice:
        bounds = [_bound(b) for b in (part.start, part.stop, part.step)]
        return _ndarray if _ndarray in bounds else slice(*bounds)
    if kind is Array:
        part = values(part)
    if type(part) is _ndarray:
        if part.ndim == 0:
            return int(part) if part.dtype.kind in "iu" else _ndarray
        return part if part.dtype.kind in "biu" else _ndarray
    if kind is list and part and all([type(p) is int for p in part]):
        return np.array(part)
    return int(part) if isinstance(part, np.integer) else _ndarray


def _bound(part: Any) -> Any:
    if type(part) is Array:
        part = values(part)
    if part is None or type(part) is int:
        return part
    return operator.index(part) if isinstance(part, np.integer) else _ndarray


def _view_by_key(parent: Array, key: Any) -> View:
    before = parent.view_of_storage
    found = basic_index(before.shape, key if type(key) is tuple else (key,))
    assert found is not None
    return before.mapped(*found)


# --- ufuncs


@entry
def ufunc_at_once(ufunc: np.ufunc, method: str, inputs: Any, kwargs: Any, limit: int) -> Any:
    """The result of ``ufunc.method(*inputs, **kwargs)``, or NotImplemented."""
    if method == "at":
        return _applied_at(ufunc, inputs, limit)
    if ufunc.signature is not None and (kwargs or method != "__call__"):
        return NotImplemented
    plain = []
    size, shape, alike = 0, None, True
    for value in inputs:
        given = operand(value, Array)
        if given is None:
            if method == "__call__" or not isinstance(value, _OTHERS):
                _rests(ufunc, method, (None,), kwargs, limit)
                return NotImplemented
            given = value
        elif type(given) is _ndarray:
            size += given.nbytes
            alike = alike and (shape is None or shape == given.shape)
            shape = given.shape
        plain.append(given)
    if ufunc.signature is None and (size > limit or not (alike or _together(plain, limit))):
        if not _rests(ufunc, method, plain, kwargs, limit):
            return NotImplemented
        return _lazy_outcome(by_numpy(ufunc, *plain))
    if kwargs:
        return _with_keywords(ufunc, method, plain, kwargs, limit)
    return _lazy_outcome(ufunc(*plain) if method == "__call__" else getattr(ufunc, method)(*plain))


def _rests(ufunc: np.ufunc, method: str, parts: Any, kwargs: Any, limit: int) -> bool:
    """As `rests`, of the operands ``parts``."""
    if method != "__call__" or kwargs or ufunc not in EXACT:
        return False
    return rests(parts[0], parts[-1], limit)


def _together(parts: Any, limit: int) -> bool:
    count = 8
    for part in parts:
        if type(part) is _ndarray:
            count *= part.size
    return count <= limit


def _with_keywords(ufunc: np.ufunc, method: str, plain: Any, kwargs: Any, limit: int) -> Any:
    given = {}
    for name, value in kwargs.items():
        if name == "out":
            continue
        is_lazy = type(value) is Array
        part = values(value) if is_lazy else value
        if is_lazy and (part is None or part.nbytes > limit):
            return NotImplemented
        given[name] = part
    out = kwargs.get("out")
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    call = getattr(ufunc, method)
    if target is None:
        return _lazy_outcome(call(*plain, **given))
    if type(target) is not Array or target.is_scalar:
        return NotImplemented
    with writing:
        memory = values(target)
        own = target._own
        if memory is None or memory.nbytes > limit or not (own is None or own.unread):
            return NotImplemented
        call(*plain, **given, out=memory)
    return target


def _applied_at(ufunc: np.ufunc, inputs: Any, limit: int) -> Any:
    """What `ufunc.at` gives, which writes to its first operand, or NotImplemented."""
    array, key, *others = inputs
    plain, given = _plain_key(key), [operand(value, Array) for value in others]
    if type(array) is not Array or plain is None or any(value is None for value in given):
        return NotImplemented
    with writing:
        memory, own = values(array), array._own
        if type(memory) is not _ndarray or memory.nbytes > limit:
            return NotImplemented
        if not (own is None or own.unread):
            return NotImplemented
        return ufunc.at(memory, plain, *given)


def _lazy_outcome(result: Any) -> Any:
    kind = type(result)
    if kind is _ndarray or isinstance(result, np.generic):
        return new(Array, result) if is_numeric(result.dtype) else result
    return tuple([_lazy_outcome(part) for part in result]) if kind is tuple else result


# --- functions

_VIEWS = frozenset((
    np.reshape, np.transpose, np.permute_dims, np.swapaxes, np.moveaxis, np.squeeze, np.ravel,
    np.expand_dims, np.flip, np.matrix_transpose, np.broadcast_to, np.atleast_1d, np.atleast_2d,
    np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.rot90, np.fliplr, np.flipud,
))  # fmt: skip
_FINDING = (np.nonzero, np.flatnonzero, np.argwhere, np.compress, np.extract)
_EXACT = frozenset((np.where, np.max, np.min, *_FINDING))  # and EXACT: what has one value
_ANY_SIZE = frozenset((np.dot, np.vdot, np.inner, np.tensordot, np.sort, np.argsort))
_GROWING = frozenset((np.tile, np.repeat, np.kron, np.outer, np.vander, np.pad))
# What grows otherwise, what writes to its arguments, and what looks only at shapes.
_NOT = frozenset((
    np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal,
    np.shape, np.ndim, np.size, np.result_type, np.zeros_like, np.ones_like, np.full_like,
    np.empty_like, np.may_share_memory, np.shares_memory, np.real, np.imag, np.apply_along_axis,
    np.apply_over_axes, np.piecewise, np.meshgrid, np.broadcast_arrays,
))  # fmt: skip
# How many may be given by position: views of another order, and what need not copy, are recorded.
_FIRST = {np.reshape: 2, np.ravel: 1, np.nan_to_num: 1}
_NOT_WITH = frozenset(("out", "overwrite_input", "like", "copy"))


@entry
def function_at_once(func: Any, args: Any, kwargs: Any, limit: int) -> Any:
    """The result of NumPy's ``func``, or NotImplemented."""
    if func in _NOT or not _NOT_WITH.isdisjoint(kwargs):
        return NotImplemented
    if func in _FIRST and ("order" in kwargs or len(args) > _FIRST[func]):
        return NotImplemented
    found: list[tuple[Array | None, Any]] = []
    try:
        plain_args = [_plain(a, found) for a in args]
        plain_kwargs = {k: _plain(v, found) for k, v in kwargs.items()} if kwargs else kwargs
    except _RecordedError:
        if func in _EXACT:
            rests(None, None, limit)
        return NotImplemented
    known = func in TABLE
    if not any([a is not None for a, _ in found]):
        return NotImplemented
    any_size = not known or func in _ANY_SIZE or func in _VIEWS
    is_large = not any_size and sum([v.nbytes for _, v in found]) > limit
    if is_large and (func not in _EXACT or not rests(found[0][1], found[-1][1], limit)):
        return NotImplemented
    if func in _GROWING and _grown(func, plain_args, plain_kwargs) * 8 > limit:
        return NotImplemented
    return _taken(func(*plain_args, **plain_kwargs), found, known)


def _grown(func: Any, args: Any, kwargs: Any) -> int:
    """About how many elements ``func`` makes at most: as many as sizes and counts multiply to."""
    parts = list(leaves((args, kwargs)))
    arrays = [part for part in parts if type(part) is _ndarray]
    counts = [max(part, 1) for part in parts if type(part) is int]
    if func is np.pad:
        return math.prod([n + 2 * max(counts, default=0) for n in arrays[0].shape])
    if func is np.vander and not counts:
        counts = [arrays[0].size]
    return math.prod(counts) * math.prod([max(a.size, 1) for a in arrays])


class _RecordedError(Exception):
    """There is something among the arguments that is to be recorded."""


def _plain(value: Any, found: list[tuple[Array | None, Any]]) -> Any:
    """``value`` with the values of its arrays; raises `_RecordedError`."""
    kind = type(value)
    if kind is Array:
        shown = values(value)
        if shown is None:
            raise _RecordedError
        found.append((value, shown))
        return shown
    if kind is tuple:
        return tuple([_plain(part, found) for part in value])
    if kind is list:
        return [_plain(part, found) for part in value]
    if kind is _ndarray:
        found.append((None, value))
    elif kind is TracedScalar:
        return value.value
    elif issubclass(kind, _ndarray):
        raise _RecordedError
    return value


def _taken(result: Any, found: Any, known: bool) -> Any:
    """What NumPy has returned, as arrays; NotImplemented for views of a kind that is not known."""
    kind = type(result)
    if kind is _ndarray:
        return _taken_array(result, found)
    if isinstance(result, np.generic):
        return new(Array, result) if known and is_numeric(result.dtype) else result
    is_plain = kind in (list, tuple)
    if not is_plain and not (isinstance(result, tuple) and hasattr(result, "_make")):
        return result
    made = kind if is_plain else result._make
    parts = [_taken(part, found, known) for part in result]
    return NotImplemented if any(p is NotImplemented for p in parts) else made(parts)


def _taken_array(result: NDArray, found: Iterable[tuple[Array | None, Any]]) -> Any:
    for array, shown in found:
        if result is shown:
            return result if array is None else array
    if not is_numeric(result.dtype):
        return result
    if result.base is None and result.flags.writeable:
        return new(Array, result)
    for array, shown in found:
        if array is not None and np.may_share_memory(result, shown):
            return _view_of(array, shown, result)
    return new(Array, np.array(result))


def _view_of(array: Array, shown: NDArray, result: NDArray) -> Any:
    """``result``, a view of what ``array`` shows, as one of it; or NotImplemented."""
    memory = array.storage.buffer  # which other threads may exchange meanwhile
    if memory is None or not (memory.flags.c_contiguous and np.may_share_memory(result, memory)):
        return NotImplemented
    if result.dtype != memory.dtype or any([s % result.itemsize for s in result.strides]):
        return NotImplemented
    seen = view(array, result, (view_within, result, memory))
    seen.writeable = array.writeable and (is_writeable(result) or not is_writeable(shown))
    return seen
