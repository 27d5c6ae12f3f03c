"""What the tests draw from: values, operands and memory layouts; graphs are in random_graphs.py.

`SPECIALS` are the corner values of each dtype: both zeros, infinities, NaN, subnormals, the ends of
the range, powers of two where rounding changes, and for integers the widths of shifts.
`operands` makes the operands of an op row from its ``domain``; `lay_out` gives values another
memory layout: contiguous, off the 64-byte grid, reversed, every third element, transposed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fusecuda.graph import index_map
from fusecuda.graph.dtypes import ELEMENT_TYPES, DType, kind_of, part_of_complex
from fusecuda.graph.index_map import IndexMap, Shape
from fusecuda.graph.ops import POWERS, SCIPY_NAMES, OpRow

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

DTYPES: tuple[DType, ...] = tuple(ELEMENT_TYPES)
TRANSCENDENTAL: frozenset[str] = SCIPY_NAMES.union(
    {"cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2"}
    | {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot", "sinh", "cosh"}
    | {"tanh", "arcsinh", "arccosh", "arctanh", *POWERS.values()}
)
# On complex numbers NumPy's bits of these depend on the machine: some fuse products with sums.
COMPLEX_INEXACT = TRANSCENDENTAL | {
    "multiply",
    "divide",
    "square",
    "reciprocal",
    "absolute",
    "sqrt",
}
EITHER_ZERO = frozenset({"maximum", "minimum", "fmax", "fmin"})  # of ±0 NumPy returns either

# --- values


def finfo_of(dtype: DType) -> Any:
    """The limits of a floating dtype; NumPy tells none of bfloat16's."""
    if dtype.kind == "f":
        return np.finfo(str(dtype))
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def _specials(dtype: DType) -> Array:
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, width = np.iinfo(str(dtype)), 8 * dtype.itemsize
        lows = range(0, 4) if dtype.kind == "u" else range(-3, 4)
        values = {*lows, 5, 7, width - 1, width, width + 1, 100}
        values |= {int(info.min), int(info.min) + 1, int(info.max) - 1, int(info.max)}
        return np.array(sorted(values), dtype)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, 1e-3, 30.0, math.inf, -math.inf, math.nan]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    finfo = finfo_of(dtype)
    exact = 2.0 ** (finfo.nmant + 1)
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 0.1, math.pi, 10.0, 127.5, 1e10, exact - 1, exact]
    values += [float(finfo.eps), 1 + float(finfo.eps), 1 - float(finfo.epsneg), 2.0**31, 2.0**63]
    values += [float(finfo.max), float(finfo.tiny), float(finfo.smallest_subnormal), math.inf]
    with np.errstate(over="ignore"):
        return np.array([*values, *(-v for v in values), math.nan], dtype)


SPECIALS: dict[DType, Array] = {dtype: _specials(dtype) for dtype in DTYPES}


