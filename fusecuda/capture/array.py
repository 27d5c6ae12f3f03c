"""Array: a lazy NumPy array. It records what is done to it and computes when it is looked at."""

from __future__ import annotations

import contextvars
import operator
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from ..errors import FlushError
from ..graph.dtypes import DType
from ..graph.index_map import Shape
from ..graph.node import Node
from . import functions, indexing
from .recorder import Leaf, Recorder, Storage, default_recorder
from .scalar import TracedScalar
from .view import View

NDArray = np.ndarray[Any, Any]
recorder_in_force: contextvars.ContextVar[Recorder] = contextvars.ContextVar(
    "fusecuda_recorder", default=default_recorder
)


class Array:
    """A view of a storage whose present version may still be pending.

    Behaves as `numpy.ndarray` does: NumPy's functions, ufuncs and operators take it and give lazy
    arrays, views share memory with what they are views of, and in-place operations write to it.
    Values are computed when they are observed: ``float(a)``, ``bool(a)``, ``np.asarray(a)``,
    printing, iteration, DLPack. ``np.asarray(a)`` is read-only; copy it to get an array to write
    to, or write through ``a``.
    """

    __slots__ = ("_storage", "_view", "is_scalar")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, storage: Storage, view: View, is_scalar: bool = False) -> None:
        self._storage = storage
        self._view = view
        self.is_scalar = is_scalar  # NumPy would give a scalar here, not a 0-d array

    # --- making

    @classmethod
    def of_node(cls, node: Node, recorder: Recorder | None = None) -> Self:
        """A new array, with memory of its own, of the value ``node``."""
        storage = (recorder or current_recorder()).value(node)
        return cls(storage, View.whole(node.shape), is_scalar=node.shape == ())

    @classmethod
    def of_array(cls, array: NDArray, copy: bool = True) -> Self:
        """An array with the contents of ``array``; without ``copy`` it takes the memory over."""
        owned = np.array(array) if copy else np.asarray(array)
        storage = Storage.of_array(current_recorder(), owned)
        return cls(storage, View.whole(owned.shape))

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
        return node if view.base_shape is view.shape and view.is_whole() else view.read(node)

    def write_node(self, value: Node) -> None:
        """Make ``value``, of the array's shape and dtype, what the array shows from now on."""
        storage = self._storage
        buffer = storage.buffer
        if buffer is not None and not buffer.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if not self._view.map.is_injective(self._view.shape):
            raise ValueError("assignment destination is read-only")
        storage.write(self._view.write(storage.read(), value))

    def compute(self) -> NDArray:
        """The values as a read-only NumPy view of the storage, valid until the next write."""
        storage = self._storage
        if storage.pending:
            storage.recorder.flush()
        if storage.error is not None:
            raise storage.error
        if storage.buffer is None:
            raise FlushError("the array's value was not computed")
        result = self._view.of(storage.buffer).view()
        result.flags.writeable = False
        return result

    def hand_out(self) -> NDArray:
        """As `compute`, and the storage keeps its address: later writes show in what is given."""
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
        return functions.swapaxes(self, -1, -2)

    @property
    def flat(self) -> Any:
        return self.hand_out().flat

    @property
    def real(self) -> Array:
        return self if self.dtype.kind != "c" else functions.eager(np.real, self)

    @property
    def imag(self) -> Array:
        return functions.eager(np.imag, self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.hand_out(), name)

    # --- views

    def seen_through(self, view: View) -> Array:
        """Another array over the same storage."""
        return type(self)(self._storage, view)

    @property
    def view_of_storage(self) -> View:
        """Which elements of its storage the array shows."""
        return self._view

    @property
    def storage(self) -> Storage:
        """The memory that the array is a view of."""
        return self._storage

    def __getitem__(self, key: Any) -> Any:
        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        indexing.setitem(self, key, value)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
        return functions.reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)

    def transpose(self, *axes: Any) -> Array:
        if len(axes) == 1 and not isinstance(axes[0], int | np.integer):
            axes = axes[0] if axes[0] is not None else ()
        return functions.transpose(self, axes or None)

    def ravel(self, order: str = "C") -> Array:
        return functions.reshape(self, -1, order)

    def flatten(self, order: str = "C") -> Array:
        return functions.copy(functions.reshape(self, -1, order))

    def swapaxes(self, a: int, b: int) -> Array:
        return functions.swapaxes(self, a, b)

    def squeeze(self, axis: Any = None) -> Array:
        return functions.squeeze(self, axis)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", **kw: Any) -> Array:
        return functions.astype(self, dtype, order, casting, **kw)

    def copy(self, order: str = "C") -> Array:
        return functions.copy(self)

    def fill(self, value: Any) -> None:
        self[...] = value

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other, out=out)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.sort(self, axis=axis, kind=kind, order=order)

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
        return operator.index(self.compute()[()] if self.shape == () else self.compute())

    # --- operators with a rule of their own

    def __pow__(self, exponent: Any, modulo: None = None) -> Any:
        return _power(self, exponent)

    def __ipow__(self, exponent: Any) -> Array:
        return functions.assign_result(self, _power(self, exponent))

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)


