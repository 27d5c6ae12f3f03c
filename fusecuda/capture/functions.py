"""NumPy's functions on lazy arrays: a table from function to what it records.

What is not in the table runs as it would without us: operands are computed, NumPy is called, and
its results become lazy arrays again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..graph import build, library
from ..graph.dtypes import BOOL, FLOAT64, INT64, is_supported
from ..graph.index_map import axis_map
from ..graph.node import Node, Operand
from . import ufuncs
from .recorder import user_line
from .scalar import TracedScalar

if TYPE_CHECKING:
    from .array import Array

Handler = Callable[..., Any]
TABLE: dict[Any, Handler] = {}


def handles(*targets: Any) -> Callable[[Handler], Handler]:
    """Enter a handler in the table for the NumPy functions ``targets``."""

    def enter(handler: Handler) -> Handler:
        for target in targets:
            TABLE[target] = handler
        return handler

    return enter


# --- entry points


def call_function(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of NumPy's ``func``: recorded if the table has it, else computed by NumPy."""
    handler = TABLE.get(func)
    if handler is not None and not raising():
        out = kwargs.get("out")
        if out is not None:
            rest = {k: v for k, v in kwargs.items() if k != "out"}
            return assign_result(out, call_function(func, args, rest), cast=False)
        result = handler(*args, **kwargs)
        if result is not NotImplemented:
            return result
    if isinstance(func, np.ufunc):
        return func(*args, **kwargs)
    return eager(func, *args, **kwargs)


def call_ufunc(
    array_type: type[Array], ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]
) -> Any:
    """What ``ufunc.method(*inputs, **kwargs)`` records, or NumPy's result on computed values."""
    out = kwargs.get("out")
    if method == "__call__" and not raising():
        if not kwargs:
            result = ufuncs.apply(array_type, ufunc, inputs, None)
        elif kwargs.keys() <= {"out", "dtype", "where", "casting"} and ufunc.nout == 1:
            result = ufuncs.apply(array_type, ufunc, inputs, kwargs.get("dtype"))
        else:
            result = NotImplemented
        if ufunc is np.matmul and result is NotImplemented:
            result = matmul(*inputs)
        if result is not NotImplemented:
            where = kwargs.get("where", True)
            if out is None and where is True:
                return result
            if out is not None:
                target = out[0] if isinstance(out, tuple) else out
                if where is not True:
                    result = np.where(where, result, target)
                return assign_result(target, result, kwargs.get("casting", "same_kind"))
    elif method == "reduce" and ufunc in _UFUNC_REDUCE and out is None:
        axis = kwargs.pop("axis", 0)
        return call_function(_UFUNC_REDUCE[ufunc], inputs, {**kwargs, "axis": axis})
    elif method == "at":
        target = inputs[0]
        copy = np.array(plain(target))
        getattr(ufunc, method)(copy, *(plain(v) for v in inputs[1:]), **kwargs)
        target[...] = copy
        return None
    return eager(getattr(ufunc, method), *inputs, **kwargs)


def assign_result(target: Any, result: Any, cast: Any = "same_kind") -> Any:
    """Write ``result`` into ``target`` under NumPy's casting rule; ``target`` is returned."""
    from .array import Array  # noqa: PLC0415

    if isinstance(target, tuple):
        (target,) = target
    source = result.dtype if hasattr(result, "dtype") else np.asarray(plain(result)).dtype
    if cast and not np.can_cast(source, target.dtype, casting=cast):
        raise TypeError(
            f"Cannot cast ufunc output from {source!r} to {target.dtype!r} "
            f"with casting rule '{cast}'"
        )
    shape = getattr(result, "shape", ())
    if shape != target.shape and build.broadcast_shapes(shape, target.shape) != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} "
            f"doesn't match the broadcast shape {shape}"
        )
    if isinstance(target, Array):
        target[...] = result
    else:
        target[...] = plain(result)
    return target


