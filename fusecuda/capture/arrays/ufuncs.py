"""Ufuncs: how a call of a NumPy ufunc on lazy arrays becomes nodes, with NumPy's own types."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import BOOL, FLOAT32, FLOAT64, INT64, DType, is_supported, kind_of, type_text
from ...graph.library import at_line
from ...graph.node import Node, Operand
from ...graph.ops import OPS, SCIPY_NAMES
from ..record.flight import atomic
from ..record.numbers import TracedScalar, value_seen
from ..record.recorder import current_recorder
from ..record.user_frames import user_line
from .array import Array
from .held import compute_first
from .kept_order import in_kept_order

_RENAMED = {"deg2rad": "radians", "rad2deg": "degrees", "float_power": "power"}
_COMPARISONS = frozenset(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])


def op_name(ufunc: np.ufunc) -> str | None:
    """The op-table row that ``ufunc`` is, or None; SciPy's are known if somebody has imported it.

    SciPy has some of NumPy's functions too, as ufuncs of its own: the row is the same.
    """
    name = _RENAMED.get(ufunc.__name__, ufunc.__name__)
    row = OPS.get(name)
    if row is None:
        return None
    if row.home == "numpy" and getattr(np, ufunc.__name__, None) is ufunc:
        return name
    return name if getattr(sys.modules.get("scipy.special"), name, None) is ufunc else None


def _tells_faults(ufunc: np.ufunc) -> bool:
    """True for a function of SciPy's that is to warn or raise where it is singular and the like."""
    special: Any = sys.modules.get("scipy.special")
    if getattr(special, ufunc.__name__, None) is not ufunc:
        return False
    return any(kind != "ignore" for name, kind in special.geterr().items() if name != "memory")


def type_of(value: Any) -> DType | type | None:
    """What ``value`` counts as in type resolution: its dtype, or a weak Python type.

    None for what is no number, such as memory of which NumPy makes an array.
    """
    kind = type(value)
    if kind is Array or kind is np.ndarray:
        return value.dtype  # type: ignore[no-any-return]
    if kind in build.WEAK_TYPES and kind is not bool:
        return kind
    if kind is TracedScalar:
        return value.type  # type: ignore[no-any-return]
    if isinstance(value, bool | np.bool_):
        return BOOL
    dtype: DType | None = getattr(value, "dtype", None)
    if dtype is None and isinstance(value, build.WEAK_TYPES):  # of a kind of the user's own
        dtype = np.asarray(value).dtype
        return None if dtype.hasobject else dtype
    return dtype


@functools.lru_cache(maxsize=4096)
def name_of_loop(ufunc: np.ufunc, loop: tuple[DType, ...]) -> str | None:
    """The op-table row that ``ufunc`` is, if kernels can compute it in these types."""
    name = op_name(ufunc)
    return name if name is not None and build.fusible(name, loop[:-1]) else None


@atomic
def apply(array_type: type[Array], ufunc: np.ufunc, inputs: Sequence[Any], dtype: Any) -> Any:
    """The lazy result of ``ufunc`` on ``inputs``, or NotImplemented if it has no graph meaning.

    Raises what NumPy raises for operands whose shapes or types do not fit.
    """
    compute_first(inputs)
    types = [type_of(v) for v in inputs]
    if any([t is None for t in types]):  # to which the dtype of doubles is equal
        return NotImplemented
    if ufunc in SPECIAL and dtype is None:
        return SPECIAL[ufunc](array_type, inputs)
    if ufunc.nout != 1 or ufunc.signature is not None:
        return NotImplemented
    if dtype is not None:
        wanted = (None,) * ufunc.nin + (np.dtype(dtype),)
        loop = ufunc.resolve_dtypes((*types, None), signature=wanted)
    elif ufunc is np.clip:
        return NotImplemented
    else:
        loop = build.resolve(ufunc, *types)
    name = name_of_loop(ufunc, loop)
    if (name is None or name in SCIPY_NAMES) and _tells_faults(ufunc):
        return NotImplemented
    if name is not None:
        try:
            return in_kept_order(_by_kernel, inputs, array_type, name, loop)
        except OverflowError:
            if name not in _COMPARISONS:
                raise
            return _compare_out_of_range(array_type, ufunc, inputs)
    return in_kept_order(_by_library, inputs, array_type, ufunc, loop[-1], dtype is not None)


