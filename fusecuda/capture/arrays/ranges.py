"""Arrays computed from indices: ranges, identities, triangles and grids.

Each is recorded as arithmetic on an index and has NumPy's bits, since it does in the same order
what NumPy does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, FLOAT64, INT64, computed_in, is_supported
from ...graph.index_map import Shape
from ...graph.node import Node
from .computed import eager
from .creation import asarray, check_device, zeros
from .memory import in_force
from .table import handles
from .ufuncs import affine
from .values import arrays_in, of_node, plain
from .wrapping import lazy

_INT64_LIMIT = 2**63

# --- ranges


def arange(*args: Any, device: Any = None, like: None = None, **kwargs: Any) -> Any:
    """Return evenly spaced values within a given interval: ``arange([start,] stop[, step])``."""
    check_device(device)
    given = dict(zip(("start", "stop", "step", "dtype"), args, strict=False)) | kwargs
    dtype = given.pop("dtype", None)
    start, stop, step = (given.get(name) for name in ("start", "stop", "step"))
    if stop is None and "start" not in kwargs:
        start, stop = None, start
    start, step = 0 if start is None else start, 1 if step is None else step
    if given.keys() <= {"start", "stop", "step"} and len(args) <= 4:
        numbers: tuple[Any, Any, Any] = (start, stop, step)
        if step != 0 and all(map(_is_number, numbers)) and _is_little(_count(*numbers)):
            return lazy(np.arange(start, stop, step, dtype))  # type: ignore[call-overload]
        node = _arange(start, stop, step, dtype)
        if node is not None:
            return of_node(node, is_scalar=False)
    if any(True for _ in arrays_in((args, tuple(kwargs.values())))):
        return eager(np.arange, *args, **kwargs)
    return lazy(np.arange(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()}))


def _is_little(*extents: int | None) -> bool:
    """True if NumPy makes an array of such extents at once."""
    limit = in_force().at_once_below
    known = [n for n in extents if type(n) is int]
    return limit > 0 and len(known) == len(extents) and math.prod(known) * 8 <= limit


def _arange(start: Any, stop: Any, step: Any, dtype: Any) -> Node | None:
    """The range as NumPy fills it, from its first two elements; None where NumPy has to do it."""
    numbers = (start, stop, step)
    if not all(_is_number(n) for n in numbers):
        return None
    if dtype is None:
        kind = FLOAT64 if any(type(n) is float for n in numbers) else INT64
    else:
        kind = np.dtype(dtype)
    if not is_supported(kind) or kind.kind in "bc" or step == 0:
        return None
    count = _count(start, stop, step)
    if count is None:
        return None
    if count == 0:
        return build.broadcast_to(build.constant(0, kind), (0,))
    first = np.array(start, kind)[()]
    if count == 1:
        return build.broadcast_to(build.constant(first, kind), (1,))
    second = np.array(start + step, kind)[()]
    wider = computed_in(kind)  # in which NumPy computes the others
    with np.errstate(all="ignore"):
        base: Any = first.astype(wider)
        delta: Any = second.astype(wider) - base
        exact = (base + wider.type(0) * delta).astype(kind), (base + delta).astype(kind)
    if any(a.tobytes() != b.tobytes() for a, b in zip(exact, (first, second), strict=True)):
        return None  # NumPy stores these two, and computes only the others
    return build.convert(affine(count, wider, delta, base), kind)


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -_INT64_LIMIT < value < _INT64_LIMIT
    return type(value) is float and math.isfinite(value)


def _count(start: float, stop: float, step: float) -> int | None:
    distance = stop - start
    ratio = distance / step
    if not math.isfinite(ratio) or abs(ratio) > 2**53:
        return None
    if ratio == 0 and distance != 0:  # underflow
        return int(math.copysign(1, ratio) > 0)
    return max(math.ceil(ratio), 0)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Return evenly spaced numbers over a specified interval."""
    check_device(device)
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    kind = FLOAT64 if dtype is None else np.dtype(dtype)
    if _is_little(count) or not (
        _is_number(start) and _is_number(stop) and is_supported(kind) and axis in (0, -1)
    ):
        where: Any = (plain(start), plain(stop))
        found: Any = np.linspace(*where, count, endpoint, retstep, dtype, axis)  # type: ignore[call-overload]
        return lazy(found)
    node, step = _linspace(np.float64(start), np.float64(stop), count, bool(endpoint))
    if kind.kind in "iu":
        node = build.elementwise("floor", [node], FLOAT64)
    result = of_node(build.convert(node, kind), is_scalar=False)
    return (result, step) if retstep else result


