"""Kept order: the axes of what is made elementwise lie in memory as NumPy would lay them out.

NumPy's results keep the order of their operands' axes (its order "K"). Where that is not row-major,
the operands are taken with their axes permuted so that it is, and the result is a view.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...graph.index_map import Shape
from ..record.view import Laid
from .array import Array
from .memory import in_force

Axes = tuple[int, ...]
Seen = tuple[Shape, tuple[int, ...]]  # an operand's shape and strides


def in_kept_order(make: Callable[..., Any], inputs: Sequence[Any], *args: Any) -> Any:
    """What ``make(inputs, *args)`` makes elementwise, laid out as NumPy's result."""
    for value in inputs:
        if type(value) is Array:
            shown = value._shown  # looked at here, for this is in the way of each operation
            if shown is not None and shown.map.known_to_fall:
                continue
        if not _is_row_major(value):
            axes = None if in_force().dispatching else _axes_of_result(inputs)
            if axes is not None:
                made = make([_permuted(v, axes) for v in inputs], *args)
                return made if made is NotImplemented else relaid(made, axes)
            break
    return make(inputs, *args)


def _is_row_major(value: Any) -> bool:
    """True for what surely leaves the order of axes to others."""
    if type(value) is Array:
        return value.is_loose or value.view_of_storage.map.falls()
    return type(value) is not np.ndarray or value.flags.c_contiguous


def in_order_of(make: Callable[[Array], Array], source: Array, order: Any) -> Array:
    """What ``make`` makes elementwise of ``source``, laid out by an argument ``order``."""
    axes = axes_of_copy(source, order)
    return make(source) if axes is None else relaid(make(_permuted(source, axes)), axes)


def filled_in_order(make: Callable[[Shape], Array], shape: Shape, axes: Axes | None) -> Array:
    """The new array that ``make`` makes of a shape, its axes in memory in the order ``axes``."""
    if axes is None or len(axes) != len(shape):
        return make(shape)
    return relaid(make(tuple(shape[a] for a in axes)), axes)


def axes_of_copy(source: Array, order: Any) -> Axes | None:
    """As `axes_by`, for an array like ``source``: axes along which that repeats vary fastest."""
    if order == "K" and source.ndim > 1 and not source.is_loose:
        shape, strides = _seen(source)
        if any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True)):
            return _axes_of_copy(shape, strides)
    return axes_by(source, order)


def axes_of_new(source: Any, order: Any, rank: int) -> Axes | None:
    """The axes in the order of memory of a new array of ``rank`` axes that is like ``source``.

    ``source`` may be NumPy's. None where the memory is row-major.
    """
    if order == "A":
        laid = source.will_lie() if type(source) is Array else source
        order = "F" if laid.flags.fnc else "C"
    if order == "F" and rank > 1:
        return tuple(range(rank))[::-1]
    if order != "K" or rank != source.ndim:
        return None
    return axes_of_copy(source, "K") if type(source) is Array else _axes_of_copy(*_seen(source))


def axes_by(source: Array, order: Any) -> Axes | None:
    """The axes in the order of new memory that is asked for like ``source``'s, by NumPy's names.

    None where that is row-major.
    """
    if source.ndim < 2 or order == "C":
        return None
    if order == "F":
        return tuple(range(source.ndim))[::-1]
    if _is_row_major(source):
        return None
    if order != "K":
        return axes_by(source, "F") if source.will_lie().flags.f_contiguous else None
    return _axes_of_copy(*_seen(source))


def as_made(operands: tuple[Seen, ...], along: int | None) -> Axes | None:
    """The axes, in the order of memory, of what is computed elementwise; None if row-major."""
    return _axes_of(operands)


def as_joined(operands: tuple[Seen, ...], along: int | None) -> Axes | None:
    """The same of copies, and of what is put together of them: no steps are the smallest ones."""
    axes = list(range(len(operands[0][0])))
    for i in axes[1:]:
        place = i
        for j in range(i)[::-1]:
            a, b = axes[i], axes[j]
            steps = [(abs(s[a]), abs(s[b])) for n, s in operands if n[a] != 1 != n[b]]
            if not all(inner > outer for inner, outer in steps):
                break
            place = j if steps else place
        axes.insert(place, axes.pop(i))
    return None if axes == sorted(axes) else tuple(axes)


def as_segments(operands: tuple[Seen, ...], along: int | None) -> Axes | None:
    """The same of what is reduced in segments along an axis, which is no axis of the operand."""
    rank = len(operands[0][0])
    apart = [(tuple(1 if d == along else n for d, n in enumerate(e)), s) for e, s in operands]
    segments = tuple(2 if d == along else 1 for d in range(rank)), (0,) * rank
    return _axes_of((*apart, segments))


