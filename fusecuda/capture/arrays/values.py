"""Values: arrays and numbers, lazy and NumPy's, made of each other."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...graph.dtypes import BOOL, is_numeric, kind_of
from ...graph.node import Node
from ..record.growing import Growing
from ..record.numbers import TracedScalar, value_of, value_seen
from ..record.recorder import current_recorder
from ..record.storage import Storage
from ..record.structure import SEQUENCES, leaves, plain_kind, rebuilt
from ..record.view import view_within
from .array import Array
from .flat import Flat
from .gathering import gathered
from .opaque import StandIn

_SEEN_LIMIT = 64  # elements of an array that is a condition


def as_float(value: Any) -> Any:
    """``float(value)``, which of a lazy number need not be looked at."""
    if type(value) is Array and value.size == 1 and kind_of(value.dtype) == "f":
        return current_recorder().number(value, float)
    return value if type(value) is TracedScalar and type(value.value) is float else float(value)


def as_int(value: Any) -> Any:
    """``int(value)``, which of a lazy number need not be looked at."""
    if type(value) is Array and value.size == 1 and kind_of(value.dtype) in "fiu":
        return current_recorder().number(value, int)
    return value if type(value) is TracedScalar and type(value.value) is int else int(value)


def as_type(*args: Any, **named: Any) -> Any:
    """``type(value)``, which of what stands for something else is the type of that."""
    kind = type(*args, **named)
    if len(args) != 1:
        return kind
    if kind in (Array, TracedScalar, Flat, Growing) or issubclass(kind, StandIn):
        kind = args[0].__class__
    return current_recorder().classes.get(kind, kind)


def as_hasattr(value: Any, name: Any) -> bool:
    """``hasattr(value, name)``, which of a followed number is what its type has."""
    return hasattr(value_of(value), name)


def as_isinstance(value: Any, kinds: Any) -> bool:
    """``isinstance(value, kinds)``, which of what stands for something else is asked of that."""
    if type(value) is Array:
        value = np.zeros((), value.dtype)[()] if value.is_scalar else np.empty(0, value.dtype)
    return isinstance(value_of(value), kinds)


def as_len(value: Any) -> Any:
    """``len(value)``, which of an array of unknown extent need not be looked at."""
    return value.loose.length() if type(value) is Array and value.is_loose else len(value)


def plain(value: Any) -> Any:
    """``value`` with every lazy array and followed number in it computed."""
    return rebuilt(value, _computed)


def _computed(value: Any) -> Any:
    if isinstance(value, Array):
        array = value.compute()
        return array[()] if value.is_scalar else array
    return value_seen(value)


def handed_over(value: Any) -> Any:
    """As `plain`, with memory of arrays that whoever has it may write to."""
    if type(value) is Array and not value.is_scalar:
        return value.handed_over()
    return _computed(value)


def seen(value: Any) -> Any:
    """As `plain`, for what says what is to be done: a replay goes on where it is the same."""
    if isinstance(value, Array) and value.size <= _SEEN_LIMIT:
        if value.ndim == 0:
            return value._seen(operator.itemgetter(()))
        return np.array(value.tolist(), value.dtype).reshape(value.shape)
    if type(value) in SEQUENCES:
        return plain_kind(type(value))(seen(v) for v in value)
    return plain(value)


def is_given(value: Any) -> bool:
    """False for what a function that is recorded has computed, which may be another each time.

    What NumPy makes of that is better computed by each replay than learned as a path for each.
    """
    if not current_recorder().transparent:
        return True
    return all(
        not a.is_loose and a.storage.held and not a.storage.pending for a in arrays_in(value)
    )


def rank_of(value: Any) -> int:
    """``np.ndim(value)``, for which nothing is computed that is an array or a number."""
    if type(value) is TracedScalar:
        return 0
    return int(value.ndim) if hasattr(value, "ndim") else np.ndim(plain(value))


def wrap(value: Any, sources: list[Array] | None = None) -> Any:
    """``value`` with every NumPy array in it made lazy; numbers stay as they are.

    An array that shows memory of one of ``sources`` becomes a view of that one.
    """
    if type(value) is np.ndarray and is_numeric(value.dtype):
        for source in sources or ():
            buffer = source.storage.buffer
            if buffer is None or buffer.dtype != value.dtype:
                continue
            if value.size and np.may_share_memory(value, buffer):
                view = view_within(value, buffer)
                if view is not None:
                    return source.seen_through(view)
        return Array.of_array(value)
    if type(value) in (list, tuple):
        return type(value)(wrap(v, sources) for v in value)
    return value


def arrays_in(value: Any) -> Iterator[Array]:
    """The lazy arrays in lists, tuples, dicts and slices."""
    return (part for part in leaves(value) if isinstance(part, Array))


def is_any_picked(values: Iterable[Any]) -> bool:
    """True if there is one among ``values`` that a mask has picked and nobody has asked for."""
    return any([type(v) is Array and v.pick is not None for v in values])


def complete_together(*values: Any) -> None:
    """Compute what is pending of all the lazy arrays; no other thread may write before the next.

    Loose ones have been computed, and to ask for their storage would be a look at their extent.
    """
    arrays = [a for a in arrays_in(values) if not a.is_loose]
    storages = [s for a in arrays if type(s := a.storage) is Storage]
    while any([s.pending for s in storages]):
        for storage in storages:
            storage.complete()


def array_of(value: Any) -> Array:
    """``value`` as a lazy array, a list of lazy arrays and numbers as one that waits for them."""
    made = value if isinstance(value, Array) else gathered(value)
    return made if isinstance(made, Array) else Array.of_array(np.asarray(plain(made)))


def of_node(node: Node, is_scalar: bool | None = None) -> Array:
    """A new array of the value ``node``; NumPy gives a scalar for rank 0 unless told otherwise."""
    return Array.of_node(node, is_scalar=is_scalar)


def axes_of(a: Array, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` names, all of them for None."""
    return tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)


def axis_of(axis: Any, rank: int) -> int:
    """The axis of ``rank`` that ``axis`` names, for functions to which NumPy's bools name none."""
    return normalize_axis_index(_no_bool(axis), rank)


def reduced_axes(a: Array, axis: Any) -> tuple[int, ...]:
    """As `axes_of`, where NumPy takes None, an integer or a tuple of such, and no bool."""
    given = axis if isinstance(axis, tuple) else (axis,)
    named = axis if axis is None else tuple([operator.index(_no_bool(one)) for one in given])
    return axes_of(a, named)


def _no_bool(axis: Any) -> Any:
    if isinstance(axis, bool):
        raise TypeError("an integer is required")  # NumPy says so in words of its own
    return axis


def keeps(keepdims: Any) -> bool:
    """Whether reduced axes stay, by what NumPy takes as ``keepdims``: a bool or an integer."""
    if type(keepdims) is bool:
        return keepdims
    return keepdims is not np._NoValue and bool(operator.index(keepdims))


def mask_of(where: Any) -> Array:
    """``where`` as truths, as NumPy takes it: numbers and lists by their truth, arrays of bools."""
    mask = array_of(where)
    if mask.dtype == BOOL:
        return mask
    is_number_or_list = (
        where.is_scalar if isinstance(where, Array) else type(where) is not np.ndarray
    )
    if not is_number_or_list:
        raise TypeError(f"{mask.dtype} is no mask")  # NumPy says so in words of its own
    truths: Array = mask.astype(BOOL)
    return truths