def eager(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """NumPy's own result on computed values, its arrays made lazy; ``out`` is written to."""
    out = kwargs.pop("out", None)
    targets = out if isinstance(out, tuple) else (out,)
    result = func(*(plain(a) for a in args), **{k: plain(v) for k, v in kwargs.items()})
    if out is None:
        return wrap(result)
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, results, strict=True):
        assign_result(target, value, cast=False)
    return targets[0] if len(targets) == 1 else targets


def plain(value: Any) -> Any:
    """``value`` with every lazy array and followed number in it computed."""
    from .array import Array  # noqa: PLC0415

    if isinstance(value, Array):
        return value.compute()
    if type(value) is TracedScalar:
        return value.seen()
    if type(value) in (list, tuple):
        return type(value)(plain(v) for v in value)
    return value


def wrap(value: Any) -> Any:
    """``value`` with every NumPy array in it made lazy; numbers stay as they are."""
    from .array import Array  # noqa: PLC0415

    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return Array.of_array(value)
    if type(value) in (list, tuple):
        return type(value)(wrap(v) for v in value)
    return value


_error_state = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]
_known_state: tuple[Any, bool] = (None, False)


def raising() -> bool:
    """True under an ``errstate`` that raises or calls: kernels cannot, so NumPy computes."""
    global _known_state  # noqa: PLW0603 - remembers the answer for the state last seen
    state = _error_state.get(None) if _error_state is not None else object()
    if state is not _known_state[0]:
        kinds = np.geterr().values()
        _known_state = (state, any(v not in ("warn", "ignore") for v in kinds))
    return _known_state[1]


def _array(value: Any) -> Array:
    from .array import Array  # noqa: PLC0415

    return value if isinstance(value, Array) else Array.of_array(np.asarray(plain(value)))


def _of(node: Node) -> Array:
    from .array import Array  # noqa: PLC0415

    return Array.of_node(node)


# --- reductions


def _axes(a: Array, axis: Any) -> tuple[int, ...]:
    return tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)


def _reduced(a: Array, node: Node, kind: str, axis: Any, keepdims: Any) -> Array:
    axes = _axes(a, axis)
    result = build.reduce(kind, node, axes)
    if keepdims is True:
        result = build.reshape(result, tuple(1 if d in axes else n for d, n in enumerate(a.shape)))
    return _of(result)


def _selected(node: Node, where: Any, fill: Any) -> Node:
    """``node`` where ``where`` holds, ``fill`` (an identity) elsewhere."""
    if where is True or where is np._NoValue:
        return node
    mask = build.broadcast_to(ufuncs.node_of(_array(where), BOOL), node.shape)
    return build.where(mask, node, build.constant(fill, node.dtype))


def _plus_initial(result: Array, initial: Any, ufunc: np.ufunc) -> Any:
    return result if initial is np._NoValue else ufunc(result, result.dtype.type(initial))


def _summed(kind: str, ufunc: np.ufunc, identity: int) -> Handler:
    def handler(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = np._NoValue,
    ) -> Any:
        x = _array(a)
        if dtype is None:
            small = x.dtype.kind in "biu" and x.dtype.itemsize < 8
            loop = np.dtype(np.uint64 if x.dtype.kind == "u" else np.int64) if small else x.dtype
        else:
            loop = np.dtype(dtype)
        if not is_supported(x.dtype) or not is_supported(loop):
            return NotImplemented
        if loop == BOOL:
            kind_of_bool = "any" if kind == "sum" else "all"
            return _reduced(x, ufuncs.node_of(x, BOOL), kind_of_bool, axis, keepdims)
        node = _selected(ufuncs.node_of(x, loop), where, identity)
        return _plus_initial(_reduced(x, node, kind, axis, keepdims), initial, ufunc)

    return handler


sum_ = handles(np.sum)(_summed("sum", np.add, 0))
prod = handles(np.prod)(_summed("prod", np.multiply, 1))