Rule = Callable[[tuple[Seen, ...], int | None], Axes | None]


def along_kept_order(
    make: Callable[..., Array], inputs: Sequence[Any], along: int, *args: Any, rule: Rule = as_made
) -> Array:
    """What ``make(inputs, along, *args)`` makes along an axis, laid out by NumPy's ``rule``."""
    ranks = {v.ndim for v in inputs}
    rows = len(ranks) > 1 or not all(v.size for v in inputs) or in_force().dispatching
    rows = rows or all(_is_row_major(v) and not (rule is as_joined and _repeats(v)) for v in inputs)
    axes = None if rows else _axes_of_result(inputs, along, rule)
    if axes is None:
        return make(inputs, along, *args)
    return relaid(make([_permuted(v, axes) for v in inputs], axes.index(along), *args), axes)


def _repeats(value: Array) -> bool:
    return not value.is_loose and value.view_of_storage.map.repeats(value.shape)


def in_order_of_stacks(
    make: Callable[..., Array], inputs: Sequence[Array], cores: Sequence[int]
) -> Array:
    """What ``make`` makes of stacks of matrices or vectors, these in rows, the stacks in order.

    Of each input so many axes as ``cores`` says belong to a matrix or vector.
    """
    known = in_force().dispatching or any(v.is_loose for v in inputs)
    if known or all(map(_is_row_major, inputs)):
        return make(*inputs)
    pairs = list(zip(inputs, cores, strict=True))
    seen = [(n[: v.ndim - core], s[: v.ndim - core]) for v, core in pairs for n, s in (_seen(v),)]
    axes = _axes_of(tuple(seen))
    if axes is None:
        return make(*inputs)
    count = len(axes)
    made = make(
        *[
            _permuted(v, (*axes, *range(count, count + core))) if v.ndim > core else v
            for v, core in pairs
        ]
    )
    return relaid(made, (*axes, *range(count, made.ndim)))


def relaid(made: Array, axes: Axes) -> Array:
    """``made``, a new array, with its axes put back from the order ``axes``."""
    if axes == tuple(range(len(axes))):
        return made
    view = made.view_of_storage.transposed([axes.index(d) for d in range(len(axes))])
    return type(made)(made.storage, Laid(*view), made.is_scalar)


def _axes_of_result(
    inputs: Sequence[Any], along: int | None = None, rule: Rule = as_made
) -> Axes | None:
    arrays = [v for v in inputs if isinstance(v, Array | np.ndarray) and v.ndim]
    if any(type(v) is Array and v.is_loose for v in arrays):
        return None
    return rule(tuple(dict.fromkeys(map(_seen, arrays))), along) if arrays else None


def _seen(value: Any) -> Seen:
    """The shape and strides by which NumPy orders axes: of extents it looks at 1 alone."""
    shape = tuple(min(n, 2) for n in value.shape)
    if type(value) is Array:
        return shape, value.view_of_storage.strides()
    return shape, tuple(s // value.itemsize for s in value.strides)


@functools.lru_cache(maxsize=4096)
def _axes_of(operands: tuple[Seen, ...]) -> Axes | None:
    """The axes of the result in the order of its memory, None if it is row-major: NumPy's rule."""
    blanks = [_blank(*o) for o in operands]
    roles: list[Any] = [["readonly"]] * len(blanks)
    walk = np.nditer([*blanks, None], ["zerosize_ok"], [*roles, ["writeonly", "allocate"]])
    return _order(walk.operands[-1])


@functools.lru_cache(maxsize=4096)
def _axes_of_copy(shape: Shape, strides: tuple[int, ...]) -> Axes | None:
    return _order(np.empty_like(_blank(shape, strides)))


def _blank(shape: Shape, strides: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return as_strided(np.empty(1, np.int8), shape, strides)


def _order(a: np.ndarray[Any, Any]) -> Axes | None:
    axes = tuple(sorted(range(a.ndim), key=lambda d: -a.strides[d] if a.shape[d] > 1 else 0))
    return None if a.flags.c_contiguous else axes


def _permuted(value: Any, axes: Axes) -> Any:
    """``value`` of the result's rank, with its axes in the order ``axes``."""
    if not isinstance(value, Array | np.ndarray) or not value.ndim:
        return value
    if value.ndim < len(axes):
        value = value[(None,) * (len(axes) - value.ndim)]
    return (
        value.seen_through(value.view_of_storage.transposed(axes))
        if type(value) is Array
        else value.transpose(axes)
    )
