"""`numpy.polynomial` for lazy arrays: what evaluates series is recorded, all else NumPy computes.

NumPy's functions that evaluate series ask whether they are given an array of NumPy's own, and take
coefficients of several columns for others if they are not. Here every array is one.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..capture.arrays.array import Array
from ..capture.arrays.creation import asarray
from ..capture.arrays.values import plain
from ..capture.arrays.wrapping import member

_BASES = ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial")
_EVALUATING = frozenset(
    {"chebval", "hermeval", "hermval", "lagval", "legval", "polyval", "polyvalfromroots"}
)

__all__ = [name for name in dir(np.polynomial) if not name.startswith("_")]


class _Basis(types.ModuleType):
    """The functions of one basis, such as ``polynomial.chebyshev``."""

    def __init__(self, source: types.ModuleType) -> None:
        super().__init__(f"{__name__}.{source.__name__.rpartition('.')[2]}", source.__doc__)
        self._source = source

    def __getattr__(self, name: str) -> Any:
        found = member(self._source, name, self.__name__)
        if name in _EVALUATING:
            found = _evaluating(getattr(self._source, name), found)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._source) if not name.startswith("_")]


def _evaluating(function: Callable[..., Any], at_once: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of points and coefficients, recorded for arrays of points."""

    @functools.wraps(at_once)
    def evaluated(x: Any, c: Any, tensor: bool = True) -> Any:
        if not tensor or not isinstance(x, Array | np.ndarray | list | tuple):
            return at_once(x, c, tensor)
        points, columns = asarray(x), np.array(plain(c), ndmin=1)
        return function(points, columns.reshape(*columns.shape, *points.ndim * (1,)), tensor=False)

    return evaluated


for _basis in map(_Basis, (getattr(np.polynomial, name) for name in _BASES)):
    globals()[_basis.__name__.rpartition(".")[2]] = sys.modules[_basis.__name__] = _basis


def __getattr__(name: str) -> Any:
    found = member(np.polynomial, name, __name__)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