def _linspace(first: np.float64, last: np.float64, count: int, endpoint: bool) -> tuple[Node, Any]:
    """The numbers as float64, and the distance between them."""
    division = count - 1 if endpoint else count
    distance = np.subtract(last, first)
    index = build.convert(build.iota((count,), 0), FLOAT64)

    def apply(op: str, node: Node, number: Any) -> Node:
        return build.elementwise(op, [node, build.constant(number, FLOAT64)], FLOAT64)

    step = distance / division if division > 0 else np.float64(np.nan)
    if division <= 0:
        node = apply("multiply", index, distance)
    elif step == 0:  # a denormal distance
        node = apply("multiply", apply("divide", index, division), distance)
    else:
        node = apply("multiply", index, step)
    node = apply("add", node, first)
    if endpoint and count > 1:
        position = build.constant(count - 1, INT64)
        is_last = build.elementwise("equal", [build.iota((count,), 0), position], BOOL)
        node = build.where(is_last, build.constant(last, FLOAT64), node)
    return node, step


# --- identities and triangles


def eye(
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803
    k: int = 0, dtype: Any = float, order: Any = "C", *, device: Any = None, like: None = None,
) -> Any:  # fmt: skip
    """Return a 2-D array with ones on the diagonal and zeros elsewhere."""
    check_device(device)
    kind = np.dtype(float if dtype is None else dtype)
    if order == "F" or not is_supported(kind) or _is_little(N, N if M is None else M):
        return lazy(np.eye(N, M, k, kind, order))
    return of_node(build.convert(_compared("equal", N, M, k), kind), is_scalar=False)


def identity(n: int, dtype: Any = None, *, like: None = None) -> Any:
    """Return the identity array."""
    return eye(n, dtype=dtype)


def tri(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0, dtype: Any = float, *, like: None = None,
) -> Any:  # fmt: skip
    """Return an array with ones at and below the given diagonal and zeros elsewhere."""
    kind = np.dtype(float if dtype is None else dtype)
    if not is_supported(kind) or _is_little(N, N if M is None else M):
        return lazy(np.tri(N, M, k, kind))
    return of_node(build.convert(_compared("greater_equal", N, M, k), kind), is_scalar=False)


def _compared(op: str, n: int, m: int | None, k: int) -> Node:
    """Whether row + k and column compare, for each element of an n × m matrix."""
    rows = max(operator.index(n), 0)
    columns = rows if m is None else max(operator.index(m), 0)
    shape = (rows, columns)
    offset = min(max(operator.index(k), -rows - 1), columns + 1)
    row = build.iota(shape, 0)
    if offset:
        row = build.elementwise("add", [row, build.constant(offset, INT64)], INT64)
    return build.elementwise(op, [row, build.iota(shape, 1)], BOOL)


def _below(shape: Shape, k: int) -> Any:
    """The mask of what lies at and below diagonal ``k`` of the last two axes."""
    if not shape:
        raise TypeError("a 0-d array has no triangles")
    return tri(shape[-2:][0], shape[-1], k=k, dtype=bool)


def tril(m: Any, k: int = 0) -> Any:
    """Lower triangle of an array."""
    x = asarray(m)
    return np.where(_below(x.shape, k), x, x.dtype.type(0))


def triu(m: Any, k: int = 0) -> Any:
    """Upper triangle of an array."""
    x = asarray(m)
    return np.where(_below(x.shape, k - 1), x.dtype.type(0), x)


handles(np.tril)(tril)
handles(np.triu)(triu)


# --- grids


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return a tuple of coordinate matrices from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [asarray(x).reshape(-1) for x in xi]
    places = list(range(len(vectors)))
    if indexing == "xy" and len(places) > 1:
        places[:2] = [1, 0]
    extents = [0] * len(vectors)
    for vector, place in zip(vectors, places, strict=True):
        extents[place] = vector.size
    found = []
    for vector, place in zip(vectors, places, strict=True):
        grid = vector[tuple(slice(None) if d == place else None for d in range(len(vectors)))]
        grid = grid if sparse else np.broadcast_to(grid, tuple(extents))
        found.append(grid.copy() if copy else grid)
    return tuple(found)


handles(np.meshgrid)(meshgrid)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """Return an array representing the indices of a grid."""
    extents = tuple(operator.index(n) for n in dimensions)
    kind = np.dtype(dtype)
    if not is_supported(kind) or kind == BOOL:
        return lazy(np.indices(extents, dtype, sparse=sparse))  # type: ignore[call-overload]
    rank = len(extents)
    if sparse:
        flat = (arange(n, dtype=kind) for n in extents)
        return tuple(
            a.reshape(tuple(a.size if i == d else 1 for i in range(rank)))
            for d, a in enumerate(flat)
        )
    if not rank:
        return zeros((0,), kind)
    parts = [build.convert(build.iota((1, *extents), d + 1), kind) for d in range(rank)]
    return of_node(build.concatenate(parts, 0), is_scalar=False)


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: None = None, **kw: Any
) -> Any:
    """Construct an array by executing a function over each coordinate."""
    grid = indices(shape, dtype=dtype)
    return function(*(grid[i] for i in range(len(grid))), **kw)