def _extreme(kind: str, ufunc: np.ufunc) -> Handler:
    def handler(
        a: Any,
        axis: Any = None,
        out: None = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = np._NoValue,
    ) -> Any:
        x = _array(a)
        if not is_supported(x.dtype) or where not in (True, np._NoValue):
            return NotImplemented
        if initial is not np._NoValue and 0 in x.shape:
            return NotImplemented
        return _plus_initial(_reduced(x, x.read_node(), kind, axis, keepdims), initial, ufunc)

    return handler


max_ = handles(np.max, np.amax)(_extreme("max", np.maximum))
min_ = handles(np.min, np.amin)(_extreme("min", np.minimum))


def _logical(kind: str) -> Handler:
    def handler(
        a: Any, axis: Any = None, out: None = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        x = _array(a)
        if not is_supported(x.dtype):
            return NotImplemented
        node = _selected(ufuncs.node_of(x, BOOL), where, kind == "all")
        return _reduced(x, node, kind, axis, keepdims)

    return handler


any_ = handles(np.any)(_logical("any"))
all_ = handles(np.all)(_logical("all"))

_UFUNC_REDUCE = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}


def _arg_extreme(kind: str) -> Handler:
    def handler(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = False) -> Any:
        x = _array(a)
        if not is_supported(x.dtype):
            return NotImplemented
        axes = _axes(x, axis if axis is None else normalize_axis_index(axis, x.ndim))
        return _reduced(x, x.read_node(), kind, axes, keepdims is True)

    return handler


argmax = handles(np.argmax)(_arg_extreme("argmax"))
argmin = handles(np.argmin)(_arg_extreme("argmin"))


def _mean_type(x: Array, dtype: Any) -> Any:
    if dtype is not None:
        return np.dtype(dtype)
    return FLOAT64 if x.dtype.kind in "biu" else x.dtype


def _count(x: Array, axis: Any) -> int:
    return math.prod(x.shape[a] for a in _axes(x, axis))


@handles(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: Any = False,
    *,
    where: Any = np._NoValue,
) -> Any:
    """Sum over count, as NumPy computes it."""
    x = _array(a)
    loop = _mean_type(x, dtype)
    if not is_supported(x.dtype) or loop.kind != "f" or where not in (True, np._NoValue):
        return NotImplemented
    total = np.sum(x, axis=axis, dtype=loop, keepdims=keepdims is True)
    return total / loop.type(_count(x, axis))


@handles(np.var)
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **kwargs: Any,
) -> Any:
    """The mean of squared distances from the mean, in two passes, as NumPy computes it."""
    x = _array(a)
    ddof = kwargs.pop("correction", ddof)
    loop = _mean_type(x, dtype)
    if not is_supported(x.dtype) or loop.kind != "f" or any(
        v is not np._NoValue and v is not True for v in kwargs.values()
    ):
        return NotImplemented
    count = _count(x, axis)
    center = np.sum(x, axis=axis, dtype=loop, keepdims=True) / loop.type(count)
    distance = np.subtract(x, center)
    total = np.sum(distance * distance, axis=axis, dtype=loop, keepdims=keepdims is True)
    return total / loop.type(max(count - ddof, 0))


@handles(np.std)
def std(a: Any, *args: Any, **kwargs: Any) -> Any:
    """The square root of the variance."""
    found = var(a, *args, **kwargs)
    return found if found is NotImplemented else np.sqrt(found)


@handles(np.ptp)
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = False) -> Any:
    """The largest minus the smallest."""
    x = _array(a)
    keep = keepdims is True
    return np.max(x, axis=axis, keepdims=keep) - np.min(x, axis=axis, keepdims=keep)


