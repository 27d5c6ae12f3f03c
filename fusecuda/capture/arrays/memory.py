"""Memory: the values that arrays show, for what is done to them at once.

An array keeps a NumPy view of what it shows (`values`) for as long as nothing is pending in its
storage. What is small, or touches little, is then done by NumPy itself, and no node is made. A
result has no storage of its own before it is asked for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...graph.dtypes import is_numeric
from ..record.flight import is_idle
from ..record.numbers import TracedScalar
from ..record.recorder import recorder_in_force
from ..record.storage import Storage
from ..record.view import View
from .table import TABLE

NDArray = np.ndarray[Any, Any]
in_force = recorder_in_force.get
ndarray = np.ndarray
_new = object.__new__
_NUMBERS = frozenset((int, float, bool, complex))
_WATCHED = 1 << 16  # bytes; a view of less may keep memory that its storage has given up


def values(array: Any) -> Any:
    """What ``array`` shows, a NumPy view or a NumPy scalar; None while something is pending."""
    own = array._own
    if own is None or (own.version is None and own.buffer is array._base):
        return array._values
    return _values_anew(array, own)


def completed(array: Any) -> Any:
    """As `values`, what is pending being computed first."""
    shown = values(array)
    if shown is None:
        array.storage.complete()
        shown = values(array)
    return shown


def _values_anew(array: Any, own: Storage) -> Any:
    if own.version is not None and is_idle() and in_force().should_compute(array.nbytes):
        own.complete()
    if type(own) is not Storage or own.version is not None:
        return None
    buffer = own.buffer  # after that look: other threads may settle the storage meanwhile
    if type(buffer) is not ndarray:
        return None
    if own.error is not None:
        raise own.error
    shown = array.shown_of(buffer)
    if array.is_scalar:
        shown = shown[()]
    else:
        read_only = not (array.writeable and buffer.flags.writeable)
        if read_only or array.view_of_storage.map.repeats(shown.shape):
            shown = shown.view()
            shown.flags.writeable = False
        if shown is not buffer and buffer.nbytes > _WATCHED:
            own.watch(array)
    array._values = shown  # before what it is told by: other threads may look
    array._base = buffer
    return shown


def new(cls: Any, value: Any) -> Any:
    """A new array of what NumPy has just computed; a NumPy scalar stays one."""
    array = _new(cls)
    array._node = array._own = array._shown = array._from = array._base = array.loose = (
        array.pick
    ) = None
    array._values = value
    array._part = ""
    array.writeable = True
    array.is_scalar = type(value) is not ndarray
    return array


def view(array: Any, shown: NDArray, origin: Any) -> Any:
    """A new array that shows ``shown`` of the memory of ``array``; ``origin`` tells how."""
    own = array.storage
    result = _new(type(array))
    result._node = None
    result._own = own
    result._shown = None
    result._from = origin
    result.loose = result.pick = None
    buffer = own.buffer
    owner = shown.base  # of other memory, if another thread's flush has put that in its place
    result._base = buffer if owner is buffer or owner is buffer.base else None
    result._values = shown
    result._part = array._part
    result.writeable = array.writeable
    result.is_scalar = False
    if buffer.nbytes > _WATCHED:
        own.watch(result)
    return result


def view_by(name: str, array: Any, args: Any) -> View:
    """The view that the method gives, for nodes."""
    function = np.reshape if name == "reshape" else np.transpose
    made = TABLE[function](array, args[0] if len(args) == 1 else args or None)
    seen: View = made.view_of_storage
    return seen


def elements(array: Any, shown: NDArray) -> Iterator[Any]:
    """What ``array`` shows, one element after the other; ``shown`` is all of it at first."""
    cls = type(array)
    for i in range(len(shown)):
        own = array._own
        computed = own is None or (own.version is None and own.buffer is array._base)
        yield new(cls, shown[i]) if computed and array._values is shown else array[i]


def operand(value: Any, cls: Any) -> Any:
    """``value`` as NumPy takes it, or None if it is pending or not plain data."""
    kind = type(value)
    if kind is cls:
        return values(value)
    if kind in _NUMBERS:
        return value
    if kind is ndarray or issubclass(kind, np.generic):
        return value if is_numeric(value.dtype) else None
    return value.value if kind is TracedScalar else None  # of a trace that does not follow it


def is_small(a: Any, b: Any, limit: int) -> bool:
    """True if two operands and what is computed of them elementwise fit in ``limit`` bytes."""
    if type(b) is ndarray:
        if type(a) is ndarray:
            if a.nbytes + b.nbytes > limit:
                return False
            return a.shape == b.shape or a.size * b.size * 8 <= limit or fits(a, b, limit)
        a = b
    return type(a) is not ndarray or a.nbytes <= limit


def fits(a: NDArray, b: NDArray, limit: int) -> bool:
    """True if what is computed of two arrays fits in ``limit`` bytes."""
    try:
        return np.broadcast(a, b).size * 8 <= limit
    except ValueError:
        return True  # NumPy tells what is wrong
