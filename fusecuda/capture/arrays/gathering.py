"""Gathering: lists of lazy arrays and numbers, where NumPy takes one array, made one array."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import DType, is_supported
from ...graph.node import Node
from ..record.numbers import TracedScalar
from ..record.origin import is_users, module_of
from ..record.structure import SEQUENCES, leaves, rebuilt
from . import ufuncs
from .array import Array
from .held import compute_first
from .memory import in_force, new, values
from .table import entry

DISPATCHED = type(np.sum)  # NumPy's functions that know `__array_function__`
# Those that are given a sequence of arrays first, each of which may be a list.
_OF_SEQUENCES = frozenset((
    "concatenate", "concat", "stack", "unstack", "hstack", "vstack", "dstack", "column_stack",
))  # fmt: skip
_OF_OTHERS = frozenset((  # of lists as such
    "block", "select", "choose", "piecewise", "multi_dot", "savez", "savez_compressed", "lexsort",
    "histogram2d", "histogramdd",
))  # fmt: skip
_MOST = 64  # parts: more take longer to plan than NumPy to put together
_METHODS = ("reduce", "accumulate", "reduceat", "outer")


def takes_arrays(function: Any) -> bool:
    """True for a function of NumPy's for which a list stands for one array."""
    if not isinstance(function, DISPATCHED):
        return False
    return function.__name__ not in _OF_SEQUENCES and function.__name__ not in _OF_OTHERS


@entry
def gathered(value: Any, dtype: DType | None = None) -> Any:
    """The lazy array that a list or tuple with lazy arrays in it stands for.

    What is none, or has too many parts, such as do not fit together or have no kernels, is returned
    as it is.
    """
    if type(value) not in SEQUENCES:
        return value
    arrays = [part for part in leaves(value) if type(part) is Array]
    if not arrays:
        return value
    if (limit := in_force().at_once_below) and sum([a.nbytes for a in arrays]) <= limit:
        known = _known(value)
        if known is not None:
            return new(Array, np.array(known, dtype))
    if len(arrays) > _MOST or any(a.is_loose for a in arrays):
        return value
    if dtype is not None and any(a.dtype.kind == "c" for a in arrays):
        return value  # of which NumPy may drop a part, and warn
    try:
        like = np.array(rebuilt(value, _blank), dtype)
    except (ValueError, TypeError, OverflowError):
        return value  # and NumPy says what is wrong
    every = (like.dtype, *(a.dtype for a in arrays))
    if not all(map(is_supported, every)):
        return value
    compute_first(arrays)
    return Array.of_node(_joined(value, like.shape, like.dtype), is_scalar=False)


def listed(value: Any, dtype: DType) -> Any:
    """The array that a list or tuple stands for where it is written to one of ``dtype``."""
    value = gathered(value, dtype)
    return value if type(value) is Array else np.asarray(value, dtype)  # each as in a write


def of_object(value: Any, dtype: Any) -> Any:
    """What a user's object says that it is as an array, None for anything else."""
    kind: Any = type(value)
    if isinstance(value, np.ndarray) or not hasattr(kind, "__array__"):
        return None
    if not is_users(module_of(kind)):
        return None
    asked = _lazily.set(True)
    try:
        return kind.__array__(value) if dtype is None else kind.__array__(value, dtype)
    finally:
        _lazily.reset(asked)


def without_objects(values: Sequence[Any]) -> tuple[Any, ...] | None:
    """``values`` with what a user's objects among them are as arrays, None if there are none."""
    made = [of_object(value, None) for value in values]
    if not any(isinstance(m, Array | np.ndarray) for m in made):  # of others NumPy complains
        return None
    return tuple([v if m is None else m for v, m in zip(values, made, strict=True)])


_lazily = ContextVar("lazily", default=False)  # we ask an object what it is as an array


def as_numpy_takes_it(method: Callable[..., Any]) -> Callable[..., Any]:
    """``method``, an `__array__` of the user's, which NumPy's C code calls for an array of its own.

    Where we ask, it may be a lazy one.
    """

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        lazily = _lazily.get()
        asked = _lazily.set(False)
        try:
            made = method(*args, **kwargs)
        finally:
            _lazily.reset(asked)
        return made.hand_out() if type(made) is Array and not lazily else made

    return call


def _known(value: Any) -> Any:
    """``value`` with what its arrays show, None if something is pending."""
    if type(value) is Array:
        return values(value)
    if type(value) not in SEQUENCES:
        return value if type(value) is not TracedScalar else value.seen()
    parts = list(map(_known, value))
    return None if any(part is None for part in parts) else parts


def _blank(value: Any) -> Any:
    """What tells the dtype and shape of a part."""
    if type(value) is Array:
        shown = np.broadcast_to(np.zeros((), value.dtype), value.shape)
        return shown[()] if value.is_scalar else shown
    return type(value.value)(0) if type(value) is TracedScalar else value


def _joined(value: Any, shape: Sequence[int], dtype: DType) -> Node:
    if type(value) in (Array, TracedScalar):
        return ufuncs.node_of(value, dtype)
    if not any(type(leaf) in (Array, TracedScalar) for leaf in leaves(value)):
        return ufuncs.node_of(np.array(value, dtype))
    parts = [build.reshape(_joined(v, shape[1:], dtype), (1, *shape[1:])) for v in value]
    return build.concatenate(parts, 0)


# --- NumPy's functions, given lists


@functools.cache
def of_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which makes one array of each list that stands for one."""
    taken = _each_gathered if function.__name__ in _OF_SEQUENCES else gathered

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(taken, args), **{k: taken(v) for k, v in kwargs.items()})

    return call


def _each_gathered(value: Any) -> Any:
    return list(map(gathered, value)) if type(value) in SEQUENCES else value


class Ufunc:
    """A ufunc whose methods make one array of a list."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        for name in _METHODS:
            setattr(self, name, of_lists(getattr(ufunc, name)))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._ufunc(*map(gathered, args), **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


@functools.cache
def taking_lists() -> dict[str, Any]:
    """What stands for NumPy's functions in code that gives them lists of lazy arrays, by name."""
    found: dict[str, Any] = {}
    for name, value in list(vars(np).items()):  # no module that NumPy loads when it is asked for
        if isinstance(value, np.ufunc):
            found[name] = Ufunc(value)
        elif takes_arrays(value) or name in _OF_SEQUENCES:
            found[name] = of_lists(value)
    return found