@handles(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero."""
    return np.sum(_array(a) != 0, axis=axis, keepdims=keepdims)


def _ignoring_nan(function: Any, fill: int) -> Handler:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: None = None, **kw: Any) -> Any:
        x = _array(a)
        kept = np.where(np.isnan(x), x.dtype.type(fill), x) if x.dtype.kind == "f" else x
        return function(kept, axis=axis, dtype=dtype, **kw)

    return handler


handles(np.nansum)(_ignoring_nan(np.sum, 0))
handles(np.nanprod)(_ignoring_nan(np.prod, 1))


# --- selection and conversion


@handles(np.where)
def where(condition: Any, *branches: Any) -> Any:
    """``x`` where the condition holds, else ``y``."""
    if len(branches) != 2:
        return NotImplemented
    types = [ufuncs.type_of(b) if _typed(b) else None for b in branches]
    if None in types:
        return NotImplemented
    dtype = _common(branches)
    if not is_supported(dtype):
        return NotImplemented
    a, b = (ufuncs.node_of(v, dtype) for v in branches)
    return _of(build.where(ufuncs.node_of(_array(condition), BOOL), a, b))


def _typed(value: Any) -> bool:
    kinds = (int, float, complex, np.generic, np.ndarray, TracedScalar)
    return isinstance(value, kinds) or hasattr(value, "read_node")


def _common(values: Sequence[Any]) -> np.dtype[Any]:
    """NumPy's result type of arrays and numbers, Python numbers being weak."""
    probes = [
        v.value
        if type(v) is TracedScalar
        else v
        if isinstance(v, int | float | complex) and not isinstance(v, np.generic)
        else np.empty((), v.dtype)
        for v in values
    ]
    return np.result_type(*probes)


@handles(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: None = None, **kwargs: Any
) -> Any:
    """Bounded from below, then from above; a bound of None is none."""
    low = kwargs.pop("min", a_min)
    high = kwargs.pop("max", a_max)
    low = None if low is np._NoValue else low
    high = None if high is np._NoValue else high
    if kwargs:
        return NotImplemented
    x = _array(a)
    if low is None and high is None:
        return copy(x)
    bounds = [b for b in (low, high) if b is not None]
    if not all(_typed(b) for b in bounds):
        return NotImplemented
    dtype = _common([x, *bounds])
    if not is_supported(dtype) or dtype == BOOL:
        return NotImplemented
    result = x if x.dtype == dtype else astype(x, dtype)
    if low is not None:
        result = np.maximum(result, low)
    return result if high is None else np.minimum(result, high)


@handles(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: None = None) -> Any:
    """Rounded to the even neighbour in ``decimals`` places, as NumPy scales and unscales."""
    x = _array(a)
    if x.dtype.kind in "iu" and decimals >= 0:
        return copy(x)
    if x.dtype.kind != "f":
        return NotImplemented
    if decimals == 0:
        return np.rint(x)
    scale = x.dtype.type(10.0 ** abs(decimals))
    if decimals > 0:
        return np.rint(x * scale) / scale
    return np.rint(x / scale) * scale


@handles(np.astype)
def astype(
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    copy: bool = True,
    subok: bool = True,
    **kwargs: Any,
) -> Any:
    """The elements cast to ``dtype``; raises TypeError where ``casting`` forbids it."""
    target = np.dtype(dtype)
    if not np.can_cast(x.dtype, target, casting):
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to {target!r} according to the rule "
            f"'{casting}'"
        )
    if target == x.dtype and not copy:
        return x
    node = x.read_node()
    if is_supported(x.dtype) and is_supported(target):
        return _of(build.convert(node, target))
    if target.kind not in "biufc":
        return eager(lambda v: v.astype(target), x)
    args = (Operand(0), target.str)
    return _of(build.library("astype", [node], x.shape, target, args))


