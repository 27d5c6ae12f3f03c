"""Failures: NumPy's own errors, where what is recorded cannot be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import is_before_effects
from ..record.numbers import value_seen
from ..record.recorder import current_recorder
from ..record.structure import rebuilt
from .array import Array
from .dispatch import raising
from .table import entry
from .values import arrays_in, plain

Target = Callable[..., Any]


@entry
def error_of(error: Exception, target: Target, args: Any, kwargs: Any) -> Exception | None:
    """What NumPy's ``target`` raises for arrays of such shapes and types, where ours raise.

    Where the function may see an ``error`` of an element, or of a place, for arrays of such values.
    """
    if raising():
        return None
    if target is np.astype:  # which the method is told by, too, that takes more
        target = np.ndarray.astype
    found = _raised(target, args, kwargs, _blanks)
    names_a_value = any(
        isinstance(found, e) and text in str(found) and _has(kinds, (args, kwargs))
        for e, text, kinds in _NAMED
    )
    unknown = found is None and is_before_effects(error)
    if (unknown or names_a_value) and current_recorder().catches:
        found = _raised(target, args, kwargs, _copies) or found
    return found


# Errors that name an index, or how many places a mask has, where there are arrays of such kinds.
_NAMED = ((IndexError, "", "iu"), (ValueError, "where the mask is true", "b"))


def _has(kinds: str, value: Any) -> bool:
    """True if there is a lazy array of one of the ``kinds``."""
    return any(a.dtype.kind in kinds for a in arrays_in(value))


def _raised(target: Target, args: Any, kwargs: Any, made: Callable[[Any], Any]) -> Exception | None:
    """The error that ``target`` raises for what is ``made`` of the arguments, None without one."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target(*made(tuple(args)), **made(kwargs))
    except Exception as error:
        return error.with_traceback(None)
    return None


def _blanks(value: Any) -> Any:
    return rebuilt(value, _blank)


def _copies(value: Any) -> Any:
    return rebuilt(value, _copy)


_BLANKS = 1 << 20  # bytes; larger blank arrays are one element


def _blank(value: Any) -> Any:
    """``value``, or an array of zeros for a lazy one."""
    if isinstance(value, Array):
        if value.nbytes > _BLANKS:
            one = np.zeros(1, value.dtype)
            blank = np.lib.stride_tricks.as_strided(one, value.shape, [0] * value.ndim)
        else:
            blank = np.zeros(value.shape, value.dtype)
        return _as_given(blank, value)
    return value_seen(value)


def _copy(value: Any) -> Any:
    """``value``, or an array of the same elements for a lazy one."""
    if isinstance(value, Array):
        return _as_given(np.array(plain(value)), value)
    return value_seen(value)


def _as_given(array: np.ndarray[Any, Any], lazy: Array) -> Any:
    """``array``, read-only or a number where ``lazy`` is."""
    if not (lazy.writeable and lazy.storage.writeable):
        array.flags.writeable = False
    return array[()] if lazy.is_scalar else array