def _by_kernel(
    inputs: Sequence[Any], array_type: type[Array], name: str, loop: Sequence[DType]
) -> Array:
    operands = [
        _truth_of(v) if d is BOOL and type_of(v) is int else node_of(v, d)
        for v, d in zip(inputs, loop, strict=False)
    ]
    line = user_line() if OPS[name].may_fail else None
    return array_type.of_node(build.elementwise(name, operands, loop[-1], line))


@atomic
def apply_row(array_type: type[Array], name: str, inputs: Sequence[Any]) -> Any:
    """The lazy result of a row on floats that is no ufunc: float32 of nothing else, else float64.

    Raises TypeError for complex numbers and what is no number.
    """
    known = (int, float, TracedScalar)
    arrays = [v if type(v) in known or hasattr(v, "dtype") else np.asarray(v) for v in inputs]
    kinds = [type_of(v) for v in arrays]
    found = np.result_type(*(k(0) if isinstance(k, type) else k for k in kinds if k is not None))
    if kind_of(found) not in "biuf" or found.itemsize > 8:
        raise TypeError(f"{name} is not defined for {found}")
    dtype = FLOAT32 if found == FLOAT32 else FLOAT64
    loop = (dtype,) * (len(arrays) + 1)
    return in_kept_order(_by_kernel, arrays, array_type, name, loop)


def node_of(value: Any, dtype: DType | None = None) -> Node:
    """The node of an operand, cast to ``dtype``; Python scalars become constants of it."""
    if type(value) is TracedScalar:
        return value.node(dtype)
    if type(value) is Array or isinstance(value, Array):
        node = value.read_node()
        return node if dtype is None or node.dtype is dtype else converted(node, dtype)
    if isinstance(value, np.ndarray):
        node = _counting(value) or Array.of_array(value).read_node()
        return node if dtype is None else converted(node, dtype)
    if dtype is None:
        dtype = np.asarray(value).dtype
    return constant(value, dtype)


def _truth_of(value: Any) -> Node:
    """Whether an int is not 0; it has to be one of C's, as NumPy has it."""
    traced = type(value) is TracedScalar
    node = value.node(INT64) if traced else constant(np.int64(value), INT64)
    return build.convert(node, BOOL)


def constant(value: Any, dtype: DType) -> Node:
    """A number of Python's or NumPy's as a constant of ``dtype``."""
    if isinstance(value, np.generic):
        with np.errstate(all="ignore"):
            return build.constant(value.astype(dtype), dtype)
    return build.constant(value, dtype)


def converted(node: Node, dtype: DType) -> Node:
    """``node`` cast to ``dtype``, by NumPy where kernels do not know one of the types."""
    if node.dtype.kind == "c" and dtype.kind not in "bc" and not _warned_by_replays():
        at_line(user_line())(_warn_of_lost_parts, (), {})
    if node.dtype == dtype or (is_supported(node.dtype) and is_supported(dtype)):
        return build.convert(node, dtype)
    line = user_line()
    return build.library(
        "astype", [node], node.shape, dtype, (Operand(0), type_text(dtype)), line=line
    )


def _warned_by_replays() -> bool:
    """True if each replay warns that imaginary parts are lost, where it is lost now."""
    recorder = current_recorder()
    if not recorder.may_compute:
        return False
    return recorder.eager(_warn_of_lost_parts, (), {}) is not NotImplemented


def _warn_of_lost_parts() -> None:
    """Warn as NumPy does, of the line of the caller."""
    text = "Casting complex values to real discards the imaginary part"
    warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=2)


def _counting(array: np.ndarray[Any, Any]) -> Node | None:
    """The node of an int64 array that counts evenly along one axis, as an arange; else None."""
    if array.dtype != INT64 or not array.ndim or not 0 < array.size == max(array.shape):
        return None
    row = array.reshape(-1)
    start, step = int(row[0]), int(row[1]) - int(row[0]) if row.size > 1 else 1
    if row[-1] != start + step * (row.size - 1) or np.any(np.diff(row) != step):
        return None
    return build.reshape(affine(row.size, INT64, step, start), array.shape)


