"""Sums of products by Einstein's notation, as products that are fused with their sums."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ...graph.dtypes import BOOL, is_supported
from .table import handles
from .values import array_of

_MOST = 16  # times as many products as the largest operand has elements, beyond which NumPy's loops
_Extents = dict[str, int]


@handles(np.einsum)
def einsum(*operands: Any, out: None = None, optimize: Any = False, **kwargs: Any) -> Any:
    """The products of all operands' elements, summed along what is not in the result.

    Left to NumPy are what a single view shows, ellipses, matrices that are multiplied and
    everything else of which there are many more products than elements.
    """
    notation, *given = operands
    if not isinstance(notation, str) or out is not None or kwargs or not given:
        return NotImplemented
    arrays = [array_of(a) for a in given]
    labels, result = _parsed(notation)
    extents = _extents(labels, arrays)
    dtype = np.result_type(*(a.dtype for a in arrays))
    if extents is None or not _is_of(result, extents) or dtype == BOOL:
        return NotImplemented
    if not is_supported(dtype) or (len(arrays) == 1 and len(result) == len(extents)):
        return NotImplemented
    order = result + "".join(name for name in extents if name not in result)
    total = 1
    for extent in extents.values():
        total *= extent
    if total > _MOST * max(a.size for a in arrays):
        return NotImplemented
    product = None
    for own, array in zip(labels, arrays, strict=True):
        factor = _laid_along(array.astype(dtype, copy=False), own, order)
        product = factor if product is None else np.multiply(product, factor)
    assert product is not None
    summed = tuple(range(len(result), len(order)))
    # NumPy adds to zeros, of which a product of -0.0 is +0.0.
    return product.sum(axis=summed, dtype=dtype) if summed else product + dtype.type(0)


def _parsed(notation: str) -> tuple[list[str], str]:
    """The labels of each operand's axes, and of the result's."""
    given, arrow, result = notation.replace(" ", "").partition("->")
    if not arrow:
        counts = Counter(given.replace(",", ""))
        result = "".join(sorted(name for name, count in counts.items() if count == 1))
    return given.split(","), result


def _extents(labels: list[str], arrays: list[Any]) -> _Extents | None:
    """How far each label goes, in the order of their appearance; None for what is left to NumPy."""
    found: _Extents = {}
    if len(labels) != len(arrays):
        return None
    for own, array in zip(labels, arrays, strict=True):
        if (
            not (own or "a").isalpha()
            or not own.isascii()
            or len(own) != array.ndim
            or len(set(own)) < len(own)
        ):
            return None
        for name, extent in zip(own, array.shape, strict=True):
            if found.setdefault(name, extent) != extent:
                return None
    return found


def _is_of(result: str, extents: _Extents) -> bool:
    """True for labels of the operands, each once."""
    return set(result) <= set(extents) and len(set(result)) == len(result)


def _laid_along(array: Any, own: str, order: str) -> Any:
    """``array``, of axes ``own``, with those of ``order``: of extent one where it has none."""
    axes = sorted(range(len(own)), key=lambda a: order.index(own[a]))
    return array.transpose(axes)[tuple(slice(None) if n in own else None for n in order)]
