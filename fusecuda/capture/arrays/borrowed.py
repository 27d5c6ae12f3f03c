"""Borrowed: what NumPy writes in Python over other functions, run as its own text on lazy arrays.

The text gets globals of its own in which `asarray` and its kin leave lazy arrays as they are,
`empty` makes one and `isinstance` takes them for NumPy's; all else that it calls is dispatched to
our handlers. So the operations, their order, types and errors are those of the NumPy that is
installed.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph import build
from ...graph.dtypes import is_supported
from ...graph.library import at_line
from ..record.numbers import TracedScalar
from ..record.user_frames import user_line
from . import creation, ufuncs
from .array import Array
from .gathering import gathered
from .kept_order import in_kept_order
from .memory import in_force
from .movement import reshape
from .selection import astype, copy
from .table import ENTRIES, Handler, handles
from .values import arrays_in

Function = Callable[..., Any]


def _asanyarray(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    a = gathered(a, dtype)
    if not isinstance(a, Array):
        return np.asanyarray(a, dtype, *args, **kwargs)
    return a if dtype is None or a.dtype == dtype else astype(a, dtype)


def _array(a: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **kwargs: Any) -> Any:
    if not isinstance(a, Array):
        return np.array(a, dtype, copy=copy, ndmin=ndmin, **kwargs)
    made = _asanyarray(a, dtype)
    if copy is True and made is a:
        made = _copied(a)
    missing = ndmin - made.ndim
    return reshape(made, (1,) * missing + made.shape) if missing > 0 else made


def _broadcast(*arrays: Any) -> Any:
    return types.SimpleNamespace(shape=build.broadcast_shapes(*(np.shape(a) for a in arrays)))


def _is_instance(value: Any, kinds: Any) -> bool:
    if type(value) is not Array:
        return isinstance(value, kinds)
    return issubclass(value.dtype.type if value.is_scalar else np.ndarray, kinds)


def _is_scalar(value: Any) -> bool:
    return value.is_scalar if type(value) is Array else np.isscalar(value)


_copied = copy
_OURS: dict[Any, Function] = {
    np.asarray: _asanyarray,
    np.asanyarray: _asanyarray,
    np.array: _array,
    np.broadcast: _broadcast,
    np.empty: creation.empty,
    np.isscalar: _is_scalar,
}


class _Module:
    """A module of NumPy's with our functions in the place of its own."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _ours(getattr(self._module, name))


def _ours(value: Any) -> Any:
    """What stands for ``value`` in the text: a helper of NumPy's is borrowed too."""
    if isinstance(value, types.ModuleType):
        return _Module(value) if value.__name__.startswith("numpy") else value
    if isinstance(value, types.FunctionType) and value.__name__.startswith("_"):
        return _on_lazy_arrays(value)
    try:
        return _OURS.get(value, value)
    except TypeError:  # what cannot be hashed is none of them
        return value


@functools.cache
def _on_lazy_arrays(text: types.FunctionType) -> Function:
    """NumPy's function ``text`` with our globals: of those, what its code names."""
    inside = [c for c in text.__code__.co_consts if isinstance(c, types.CodeType)]
    names = {name for code in (text.__code__, *inside) for name in code.co_names}
    space = {name: _ours(text.__globals__[name]) for name in names if name in text.__globals__}
    builtins = text.__globals__["__builtins__"]
    space |= {"__builtins__": builtins, "isinstance": _is_instance, "__name__": __name__}
    made = types.FunctionType(
        text.__code__, space, text.__name__, text.__defaults__, text.__closure__
    )
    made.__kwdefaults__ = text.__kwdefaults__
    return made


def _borrowed(function: Any) -> Handler:
    run = _on_lazy_arrays(function._implementation)

    def handler(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            for array in (value,) if type(value) is Array else arrays_in(value):
                if not is_supported(array.dtype):
                    return NotImplemented
        return at_line(user_line())(run, args, kwargs)  # whose warnings are the user's

    handler.__wrapped__ = function._implementation  # type: ignore[attr-defined]  # its signature
    return handler


BORROWED = (
    "gradient", "trapezoid", "polyval", "unwrap", "sinc", "fix", "isposinf", "isneginf", "cross",
    "isclose", "outer", "rot90", "cov", "corrcoef", "average", "angle", "allclose", "array_equal",
    "split", "array_split", "hsplit", "vsplit", "dsplit", "append", "column_stack",
    "hstack", "vstack", "dstack", "atleast_1d", "atleast_2d", "atleast_3d", "moveaxis",
    "tensordot", "real", "imag", "flatnonzero", "piecewise",
)  # fmt: skip
for _function in (*(getattr(np, name) for name in BORROWED), np.fft.fftshift, np.fft.ifftshift):
    handles(_function)(_borrowed(_function))


class _Builder:
    """`numpy.r_` and the like, which make arrays of what they are indexed with."""

    def __init__(self, builder: Any, takes_arrays: bool) -> None:
        text = type(builder).__getitem__
        self._builder = builder
        self._made = _on_lazy_arrays(text) if takes_arrays else text

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if (limit := in_force().at_once_below) and sum(a.nbytes for a in arrays_in(key)) <= limit:
            made = ENTRIES.function_at_once(self._builder.__getitem__, (key,), {}, limit)
            if made is not NotImplemented:
                return made
        parts = tuple([gathered(_with_numbers(part)) for part in parts])
        return self._made(self._builder, parts if type(key) is tuple else parts[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)


def _with_numbers(part: Any) -> Any:
    """``part`` of an index with the values of followed numbers."""
    if type(part) is slice:
        return slice(*map(_with_numbers, (part.start, part.stop, part.step)))
    return part.seen() if type(part) is TracedScalar else part


ENTRIES.builders = {
    "r_": _Builder(np.r_, True), "c_": _Builder(np.c_, True),
    "mgrid": _Builder(np.mgrid, False), "ogrid": _Builder(np.ogrid, False),
}  # fmt: skip


@handles(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0, of which NumPy has no ufunc."""
    a = _asanyarray(x)
    if not is_supported(a.dtype) or a.dtype.kind == "c":
        return NotImplemented
    dtype = a.dtype if a.dtype.kind == "f" else np.dtype(np.float64)

    def made(given: Any) -> Array:
        node = build.elementwise("i0", [ufuncs.node_of(given[0], dtype)], dtype)
        return Array.of_node(node, is_scalar=False)

    return in_kept_order(made, (a,))