def random_values(rng: Rng, dtype: DType, shape: Shape, domain: str = "any") -> Array:
    """Values of ``dtype`` from an op row's ``domain``."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(str(dtype))
        wide = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        small = rng.integers(max(info.min, -9), 10, shape).astype(dtype)
        return np.where(rng.random(shape) < 0.5, wide, small)
    if dtype.kind == "c":
        real, imag = (random_values(rng, part_of_complex(dtype), shape, domain) for _ in range(2))
        return np.asarray(real + 1j * imag, dtype)
    values = {
        "exponent": lambda: rng.uniform(-100, 100, shape),
        "positive": lambda: np.exp(rng.uniform(-50, 50, shape)),
        "unit": lambda: rng.uniform(-1, 1, shape),
    }.get(domain, lambda: rng.normal(size=shape) * np.exp(rng.uniform(-9, 9, shape)))()
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype)


def mixed_values(rng: Rng, dtype: DType, shape: Shape) -> Array:
    """Random values with a special one here and there."""
    special = rng.choice(SPECIALS[dtype], shape)
    return np.where(rng.random(shape) < 0.15, special, random_values(rng, dtype, shape))


def operands(rng: Rng, row: OpRow, dtypes: Sequence[DType], count: int = 500) -> list[Array]:
    """1-d operands of one length: every combination of special values, and ``count`` random ones.

    Exponents of an integer power are not negative: that is an error, tested by itself.
    """
    grid = list(itertools.product(*(SPECIALS[d] for d in dtypes)))
    columns = []
    for i, dtype in enumerate(dtypes):
        drawn = random_values(rng, dtype, (count,), row.domain)
        column = np.concatenate([np.array([g[i] for g in grid], dtype), drawn])
        if row.name == "power" and i == 1 and dtype.kind == "i":
            column = np.where(column < 0, ~column, column)
        columns.append(column)
    if row.domain == "within":  # an index from either side of an axis that has an element
        index, extent = columns
        extent = extent % 2**40 + 1
        columns = [index % (2 * extent) - extent, extent]
    return columns


# --- layouts

LAYOUTS = ("contiguous", "offset", "reversed", "strided", "transposed", "mixed")


def lay_out(values: Array, layout: str) -> Array:
    """An array equal to ``values`` whose elements lie in memory as ``layout`` says."""
    shape = values.shape
    if layout == "contiguous" or not shape:
        return np.array(values, order="C")
    if layout == "offset":  # one element off whatever alignment the memory has
        room = np.empty(values.size + 1, values.dtype)[1:].reshape(shape)
    elif layout == "reversed":
        room = np.empty(shape, values.dtype)[tuple(slice(None, None, -1) for _ in shape)]
    elif layout == "strided":
        room = np.empty([3 * n for n in shape], values.dtype)[
            tuple(slice(1, None, 3) for _ in shape)
        ]
    elif layout == "transposed":
        room = np.empty(shape[::-1], values.dtype).T
    else:  # the last axis backwards, the others every other element
        steps = [slice(None, None, 2)] * (len(shape) - 1) + [slice(None, None, -1)]
        room = np.empty([*(2 * n for n in shape[:-1]), shape[-1]], values.dtype)[tuple(steps)]
    room[...] = values
    return room


def strides_of(arguments: Sequence[Any]) -> dict[int, Shape]:
    """The strides, in elements, of those arguments that are not contiguous."""
    return {
        i: tuple(s // a.itemsize for s in a.strides)
        for i, a in enumerate(arguments)
        if isinstance(a, np.ndarray) and not a.flags.c_contiguous
    }


def same_bits(a: Array, b: Array) -> bool:
    """True if dtype, shape and every bit agree, all NaN counting as one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if a.dtype.kind == "c":
        part = part_of_complex(a.dtype)
        a, b = a.reshape(-1).view(part), b.reshape(-1).view(part)
    if kind_of(a.dtype) != "f":
        return bool(np.array_equal(a, b))
    bits = f"u{a.itemsize}"
    return bool(np.all((a.view(bits) == b.view(bits)) | (np.isnan(a) & np.isnan(b))))


def random_view(rng: Rng, shape: Shape, injective: bool = False) -> tuple[IndexMap, Shape]:
    """A random view of an array of ``shape``: its map and its shape."""
    rows: list[tuple[int, int, int | None]] = []
    extents: list[int] = []
    for n in shape:
        kind = rng.integers(0, 8)
        if not injective and kind == 0 and n and rows and rows[-1][2] is not None:
            extents[-1] = min(extents[-1], n)  # a diagonal with the axis before
            rows.append((0, 1, len(extents) - 1))
        elif kind == 1 and n:
            rows.append((int(rng.integers(0, n)), 0, None))
        elif kind in (2, 3) and n:
            step = int(rng.choice([1, 2, 3, -1, -2]))
            start = int(rng.integers(0, n))
            room = (n - 1 - start) // step if step > 0 else start // -step
            extents.append(int(rng.integers(0 if rng.random() < 0.1 else 1, room + 2)))
            rows.append((start, step, len(extents) - 1))
        elif kind == 4 and n:
            extents.append(n)
            rows.append((n - 1, -1, len(extents) - 1))
        else:
            extents.append(n)
            rows.append((0, 1, len(extents) - 1))
    if not injective and rng.random() < 0.3:
        extents.append(int(rng.choice([1, 2, 5])))
    order = [int(i) for i in rng.permutation(len(extents))]
    if rng.random() < 0.5:
        order = list(range(len(extents)))
    place = {axis: j for j, axis in enumerate(order)}
    placed = [(o, s, None if j is None else place[j]) for o, s, j in rows]
    return index_map.axis_map(placed, len(extents)), tuple(extents[i] for i in order)