def _power(base: Array, exponent: Any) -> Any:
    """``base ** exponent`` with NumPy's shortcuts for 2, 0.5, -1, 1 and 0 given as Python numbers."""
    if type(exponent) is TracedScalar:
        exponent = exponent.seen()
    if type(exponent) in (int, float):
        integer = base.dtype.kind in "iu"
        if exponent == 2 and (not integer or type(exponent) is int) and base.dtype.kind != "b":
            return np.square(base)
        if base.dtype.kind == "f":
            shortcut = {0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}.get(exponent)
            if shortcut is not None:
                return shortcut(base)
            if exponent == 0:
                return functions.full_like(base, 1)
    return np.power(base, exponent)


def _binary(ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def forward(self: Array, other: Any) -> Any:
        return _operate(ufunc, self, other, (self, other))

    def backward(self: Array, other: Any) -> Any:
        return _operate(ufunc, self, other, (other, self))

    def in_place(self: Array, other: Any) -> Array:
        result = _operate(ufunc, self, other, (self, other))
        return result if result is NotImplemented else functions.assign_result(self, result)

    return forward, backward, in_place


def _operate(ufunc: np.ufunc, array: Array, other: Any, inputs: tuple[Any, Any]) -> Any:
    kind = type(other)
    if kind not in _OPERANDS and not isinstance(other, _OPERAND_TYPES):
        if getattr(kind, "__array_ufunc__", NotImplemented) is None:
            return NotImplemented
        other = np.asarray(other)
        inputs = (array, other) if inputs[0] is array else (other, array)
        if other.dtype.kind in "OUSV":
            return NotImplemented if other.shape == () else functions.eager(ufunc, *inputs)
    return functions.call_ufunc(type(array), ufunc, "__call__", inputs, {})


_OPERANDS = frozenset({Array, int, float, bool, TracedScalar, np.float64, np.ndarray})
_OPERAND_TYPES = (Array, TracedScalar, np.ndarray, np.generic, int, float, complex)
_OPERATORS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "matmul": np.matmul,
}
for _name, _ufunc in _OPERATORS.items():
    _forward, _backward, _in_place = _binary(_ufunc)
    setattr(Array, f"__{_name}__", _forward)
    setattr(Array, f"__r{_name}__", _backward)
    setattr(Array, f"__i{_name}__", _in_place)
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(Array, f"__{_name}__", _binary(_ufunc)[0])
Array.__rpow__ = _binary(np.power)[1]  # type: ignore[attr-defined]


def _unary(ufunc: np.ufunc) -> Callable[[Array], Any]:
    return lambda self: functions.call_ufunc(Array, ufunc, "__call__", (self,), {})


for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(Array, f"__{_name}__", _unary(_ufunc))


def _method(function: Any) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **kwargs: Any) -> Any:
        return functions.call_function(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"As `numpy.{function.__name__}`."
    return method


for _function in (
    np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std, np.argmax, np.argmin,
    np.ptp, np.cumsum, np.cumprod, np.clip, np.round, np.argsort, np.take, np.repeat, np.nonzero,
    np.diagonal, np.trace, np.searchsorted, np.compress, np.choose, np.partition, np.argpartition,
):  # fmt: skip
    setattr(Array, _function.__name__, _method(_function))


def current_recorder() -> Recorder:
    """The recorder that takes new operations: the innermost trace's, or the process's own."""
    return recorder_in_force.get()


def build_snapshot(storage: Storage) -> Node:
    """A leaf with a copy of what a shared storage holds at this moment."""
    assert storage.buffer is not None
    return Leaf(np.array(storage.buffer), storage.shape, storage.dtype)
