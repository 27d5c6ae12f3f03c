"""Rules in which NumPy's versions differ, asked of the NumPy that is installed.

Nothing here looks at a version: each function lets NumPy do the thing on next to no data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .dtypes import DType, is_numeric, kind_of

_SHORT = (2, 0.5, -1, 1, 0)  # exponents that some NumPy treats in another way than `numpy.power`


class _Witness(np.ndarray[Any, Any]):
    """An array that computes nothing: it tells which ufunc was called, and on which dtype."""

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any
    ) -> tuple[np.ufunc, DType]:
        return ufunc, inputs[0].dtype


@lru_cache(maxsize=1024, typed=True)
def power_ufunc(dtype: DType, exponent: Any, in_place: bool = False) -> tuple[np.ufunc, DType]:
    """The ufunc that computes ``array ** exponent`` for a number, and the dtype it is given.

    It is `numpy.power`, or one of one operand; up to NumPy 2.2 more often than later, also for
    NumPy's own numbers, with a result of another dtype, and in another way in place.
    """
    if not any(exponent == short for short in _SHORT):
        return np.power, dtype
    array: Any = np.ones(1, dtype).view(_Witness)
    if in_place:
        array **= exponent
    else:
        array = array**exponent
    if type(array) is not tuple or array[0].nin != 1:
        return np.power, dtype
    return array


@lru_cache(maxsize=256)
def power_looks_at(dtype: DType, exponent: DType, in_place: bool = False) -> bool:
    """True if the dtype of ``array ** number`` depends on which number of dtype ``exponent`` it is.

    So it is up to NumPy 2.2, where an array without axes counts as a number.
    """
    if not is_numeric(dtype) or kind_of(exponent) not in "biuf":
        return False
    one = np.ones(1, dtype)
    try:
        usual = np.power(one, exponent.type(1)).dtype
    except TypeError:
        return True
    for number in _SHORT:
        value: Any = np.asarray(number).astype(exponent)[()]
        ufunc, given = power_ufunc(dtype, value, in_place)
        if ufunc is not np.power and ufunc(one.astype(given)).dtype != usual:
            return True
    return False


def where_number(value: int, dtype: DType) -> Any:
    """A Python integer as `numpy.where` takes it into ``dtype``, or with the error it raises."""
    return np.where(np.True_, value, np.zeros((), dtype))[()]


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a function of NumPy's, or None where it does not tell (up to NumPy 2.3)."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return None
