"""Array: a lazy NumPy array. It records what is done to it and computes when it is looked at."""

from __future__ import annotations

import contextvars
import operator
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ..errors import FlushError
from ..graph.dtypes import DType, is_supported
from ..graph.index_map import Shape
from ..graph.node import Node
from . import (  # noqa: F401 - they fill the dispatch table
    composed,
    functions,
    indexing,
    joining,
    movement,
    products,
    reductions,
    selection,
)
from .operators import Operators
from .plans import Leaf
from .recorder import Recorder, Storage, atomic, default_recorder
from .view import View, in_memory_order

NDArray = np.ndarray[Any, Any]
recorder_in_force: contextvars.ContextVar[Recorder] = contextvars.ContextVar(
    "fusecuda_recorder", default=default_recorder
)


class Array(Operators):
    """A view of a storage whose present version may still be pending.

    Behaves as `numpy.ndarray` does: NumPy's functions, ufuncs and operators take it and give lazy
    arrays, views share memory with what they are views of, and in-place operations write to it.
    Values are computed when they are observed: ``float(a)``, ``bool(a)``, ``np.asarray(a)``,
    printing, iteration, DLPack. ``np.asarray(a)`` is read-only; copy it to get an array to write
    to, or write through ``a``.
    """

    __slots__ = ("__weakref__", "_storage", "_view", "is_scalar", "writeable")
    __array_priority__ = 1000

    def __init__(self, storage: Storage, view: View, is_scalar: bool = False) -> None:
        self._storage = storage
        self._view = view
        self.writeable = True  # False for what NumPy gives as a read-only view
        self.is_scalar = is_scalar  # NumPy would give a scalar here, not a 0-d array

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What NumPy's own array or scalar would say inside a fused function."""
        if not current_recorder().transparent:
            return type(self)
        return self.dtype.type if self.is_scalar else np.ndarray

    # --- making

    @classmethod
    def of_node(cls, node: Node, is_scalar: bool | None = None) -> Self:
        """A new array, with memory of its own, of the value ``node``.

        Of rank 0 it stands for a NumPy scalar, unless ``is_scalar`` says otherwise.
        """
        if isinstance(node, Leaf) and not is_supported(node.dtype):
            storage = Storage.of_array(current_recorder(), np.array(node.array))
        else:
            storage = current_recorder().value(node)
        scalar = node.shape == () if is_scalar is None else is_scalar
        return cls(storage, View.whole(node.shape), scalar)

    @classmethod
    def of_array(cls, array: NDArray, copy: bool = True) -> Self:
        """An array with the contents of ``array``; without ``copy`` it takes the memory over."""
        owned = np.array(array) if copy else np.asarray(array)
        if any(s % owned.itemsize for s in owned.strides if owned.itemsize):
            owned = owned.copy()  # elements that do not lie on a grid
        memory, view = in_memory_order(owned)
        storage = Storage.of_array(current_recorder(), memory)
        return cls(storage, view, isinstance(array, np.generic))

    # --- reading and writing nodes

    def read_node(self) -> Node:
        """The node of the array's present value."""
        storage = self._storage
        recorder = current_recorder()
        if storage.recorder is not recorder and storage.pending:
            storage.recorder.flush()
        if storage.shared:
            return self._view.read(build_snapshot(storage))
        node = storage.read()
        view = self._view
        if node.shape == view.shape and view.is_whole():
            return node
        if not is_supported(node.dtype):
            return Leaf(np.array(self.compute(), order="C"), view.shape, node.dtype)
        return view.read(node)

    def write_node(self, value: Node) -> None:
        """Make ``value``, of the array's shape and dtype, what the array shows from now on."""
        storage = self._storage
        if not self.writeable or not storage.writeable:
            raise ValueError("assignment destination is read-only")
        if self.size > 1 and not self._view.map.is_injective(self._view.shape):
            raise ValueError("assignment destination is read-only")
        recorder = current_recorder()
        if storage.recorder is not recorder:
            if storage.pending:
                storage.recorder.flush()
            storage.recorder = recorder
        storage.write(self._view.write(storage.read(), value))

    @atomic
    def compute(self) -> NDArray:
        """The values as a read-only NumPy view of the storage, valid until the next write."""
        storage = self._storage
        current_recorder().look()
        if storage.pending:
            storage.recorder.flush()
        if storage.error is not None:
            raise storage.error
        if storage.buffer is None:
            raise FlushError("the array's value was not computed")
        result = self._view.of(storage.buffer).view()
        result.flags.writeable = False
        return result

    @atomic
    def at_once(self) -> NDArray:
        """The array's memory, to be written to before anything else is done."""
        current_recorder().flush()
        current_recorder().write_at_once(self._storage.held)
        self.compute()
        assert self._storage.buffer is not None
        result = self._view.of(self._storage.buffer).view()
        result.flags.writeable = self.writeable and self._storage.buffer.flags.writeable
        return result

    def hand_out(self) -> NDArray:
        """As `compute`, and the storage keeps its address: later writes show in what is given."""
        current_recorder().hands_out()
        result = self.compute()
        self._storage.held = self._storage.escaped = True
        return result

    # --- attributes

    @property
    def shape(self) -> Shape:
        return self._view.shape

    @property
    def dtype(self) -> DType:
        return self._storage.dtype

    @property
    def ndim(self) -> int:
        return len(self._view.shape)

    @property
    def size(self) -> int:
        size = 1
        for extent in self._view.shape:
            size *= extent
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Array:  # noqa: N802 - NumPy's name
        return self.transpose()

    @property
    def mT(self) -> Array:  # noqa: N802
        return movement.swapaxes(self, -1, -2)

    @property
    def flat(self) -> Any:
        self.hand_out()
        self._storage.shared = True
        return self.at_once().flat

    @property
    def real(self) -> Any:
        return self if self.dtype.kind != "c" else functions.eager(np.real, self)

    @property
    def imag(self) -> Any:
        return functions.eager(np.imag, self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.hand_out(), name)

    # --- views

    def seen_through(self, view: View) -> Array:
        """Another array over the same storage."""
        result = type(self)(self._storage, view)
        result.writeable = self.writeable
        return result

    @property
    def view_of_storage(self) -> View:
        """Which elements of its storage the array shows."""
        return self._view

    @property
    def storage(self) -> Storage:
        """The memory that the array is a view of."""
        return self._storage

    def __getitem__(self, key: Any) -> Array:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        return movement.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def transpose(self, *axes: Any) -> Array:
        if len(axes) == 1 and not isinstance(axes[0], int | np.integer):
            axes = axes[0] if axes[0] is not None else ()
        return movement.transpose(self, axes or None)

    def ravel(self, order: str = "C") -> Array:
        return movement.reshape(self, -1, order)

    def flatten(self, order: str = "C") -> Array:
        return selection.copy(movement.reshape(self, -1, order))

    def swapaxes(self, a: int, b: int) -> Array:
        return movement.swapaxes(self, a, b)

    def squeeze(self, axis: Any = None) -> Array:
        return movement.squeeze(self, axis)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", **kw: Any) -> Any:
        return selection.astype(self, dtype, order, casting, **kw)

    def copy(self, order: str = "C") -> Array:
        return selection.copy(self)

    def fill(self, value: Any) -> None:
        self[...] = value

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other, out=out)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.sort(self, axis=axis, kind=kind, order=order)

    def partition(self, kth: Any, axis: int = -1, **kwargs: Any) -> None:
        self[...] = np.partition(self, kth, axis, **kwargs)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        return np.compress(condition, self, axis, out)

    def conj(self) -> Any:
        return np.conjugate(self)

    conjugate = conj

    # --- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return functions.call_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return functions.call_function(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        array = self.hand_out()
        if copy or (dtype is not None and np.dtype(dtype) != array.dtype):
            if copy is False:
                raise ValueError("a copy is needed to convert the dtype")
            return np.array(array, dtype)
        return array

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .. import numpy as namespace  # noqa: PLC0415

        return namespace

    def __dlpack__(self, **kwargs: Any) -> Any:
        self.hand_out()
        self._storage.shared = True
        assert self._storage.buffer is not None
        return self._view.of(self._storage.buffer).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        if device != "cpu":
            raise ValueError(f"unsupported device {device!r}")
        return self

    def __reduce__(self) -> Any:
        return Array.of_array, (np.array(self.compute()),)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    # --- observation

    def item(self, *args: Any) -> Any:
        return self.compute().item(*args)

    def tolist(self) -> Any:
        return self.compute().tolist()

    def get(self) -> NDArray:
        """As `cupy.ndarray.get`: the values as a NumPy array."""
        return np.array(self.compute())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __repr__(self) -> str:
        if current_recorder().transparent:
            return repr(functions.plain(self))
        return f"{type(self).__name__}{repr(self.compute()).removeprefix('array')}"

    def __str__(self) -> str:
        return str(self.compute()[()])

    def __format__(self, spec: str) -> str:
        return format(self.compute()[()], spec)

    def __bool__(self) -> bool:
        return bool(self.compute())

    def __float__(self) -> float:
        return float(self.compute())

    def __int__(self) -> int:
        return int(self.compute())

    def __complex__(self) -> complex:
        return complex(self.compute())

    def __index__(self) -> int:
        return operator.index(self.compute()[()] if self.is_scalar else self.compute())


def current_recorder() -> Recorder:
    """The recorder that takes new operations: the innermost trace's, or the process's own."""
    return recorder_in_force.get()


def build_snapshot(storage: Storage) -> Node:
    """A leaf with a copy of what a shared storage holds at this moment."""
    assert storage.buffer is not None
    return Leaf(np.array(storage.buffer), storage.shape, storage.dtype)
