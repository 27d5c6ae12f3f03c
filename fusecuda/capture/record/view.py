"""View: which elements of a storage an array shows."""

from __future__ import annotations

import functools
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ...graph import build
from ...graph.index_map import (
    IndexMap,
    Shape,
    axis_map,
    contiguous_strides,
    identity,
    reshape_strides,
    split_axes,
    transpose,
)
from ...graph.node import Node


class View(NamedTuple):
    """Element d of the array is element map(d) of the storage reshaped to ``base_shape``."""

    base_shape: Shape
    map: IndexMap
    shape: Shape

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def whole(shape: Shape) -> View:
        """The view of a whole storage of ``shape``."""
        return View(shape, identity(len(shape)), shape)

    def is_whole(self) -> bool:
        """True if the view shows every element of the storage, in row-major order."""
        return self.shape == self.base_shape and (
            self.map is identity(len(self.shape)) or self.map.is_identity()
        )

    def read(self, version: Node) -> Node:
        """The elements that the view shows of ``version``."""
        return build.index(build.reshape(version, self.base_shape), self.map, self.shape)

    def write(self, version: Node, value: Node) -> Node:
        """``version`` with ``value``, of the view's shape, in place of what the view shows."""
        based = build.reshape(version, self.base_shape)
        return build.reshape(build.update(based, value, self.map), version.shape)

    def mapped(self, outer: IndexMap, shape: Shape) -> View:
        """The view through ``outer`` of this view."""
        return View(self.base_shape, outer.then(self.map), shape)

    def strides(self) -> tuple[int, ...]:
        """Strides in elements over contiguous storage."""
        return self.map.strides(contiguous_strides(self.base_shape))

    def reshaped(self, shape: Shape, memory: np.ndarray[Any, Any] | None = None) -> View | None:
        """This view under another shape, if that needs no copy (NumPy's rule), else None.

        ``memory`` is that of the storage, where it need not be contiguous. Where axes of extent 1
        come and go the others stay apart.
        """
        if not self.is_whole() and _longer(shape) == _longer(self.shape):
            placed = split_axes(self.shape, shape)
            return None if placed is None else self.mapped(placed, shape)
        if memory is not None and not memory.flags.c_contiguous and 0 not in shape:
            own = self.of(memory)
            found = reshape_strides(self.shape, own.strides, shape)
            shown = None if found is None else np.lib.stride_tricks.as_strided(own, shape, found)
            return None if shown is None else view_within(shown, memory)
        if self.is_whole():  # a view of its own, though it be under the same shape
            return View.whole(shape) if shape != self.shape else View(shape, self.map, shape)
        strides = reshape_strides(self.shape, self.strides(), shape)
        if strides is None:
            return None
        offset = self.map.offset(contiguous_strides(self.base_shape))
        flat = (math.prod(self.base_shape),)
        return View(flat, IndexMap(len(shape), (offset,), (strides,)), shape)

    def transposed(self, axes: Sequence[int]) -> View:
        """This view with its axes in the order ``axes``."""
        return self.mapped(transpose(axes), tuple(self.shape[a] for a in axes))

    def of(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the view shows of ``array``, the storage's memory, as a NumPy view of it."""
        if self.is_whole() and array.shape == self.shape:
            return array
        if 0 in self.shape:  # it may be of a reshape of what no reshape has as a view
            return np.empty(self.shape, array.dtype)
        strides = array.strides
        if self.base_shape != array.shape:
            found = reshape_strides(array.shape, array.strides, self.base_shape)
            assert found is not None, "a storage that is reshaped is contiguous"
            strides = found
        offset = self.map.offset(strides)
        if array.flags.c_contiguous:
            own = self.map.strides(strides)
            return np.ndarray(self.shape, array.dtype, cast(Any, array), offset, own)
        start = np.lib.stride_tricks.as_strided(array, (1,) * array.ndim or (1,))
        first = displaced(start, offset)
        return np.lib.stride_tricks.as_strided(first, self.shape, self.map.strides(strides))


def _longer(shape: Shape) -> list[int]:
    return [n for n in shape if n != 1]


Shown = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


class Laid(View):
    """The view of a whole storage by the array that it was made for, in another order of axes."""

    __slots__ = ()


def displaced(array: np.ndarray[Any, Any], offset: int) -> np.ndarray[Any, Any]:
    """A one-element view ``offset`` bytes behind the first element of ``array``."""
    item = array.dtype.itemsize
    flat = np.lib.stride_tricks.as_strided(array, (abs(offset) // item + 1,), (item,))
    return flat[offset // item :]


def in_memory_order(
    a: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], View]:
    """An array of the elements of ``a`` in the order of its memory, and ``a`` as a view of that."""
    if a.flags.c_contiguous:
        return a, View.whole(a.shape)
    order = outermost_first(a.strides)
    rows: list[tuple[int, int, int | None]] = []
    for d in order:
        step = (a.strides[d] > 0) - (a.strides[d] < 0)
        rows.append((a.shape[d] - 1 if step < 0 else 0, step, d if step else None))
    memory = memory_in_order(a)
    return memory, Laid(memory.shape, axis_map(rows, a.ndim), a.shape)


def memory_in_order(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of ``a`` in the order of its memory, each once."""
    if a.flags.c_contiguous:
        return a
    order = outermost_first(a.strides)
    key = _key_of(a.strides)
    return a.transpose(order) if key is None else a.transpose(order)[key]


@functools.lru_cache(maxsize=1024)
def outermost_first(strides: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of an array with such ``strides`` as they lie in memory."""
    return tuple(sorted(range(len(strides)), key=lambda d: -abs(strides[d])))


@functools.lru_cache(maxsize=1024)
def _key_of(strides: tuple[int, ...]) -> tuple[slice, ...] | None:
    """What takes axes from their beginnings on, and one element of what is broadcast."""
    if min(strides) > 0:
        return None
    steps = [strides[d] for d in outermost_first(strides)]
    return tuple([slice(0, 1) if s == 0 else slice(None, None, -1 if s < 0 else 1) for s in steps])


def layout_in(shape: Shape, dtype: np.dtype[Any], shown: Shown) -> Shown:
    """As ``shown``, of memory of one shape and dtype, whose layout is known beforehand."""
    memory = np.empty(shape, dtype)
    seen = shown(memory)
    if not seen.size or not np.may_share_memory(seen, memory):
        return shown
    layout = seen.shape, seen.dtype
    offset, strides = address_of(seen) - address_of(memory), seen.strides

    def quickly(given: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if given.shape != shape or not given.flags.c_contiguous:
            return shown(given)
        return np.ndarray(*layout, cast(Any, given), offset, strides)

    return quickly


def view_in(a: np.ndarray[Any, Any], flat: np.ndarray[Any, Any]) -> View:
    """The view that shows ``a`` of ``flat``, the one-dimensional array whose memory it shows."""
    item = a.dtype.itemsize
    offset = (address_of(a) - address_of(flat)) // item
    return View(
        flat.shape, IndexMap(a.ndim, (offset,), (tuple(s // item for s in a.strides),)), a.shape
    )


def view_within(a: np.ndarray[Any, Any], memory: np.ndarray[Any, Any]) -> View | None:
    """The view that shows ``a`` of ``memory``, of which it shows elements; None if there is none.

    ``memory`` lies in the order of its memory, but may have gaps: an address then is a place along
    each of its axes, and a step along an axis of ``a`` a step along each of these.
    """
    if memory.flags.c_contiguous:
        return view_in(a, memory.reshape(-1))
    if a.size == 0:
        return None
    base, strides = _joined_axes(memory)
    start = address_of(a) - address_of(memory)
    first = _places(start, strides)
    if sum(p * s for p, s in zip(first, strides, strict=True)) != start:
        return None
    steps = []
    for n, stride in zip(a.shape, a.strides, strict=True):
        second = _places(start + stride, strides) if n > 1 else first
        steps.append([q - p for p, q in zip(first, second, strict=True)])
        if n > 1 and sum(p * s for p, s in zip(steps[-1], strides, strict=True)) != stride:
            return None
    rows = tuple(zip(*steps, strict=True)) if steps else ((),) * len(base)
    for p, row, n in zip(first, rows, base, strict=True):
        ends = [(m - 1) * s for m, s in zip(a.shape, row, strict=True)]
        if p + sum(e for e in ends if e < 0) < 0 or p + sum(e for e in ends if e > 0) >= n:
            return None
    return View(base, IndexMap(a.ndim, first, rows), a.shape)


def _places(address: int, strides: Sequence[int]) -> tuple[int, ...]:
    """The places along axes of such ``strides``, the longest first, of what lies at ``address``."""
    found = []
    for stride in strides:
        found.append(address // stride if stride else 0)
        address -= found[-1] * stride
    return tuple(found)


def _joined_axes(memory: np.ndarray[Any, Any]) -> tuple[Shape, tuple[int, ...]]:
    """Extents and strides of ``memory``, with axes that lie behind each other as one."""
    joined: list[tuple[int, int]] = []
    for n, stride in zip(memory.shape, memory.strides, strict=True):
        if n == 1:
            continue
        if joined and joined[-1][1] == n * stride:
            joined[-1] = joined[-1][0] * n, stride
        else:
            joined.append((n, stride))
    return tuple(n for n, _ in joined), tuple(s for _, s in joined)


def union(*members: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All the memory that ``members`` span, as one flat array."""
    low = min(byte_bounds(m)[0] for m in members)
    high = max(byte_bounds(m)[1] for m in members)
    dtype = members[0].dtype
    window = types.SimpleNamespace(
        members=members,
        __array_interface__={
            "version": 3,
            "data": (low, not members[0].flags.writeable),
            "shape": ((high - low) // dtype.itemsize,),
            "typestr": dtype.str,
        },
    )
    return np.asarray(window).view(dtype)  # of bfloat16 the interface tells the size


def is_writeable(array: np.ndarray[Any, Any]) -> bool:
    """What its flag says, of which NumPy warns where it is going to be another one."""
    if array.base is None:
        return bool(array.flags.writeable)
    return not array.__array_interface__["data"][1]


def address_of(a: np.ndarray[Any, Any]) -> int:
    """The address of the first element."""
    return int(a.__array_interface__["data"][0])


def basic_index(shape: Shape, key: tuple[Any, ...]) -> tuple[IndexMap, Shape] | None:
    """The map and shape of ``array[key]`` for integers, slices, None and Ellipsis, else None.

    Raises NumPy's IndexError for a key that does not fit ``shape``.
    """
    frozen: list[Any] = []
    for k in key:
        if type(k) is slice:
            frozen.append((_whole(k.start), _whole(k.stop), _whole(k.step)))
        elif k is None or k is Ellipsis:
            frozen.append(k)
        elif isinstance(k, int | np.integer) and not isinstance(k, bool):
            frozen.append(int(k))
        else:
            return None
    return _indexed(shape, tuple(frozen))


def _whole(part: Any) -> int | None:
    """A part of a slice as a plain number; raises NumPy's TypeError for what is none."""
    return part if part is None or type(part) is int else operator.index(part)


@functools.lru_cache(4096)
def _indexed(shape: Shape, frozen: tuple[Any, ...]) -> tuple[IndexMap, Shape]:
    """`basic_index` of a key whose slices are tuples; a program has few, each used many times."""
    key = tuple(slice(*k) if type(k) is tuple else k for k in frozen)
    probe = np.broadcast_to(np.False_, shape)
    result_shape = probe[key].shape  # NumPy checks the key and knows the shape
    consumed = sum(k is not None and k is not Ellipsis for k in key)
    full = [slice(None)] * (len(shape) - consumed)
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    expanded = [*key[:at], *full, *key[at + 1 :]]
    rows: list[tuple[int, int, int | None]] = []
    axis = result = 0
    for k in expanded:
        if k is None:
            result += 1
            continue
        extent = shape[axis]
        if isinstance(k, slice):
            start, _, step = k.indices(extent)
            rows.append((start, step, result) if result_shape[result] else (0, 0, None))
            result += 1
        else:
            rows.append((k + extent if k < 0 else k, 0, None))
        axis += 1
    return axis_map(rows, len(result_shape)), result_shape
