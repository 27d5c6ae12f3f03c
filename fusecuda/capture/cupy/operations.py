"""Operations: what calls of ufuncs, indexing and item assignment of CuPy arrays record."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.index_map import Shape
from ...graph.node import Node
from ..arrays import indexing
from ..arrays.array import Array
from ..arrays.dispatch import raising
from ..record.numbers import TracedScalar
from ..record.structure import leaves
from ..record.user_frames import user_line
from ..record.view import address_of
from . import internals, own_ufuncs, ufuncs
from .internals import Pending, PendingMemory, ndarray
from .region import CupyRegion
from .step_maker import FLOATS
from .storages import CupyStorage, OvertakenError, table

_BOUNDS = frozenset({int, type(None), np.int64})
_BASIC = frozenset({int, slice, type(None), type(Ellipsis), np.int64, np.int32, np.intp})


def kernel_called(region: CupyRegion, kernel: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A ufunc or an elementwise kernel is called with a CuPy array among its arguments."""
    ufunc = ufuncs.UFUNCS.get(kernel)
    if ufunc is None:
        return _own_called(region, kernel, args, kwargs)
    if not kwargs:
        made = region.record_numbered(ufunc, args, elementwise)
        if made is not NotImplemented:
            return args[ufunc.nin] if made is None else made
        if region.resting:
            return region.native(kernel, args, kwargs)
    out: Any = kwargs.get("out")
    if len(args) > ufunc.nin and out is None:
        if len(args) > ufunc.nin + 1:
            return region.native(kernel, args, kwargs, kernel.name)
        out = args[ufunc.nin]
        kwargs = {**kwargs, "out": out}
        args = args[: ufunc.nin]
    if isinstance(out, tuple):
        (out,) = out
        kwargs = {**kwargs, "out": out}
    elif out is None and kwargs:
        kwargs = {k: v for k, v in kwargs.items() if v is not None}
    result: Any = NotImplemented
    if not ufuncs.differs(ufunc, args, region.cupy_options.device):
        result = region.record(ufuncs.CALLS[ufunc], args, kwargs)
    if result is NotImplemented:
        return region.native(kernel, args, kwargs, kernel.name)
    return result if out is None else out


def _own_called(region: CupyRegion, kernel: Any, args: Any, kwargs: Any) -> Any:
    """A kernel that is none of NumPy's ufuncs: an assignment, a row of the op table, or CuPy's."""
    if kernel is own_ufuncs.COPY and len(args) == 2 and not kwargs:
        setitem(region, args[1], Ellipsis, args[0])
        return args[1]
    call = None if kwargs else own_ufuncs.call_of(kernel, args)
    result = NotImplemented if call is None else region.record(call, args, kwargs)
    if result is NotImplemented:
        return region.native(kernel, args, kwargs, kernel.name)
    return result


def elementwise(region: CupyRegion, ufunc: np.ufunc, args: Sequence[Any]) -> Any:
    """What the usual case of `kernel_called` records, by a shorter way, for `record_numbered`.

    None if it is recorded in the last of ``args``; NotImplemented for all other cases.
    """
    generation = table.generation
    operands: list[Any] = []
    types: list[Any] = []
    for value in args[: ufunc.nin]:
        kind = type(value)
        if kind is Pending or kind is ndarray:
            node = _node(region, value)
            operands.append(node)
            types.append(node.dtype)
        elif kind is float or kind is int:
            operands.append(value)
            types.append(kind)
        elif kind is np.float64:
            operands.append(value)
            types.append(value.dtype)
        elif kind is TracedScalar:
            operands.append(value)
            types.append(value.type)
        else:
            return NotImplemented
    target = region.lift(args[ufunc.nin]) if len(args) == ufunc.nin + 1 else None
    if table.generation != generation:
        raise OvertakenError
    if len(args) > ufunc.nin + 1:
        return NotImplemented
    loop = ufuncs.loop_of(ufunc, region.cupy_options.device, *types)
    if loop is None or (target is not None and not isinstance(target.storage, CupyStorage)):
        return NotImplemented
    name, dtypes, may_fail = loop
    try:
        numbers = region.tape.constants(operands)
        nodes = [
            build.convert(v, d) if isinstance(v, Node) else numbers(v, d)
            for v, d in zip(operands, dtypes, strict=False)
        ]
    except OverflowError:
        return NotImplemented
    node = build.elementwise(name, nodes, dtypes[-1], user_line() if may_fail else None)
    if target is None:
        return _new(region, node)
    if node.shape != target.shape or not ufuncs.can_cast(node.dtype, target.dtype):
        return NotImplemented
    target.write_node(build.convert(node, target.dtype))
    return None


def _node(region: CupyRegion, array: Any) -> Node:
    """The present value of ``array``; whole arrays of this region by a shorter way."""
    pointer = internals.pointer_of(array)
    memory = pointer.mem
    if type(memory) is PendingMemory:
        storage = memory.storage if pointer.ptr == memory.ptr else None
    else:
        storage = table.at(pointer.ptr)
    if (
        storage is not None
        and storage.recorder is region
        and storage.device == region.device
        and storage.error is None
        and not region.has_escaped
    ):
        node: Node = storage.node
        if node.shape == array.shape and array._c_contiguous and node.dtype == array.dtype:
            region.operands += 1
            return node
    found: Node = region.lazy(array).read_node()
    return found


