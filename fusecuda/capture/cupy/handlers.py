"""Handlers: what records the functions of `cupy` and the methods of `cupy.ndarray`.

Most are NumPy's handlers of the same names, given what CuPy's functions take and NumPy's do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import creation, movement, ranges, searching, selection
from ..arrays.dispatch import call_function
from ..arrays.memory import in_force
from ..arrays.table import TABLE
from ..record.numbers import TracedScalar
from .alike import ALIKE

Function = Callable[..., Any]


def _numpy(function: Any) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        return call_function(function, args, {k: v for k, v in kwargs.items() if _said(k, v)})

    return call


def _said(name: str, value: Any) -> bool:
    return value is not None or name == "axis"


# --- functions of the namespace that NumPy's handlers record

_SAME = """
    all amax amin any append argmax argmin argsort argwhere column_stack compress concatenate copy
    cumprod cumsum diff dot dstack empty_like extract flatnonzero full_like hstack inner isclose
    kron matmul max mean min nan_to_num nanmax nanmean nanmin nanprod nonzero ones_like outer pad
    prod ptp ravel repeat reshape roll sort stack std sum take tensordot trace tril triu var vdot
    vstack tile zeros_like
"""
RECORDED: dict[str, Function] = {name: _numpy(getattr(np, name)) for name in _SAME.split()}


def _recorded(*names: str) -> Callable[[Function], Function]:
    def enter(function: Function) -> Function:
        RECORDED.update(dict.fromkeys(names, function))
        return function

    return enter


RECORDED["linalg.norm"] = _numpy(np.linalg.norm)
RECORDED["concat"] = RECORDED["concatenate"]
RECORDED["row_stack"] = RECORDED["vstack"]


# --- what CuPy computes otherwise than NumPy, as `ufuncs.DIFFERENT` tells of ufuncs


def _follows_cupy() -> bool:
    """True on a GPU; on the CPU a script follows NumPy."""
    recorder: Any = in_force()
    return bool(recorder.cupy_options.device != "cpu")


def _where_alike(name: str, is_alike: Callable[..., bool]) -> Function:
    """What records NumPy's function where the two are alike."""
    record = _numpy(getattr(np, {"round_": "round"}.get(name, name)))

    def call(*args: Any, **kwargs: Any) -> Any:
        if _follows_cupy() and not is_alike(*args, **kwargs):
            return NotImplemented
        return record(*args, **kwargs)

    return call


RECORDED |= {name: _where_alike(name, is_alike) for name, is_alike in ALIKE.items()}


@_recorded("clip")
def _clip(a: Any, low: Any = None, **kwargs: Any) -> Any:
    """To CuPy a bound of NaN is none."""
    low = kwargs.pop("a_min", kwargs.pop("min", low))
    high = kwargs.pop("a_max", kwargs.pop("max", None))
    if _follows_cupy():
        low, high = _bound(low, -np.inf), _bound(high, np.inf)
    return _numpy(np.clip)(a, low, high, **kwargs)


def _bound(value: Any, none: float) -> Any:
    """``value``, but ``none`` where it is NaN."""
    kind: Any = type(value)
    if kind is float or issubclass(kind, np.floating):
        return kind(none) if math.isnan(value) else value
    if kind is TracedScalar or getattr(getattr(value, "dtype", None), "kind", "") != "f":
        return value
    return np.where(np.isnan(value), value.dtype.type(none), value)


@_recorded("arange")
def _arange(*args: Any, **kwargs: Any) -> Any:
    """CuPy adds steps in the type of the result: the same where all numbers are whole and exact."""
    numbers = [v for v in (*args[:3], *map(kwargs.get, ("start", "stop", "step"))) if v is not None]
    kind = np.dtype(kwargs.get("dtype") or (args[3] if len(args) > 3 else np.float64))
    exact = 2 ** np.finfo(kind).nmant if kind.kind == "f" else math.inf
    if _follows_cupy() and not all(
        isinstance(v, int | float) and v == v // 1 and 2 * abs(v) <= exact for v in numbers
    ):
        return NotImplemented
    return ranges.arange(*args, **kwargs)


@_recorded("where")
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return TABLE[np.nonzero](condition)
    return NotImplemented if x is None or y is None else TABLE[np.where](condition, x, y)


@_recorded("copyto")
def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = None) -> Any:
    return TABLE[np.copyto](dst, src, casting, True if where is None else where)


@_recorded("convolve")
def _convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    return TABLE[np.convolve](a, v, mode)


@_recorded("correlate")
def _correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    return TABLE[np.correlate](a, v, mode) if v.size <= a.size else NotImplemented


@_recorded("diag")
def _diag(v: Any, k: int = 0) -> Any:
    return TABLE[np.diag](v, k) if v.ndim == 1 else NotImplemented


@_recorded("diagflat")
def _diagflat(v: Any, k: int = 0) -> Any:
    return TABLE[np.diagflat](v, k)


@_recorded("fill_diagonal")
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> Any:
    return NotImplemented if wrap or np.ndim(val) else TABLE[np.fill_diagonal](a, val)


@_recorded("average")
def _average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, **kwargs: Any
) -> Any:
    """CuPy's sum of no weights is an array like the average, NumPy's the view of a number."""
    if weights is not None:
        return NotImplemented  # of which a sum of 0 is an error
    found = _numpy(np.average)(a, axis=axis, **kwargs)
    if found is NotImplemented or not returned:
        return found
    return found, np.full_like(found, a.size / max(found.size, 1))


@_recorded("count_nonzero")
def _count_nonzero(a: Any, axis: Any = None) -> Any:
    return np.sum(a != 0, axis=axis)


