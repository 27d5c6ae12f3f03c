"""Products and other library calls: what NumPy computes itself, recorded as one node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...graph import build, library
from ...graph.dtypes import INT64, is_supported, kind_of, type_text
from ...graph.node import Operand
from ..record.recorder import user_line
from .kept_order import along_kept_order
from .movement import ravel
from .table import Handler, entry, handles
from .values import array_of, of_node, plain


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
    x, y = array_of(a), array_of(b)
    shape, dtype = result((x.shape, x.dtype), (y.shape, y.dtype))
    nodes = [x.read_node(), y.read_node()]
    return of_node(build.library(name, nodes, shape, dtype, line=user_line()))


def _along(arrays: Sequence[Any], axis: int, name: str, dtype: Any, *more: tuple[str, Any]) -> Any:
    """What the library call ``name`` makes along an axis of an array, in its shape."""
    (x,) = arrays
    options = (("axis", axis), *more)
    return of_node(build.library(name, [x.read_node()], x.shape, dtype, (Operand(0),), options))


def _sorted(name: str, index: bool) -> Handler:
    def handler(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **kwargs: Any) -> Any:
        x = array_of(a)
        if order is not None or x.ndim == 0:
            return NotImplemented
        if axis is None:
            x, axis = ravel(x), 0
        stable = kwargs.pop("stable", None)
        along = normalize_axis_index(axis, x.ndim)
        dtype = INT64 if index else x.dtype
        option = ("kind", "stable" if stable else kind)
        if index:  # which NumPy gives in rows
            return _along((x,), along, name, dtype, option)
        return along_kept_order(_along, (x,), along, name, dtype, option)

    return handler


sort = handles(np.sort)(_sorted("sort", index=False))
argsort = handles(np.argsort)(_sorted("argsort", index=True))


def _accumulated(name: str, total: Any) -> Handler:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        x = array_of(a)
        if axis is None:
            x, axis = ravel(x), 0
        along = normalize_axis_index(axis, x.ndim)
        kind = np.dtype(dtype) if dtype is not None else total(np.empty(0, x.dtype)).dtype
        return along_kept_order(_along, (x,), along, name, kind, ("dtype", type_text(kind)))

    return handler


cumsum = handles(np.cumsum)(_accumulated("cumsum", np.sum))
cumprod = handles(np.cumprod)(_accumulated("cumprod", np.prod))
_RUNNING = {np.maximum: "cummax", np.minimum: "cummin"}


@entry
def accumulated(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """The lazy ``ufunc.accumulate(array, axis, dtype)``, or NotImplemented."""
    x, axis = array_of(array), plain(axis)
    target = out[0] if isinstance(out, tuple) else out
    if target is not None or x.is_loose or not is_supported(x.dtype):
        return NotImplemented
    if type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return NotImplemented
    if ufunc in (np.add, np.multiply):
        return (cumsum if ufunc is np.add else cumprod)(x, axis, dtype)
    if ufunc not in _RUNNING or dtype not in (None, x.dtype) or kind_of(x.dtype) not in "iuf":
        return NotImplemented
    return along_kept_order(_along, (x,), axis % x.ndim, _RUNNING[ufunc], x.dtype)
