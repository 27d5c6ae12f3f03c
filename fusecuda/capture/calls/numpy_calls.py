"""Calls, in a trace, of functions that NumPy computes itself: their arguments and results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph.dtypes import is_supported
from ..arrays.array import Array
from ..arrays.dispatch import eager
from ..record.numbers import TracedScalar
from ..record.structure import LIST, TUPLE, kind_of
from ..record.view import View
from .path import Segment


def library_call(func: Callable[..., Any]) -> Callable[..., Any]:
    """``func``, which only computes, as functions of NumPy's without a handler are called."""

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return eager(func, *args, **kwargs)

    return called


def is_plain(value: Any) -> bool:
    """True for what stays the same in each replay, or what the path knows."""
    kind = type(value)
    if kind in (list, tuple):
        return all(map(is_plain, value))
    if kind is dict:
        return all(map(is_plain, value.values()))
    if kind is slice:
        return all(type(p) in (int, type(None)) for p in (value.start, value.stop, value.step))
    known = kind in (Array, TracedScalar) or value is np._NoValue
    return known or issubclass(kind, (*_PLAIN, np.ndarray))


_PLAIN = (
    bool,
    type(Ellipsis),
    int,
    float,
    complex,
    str,
    type(None),
    np.generic,
    np.dtype,
    type,
    np.ufunc,
    View,
)


def shares(value: Any, arrays: Sequence[Array]) -> bool:
    return isinstance(value, np.ndarray) and any(
        np.may_share_memory(value, a.storage.buffer) for a in arrays
    )


def calls_of(segment: Segment, func: Any) -> bool:
    """True if ``segment`` is a call of ``func``; a call that gave views has none."""
    return getattr(segment.run, "args", (None,))[0] is func


def call(func: Callable[..., Any], given: Any) -> Any:
    args, kwargs = given
    return func(*args, **kwargs)


def call_flat(func: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    return flattened(call(func, values[0]))[1]


def flattened(result: Any) -> tuple[Any, list[Any]]:
    """How a result is put together, and its parts, arrays contiguous and numbers of rank 0."""
    kind = kind_of(result)
    if kind is LIST or kind is TUPLE:
        found = [flattened(part) for part in result]
        return (type(result).__name__, *[s for s, _ in found]), [p for _, f in found for p in f]
    if isinstance(result, np.generic) and is_supported(result.dtype):
        return "number", [np.asarray(result)]
    if type(result) is np.ndarray and not result.dtype.hasobject:
        return "array", [np.require(result, requirements=["C", "W"])]
    return "other", [result]


def unflattened(shape: Any, parts: list[Any]) -> Any:
    """A result put together of its parts, which are taken from the list."""
    if type(shape) is tuple:
        made = [unflattened(s, parts) for s in shape[1:]]
        return made if shape[0] == "list" else tuple(made)
    part = parts.pop(0)
    if shape == "number":
        part.is_scalar = True
    return part


def described_part(part: Any) -> Any:
    return ("array", part.shape, part.dtype) if isinstance(part, np.ndarray) else ("value", part)