@_recorded("searchsorted")
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if not hasattr(v, "dtype") or v.dtype.kind != a.dtype.kind:  # which C++ compares otherwise
        return NotImplemented
    return TABLE[np.searchsorted](a, v, side, sorter)


@_recorded("digitize")
def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    if type(right) is not bool or x.dtype.kind != bins.dtype.kind:
        return NotImplemented
    return searching.digitized(x, bins, right)


@_recorded("interp")
def _interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Of doubles, of which CuPy does what NumPy does; it has an error for what is not in rows."""
    floats = all(a.dtype.kind == "f" for a in (x, xp)) and fp.dtype == np.float64
    if not floats or xp.shape in ((0,), (1,)) or not x.view_of_storage.is_whole():
        return NotImplemented
    return TABLE[np.interp](x, xp, fp, left, right, period)


@_recorded("astype")
def _astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    return selection.astype(x, dtype, copy=copy)


# --- creation

RECORDED |= {
    "zeros": creation.zeros,
    "ones": creation.ones,
    "empty": creation.empty,
    "full": creation.full,
    "linspace": ranges.linspace,
    "eye": ranges.eye,
    "identity": ranges.identity,
}


def convert(a: Any, name: str, rest: Any, **kwargs: Any) -> Any:
    """``cupy.array(a, …)`` and its kin of a CuPy array: None for the array itself.

    `ascontiguousarray` is of one that does not lie so.
    """
    dtype = kwargs.pop("dtype", rest[0] if rest else None)
    copied = name in ("array", "ascontiguousarray")
    copy = kwargs.pop("copy", rest[1] if len(rest) > 1 else copied)
    if kwargs or len(rest) > (2 if name == "array" else 1):
        return NotImplemented
    if dtype is not None and np.dtype(dtype) != a.dtype:
        return selection.astype(a, dtype)
    return selection.copy(a, "C" if name == "ascontiguousarray" else "K") if copy else None


# --- methods: parameters after ``self``, and the function

_REDUCE = ("axis", "out", "keepdims")
_TYPED = ("axis", "dtype", "out", "keepdims")


def _method_astype(
    a: Any, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: Any = True
) -> Any:
    as_it_lies = order == "K" or copy or np.dtype(dtype) != a.dtype
    if order not in ("K", "C", "A") or not as_it_lies:
        return NotImplemented
    return selection.astype(a, dtype, order, casting or "unsafe", copy=copy)


def _flatten(a: Any, order: str = "C") -> Any:
    if order not in ("C", "A", "K"):
        return NotImplemented
    return selection.copy(movement.reshape(a, -1))


def _copy(a: Any, order: str = "C") -> Any:
    return selection.copy(a, order) if order in ("C", "F", "A", "K") else NotImplemented


METHODS: dict[str, tuple[tuple[str, ...], Function]] = {
    **{n: (_TYPED, RECORDED[n]) for n in ("sum", "prod", "mean")},
    **{n: (_REDUCE, RECORDED[n]) for n in ("max", "min", "any", "all", "ptp")},
    **{n: (("axis", "dtype", "out", "ddof", "keepdims"), RECORDED[n]) for n in ("var", "std")},
    **{n: (_TYPED, RECORDED[n]) for n in ("argmax", "argmin")},
    **{n: (("axis", "dtype", "out"), RECORDED[n]) for n in ("cumsum", "cumprod")},
    "clip": (("min", "max", "out"), RECORDED["clip"]),
    "round": (("decimals", "out"), RECORDED["round"]),
    "take": (("indices", "axis", "out"), RECORDED["take"]),
    "argsort": (("axis",), RECORDED["argsort"]),
    "searchsorted": (("v", "side", "sorter"), RECORDED["searchsorted"]),
    "trace": (("offset", "axis1", "axis2", "dtype", "out"), RECORDED["trace"]),
    "dot": (("b", "out"), RECORDED["dot"]),
    "conj": ((), lambda a: a.conj()),
    "conjugate": ((), lambda a: a.conj()),
    "nonzero": ((), RECORDED["nonzero"]),
    "astype": (("dtype", "order", "casting", "subok", "copy"), _method_astype),
    "copy": (("order",), _copy),
    "fill": (("value",), lambda a, value: a.__setitem__(..., value)),
    "sort": (
        ("axis", "kind"),
        lambda a, axis=-1, kind=None: a.__setitem__(..., np.sort(a, axis=axis)),
    ),
    "flatten": (("order",), _flatten),
    "reshape": (
        (),
        lambda a, *shape, order="C": movement.reshape(
            a, shape[0] if len(shape) == 1 else shape, order
        ),
    ),
    "ravel": (("order",), RECORDED["ravel"]),
    "__matmul__": (("b",), TABLE[np.matmul]),
    "__rmatmul__": (("b",), lambda a, b: TABLE[np.matmul](b, a)),
}

# --- what gives the array itself that it is given first, not another one of the same memory


def _is_cast_already(
    a: Any, dtype: Any, order: Any = "K", casting: Any = None, subok: Any = None, copy: Any = True
) -> bool:
    return not copy and bool(np.dtype(dtype) == a.dtype) and _lies_in_order(a, order)


def _lies_in_order(a: Any, order: Any) -> bool:
    by_rows, by_columns = a.flags.c_contiguous, a.flags.f_contiguous
    found = {"K": True, "A": by_rows or by_columns, "C": by_rows, "F": by_columns}
    return bool(found.get(order, False))


def _is_real(a: Any) -> bool:
    return bool(a.dtype.kind != "c")


def _is_mended_in_place(x: Any, copy: Any = True, *args: Any, **kwargs: Any) -> bool:
    return not copy


ITSELF: dict[str, Callable[..., bool]] = {
    "astype": _is_cast_already,
    "conj": _is_real,
    "conjugate": _is_real,
    "nan_to_num": _is_mended_in_place,
}
