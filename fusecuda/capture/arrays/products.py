"""Products and other library calls: what NumPy computes itself, recorded as one node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ...graph import build, library
from ...graph.dtypes import BOOL, INT64, is_reducible, is_supported, kind_of, type_text
from ...graph.index_map import Shape
from ...graph.node import Operand
from ..record.user_frames import user_line
from . import ufuncs
from .held import compute_first
from .kept_order import along_kept_order, as_joined, in_order_of_stacks
from .movement import ravel
from .table import Handler, entry, handles
from .values import array_of, axis_of, of_node, plain


@handles(np.matmul)
def matmul(a: Any, b: Any, out: None = None, **kwargs: Any) -> Any:
    """The matrix product, by NumPy's BLAS."""
    if kwargs:
        return NotImplemented
    x, y = array_of(a), array_of(b)
    return in_order_of_stacks(_matmul, (x, y), (min(x.ndim, 2), min(y.ndim, 2)))


def _matmul(x: Any, y: Any) -> Any:
    return _product("matmul", library.matmul_result, x, y)


@handles(np.dot)
def dot(a: Any, b: Any, out: None = None) -> Any:
    """The inner product, by NumPy's BLAS."""
    return _product("dot", library.dot_result, array_of(a), array_of(b))


def _product(name: str, result: Callable[..., Any], x: Any, y: Any) -> Any:
    shape, dtype = result((x.shape, x.dtype), (y.shape, y.dtype))
    if (name == "matmul" or max(x.ndim, y.ndim) <= 2) and _is_small(x, y, shape, dtype):
        return summed(x, y, dtype)
    nodes = [x.read_node(), y.read_node()]
    return of_node(build.library(name, nodes, shape, dtype, line=user_line()))


def _vecdot(a: Any, b: Any, out: None = None) -> Any:
    """The products of vectors, along the last axes of stacks of them."""
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-1]:
        return NotImplemented
    dtype = np.result_type(x.dtype, y.dtype)
    if not is_reducible("any" if dtype == BOOL else "sum", dtype):
        return NotImplemented

    def made(x: Any, y: Any) -> Any:
        return summed(x, y, dtype, are_vectors=True)

    return in_order_of_stacks(made, (conjugate(x), y), (1, 1))


def _matvec(a: Any, b: Any, out: None = None) -> Any:
    """The products of matrices and vectors, or of stacks of them."""
    x, y = array_of(a), array_of(b)
    return matmul(x, y[..., None])[..., 0] if x.ndim > 1 and y.ndim else NotImplemented


def _vecmat(a: Any, b: Any, out: None = None) -> Any:
    """The products of (conjugate) vectors and matrices, or of stacks of them."""
    x, y = array_of(a), array_of(b)
    if not x.ndim or y.ndim < 2:
        return NotImplemented
    return matmul(conjugate(x)[..., None, :], y)[..., 0, :]


def conjugate(x: Any) -> Any:
    """``x``, of complex numbers their conjugates."""
    return np.conj(x) if x.dtype.kind == "c" else x


for _name, _handler in (("vecdot", _vecdot), ("matvec", _matvec), ("vecmat", _vecmat)):
    if hasattr(np, _name):  # with NumPy 2.2 or newer
        handles(getattr(np, _name))(_handler)

_FEW = 1 << 12  # products of elements that are summed in less time than a library is called in
_FEW_OF_VECTORS = 1 << 16  # the same where an operand is a vector


def _is_small(x: Any, y: Any, shape: Shape, dtype: Any) -> bool:
    """True if a kernel that multiplies and adds takes less time than a library.

    Of few products of elements, and of many small matrices, or rows, by a small one.
    """
    numeric = all(d.kind in "iufc" for d in (x.dtype, y.dtype, dtype))
    if not x.ndim or not y.ndim or not numeric or dtype.itemsize < 4:
        return False
    (*rows, inner), columns = x.shape[-2:], y.shape[-1:] if y.ndim > 1 else ()
    few = _FEW if rows and columns else _FEW_OF_VECTORS
    small = max((inner, *rows, *columns)) <= 4 or max((inner, *columns)) <= 3
    return small or bool(math.prod(shape) * inner <= few)


def summed(x: Any, y: Any, dtype: Any, are_vectors: bool = False) -> Any:
    """The product of matrices, stacks of them, or vectors, as sums of products of elements.

    It lies in rows.
    """
    compute_first((x, y))
    left, right, axis = x, y, -1
    if not are_vectors and y.ndim > 1:
        left = x[:, None] if x.ndim == 1 else x[..., None]
        right, axis = y if x.ndim == 1 else y[..., None, :, :], -2
    multiply, add = ("logical_and", "any") if dtype == BOOL else ("multiply", "sum")
    nodes = [ufuncs.node_of(left, dtype), ufuncs.node_of(right, dtype)]
    product = build.elementwise(multiply, nodes, dtype)
    return of_node(build.reduce(add, product, (len(product.shape) + axis,)))


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
        along = (axis_of if index else normalize_axis_index)(axis, x.ndim)
        dtype = INT64 if index else x.dtype
        option = ("kind", "stable" if stable else kind)
        if index:  # which NumPy gives in rows
            return _along((x,), along, name, dtype, option)
        return along_kept_order(_along, (x,), along, name, dtype, option, rule=as_joined)

    return handler


sort = handles(np.sort)(_sorted("sort", index=False))
argsort = handles(np.argsort)(_sorted("argsort", index=True))


def _accumulated(name: str, total: Any) -> Handler:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        x = array_of(a)
        if axis is None:
            x, axis = ravel(x), 0
        along = axis_of(axis, x.ndim)
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