def _new(region: CupyRegion, node: Node) -> Any:
    """A pending array of the value ``node``."""
    storage = CupyStorage(region, node)
    storage.device = region.device
    region.note(node, storage)
    return storage.array(node.shape)


def getitem(region: CupyRegion, array: Any, key: Any) -> Any:
    """``array[key]``, a selection, is recorded; views CuPy makes itself."""
    result = region.record(indexing.getitem, (array, _keys(key)), {})
    if result is NotImplemented:
        return region.native(internals.getitem, (array, key), {}, "__getitem__")
    return result


def setitem(region: CupyRegion, array: Any, key: Any, value: Any) -> None:
    """``array[key] = value``."""
    done: Any = NotImplemented
    frozen = _frozen(key)
    if frozen is None:
        done = region.record(indexing.setitem, (array, _keys(key), _value(value)), {})
    elif type(value) in internals.OURS:
        if _is_shown(array, frozen, value):
            return  # Python's, after an operation in place
        if not raising():
            done = region.record_numbered((_assign, frozen), (array, value), _assign)
    elif type(value) in FLOATS and array.dtype.kind == "f" and _is_part(array, frozen):
        done = region.record_numbered((_fill, frozen), (array, value), _fill)
    if done is NotImplemented and frozen is not None:
        target = internals.getitem(array, key)
        done = region.record(indexing.setitem, (target, ..., _value(value)), {})
    if done is NotImplemented:
        region.native(internals.setitem, (array, key, value), {}, "__setitem__")


def _fill(region: CupyRegion, function: Any, args: tuple[Any, float]) -> Any:
    """Record that all of a part of an array, of a floating-point type and not 0-d, is a number.

    A 0-d one would be the number itself, which a cast makes another one when it is recorded.
    """
    array, value = args
    target = internals.getitem(array, _thawed(function[1]))
    generation, region.operands = table.generation, 0
    shown = region.lazy(target)
    if table.generation != generation:
        raise OvertakenError
    node = region.tape.constants([value])(value, shown.dtype)
    shown.write_node(build.broadcast_to(node, shown.shape))
    return None


def _assign(region: CupyRegion, function: Any, args: tuple[Any, Any]) -> Any:
    """Record that all of a part of an array is another one."""
    array, value = args
    target = internals.getitem(array, _thawed(function[1]))
    return region.lowered(indexing.setitem, (target, ..., value), {})


def is_basic(key: Any) -> bool:
    """True if ``key`` selects a view."""
    kind = type(key)
    if kind is not tuple:
        return kind in _BASIC
    for k in key:  # noqa: SIM110 - a generator takes three times as long
        if type(k) not in _BASIC:
            return False
    return True


def _frozen(key: Any) -> tuple[Any, ...] | None:
    """``key`` as something to be looked up; None if it selects no view, or by other numbers."""
    kind = type(key)
    if kind is slice:
        start, stop, step = key.start, key.stop, key.step
        if type(start) in _BOUNDS and type(stop) in _BOUNDS and type(step) in _BOUNDS:
            return ((start, stop, step),)
        return None
    if kind is not tuple:
        return (key,) if kind is int or key is None or key is Ellipsis else None
    parts: list[Any] = []
    for part in key:
        found = _frozen(part) if type(part) is not tuple else None
        if found is None:
            return None
        parts += found
    return tuple(parts)


def _thawed(frozen: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key, as a tuple."""
    return tuple([slice(*part) if type(part) is tuple else part for part in frozen])


def _is_part(array: Any, frozen: tuple[Any, ...]) -> bool:
    """True if the key selects a part of ``array``, not one element as a 0-d one."""
    return sum([type(part) is int for part in frozen]) < array.ndim or None in frozen


def _is_shown(array: Any, frozen: tuple[Any, ...], value: Any) -> bool:
    """True if ``value`` is a view of just what the key selects of ``array``."""
    base = value.base
    if base is None or (base is not array and base is not array.base):
        return False
    offset, shape, strides = _place(array.shape, array.strides, frozen)
    start = internals.pointer_of(array).ptr
    return bool(
        internals.pointer_of(value).ptr - start == offset
        and value.shape == shape
        and value.strides == strides
        and value.dtype == array.dtype
    )


@functools.lru_cache(maxsize=4096)
def _place(shape: Shape, strides: tuple[int, ...], frozen: tuple[Any, ...]) -> tuple[Any, ...]:
    """The offset in bytes, shape and strides of what a key selects; nothing if it does not fit."""
    nothing = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)
    key = _thawed(frozen if Ellipsis in frozen else (*frozen, ...))  # no element is looked at
    try:
        shown = nothing[key]
    except IndexError:
        return None, (), ()
    return address_of(shown) - address_of(nothing), shown.shape, shown.strides


def _keys(key: Any) -> Any:
    """A key in which the NumPy arrays are ours, for the region reads them later."""
    if type(key) is tuple:
        return tuple(_keys(k) for k in key)
    if type(key) is np.ndarray:
        return Array.of_array(key)
    if type(key) is list and not any(isinstance(k, ndarray) for k in key):
        return Array.of_array(np.asarray(key))
    return key


def _value(value: Any) -> Any:
    """A value to be assigned; a NumPy array is copied, as CuPy copies it to the device."""
    return Array.of_array(value) if type(value) is np.ndarray else value


def holds_array(value: Any) -> bool:
    """True if there is a CuPy array in ``value``, or something that may show one."""
    return any(
        isinstance(part, ndarray) or hasattr(type(part), "__cuda_array_interface__")
        for part in leaves(value)
    )
