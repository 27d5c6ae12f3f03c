"""Printed: what a whole prints looks as if lazy arrays had been given to `print`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array import Array
from ..arrays.memory import new


def shown(*values: Any, **keywords: Any) -> None:
    """`print`, in a function on NumPy's memory."""
    print(*map(_lazy_inside, values), **keywords)


def _lazy_inside(value: Any) -> Any:
    """A container of lazy arrays, which look another way than NumPy's numbers inside."""
    kind = type(value)
    if kind in (list, tuple):
        return kind(map(_lazy, value))
    if kind is dict:
        return {_lazy(key): _lazy(part) for key, part in value.items()}
    return value


def _lazy(value: Any) -> Any:
    return new(Array, value) if isinstance(value, np.generic | np.ndarray) else _lazy_inside(value)
