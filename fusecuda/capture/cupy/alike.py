"""Where CuPy's functions give what NumPy's of the same names do: conditions on their arguments.

On a GPU, CuPy computes all other calls itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph.dtypes import FLOAT16, FLOAT64


def _rounds_alike(a: Any, decimals: Any = 0, **_: Any) -> bool:
    """Of halves and singles CuPy rounds to decimals in double precision."""
    return bool(a.dtype == FLOAT64) or (type(decimals) is int and decimals == 0)


def _is_real(a: Any, *_: Any, **__: Any) -> bool:
    """Of complex numbers CuPy leaves out the parts that are NaN."""
    return bool(a.dtype.kind != "c")


def _is_complex(z: Any, deg: Any = False) -> bool:
    """The angle of a real number is that of -0.0, or NaN, to NumPy alone."""
    return bool(z.dtype.kind == "c")


def _has_freedom(a: Any, *_: Any, ddof: Any = 0, **__: Any) -> bool:
    """CuPy divides by zero where degrees of freedom are less than none; it adds halves as such."""
    return bool(a.dtype != FLOAT16) and type(ddof) is int and ddof in (0, 1)


def _is_in_rows(a: Any, y: Any = None, *_: Any, **__: Any) -> bool:
    """Of arrays of more than two axes CuPy has errors of its own."""
    return a.ndim <= 2 and (y is None or y.ndim <= 2)


def _multiplies_alike(*operands: Any, **_: Any) -> bool:
    """Of halves CuPy rounds no products."""
    return all(getattr(o, "dtype", FLOAT16) != FLOAT16 for o in operands[1:])


ALIKE: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("around", "round", "round_"), _rounds_alike),
    **dict.fromkeys(("nansum", "nancumsum", "nancumprod"), _is_real),
    **dict.fromkeys(("nanvar", "nanstd"), _has_freedom),
    **dict.fromkeys(("cov", "corrcoef"), _is_in_rows),
    "angle": _is_complex,
    "einsum": _multiplies_alike,
}
