"""All that touches the inside of CuPy; tests/capture/cupy/test_cupy_internals.py tests each use.

A pending array is a `cupy.ndarray` of the subclass `Pending` over a `PendingMemory`: addresses that
no device has, each range used once. Views of it that CuPy makes are pending too, and are entered in
the memory's list when they are made. `bind` gives all of them real memory and the plain class.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
import types
import weakref
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy._core.core import _ndarray_base
from cupy.cuda.memory import BaseMemory, MemoryPointer, UnownedMemory

from ...slots import Slot, slot_at
from ..record.numbers import TracedScalar

CUPY_13 = int(cupy.__version__.partition(".")[0]) < 14
ndarray: Any = cupy.ndarray
base: Any = _ndarray_base
FIRST_ADDRESS = 1 << 56  # beyond what the address translation of CPUs and GPUs can reach
_GAP = 512

_new = base.__new__
_init = base._init
_new_memory = BaseMemory.__new__
_reference = weakref.ref
pointer_of: Callable[[Any], Any] = base.data.__get__  # whatever has been patched
getitem: Callable[[Any, Any], Any] = base.__getitem__
setitem: Callable[[Any, Any, Any], None] = base.__setitem__
_ranges = itertools.count(FIRST_ADDRESS, 1 << 20)
_SMALL = (1 << 20) - _GAP  # bytes: what has room in one of these
_next_large = 1 << 60


def names(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


class PendingMemory(BaseMemory):  # type: ignore[misc]
    """Made-up addresses that stand for the memory of ``storage`` until it is computed.

    That of an operation that a tape knows has no storage before one is asked for: it is told by
    ``run``, the recording, and ``place``, what the tape knows of it.
    """

    __slots__ = ("__weakref__", "objects", "own", "place", "real", "run")

    def __init__(self, storage: Any, nbytes: int, device: int) -> None:
        self.ptr = next(_ranges) if nbytes <= _SMALL else unused_address(nbytes)  # type: ignore[misc]
        self.size = nbytes  # type: ignore[misc]
        self.device_id = device  # type: ignore[misc]
        self.own = storage
        self.run: Any = None
        self.place: Any = None
        self.objects: list[weakref.ref[Any]] = []  # the arrays that lie here
        self.real: Any = None  # the memory pointer that has taken its place

    @property
    def storage(self) -> Any:
        """What is pending here."""
        if self.own is None:
            self.own = self.run.storage_of(self)
        return self.own


def unused_address(nbytes: int) -> int:
    """The first of ``nbytes`` addresses that were never given out before."""
    global _next_large  # noqa: PLW0603 - large ranges are counted, small ones have equal room
    if nbytes <= _SMALL:
        return next(_ranges)
    start = _next_large
    _next_large += (nbytes + 2 * _GAP) // _GAP * _GAP
    return start


class Pending(ndarray):  # type: ignore[misc]
    """An array whose value has not been computed; becomes a plain `cupy.ndarray` in place."""

    __slots__ = ()

    def __array_finalize__(self, source: Any) -> None:
        """Called by CuPy for every view of a pending array: it is to be bound too."""
        memory = pointer_of(self).mem
        if type(memory) is not PendingMemory:
            self.__class__ = ndarray
            return
        memory.objects.append(weakref.ref(self))
        if memory.real is not None:  # computed by another thread meanwhile
            bind(memory, memory.real)


OURS = frozenset({ndarray, Pending})  # the classes whose operations are recorded


def make_pending(
    memory: PendingMemory,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
) -> Any:
    """A pending array over ``memory``; ``strides`` and ``offset`` in bytes."""
    made = _new(Pending)
    if strides is None:
        _init(made, shape, dtype, MemoryPointer(memory, offset))
    else:
        _init(made, shape, dtype, MemoryPointer(memory, offset), strides)
    memory.objects.append(weakref.ref(made))
    return made


def make_known(
    run: Any, place: tuple[int, tuple[int, ...], np.dtype[Any], int], device: int, slots: list[Any]
) -> Any:
    """A pending array whose ``place`` in the ``run`` is all there is of it so far.

    That is the number of its slot, where those that show its memory are found, its shape, dtype and
    size in bytes. Straight, for this is in the way of each operation.
    """
    nbytes = place[3]
    memory = _new_memory(PendingMemory)
    memory.ptr = next(_ranges) if nbytes <= _SMALL else unused_address(nbytes)
    memory.size = nbytes
    memory.device_id = device
    memory.run = run
    memory.place = place
    memory.own = memory.real = None
    made = _new(Pending)
    _init(made, place[1], place[2], MemoryPointer(memory, 0))
    memory.objects = slots[place[0]] = [_reference(made)]
    return made


def bind(memory: PendingMemory, real: Any) -> None:
    """Let every array over ``memory`` lie over the pointer ``real`` instead, as a plain array."""
    memory.real = real
    for reference in memory.objects:
        array = reference()
        if array is None:
            continue
        pointer = pointer_of(array)
        if pointer.mem is memory:
            pointer.__init__(real.mem, real.ptr - real.mem.ptr + pointer.ptr - memory.ptr)
        array.__class__ = ndarray
    memory.objects.clear()


class Failed(ndarray):  # type: ignore[misc]
    """An array whose value could not be computed: whatever needs the value raises the error."""

    __slots__ = ()


def _raising(*args: Any, **kwargs: Any) -> Any:
    for array in args:
        if type(array) is Failed:
            raise pointer_of(array).mem.storage.error
    raise AssertionError("a failed array is among the arguments")


# In CuPy 13 `_update_…` and `_set_contiguous_strides` are methods, which `_init` calls by name
# while the array has no memory yet; in CuPy 14 they are C functions.
LAYOUT = names(
    """
    _init _shape _strides _c_contiguous _f_contiguous _index_32_bits
    _set_contiguous_strides _update_contiguity _update_c_contiguity _update_f_contiguity
    """
)
_NO_VALUE = LAYOUT | names(
    """
    __new__ __init__ __doc__ __hash__ __class_getitem__ __pyx_vtable__ __array_priority__ __len__
    shape strides ndim itemsize nbytes size dtype device base flags
    """
)
for _name, _value in vars(base).items():
    if _name not in _NO_VALUE:
        is_data = isinstance(_value, types.GetSetDescriptorType)
        setattr(Failed, _name, property(_raising) if is_data else _raising)
# Raises when it is called: CuPy 13 takes an error of its `hasattr` for absence, and would go on.
Failed.__cupy_override_elementwise_kernel__ = _raising


def fail(memory: PendingMemory) -> None:
    """Let every array over ``memory`` raise the error of its storage when its value is needed."""
    for reference in memory.objects:
        array = reference()
        if array is not None:
            array.__class__ = Failed


_PLAIN = OURS | {bool, int, float, complex, TracedScalar, *np.sctypeDict.values()}


def array_ufunc(array: Any, ufunc: Any, method: str, /, *inputs: Any, **kwargs: Any) -> Any:
    """CuPy's ``__array_ufunc__``, without a look at the memory of plain arrays.

    CuPy comes here for operators with a number that it does not know (CuPy 13 for those with any
    number), and asks for `__cuda_array_interface__`.
    """
    out = kwargs.get("out", ())
    plain = all(type(v) in _PLAIN for v in (*inputs, *out))
    if method == "__call__" and plain and len(out) <= 1 and kwargs.keys() <= {"out"}:
        function = getattr(cupy, ufunc.__name__, None)
        if isinstance(function, cupy.ufunc):
            return function(*inputs, *out)
    return base.__array_ufunc__(array, ufunc, method, *inputs, **kwargs)


REPLACED: dict[str, Any] = {"__array_ufunc__": array_ufunc}


def array_over(pointer: Any, shape: tuple[int, ...], dtype: Any, strides: Any = None) -> Any:
    """A plain array over the memory at ``pointer``."""
    made = _new(ndarray)
    if strides is None:
        _init(made, shape, dtype, pointer)
    else:
        _init(made, shape, dtype, pointer, strides)
    return made


def over_address(address: int, nbytes: int, owner: Any, device: int = 0) -> Any:
    """A pointer to memory that belongs to ``owner``."""
    return MemoryPointer(UnownedMemory(address, max(nbytes, 1), owner, device), 0)


def span_of(array: Any) -> tuple[int, int]:
    """The first address of ``array`` and the one behind its last."""
    low = high = pointer_of(array).ptr
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high + array.dtype.itemsize


def nbytes_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """The bytes of a contiguous array."""
    return math.prod(shape) * dtype.itemsize


# --- functions that keep their identity while another one runs in their place


def _stand_in(*args: Any, **kwargs: Any) -> Any:
    target: Any = "TARGET"
    return target(*args, **kwargs)


def stand_in(function: types.FunctionType, target: Callable[..., Any]) -> types.CodeType:
    """Code with which every call of ``function``, by whatever name it is known, calls ``target``.

    To be set as its ``__code__``; not for functions with a closure.
    """
    code = _stand_in.__code__
    constants = tuple(target if c == "TARGET" else c for c in code.co_consts)
    return code.replace(co_consts=constants, co_name=function.__name__)


def twin(function: types.FunctionType) -> types.FunctionType:
    """A function that goes on doing what ``function`` does now."""
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    return copy


# --- methods of extension types

_CALL_SLOT = 50  # Py_tp_call in typeslots.h
_CALL_OFFSET = 16 * ctypes.sizeof(ctypes.c_void_p)  # of tp_call in a type object
_get_slot = ctypes.pythonapi.PyType_GetSlot
_get_slot.restype = ctypes.c_void_p
_get_slot.argtypes = [ctypes.py_object, ctypes.c_int]
_modified = ctypes.pythonapi.PyType_Modified
_modified.restype = None
_modified.argtypes = [ctypes.py_object]


class _Callable:
    def __call__(self) -> None:
        """A class whose call slot looks ``__call__`` up in the type."""


_LOOKUP = _get_slot(_Callable, _CALL_SLOT)


def call_of(kind: Any) -> Callable[..., Any]:
    """What a call of an object of ``kind`` does without us, but for hooks that count it."""
    return slot_at(id(kind) + _CALL_OFFSET).beneath(vars(kind)["__call__"])


class Swap:
    """A method of a type, exchanged by `put` and brought back by `undo`.

    Of an extension type's ``__call__`` the call slot is exchanged too, for the one that looks
    ``__call__`` up, as in a class of Python's. Raises RuntimeError where type objects are laid out
    in another way.
    """

    def __init__(self, owner: Any, name: str, function: Callable[..., Any]) -> None:
        self.owner, self.name, self.function = owner, name, function
        self.original = vars(owner)[name]
        self.members: dict[str, Any] | None = None
        self.slot: Slot | None = None
        if owner.__flags__ & 0x200:  # a class of Python's
            return
        (self.members,) = (m for m in gc.get_referents(owner.__dict__) if type(m) is dict)
        if name == "__call__":
            self.slot = slot_at(id(owner) + _CALL_OFFSET)
            if _get_slot(owner, _CALL_SLOT) != self.slot.now:
                raise RuntimeError("the layout of type objects is not known")

    def put(self) -> None:
        """Let the function take the method's place."""
        self._set(self.function)
        if self.slot is not None:
            self.slot.lookup(_LOOKUP)

    def undo(self) -> None:
        """As it was."""
        if self.slot is not None:
            self.slot.lookup(None)
        self._set(self.original)

    def _set(self, value: Any) -> None:
        if self.members is None:
            setattr(self.owner, self.name, value)
        else:
            self.members[self.name] = value
            _modified(self.owner)
