"""Array: a lazy NumPy array. It records what is done to it and computes when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from ...graph import build
from ...graph.dtypes import DType, is_supported, part_of_complex
from ...graph.index_map import Shape
from ...graph.node import Node
from ..record.flight import atomic
from ..record.leaf import Leaf
from ..record.recorder import current_recorder, default_recorder
from ..record.run import Recorded
from ..record.storage import Storage
from ..record.view import Laid, View, in_memory_order
from .held import Held
from .memory import elements, in_force, new, values, view, view_by
from .methods import document
from .parts import shown_of
from .table import ENTRIES, TABLE

NDArray = np.ndarray[Any, Any]


class Array(Held):
    """A view of a storage whose present version may still be pending.

    Behaves as `numpy.ndarray` does: NumPy's functions, ufuncs and operators take it and give lazy
    arrays, views share memory with what they are views of, and in-place operations write to it.
    Values are computed when they are observed: ``float(a)``, ``bool(a)``, ``np.asarray(a)``,
    printing, iteration, DLPack. ``np.asarray(a)`` is read-only; copy it to get an array to write
    to, or write through ``a``.
    """

    __slots__ = (
        "__weakref__", "_base", "_from", "_node", "_own", "_part", "_shown", "_values",
        "is_scalar", "loose", "pick", "writeable",
    )  # fmt: skip
    __array_priority__ = 1000

    def __init__(
        self, storage: Storage, view: View, is_scalar: bool = False, part: str = ""
    ) -> None:
        self._node: Recorded | None = None  # what it waits for while it has no storage
        self._own: Storage | None = storage
        self._shown: View | None = view
        self._from: Any = None  # what the view is made by, when it is asked for
        self._values: Any = None  # what is shown of ``_base``, a NumPy view or scalar
        self._base: NDArray | None = None
        self._part = part  # "real" or "imag" of a complex storage, of which it shows that part
        self.writeable = True  # False for what NumPy gives as a read-only view
        self.loose: Any = None  # where it is found if nothing depends on its extent
        self.pick: Any = None  # what a mask has picked, before anybody asks for the elements
        self.is_scalar = is_scalar  # NumPy would give a scalar here, not a 0-d array

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What NumPy's own array or scalar would say inside a fused function."""
        if not current_recorder().transparent:
            return type(self)
        return self.dtype.type if self.is_scalar else np.ndarray

    @property
    def _storage(self) -> Storage:
        return self._own if self._own is not None else self._own_made()

    @atomic
    def _own_made(self) -> Storage:
        """The storage of what was computed at once, or picked, made now."""
        if self.pick is not None:
            self._gather()
        if self._own is None and self._node is not None:
            node, self._node = self._node, None
            self._shown = View.whole(node.shape)
            self._own = node.run.recorder.storage_of(node)
        if self._own is None and self.loose is not None:
            self._own, self._shown = self.loose.settled()
            self.loose = None
        if self._own is None:
            made, self._shown = in_memory_order(np.asarray(self._values))
            self._base = made
            self._own = Storage.of_array(default_recorder, made)
        return self._own

    @atomic
    def _gather(self) -> None:
        """Become the array that NumPy picks."""
        if self.pick is not None:
            for array in (together := [self, *self.pick.beside()]):
                array.pick = array.pick.begun()
            for array in together:
                made = array.pick.settled()
                array.pick, array.loose = None, made.loose
                if array.loose is None:
                    array._own, array._shown = made.storage, made.view_of_storage

    @property
    def _view(self) -> View:
        if self._shown is None:
            if self._own is None:
                self._own_made()
            else:
                function, *args = self._from
                self._shown = function(*args)
        assert self._shown is not None
        return self._shown

    @atomic
    def become(self, other: Array) -> None:
        """Have elements like ``other``'s from now on, in new memory."""
        made = type(self).of_node(other.read_node(), is_scalar=False)
        self._own, self._shown = made.storage, made.view_of_storage
        self._node = self._from = self._values = self._base = None

    def let_go(self) -> None:
        """Keep nothing of memory that the storage gives up."""
        if self._view is not None:
            self._values = self._base = None

    # --- making

    @classmethod
    def of_node(cls, node: Node, is_scalar: bool | None = None) -> Self:
        """A new array, with memory of its own, of the value ``node``.

        Of rank 0 it stands for a NumPy scalar, unless ``is_scalar`` says otherwise.
        """
        recorder = in_force()
        if type(node) is Leaf and not is_supported(node.dtype):  # no kernel copies it
            if recorder.transparent:  # a replay copies what is there then
                copy = build.library("copy", [node], node.shape, node.dtype)
                storage = recorder.value(copy)
            else:
                storage = Storage.of_array(recorder, np.array(node.array))
        else:
            storage = recorder.value(node)
        scalar = node.shape == () if is_scalar is None else is_scalar
        return cls(storage, View.whole(node.shape), scalar)

    @classmethod
    def of_array(cls, array: NDArray, copy: bool = True) -> Self:
        """An array with the contents of ``array``; without ``copy`` it takes the memory over."""
        if copy and type(array) is np.ndarray and in_force().at_once_below:
            return new(cls, np.array(array))  # type: ignore[no-any-return]
        owned = np.array(array) if copy else np.asarray(array)
        if any(s % owned.itemsize for s in owned.strides if owned.itemsize):
            owned = owned.copy()  # elements that do not lie on a grid
        memory, view = in_memory_order(owned)
        storage = Storage.of_array(current_recorder(), memory)
        return cls(storage, view, isinstance(array, np.generic))

    # --- attributes

    @property
    def shape(self) -> Shape:
        if self.pick is not None:
            self._gather()
        known = self._node or (self._values if self.loose is None else self.loose)
        return self._view.shape if known is None else known.shape

    @shape.setter
    @atomic
    def shape(self, shape: Any) -> None:
        seen = self.reshape(shape)
        own, recorder = self._storage, current_recorder()
        if seen.storage is not own or any(a is self for a in recorder.given):
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy "
                "with the desired shape."
            )
        own.part()  # who keeps this array as it is has its shape, too
        self._shown = seen.view_of_storage
        self.let_go()
        if id(self) in recorder.handed:  # opaque code may keep it, and is given it again
            recorder.handed[id(self)][1].shape = seen.shape

    @property
    def dtype(self) -> DType:
        known = self._values if self.loose is None else self.loose  # once: it may be let go of
        known = self._node or self.pick or known
        dtype: DType = self._storage.dtype if known is None else known.dtype
        return part_of_complex(dtype) if known is None and self._part else dtype

    @property
    def ndim(self) -> int:
        if self.pick is not None:
            return int(self.pick.ndim)
        return len(self.shape) if self.loose is None else int(self.loose.ndim)

    @property
    def is_loose(self) -> bool:
        """True if nothing depends on its extent so far."""
        if self.pick is not None:
            self._gather()
        return self.loose is not None

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
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
    def flat(self) -> Any:
        return ENTRIES.flat(self) if current_recorder().transparent else self.flat_of_memory()

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    @atomic
    def flat_of_memory(self) -> Any:
        """NumPy's iterator over the elements, which have been computed."""
        return ENTRIES.over_memory(self.handed_over().flat)

    @property
    def real(self) -> Any:
        return self if self.dtype.kind != "c" else self._seen_in_part("real")

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        if self.dtype.kind == "c":
            return self._seen_in_part("imag")
        if self.is_scalar:
            return ENTRIES.eager(np.imag, self)
        zeros = TABLE[np.zeros_like](self)
        zeros.setflags(write=False)
        return zeros

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @atomic
    def _seen_in_part(self, part: str) -> Array:
        """A view of one part of complex numbers; of a scalar that part."""
        result = type(self)(self._storage, self._view, part=part)
        result.writeable = self.writeable
        return type(self).of_node(result.read_node()) if self.is_scalar else result

    # --- views

    def shows_all(self) -> bool:
        """True if the array shows all of its storage, as it lies there."""
        whole = self._view.is_whole() and self._view.shape == self._storage.shape
        return whole and not self._part

    def is_first(self) -> bool:
        """True for the array that its storage was made for, and not a view of it."""
        view = self._view
        own = type(view) is Laid or view is View.whole(self._storage.shape)
        return own and not self._part

    @property
    def shown_of(self) -> Callable[[NDArray], NDArray]:
        """What takes the array's elements from memory that lies as its storage's does.

        It does not keep the array alive.
        """
        view, part = self._view, self._part
        return (lambda memory: shown_of(memory, view, part)) if part else view.of

    def seen_through(self, view: View) -> Array:
        """Another array over the same storage; of a scalar, which nobody writes to, a copy."""
        result = type(self)(self._storage, view, part=self._part)
        if self.is_scalar:
            return type(self).of_node(result.read_node(), is_scalar=False)
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

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        shape = self.shape
        if not shape:
            raise TypeError("iteration over a 0-d array")
        if len(shape) == 1 and in_force().at_once_below and (known := values(self)) is not None:
            return elements(self, known)
        return (self[i] for i in range(shape[0]))

    def __getitem__(self, key: Any) -> Array:
        recorder, found = in_force(), None
        if limit := recorder.at_once_below:
            found = ENTRIES.item_at_once(self, key, limit)
        elif recorder.run is not None:
            found = ENTRIES.shown(self, key)
        made: Array = ENTRIES.getitem(self, key) if found is None else found
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        recorder, done = in_force(), False
        if limit := recorder.at_once_below:
            done = ENTRIES.set_at_once(self, key, value, limit)
        elif recorder.run is not None:
            done = ENTRIES.assigned(recorder, self, key, value)
        if not done:
            ENTRIES.setitem(self, key, value)

    def _seen_as(self, name: str, *args: Any) -> Array | None:
        """What NumPy's method gives of what nothing waits for: a view, or a copy of little."""
        recorder = in_force()
        if recorder.run is not None:
            recorded: Array | None = ENTRIES.shown_by(self, name, args)
            return recorded
        if not (limit := recorder.at_once_below) or type(known := values(self)) is not np.ndarray:
            return None
        shown = getattr(known, name)(*args)
        if shown.base is None or not np.may_share_memory(shown, known):
            return new(type(self), np.array(shown)) if 0 < known.nbytes <= limit else None
        made: Array = view(self, shown, (view_by, name, self, args))
        return made

    # --- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        recorder = in_force()
        result: Any = NotImplemented
        if limit := recorder.at_once_below:
            result = ENTRIES.ufunc_at_once(ufunc, method, inputs, kwargs, limit)
        elif recorder.run is not None and method == "__call__" and not kwargs:
            result = ENTRIES.recorded(recorder, ufunc, inputs)
        if result is not NotImplemented:
            return result
        return ENTRIES.call_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        recorder = in_force()
        result: Any = NotImplemented
        if limit := recorder.at_once_below:
            result = ENTRIES.function_at_once(func, args, kwargs, limit)
        elif recorder.run is not None:
            result = ENTRIES.followed(recorder, func, args, kwargs)
        return result if result is not NotImplemented else ENTRIES.call_function(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        in_function = current_recorder().transparent and not self.is_scalar
        array = self.handed_over() if in_function else self._handed_out()
        if copy or (dtype is not None and np.dtype(dtype) != array.dtype):
            if copy is False:
                raise ValueError("a copy is needed to convert the dtype")
            return np.array(array, dtype)
        return array

    @atomic
    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.lent().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> Any:
        return Array.of_array, (np.array(self.compute()),)


def _of_memory(name: str) -> property:
    """What NumPy's attribute ``name`` is of the memory of an array."""
    return property(lambda array: getattr(array.hand_out(), name))


# Not by `__getattr__`: NumPy asks each array for protocols that it has not, and that would raise.
for _name in dir(np.ndarray):
    if not _name.startswith("__") and not hasattr(Array, _name):
        setattr(Array, _name, _of_memory(_name))
document(Array)
