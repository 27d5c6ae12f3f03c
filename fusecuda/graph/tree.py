"""The reduction tree: in which order the elements of one reduction are combined.

The n elements of a reduction, in row-major order of the reduced axes, are cut into chunks of CHUNK.
In a chunk, lane l of LANES combines elements l, l + LANES, l + 2 LANES, … one after the other; the
lanes are then folded in halves, lane l with lane l + 16, then with l + 8, and so on. The chunks are
combined pairwise: neighbours 0 and 1, 2 and 3, …, then the results in the same way, an odd one out
passing up unchanged. The tree depends on n alone: not on threads, vector width, memory layout or on
what is fused, and its depth, 16 + 5 + log2(n / 512), is that of NumPy's pairwise summation. A GPU's
lanes take four neighbours at a time, so that a lane reads 16 bytes at once; all else is the same.

Missing elements count as the identity, and -0.0 is the one of addition (x + -0.0 is x for every x,
both zeros included). A sum of nothing but negative zeros is +0.0, as in NumPy. Halves are combined
as floats, and the result is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import computed_in

LANES = 32
CHUNK = 512

Array = np.ndarray[Any, Any]


def tree_reduce(ufunc: np.ufunc, rows: Array, identity: Any, group: int = 1) -> Array:
    """``ufunc`` combined over the last axis of ``rows`` in the order of the tree; same dtype.

    Each lane takes ``group`` neighbours at a time: 1 on the CPU, 4 on a GPU. If that is 0, the
    order is NumPy's.
    """
    if not group:
        return np.asarray(ufunc.reduce(rows, axis=-1, dtype=rows.dtype, initial=identity))
    *lead, n = rows.shape
    chunks = max(1, -(-n // CHUNK))
    padded = np.full((*lead, chunks * CHUNK), identity, rows.dtype)
    padded[..., :n] = rows
    steps = padded.reshape(*lead, chunks, CHUNK // LANES // group, LANES, group)
    lanes = steps[..., 0, :, 0].copy()
    for element in range(1, CHUNK // LANES):
        lanes = ufunc(lanes, steps[..., element // group, :, element % group])
    width = LANES // 2
    while width:
        lanes = ufunc(lanes[..., :width], lanes[..., width : 2 * width])
        width //= 2
    partial = lanes[..., 0]
    while partial.shape[-1] > 1:
        even = partial[..., : partial.shape[-1] // 2 * 2]
        paired = ufunc(even[..., 0::2], even[..., 1::2])
        odd = partial[..., even.shape[-1] :]
        partial = np.concatenate([paired, odd], axis=-1)
    return np.asarray(partial[..., 0])


def tree_sum(rows: Array, group: int = 1) -> Array:
    """The sums over the last axis of ``rows``, in the order of the tree; no NaN is lost."""
    wider: Any = rows.astype(computed_in(rows.dtype), copy=False)
    zero: Any = np.zeros((), wider.dtype)
    identity = -zero if wider.dtype.kind in "fc" else zero
    return np.asarray(tree_reduce(np.add, wider, identity, group) + zero).astype(rows.dtype)


def tree_prod(rows: Array, group: int = 1) -> Array:
    """The products over the last axis of ``rows``, in the order of the tree."""
    wider = rows.astype(computed_in(rows.dtype), copy=False)
    product = tree_reduce(np.multiply, wider, np.ones((), wider.dtype), group)
    return product.astype(rows.dtype, copy=False)


# --- scans

SCANNED_ROW = 1 << 14  # elements of a row, up to which a warp of a GPU has it to itself
SCANNED_TILE = 1 << 12  # elements of a longer one that are one of its tiles


def tree_scan(ufunc: np.ufunc, rows: Array, identity: Any) -> Array:
    """``ufunc`` over the elements of the last axis of ``rows`` up to each, as a GPU has it.

    A lane combines its four neighbours in order, and a step's 32 lanes are combined in doubling
    distances: with the lane before, then two, four, eight and sixteen before. The four steps of a
    chunk follow in order, and so do chunks. So an element is what comes before its chunk, with
    what its chunk's steps and its step's lanes have before it, with those of its lane. Rows of more
    than SCANNED_ROW elements are in tiles, and chunks follow in order in each; see `_tiles_before`.
    """
    *lead, n = rows.shape
    tile = SCANNED_TILE if n > SCANNED_ROW else max(1, -(-n // CHUNK)) * CHUNK
    tiles = max(1, -(-n // tile))
    padded = np.full((*lead, tiles * tile), identity, rows.dtype)
    padded[..., :n] = rows
    shape = (*lead, tiles, tile // CHUNK, CHUNK // LANES // 4, LANES, 4)
    own = ufunc.accumulate(padded.reshape(shape), axis=-1)
    lanes = _doubling(ufunc, own[..., -1])
    steps = ufunc.accumulate(lanes[..., -1], axis=-1)
    carried = ufunc.accumulate(steps[..., -1], axis=-1)
    front = _behind(carried, identity)
    if n > SCANNED_ROW:
        front = ufunc(_tiles_before(ufunc, carried[..., -1], identity)[..., None], front)
    before = ufunc(_behind(steps, identity)[..., None], _behind(lanes, identity))
    before = ufunc(front[..., None, None], before)
    found: Array = ufunc(before[..., None], own)
    return found.reshape(*lead, tiles * tile)[..., :n]


def _tiles_before(ufunc: np.ufunc, totals: Array, identity: Any) -> Array:
    """What comes before each of the tiles whose ``totals`` these are.

    Tiles are in groups of 32, which are combined in doubling distances as lanes are; so are groups
    in groups of groups, and so on. What larger groups have before comes in front.
    """
    count, each = totals.shape[-1], 1
    before: Array = np.full_like(totals, identity)
    while True:
        groups = -(-totals.shape[-1] // LANES)
        padded = np.full((*totals.shape[:-1], groups * LANES), identity, totals.dtype)
        padded[..., : totals.shape[-1]] = totals
        within = _doubling(ufunc, padded.reshape(*totals.shape[:-1], groups, LANES))
        behind = _behind(within, identity).reshape(padded.shape)
        before = ufunc(np.repeat(behind, each, axis=-1)[..., :count], before)
        if groups == 1:
            return before
        totals, each = within[..., -1], each * LANES


def _doubling(ufunc: np.ufunc, lanes: Array) -> Array:
    """Each of the lanes along the last axis with all before it."""
    lanes, distance = lanes.copy(), 1
    while distance < LANES:
        lanes[..., distance:] = ufunc(lanes[..., :-distance], lanes[..., distance:])
        distance *= 2
    return lanes


def _behind(totals: Array, identity: Any) -> Array:
    """What is in front of each of ``totals`` along the last axis."""
    first = np.full_like(totals[..., :1], identity)
    return np.concatenate([first, totals[..., :-1]], axis=-1)


SCANNED = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def scan_by_tree(kind: str, array: Array, axis: int, dtype: Any) -> Array:
    """The running sums, … of ``array`` along ``axis``; halves are rounded once."""
    wider = array.astype(computed_in(np.dtype(dtype)), copy=False)
    rows = np.moveaxis(wider, axis, -1)
    found = tree_scan(SCANNED[kind], rows, _scanned_from(kind, wider.dtype))
    return np.moveaxis(found, -1, axis).astype(dtype, copy=False)


def _scanned_from(kind: str, dtype: Any) -> Any:
    """What a scan starts from: it leaves every value as it is."""
    if kind == "prod":
        return np.ones((), dtype)
    if kind == "sum":
        zero: Any = np.zeros((), dtype)
        return -zero if dtype.kind in "fc" else zero
    if dtype.kind == "f":
        return np.asarray(-np.inf if kind == "max" else np.inf, dtype)
    info = np.iinfo(dtype)
    return np.asarray(info.min if kind == "max" else info.max, dtype)


# --- segments

Combine = Callable[[Array, int], Array]  # rows and the group of a lane to one value for each row


def reduce_segments(kind: str, rows: Array, first: Array, last: Array, group: int = 1) -> Array:
    """Each segment, from ``first`` on and before ``last``, of the last axis of ``rows`` reduced.

    A sum has no zero to start from, so negative zeros stay. Segments have elements.
    """
    found = np.empty((*rows.shape[:-1], first.size), rows.dtype)
    lengths = last - first
    for length in np.unique(lengths):
        (those,) = np.nonzero(lengths == length)
        picked = rows[..., first[those][:, None] + np.arange(length)]
        found[..., those] = _SEGMENTS[kind](picked, group)
    return found


def _plain_sum(rows: Array, group: int) -> Array:
    wider: Any = rows.astype(computed_in(rows.dtype), copy=False)
    zero: Any = np.zeros((), wider.dtype)
    return tree_reduce(np.add, wider, -zero if wider.dtype.kind in "fc" else zero, group)


_SEGMENTS: dict[str, Combine] = {
    "sum": _plain_sum,
    "prod": tree_prod,
    "max": lambda rows, _: np.asarray(np.max(rows, axis=-1)),
    "min": lambda rows, _: np.asarray(np.min(rows, axis=-1)),
    "any": lambda rows, _: np.asarray(np.any(rows, axis=-1)),
    "all": lambda rows, _: np.asarray(np.all(rows, axis=-1)),
}
SEGMENTS = tuple(_SEGMENTS)  # the kinds of reductions that segments have
