"""Fused multiply-add of arrays in fewer steps than the headers' text, to the same bits.

The text rounds the small parts of a sum to odd, so that nothing is rounded twice. That matters only
next to a tie: here they are rounded once more than is right, and where the result may have changed
by it, the text is carried out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Fma = Callable[[Any, Any, Any], Any]

_SPLIT = np.float64(2.0**27 + 1)
_NEARLY = np.float64(1 + 2.0**-40)
_LOST = np.uint64((1 << 29) - 1)  # the bits of a double that a float has no room for
_TIE = np.uint64(1 << 28)
_TINY = np.float32(2.0**-126)


def fma(exact: Fma, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of doubles, rounded once; ``exact`` is the text's function."""
    a, b, c = (np.asarray(v, np.float64) for v in (a, b, c))
    product = np.asarray(a * b)
    if not product.ndim:
        return exact(a, b, c)
    lost = _product_error(a, b, product)
    total = product + c
    back = total - product
    rest = total - back
    np.subtract(product, rest, out=rest)
    np.subtract(c, back, out=back)
    np.add(back, rest, out=back)
    small = np.add(back, lost, out=back)
    result: Array = np.add(total, small, out=product)
    # What the last sum lost, made a little larger, moves the result: it was close to a tie.
    np.subtract(result, total, out=rest)
    np.subtract(small, rest, out=rest)
    np.multiply(rest, _NEARLY, out=rest)
    np.add(result, rest, out=rest)
    return _mended(exact, (a, b, c), result, (rest != result) | (result == 0))


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """a * b - product, by halves whose products are exact."""
    wide = _SPLIT * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = _SPLIT * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    error: Array = np.asarray(a_high * b_high) - product
    for one, other in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        error += one * other
    return error


def fmaf(exact: Fma, a: Any, b: Any, c: Any) -> Any:
    """a * b + c of floats, rounded once: the sum is a double's, and seldom a tie between floats."""
    total = np.asarray(np.multiply(a, b, dtype=np.float64) + c)
    if not total.ndim:
        return exact(a, b, c)
    result = total.astype(np.float32)
    ties = (total.view(np.uint64) & _LOST) == _TIE
    return _mended(exact, (a, b, c), result, ties | (np.abs(result) < _TINY))


def _mended(exact: Fma, operands: tuple[Any, ...], result: Array, doubtful: Array) -> Array:
    if np.any(doubtful):
        chosen = (np.asarray(v) for v in operands)
        result[doubtful] = exact(*(v[doubtful] if v.ndim else v for v in chosen))
    return result
