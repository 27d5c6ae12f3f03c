"""Sums of products by Einstein's notation: fused with their sums, or products of matrices.

Where there are few more products than elements, memory is what they cost, and one kernel multiplies
and adds. Otherwise two operands at a time are multiplied as (stacks of) matrices: axes that both
have and the rest needs count matrices, those that it does not need are summed, the others are rows
and columns. In which order, `numpy.einsum_path` says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...graph.dtypes import BOOL, is_supported
from .movement import diagonal
from .table import handles
from .values import array_of

_MOST = 16  # times as many products as the largest operand has elements, beyond which
# they are products of matrices
_OF_MATRICES = tuple(map(np.dtype, ("f4", "f8", "c8", "c16")))  # which a BLAS multiplies
_Extents = dict[str, int]


@handles(np.einsum)
def einsum(*operands: Any, out: None = None, optimize: Any = False, **kwargs: Any) -> Any:
    """The products of all operands' elements, summed along what is not in the result.

    Left to NumPy are what a single view shows, ellipses, and products of matrices of integers and
    halves.
    """
    notation, *given = operands
    if not isinstance(notation, str) or out is not None or kwargs or not given:
        return NotImplemented
    arrays = [array_of(a) for a in given]
    labels, result = _parsed(notation)
    if len(labels) == len(arrays):
        pairs = [_without_repeats(o, a) for o, a in zip(labels, arrays, strict=True)]
        labels, arrays = [own for own, _ in pairs], [array for _, array in pairs]
    extents = _extents(labels, arrays)
    dtype = np.result_type(*(a.dtype for a in arrays))
    if extents is None or not _is_of(result, extents) or dtype == BOOL:
        return NotImplemented
    if not is_supported(dtype) or (len(arrays) == 1 and len(result) == len(extents)):
        return NotImplemented
    factors = [
        _Factor(own, array.astype(dtype, copy=False))
        for own, array in zip(labels, arrays, strict=True)
    ]
    if _are_few(factors, extents):
        return _fused(factors, result, extents).array
    if dtype not in _OF_MATRICES or len(factors) == 1:
        return NotImplemented
    return _by_pairs(factors, result, extents)


class _Factor(NamedTuple):
    """An array and the labels of its axes."""

    labels: str
    array: Any


def _are_few(factors: list[_Factor], extents: _Extents) -> bool:
    """True where there are few more products than elements of the largest factor."""
    total = math.prod(extents[name] for name in {n for f in factors for n in f.labels})
    return bool(total <= _MOST * max(f.array.size for f in factors))


def _fused(factors: list[_Factor], result: str, extents: _Extents) -> _Factor:
    """The products as elements, with their sums."""
    there = dict.fromkeys(name for f in factors for name in f.labels)
    order = result + "".join(name for name in there if name not in result)
    product = None
    for own, array in factors:
        factor = _laid_along(array, own, order)
        product = factor if product is None else np.multiply(product, factor)
    assert product is not None
    summed = tuple(range(len(result), len(order)))
    # NumPy adds to zeros, of which a product of -0.0 is +0.0.
    if summed:
        return _Factor(result, product.sum(axis=summed, dtype=product.dtype))
    return _Factor(result, product + product.dtype.type(0))


def _by_pairs(factors: list[_Factor], result: str, extents: _Extents) -> Any:
    """Two factors at a time, as `numpy.einsum_path` has it, until the result is there."""
    for places in _order(factors, result):
        pair = [factors.pop(place) for place in sorted(places, reverse=True)]
        needed = set(result).union(*(f.labels for f in factors))
        needed = needed.intersection(name for f in pair for name in f.labels)
        order = result if not factors else "".join(f.labels for f in pair)
        kept = "".join(dict.fromkeys(name for name in order if name in needed))
        if len(pair) == 2:
            pair = [_without_own_sums(f, other, kept) for f, other in (pair, pair[::-1])]
        both = set.intersection(*(set(f.labels) for f in pair))
        is_product = len(pair) == 2 and not both <= set(kept) and not _are_few(pair, extents)
        factors.append((_multiplied if is_product else _fused)(pair, kept, extents))
    return factors[0].array


def _order(factors: list[_Factor], result: str) -> Sequence[tuple[int, ...]]:
    """Which factors are multiplied, of those that are left, one after the other."""
    if len(factors) == 2:
        return [(0, 1)]
    notation = ",".join(f.labels for f in factors) + "->" + result
    shapes = [np.broadcast_to(np.float64(0), f.array.shape) for f in factors]
    path: list[Any] = np.einsum_path(notation, *shapes, optimize="greedy")[0]
    return path[1:]


def _multiplied(pair: list[_Factor], result: str, extents: _Extents) -> _Factor:
    """The product of two factors as matrices, or stacks of them."""
    first, second = pair
    both = [name for name in first.labels if name in second.labels]
    counts = "".join(name for name in result if name in both)
    inner = "".join(name for name in both if name not in result)
    if next((n in second.labels for n in result if n not in both), False):
        first, second = second, first  # so that rows of the result are its first axes
    rows, columns = (
        "".join(n for n in result if n in f.labels and n not in both) for f in (first, second)
    )
    product = np.matmul(
        _as_matrix(first, (counts, rows, inner), extents),
        _as_matrix(second, (counts, inner, columns), extents),
    )
    order = counts + rows + columns
    product = product.reshape([extents[name] for name in order])
    return _Factor(result, product.transpose([order.index(name) for name in result]))


def _without_own_sums(factor: _Factor, other: _Factor, result: str) -> _Factor:
    """``factor``, summed along the axes that nobody else needs."""
    own = [i for i, n in enumerate(factor.labels) if n not in other.labels and n not in result]
    if not own:
        return factor
    kept = "".join(n for i, n in enumerate(factor.labels) if i not in own)
    return _Factor(kept, factor.array.sum(axis=tuple(own), dtype=factor.array.dtype))


def _as_matrix(factor: _Factor, groups: tuple[str, str, str], extents: _Extents) -> Any:
    """``factor`` with one axis for each label that counts matrices, then rows and columns."""
    counts, *sides = groups
    turned = factor.array.transpose([factor.labels.index(name) for name in "".join(groups)])
    if all(len(side) == 1 for side in sides):
        return turned
    shape = [extents[name] for name in counts]
    return turned.reshape(shape + [math.prod(extents[name] for name in side) for side in sides])


def _parsed(notation: str) -> tuple[list[str], str]:
    """The labels of each operand's axes, and of the result's."""
    given, arrow, result = notation.replace(" ", "").partition("->")
    if not arrow:
        counts = Counter(given.replace(",", ""))
        result = "".join(sorted(name for name, count in counts.items() if count == 1))
    return given.split(","), result


def _without_repeats(own: str, array: Any) -> tuple[str, Any]:
    """The labels of an operand's axes, each once, and its diagonal along those that were alike."""
    for name in dict.fromkeys(own) if len(own) == array.ndim else ():
        while own.count(name) > 1:
            first, second = own.index(name), own.rindex(name)
            if array.shape[first] != array.shape[second]:
                return own, array  # which is left to NumPy
            array = diagonal(array, 0, first, second)
            own = own[:first] + own[first + 1 : second] + own[second + 1 :] + name
    return own, array


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