def affine(count: int, dtype: DType, factor: Any, offset: Any) -> Node:
    """``count`` indices times ``factor``, plus ``offset``, in ``dtype``."""
    node = build.convert(build.iota((count,), 0), dtype)
    if factor != 1:
        node = build.elementwise("multiply", [node, build.constant(factor, dtype)], dtype)
    if offset != 0 or (factor != 1 and dtype.kind == "f"):  # there may be a zero with a sign
        node = build.elementwise("add", [node, build.constant(offset, dtype)], dtype)
    return node


def _compare_out_of_range(array_type: type[Array], ufunc: np.ufunc, inputs: Sequence[Any]) -> Array:
    """A comparison with a Python integer that the array's type cannot hold: one answer for all."""
    probes = [v if isinstance(v, int) else np.zeros((), v.dtype)[()] for v in inputs]
    shape = build.broadcast_shapes(*(getattr(v, "shape", ()) for v in inputs))
    answer = build.constant(bool(ufunc(*probes)), BOOL)
    return array_type.of_node(build.broadcast_to(answer, shape))


def _by_library(
    inputs: Sequence[Any], array_type: type[Array], ufunc: np.ufunc, dtype: DType, is_asked: bool
) -> Any:
    """A ufunc without kernel text, or on types without one, runs as NumPy's own.

    If ``is_asked``, the operands' types alone would lead to another loop.
    """
    if getattr(np, ufunc.__name__, None) is not ufunc or dtype.hasobject:
        return NotImplemented
    kwargs = {"dtype": type_text(dtype)} if is_asked else {}
    if any(type(v) is TracedScalar for v in inputs):
        result = _with_numbers(ufunc, inputs, kwargs)
        if result is not NotImplemented:
            return result
        inputs = list(map(value_seen, inputs))
    operands: list[Node] = []
    args: list[Any] = []
    shapes = []
    for value in inputs:
        if isinstance(value, array_type | np.ndarray):
            args.append(Operand(len(operands)))
            operands.append(node_of(value))
            shapes.append(value.shape)
        elif isinstance(value, bool | int | float | complex):
            args.append(value)
        else:
            return NotImplemented
    shape = build.broadcast_shapes(*shapes)
    node = build.library(
        ufunc.__name__, operands, shape, dtype, tuple(args), tuple(kwargs.items()), user_line()
    )
    return array_type.of_node(node)


def _with_numbers(ufunc: np.ufunc, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result for followed numbers, computed by each replay; NotImplemented if it cannot be."""
    recorder = current_recorder()
    return recorder.eager(ufunc, tuple(inputs), kwargs) if recorder.may_compute else NotImplemented


def _divmod(array_type: type[Array], inputs: Sequence[Any]) -> Any:
    quotient = apply(array_type, np.floor_divide, inputs, None)
    if quotient is NotImplemented:
        return NotImplemented
    return quotient, apply(array_type, np.remainder, inputs, None)


def _modf(array_type: type[Array], inputs: Sequence[Any]) -> Any:
    (x,) = inputs
    dtype = np.modf.resolve_dtypes((x.dtype, None, None))[0]
    x = x if x.dtype == dtype else x.astype(dtype)  # whole parts of integers are no integers
    whole = np.trunc(x)
    infinite = np.isinf(x)
    fraction = np.where(infinite, x.dtype.type(0), x - whole)
    return np.copysign(fraction, x), whole


def _conjugate(array_type: type[Array], inputs: Sequence[Any]) -> Any:
    (x,) = inputs
    loop = build.resolve(np.conjugate, x.dtype)  # of bools that of bytes
    if x.dtype.kind != "c":
        return in_kept_order(lambda given: array_type.of_node(node_of(given[0], loop[0])), inputs)
    if not is_supported(x.dtype):
        return NotImplemented
    return in_kept_order(_by_kernel, inputs, array_type, "conjugate", loop)


def _float_power(array_type: type[Array], inputs: Sequence[Any]) -> Any:
    loop = build.resolve(np.float_power, *map(type_of, inputs))
    if not build.fusible("power", loop[:-1]):
        return NotImplemented
    return in_kept_order(_by_kernel, inputs, array_type, "power", loop)


SPECIAL: dict[np.ufunc, Callable[..., Any]] = {
    np.divmod: _divmod,
    np.modf: _modf,
    np.conjugate: _conjugate,
    np.float_power: _float_power,
}