@handles(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """The same elements in memory of their own."""
    return _of(_array(a).read_node())


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write ``src`` into ``dst``."""
    if where is not True:
        src = np.where(where, src, dst)
    assign_result(dst, _array(src), casting)


# --- movement


@handles(np.reshape)
def reshape(
    a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    """Another shape: a view where NumPy gives one, else a copy."""
    x = _array(a)
    wanted = shape if newshape is None else newshape
    if order not in ("C", "A", "K"):
        return NotImplemented if order != "F" else _reshape_columns(x, wanted)
    target = np.broadcast_to(np.False_, x.shape)
    if type(wanted) is not tuple:
        wanted = tuple(wanted) if hasattr(wanted, "__iter__") else (wanted,)
    full = _resolved_shape(target.size, tuple(int(n) for n in wanted), x.shape)
    view = x.view_of_storage.reshaped(full)
    if view is not None and copy is not True:
        return x.seen_through(view)
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return _of(build.reshape(x.read_node(), full))


def _reshape_columns(x: Array, shape: Any) -> Array:
    wanted = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    return reshape(x.transpose(), wanted[::-1]).transpose()


def _resolved_shape(size: int, wanted: tuple[int, ...], old: tuple[int, ...]) -> tuple[int, ...]:
    """``wanted`` with its -1 worked out; raises NumPy's ValueError if the sizes differ."""
    known = math.prod(n for n in wanted if n != -1)
    unknown = wanted.count(-1)
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown and known and size % known == 0:
        wanted = tuple(size // known if n == -1 else n for n in wanted)
    if -1 in wanted or math.prod(wanted) != size or any(n < 0 for n in wanted):
        raise ValueError(f"cannot reshape array of size {size} into shape {wanted}") from None
    return wanted


@handles(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    """One axis."""
    return reshape(a, -1, order)


@handles(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Array:
    """A view with permuted axes."""
    x = _array(a)
    order = tuple(range(x.ndim))[::-1] if axes is None else normalize_axis_tuple(axes, x.ndim)
    if len(order) != x.ndim:
        raise ValueError("axes don't match array")
    return x.seen_through(x.view_of_storage.transposed(order))


@handles(np.matrix_transpose)
def matrix_transpose(x: Any) -> Array:
    """The last two axes exchanged."""
    return swapaxes(_array(x), -1, -2)


@handles(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes exchanged."""
    x = _array(a)
    i, j = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


@handles(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """A view with axes moved to new places."""
    x = _array(a)
    origin = normalize_axis_tuple(source, x.ndim, "source")
    target = normalize_axis_tuple(destination, x.ndim, "destination")
    order = [n for n in range(x.ndim) if n not in origin]
    for to, start in sorted(zip(target, origin, strict=True)):
        order.insert(to, start)
    return transpose(x, order)


@handles(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Array:
    """A view without axes of extent 1."""
    x = _array(a)
    if axis is None:
        axes = tuple(d for d, n in enumerate(x.shape) if n == 1)
    else:
        axes = normalize_axis_tuple(axis, x.ndim)
        if any(x.shape[d] != 1 for d in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return x[tuple(0 if d in axes else slice(None) for d in range(x.ndim))] if axes else x[...]


@handles(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Array:
    """A view with new axes of extent 1."""
    x = _array(a)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    axes = normalize_axis_tuple(axis, x.ndim + count)
    return x[tuple(None if d in axes else slice(None) for d in range(x.ndim + count))]


@handles(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A read-only view of a larger shape."""
    x = _array(array)
    wanted = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    if build.broadcast_shapes(x.shape, wanted) != wanted:
        raise ValueError(f"could not broadcast array from shape {x.shape} into {wanted}")
    from ..graph.index_map import broadcast  # noqa: PLC0415

    return x.seen_through(x.view_of_storage.mapped(broadcast(x.shape, wanted), wanted))


@handles(np.flip)
def flip(m: Any, axis: Any = None) -> Array:
    """A view with axes reversed."""
    x = _array(m)
    axes = _axes(x, axis)
    return x[tuple(slice(None, None, -1 if d in axes else 1) for d in range(x.ndim))]


@handles(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A view of a diagonal."""
    x = _array(a)
    if x.ndim != 2 or (axis1, axis2) != (0, 1):
        return NotImplemented
    i, j = max(-offset, 0), max(offset, 0)
    count = max(min(x.shape[0] - i, x.shape[1] - j), 0)
    rows = [(i if count else 0, 1, 0), (j if count else 0, 1, 0)]
    return x.seen_through(x.view_of_storage.mapped(axis_map(rows, 1), (count,)))


@handles(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum along a diagonal."""
    found = diagonal(a, offset, axis1, axis2)
    return found if found is NotImplemented else np.sum(found, dtype=dtype)


@handles(np.concatenate)
def concatenate(
    arrays: Any, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Arrays joined along an axis, in their common dtype."""
    parts = [_array(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    if any(p.ndim == 0 for p in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    common = np.dtype(dtype) if dtype is not None else np.result_type(*(p.dtype for p in parts))
    if not all(is_supported(d) for d in (common, *(p.dtype for p in parts))):
        return NotImplemented
    along = normalize_axis_index(axis, parts[0].ndim)
    return _of(build.concatenate([ufuncs.node_of(p, common) for p in parts], along))


@handles(np.stack)
def stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, **kw: Any) -> Any:
    """Arrays of one shape joined along a new axis."""
    parts = [_array(a) for a in arrays]
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([expand_dims(p, axis) for p in parts], axis, dtype=dtype)


def _joined(at_least: Callable[[Array], Array], axis_of: Callable[[Array], int]) -> Handler:
    def handler(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
        parts = [at_least(_array(a)) for a in tup]
        return concatenate(parts, axis_of(parts[0]), dtype=dtype)

    return handler


@handles(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    """Views with at least one axis."""
    found = [a if a.ndim else reshape(a, (1,)) for a in map(_array, arrays)]
    return found[0] if len(found) == 1 else tuple(found)


@handles(np.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    """Views with at least two axes."""
    found = [a if a.ndim > 1 else reshape(a, (1, a.size)) for a in map(_array, arrays)]
    return found[0] if len(found) == 1 else tuple(found)


handles(np.hstack)(_joined(atleast_1d, lambda a: 0 if a.ndim == 1 else 1))
handles(np.vstack)(_joined(atleast_2d, lambda a: 0))


@handles(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array framed by one value; other modes are NumPy's."""
    x = _array(array)
    value = kwargs.pop("constant_values", 0)
    if mode != "constant" or kwargs or np.ndim(plain(value)) or isinstance(pad_width, dict):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    fill = ufuncs.node_of(value, x.dtype)
    return _of(build.pad(x.read_node(), fill, tuple((lo, hi) for lo, hi in widths)))


@handles(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved around along axes."""
    x = _array(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    shifts = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    for amount, one in zip(shifts, axes * (len(shifts) // len(axes)), strict=True):
        along = normalize_axis_index(one, x.ndim)
        n = x.shape[along]
        cut = int(amount) % n if n else 0
        if cut:
            lead = (slice(None),) * along
            x = concatenate([x[(*lead, slice(n - cut, None))], x[(*lead, slice(None, n - cut))]], along)
    return x if x is not a else copy(x)


@handles(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """Differences of neighbours."""
    x = _array(a)
    if prepend is not np._NoValue or append is not np._NoValue or x.ndim == 0 or n < 0:
        return NotImplemented
    along = normalize_axis_index(axis, x.ndim)
    lead = (slice(None),) * along
    for _ in range(n):
        high, low = x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))]
        x = np.not_equal(high, low) if x.dtype == BOOL else high - low
    return x


@handles(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: Any = "raise") -> Any:
    """Elements at the positions given along an axis."""
    x = _array(a)
    if mode != "raise":
        return NotImplemented
    if axis is None:
        x, axis = ravel(x), 0
    along = normalize_axis_index(axis, x.ndim)
    index = indices if hasattr(indices, "dtype") else np.asarray(plain(indices))
    if index.dtype.kind not in "iu":
        return NotImplemented
    return x[(*(slice(None),) * along, index)]


# --- library calls


@handles(np.matmul)
def matmul(a: Any, b: Any, out: None = None, **kwargs: Any) -> Any:
    """The matrix product, by NumPy's BLAS."""
    if kwargs:
        return NotImplemented
    return _product("matmul", library.matmul_result, a, b)


@handles(np.dot)
def dot(a: Any, b: Any, out: None = None) -> Any:
    """The inner product, by NumPy's BLAS."""
    return _product("dot", library.dot_result, a, b)


def _product(name: str, result: Callable[..., Any], a: Any, b: Any) -> Any:
    x, y = _array(a), _array(b)
    shape, dtype = result((x.shape, x.dtype), (y.shape, y.dtype))
    return _of(build.library(name, [x.read_node(), y.read_node()], shape, dtype, line=user_line()))


def _sorted(name: str, index: bool) -> Handler:
    def handler(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> Any:
        x = _array(a)
        if order is not None or x.ndim == 0:
            return NotImplemented
        if axis is None:
            x, axis = ravel(x), 0
        stable = kwargs.pop("stable", None)
        along = normalize_axis_index(axis, x.ndim)
        options = (("axis", along), ("kind", "stable" if stable else kind))
        dtype = INT64 if index else x.dtype
        node = build.library(name, [x.read_node()], x.shape, dtype, (Operand(0),), options)
        return _of(node)

    return handler


sort = handles(np.sort)(_sorted("sort", index=False))
argsort = handles(np.argsort)(_sorted("argsort", index=True))


def _accumulated(name: str, total: Any) -> Handler:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        x = _array(a)
        if axis is None:
            x, axis = ravel(x), 0
        along = normalize_axis_index(axis, x.ndim)
        kind = np.dtype(dtype) if dtype is not None else total(np.empty(0, x.dtype)).dtype
        options = (("axis", along), ("dtype", kind.str))
        node = build.library(name, [x.read_node()], x.shape, kind, (Operand(0),), options)
        return _of(node)

    return handler


cumsum = handles(np.cumsum)(_accumulated("cumsum", np.sum))
cumprod = handles(np.cumprod)(_accumulated("cumprod", np.prod))


# --- creation like another array


@handles(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Any:  # fmt: skip
    """One value in the shape (and dtype) of another array."""
    kind = np.dtype(dtype) if dtype is not None else a.dtype
    if not is_supported(kind) or np.ndim(plain(fill_value)):
        return NotImplemented
    wanted = a.shape if shape is None else tuple(np.empty(shape, BOOL).shape)
    return _of(build.broadcast_to(ufuncs.node_of(fill_value, kind), wanted))


@handles(np.zeros_like, np.empty_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
               *, device: Any = None) -> Any:  # fmt: skip
    """Zeros in the shape (and dtype) of another array."""
    return full_like(a, 0, dtype, order, subok, shape)


@handles(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None,
              *, device: Any = None) -> Any:  # fmt: skip
    """Ones in the shape (and dtype) of another array."""
    return full_like(a, 1, dtype, order, subok, shape)


@handles(np.shape)
def shape_of(a: Any) -> Any:
    """The shape."""
    return a.shape


@handles(np.ndim)
def ndim_of(a: Any) -> int:
    """The number of axes."""
    return len(a.shape)


@handles(np.size)
def size_of(a: Any, axis: Any = None) -> int:
    """The number of elements, or the extent of an axis."""
    return math.prod(a.shape) if axis is None else a.shape[axis]


@handles(np.result_type)
def result_type(*values: Any) -> Any:
    """NumPy's result type."""
    return np.result_type(*(v.dtype if hasattr(v, "read_node") else v for v in values))

