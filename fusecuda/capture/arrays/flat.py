"""Flat: what `numpy.ndarray.flat` is of an array."""

from __future__ import annotations

import collections
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..record.numbers import TracedScalar
from ..record.structure import rebuilt
from .array import Array
from .gathering import listed
from .table import entry


class Flat:
    """The elements of an array, one after the other in row-major order, to be read and written."""

    __slots__ = ("_next", "base")

    def __init__(self, base: Any) -> None:
        self.base = base
        self._next = 0

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """NumPy's, as an array's."""
        return np.flatiter

    def over(self, memory: Any) -> Any:
        """NumPy's own iterator over ``memory``, at the same place."""
        made = memory.flat
        collections.deque(itertools.islice(made, self._next), maxlen=0)
        return made

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self._rows()[self._next - 1]

    @property
    def index(self) -> int:
        """The place of the next element."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """The indices of the next element."""
        return tuple(int(i) for i in np.unravel_index(self._next, self.base.shape))

    def copy(self) -> Any:
        """All elements, as an array of one axis."""
        rows = self._rows()
        return rows.copy() if rows.storage is self.base.storage else rows

    def _rows(self) -> Any:
        """All elements, a view where that can be."""
        return self.base.reshape(-1)

    def __getitem__(self, key: Any) -> Any:
        self._next = 0
        if type(key) is Array and key.ndim == 1:
            return self._rows()[key]
        if not _is_known(key):
            return self._memory()[key]
        key = operator.index(key) if type(key) is TracedScalar else key
        _blank(self.base.shape).flat[key]
        found = self._rows()[key]
        return found if found.is_scalar else found.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._next = 0
        rows = self._rows()
        in_place = rows.storage is self.base.storage
        if type(key) is Array and key.ndim == 1 and in_place and not np.ndim(value):
            rows[key] = value
            return
        if not _is_known(key):
            self._memory()[key] = value
            return
        key = operator.index(key) if type(key) is TracedScalar else key
        count = np.size(_blank(self.base.shape).flat[key])
        if isinstance(value, list | tuple):
            value = listed(value, self.base.dtype)
        if np.ndim(value):
            value = np.ravel(value)
            size = np.size(value)
            if not size or count < 1:  # an error, or nothing
                self._memory()[key] = value
                return
            value = value[:count] if size >= count else np.resize(value, count)
        if in_place:
            rows[key] = value if np.ndim(rows[key]) or not np.ndim(value) else value[0]
            return
        places = np.unravel_index(np.atleast_1d(np.arange(len(self))[key]), self.base.shape)
        self.base[places] = value

    def _memory(self) -> Any:
        """NumPy's own iterator, over memory that is given away."""
        return self.base.flat_of_memory()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        memory = self._memory().__array__()
        return memory if dtype is None else memory.astype(dtype, copy=bool(copy))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory(), name)


class OverMemory:
    """NumPy's own iterator over an array's memory, which takes lazy arrays as keys and values."""

    __slots__ = ("_numpys",)

    def __init__(self, numpys: Any) -> None:
        self._numpys = numpys

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """NumPy's, as an array's."""
        return np.flatiter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpys, name)

    def __len__(self) -> int:
        return len(self._numpys)

    def __iter__(self) -> Any:
        return self._numpys

    def __next__(self) -> Any:
        return next(self._numpys)

    def __getitem__(self, key: Any) -> Any:
        return self._numpys[rebuilt(key, _shown)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._numpys[rebuilt(key, _shown)] = rebuilt(value, _shown)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        made = self._numpys.__array__()
        return made if dtype is None else made.astype(dtype, copy=bool(copy))


def _shown(value: Any) -> Any:
    if type(value) is not Array:
        return value
    return value.compute()[()] if value.is_scalar else value.compute()


def _is_known(key: Any) -> bool:
    """True for what tells its places without a look: integers, and slices and lists of such."""
    if type(key) is TracedScalar:
        return True
    if isinstance(key, slice):
        return all(p is None or isinstance(p, int) for p in (key.start, key.stop, key.step))
    if type(key) is list:
        return all(type(k) is int for k in key)
    return type(key) is int or isinstance(key, np.integer) or key is Ellipsis or _is_places(key)


def _is_places(key: Any) -> bool:
    return type(key) is np.ndarray and key.ndim == 1 and key.dtype.kind in "iu"


def _blank(shape: tuple[int, ...]) -> Any:
    """An array of such a shape of one byte: NumPy knows which keys it takes."""
    return np.broadcast_to(np.zeros((), np.int8), shape)


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return compare(self.copy(), other)

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _kind in (Flat, OverMemory):
        setattr(_kind, f"__{_name}__", _compared(getattr(operator, _name)))
Flat.__hash__ = OverMemory.__hash__ = None  # type: ignore[assignment]


@entry
def flat(array: Any) -> Flat:
    """What ``array.flat`` is in a function that is recorded."""
    return Flat(array)


@entry
def over_memory(numpys: Any) -> OverMemory:
    """What ``array.flat`` is elsewhere, of NumPy's iterator."""
    return OverMemory(numpys)
