"""Methods: those of an array that say what a function or an operator does."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...graph.dtypes import is_numeric
from ...graph.index_map import contiguous_strides
from ..record.recorder import current_recorder
from .flags import Flags
from .memory import in_force, new, values
from .observed import Observed
from .table import ENTRIES, TABLE


def document(kind: type) -> None:
    """Let each undocumented member of ``kind`` that `numpy.ndarray` has say so."""
    for base in kind.__mro__[:-1]:
        for name, member in vars(base).items():
            if not name.startswith("_") and hasattr(np.ndarray, name) and not member.__doc__:
                member.__doc__ = f"As `numpy.ndarray.{name}`."


def _is_same(dtype: Any, own: Any) -> bool:
    """True if an array of elements ``own`` is asked for as one of ``dtype``."""
    is_class = isinstance(dtype, type) and issubclass(dtype, np.ndarray)
    return dtype is None or (not is_class and np.dtype(dtype) == own)


def _by_table(function: Any, array: Any, *args: Any, **named: Any) -> Any:
    """What ``function``'s entry of the table makes; where it has none, NumPy's result or error."""
    named["order"] = "C" if named["order"] is None else named["order"]
    made = TABLE[function](array, *args, **named)
    return ENTRIES.eager(function, array, *args, **named) if made is NotImplemented else made


class Methods(Observed):
    """The methods of an array that functions and operators are behind."""

    __slots__ = ()

    is_loose: Any
    ndim: Any
    _seen_as: Callable[..., Any]

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        np.empty(0).__array_namespace__(api_version=api_version)  # NumPy knows the versions
        return ENTRIES.namespace

    def __delitem__(self, key: Any) -> NoReturn:
        raise ValueError("cannot delete array elements")

    def _by(self, function: Any, *args: Any) -> Any:
        """What NumPy's ``function`` gives of the array, at once or by its handler."""
        if limit := in_force().at_once_below:
            made = ENTRIES.function_at_once(function, (self, *args), {}, limit)
            if made is not NotImplemented:
                return made
        return TABLE[function](self, *args)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        if order == "C" and copy is None and (seen := self._seen_as("reshape", *shape)) is not None:
            return seen
        named = {"order": order} if copy is None else {"order": order, "copy": copy}
        return _by_table(np.reshape, self, shape[0] if len(shape) == 1 else shape, **named)

    def transpose(self, *axes: Any) -> Any:
        if (seen := self._seen_as("transpose", *axes)) is not None:
            return seen
        if len(axes) == 1 and not isinstance(axes[0], int | np.integer):
            axes = axes[0] if axes[0] is not None else ()
        return TABLE[np.transpose](self, axes or None)

    def ravel(self, order: str = "C") -> Any:
        return self._by(np.ravel) if order == "C" else _by_table(np.ravel, self, order=order)

    def flatten(self, order: str = "C") -> Any:
        if (known := self._small()) is not None:
            return new(type(self), known.flatten(order))
        return TABLE[np.copy](self.ravel(order))

    def swapaxes(self, a: int, b: int) -> Any:
        return self._by(np.swapaxes, a, b)

    def squeeze(self, axis: Any = None) -> Any:
        return self._by(np.squeeze, axis)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", **kw: Any) -> Any:
        if not kw and (known := self._small()) is not None:
            cast = known.astype(dtype, order, casting)
            if is_numeric(cast.dtype):
                return new(type(self), cast if not self.is_scalar else cast[()])
        recorder = in_force()
        if recorder.run is not None and not kw and order == "K" and casting == "unsafe":
            made = ENTRIES.followed(recorder, np.astype, (self, dtype), kw)
            if made is not NotImplemented:
                return made
        if self.is_loose:
            made = ENTRIES.loosely(np.ndarray.astype, (self, dtype, order, casting), kw)
            if made is not NotImplemented:
                return made
        return ENTRIES.astype(self, dtype, order, casting, **kw)

    def _small(self) -> Any:
        """The values where a copy of them is made at once, else None."""
        limit = in_force().at_once_below
        known = values(self) if limit else None
        return known if known is not None and known.nbytes <= limit else None

    def copy(self, order: str = "C") -> Any:
        if self.is_scalar:
            return self
        if (known := self._small()) is not None:
            return new(type(self), known.copy(order))
        return _by_table(np.copy, self, order=order)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        kind, own = dtype if type is None else type, self.__class__
        if kind is own or (type is None and _is_same(dtype, self.dtype)):
            return self if self.is_scalar else self[...]
        if inspect.isclass(kind) and issubclass(kind, own):
            raise TypeError(f"view: a lazy array has none of a subclass, such as {kind.__name__}")
        return self.handed_over().view(*[a for a in (dtype, type) if a is not None])

    def laid_out(self: Any) -> Any:
        """An array that lies in memory as this one does, or will; its values are nobody's."""
        storage = self.storage
        in_rows = len(storage.shape) < 2 or storage.node.op in ("pad", "update")  # as NumPy's
        if storage.buffer is None and current_recorder().transparent and not in_rows:
            return self.hand_out()
        return self.will_lie()

    def lies_in_rows(self: Any) -> bool:
        """True if the elements lie side by side in row-major order, or will, here and in NumPy."""
        known = self.storage.buffer is not None or self.storage.node.op != "gather"
        return bool((self.will_lie() if known else self.laid_out()).flags.c_contiguous)

    def will_lie(self: Any) -> Any:
        """As `laid_out`, where it does not matter that NumPy lays some results out otherwise."""
        storage = self.storage
        memory = storage.buffer  # on a device it tells its layout, but cannot be seen through
        if memory is not None and (type(memory) is np.ndarray or not memory.flags.c_contiguous):
            return self.shown_of(memory)
        row = np.empty(1, storage.dtype)  # of the memory that there will be, the layout is known
        steps = [row.itemsize * s for s in contiguous_strides(storage.shape)]
        return self.shown_of(as_strided(row, storage.shape, steps))

    @property
    def strides(self) -> Any:
        return self.laid_out().strides

    @property
    def flags(self) -> Any:
        return Flags(self)

    def owns_data(self: Any) -> bool:
        """True unless others own the memory."""
        own = self._given()
        return bool(self.is_first() if own is None else own.flags.owndata)

    @property
    def base(self: Any) -> Any:
        own = self._given()
        if own is not None:
            return own.base
        return None if self.is_first() else self.hand_out().base

    def _given(self: Any) -> Any:
        """The caller's own array, if this is it; no condition of a trace tells whose memory."""
        recorder = current_recorder()
        if recorder.transparent and any(a.storage is self.storage for a in recorder.given):
            self.hand_out()
            pairs = zip(recorder.given, recorder.originals, strict=False)
            return next((own for lazy, own in pairs if lazy is self), None)
        return None

    def resize(self: Any, *new_shape: Any, refcheck: Any = True) -> None:
        """As `numpy.ndarray.resize`, of what lies in rows; views keep the memory that there was."""
        recorder = current_recorder()
        if recorder.transparent and any(a is self for a in recorder.given):
            self.hand_out()  # no replay does it to the caller's array
        if not (self.owns_data() and self.flags.c_contiguous):
            raise ValueError("cannot resize this array: it does not own its data")
        if not new_shape or new_shape == (None,):
            return
        shape = np.broadcast_shapes(new_shape[0] if len(new_shape) == 1 else new_shape)
        flat, count = self.reshape(-1), math.prod(shape)
        zeros = np.zeros(max(count - flat.size, 0), self.dtype)
        self.become(np.concatenate([flat[:count], zeros]).reshape(shape))

    def fill(self: Any, value: Any) -> None:
        if np.ndim(value) and is_numeric(self.dtype):
            np.empty(1, self.dtype).fill(
                value if type(value) is list else np.empty(np.shape(value))
            )
        self[...] = value

    def put(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
        np.put(self, indices, values, mode)

    def setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
        recorder = current_recorder()
        if recorder.transparent and any(a is self for a in recorder.given):
            self.hand_out()  # no replay does it to the caller's array
        if write is not None:
            self.let_go()
            self.writeable = bool(write)

    def dot(self: Any, b: Any, out: Any = None) -> Any:
        return np.dot(self, b) if out is None else np.dot(self, b, out=out)

    def sort(
        self: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        self._may_change("sort")
        axis = operator.index(axis)  # the function takes None, too
        self[...] = np.sort(self, axis=axis, kind=kind, order=order, stable=stable)

    def partition(self: Any, kth: Any, axis: int = -1, **kwargs: Any) -> None:
        self._may_change("partition")
        self[...] = np.partition(self, kth, operator.index(axis), **kwargs)

    def byteswap(self: Any, inplace: bool = False) -> Any:
        swapped = ENTRIES.eager(np.ndarray.byteswap, self)
        if not inplace:
            return swapped
        self[...] = swapped
        return self

    def _may_change(self: Any, name: str) -> None:
        if not self.writeable or not (self.is_loose or self.storage.writeable):
            raise ValueError(f"{name} array is read-only")

    def choose(self: Any, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        given = choices[0] if len(choices) == 1 else choices
        return np.choose(self, given, out=out, mode=mode)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return np.compress(condition, self, axis, out)

    def conj(self: Any, out: Any = None) -> Any:
        if out is None and self.dtype.kind != "c":
            return self  # unlike the function, which gives another array
        return np.conjugate(self, out=out)

    conjugate = conj

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        if device != "cpu":
            raise ValueError(f"unsupported device {device!r}")
        return self

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy("K")
