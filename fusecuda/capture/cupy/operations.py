"""Operations: what calls of ufuncs, indexing and item assignment of CuPy arrays record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.node import Node
from ..arrays import indexing
from ..arrays.array import Array
from ..arrays.dispatch import raising
from ..record.numbers import TracedScalar
from ..record.recorder import user_line
from ..record.structure import leaves
from . import internals, ufuncs
from .internals import Pending, PendingMemory, ndarray
from .region import CupyRegion
from .step_maker import FLOATS
from .storages import CupyStorage, OvertakenError, table

_BASIC = frozenset({int, slice, type(None), type(Ellipsis), np.int64, np.int32, np.intp})


def kernel_called(region: CupyRegion, kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """A ufunc or an elementwise kernel is called with a CuPy array among its arguments."""
    ufunc = ufuncs.UFUNCS.get(kernel)
    if ufunc is None:
        return region.native(kernel, args, kwargs, kernel.name)
    if not kwargs:
        made = elementwise(region, ufunc, args)
        if made is not NotImplemented:
            return made
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


def elementwise(region: CupyRegion, ufunc: np.ufunc, args: Sequence[Any]) -> Any:
    """The usual case of `kernel_called` by a shorter way; NotImplemented for all others."""
    result = region.record_numbered(ufunc, args, _elementwise)
    return args[ufunc.nin] if result is None else result


def _elementwise(region: CupyRegion, ufunc: np.ufunc, args: Sequence[Any]) -> Any:
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
    if is_basic(key):
        target = internals.getitem(array, key)
        if _same_place(target, value):
            return
        done: Any = NotImplemented
        if type(value) in FLOATS and target.dtype.kind == "f" and target.ndim:
            done = region.record_numbered(setitem, (target, value), _fill)
        elif type(value) in internals.OURS and not raising():
            done = region.record_numbered(indexing.setitem, (target, value), _assign)
        if done is NotImplemented:
            done = region.record(indexing.setitem, (target, ..., _value(value)), {})
    else:
        done = region.record(indexing.setitem, (array, _keys(key), _value(value)), {})
    if done is NotImplemented:
        region.native(internals.setitem, (array, key, value), {}, "__setitem__")


def _fill(region: CupyRegion, _function: Any, args: tuple[Any, float]) -> Any:
    """Record that all of an array, of a floating-point type and not 0-d, is a number.

    A 0-d one would be the number itself, which a cast makes another one when it is recorded.
    """
    target, value = args
    generation, region.operands = table.generation, 0
    shown = region.lazy(target)
    if table.generation != generation:
        raise OvertakenError
    node = region.tape.constants([value])(value, shown.dtype)
    shown.write_node(build.broadcast_to(node, shown.shape))
    return None


def _assign(region: CupyRegion, function: Any, args: tuple[Any, Any]) -> Any:
    """Record that all of an array is another one."""
    target, value = args
    return region.lowered(function, (target, ..., value), {})


def is_basic(key: Any) -> bool:
    """True if ``key`` selects a view."""
    if type(key) is not tuple:
        return type(key) in _BASIC
    for k in key:  # noqa: SIM110 - a generator takes three times as long
        if type(k) not in _BASIC:
            return False
    return True


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


def _same_place(target: Any, value: Any) -> bool:
    """True for what Python assigns after an in-place operation on ``target``."""
    return (
        isinstance(value, ndarray)
        and internals.pointer_of(value).ptr == internals.pointer_of(target).ptr
        and value.shape == target.shape
        and value.strides == target.strides
        and value.dtype == target.dtype
    )


def holds_array(value: Any) -> bool:
    """True if there is a CuPy array in ``value``, or something that may show one."""
    return any(
        isinstance(part, ndarray) or hasattr(part, "__cuda_array_interface__")
        for part in leaves(value)
    )
