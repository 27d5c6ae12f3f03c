"""`cupy.random` on the CPU: NumPy's numbers, of a ``dtype`` where CuPy takes one."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from fusecuda.numpy import random as namespace

from ...capture.arrays.wrapping import is_function, made

_NAMES = """
    chisquare exponential gumbel laplace lognormal normal rand randn random random_sample ranf
    sample standard_exponential standard_normal uniform
"""
_TYPED = frozenset(_NAMES.split())


def _typed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        drawn = function(*args, **kwargs)
        return drawn if dtype is None else drawn.astype(dtype)

    return call


class RandomState:
    """A `numpy.random.RandomState` whose methods give lazy arrays."""

    def __init__(self, seed: Any = None, **_: Any) -> None:
        self._numpy = np.random.RandomState(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = getattr(self._numpy, name)
        if not is_function(found):
            return found
        method = made(found, name, namespace.__name__)
        return _typed(method) if name in _TYPED else method


class _Random(types.ModuleType):
    """The module."""

    RandomState = RandomState

    def __getattr__(self, name: str) -> Any:
        found = getattr(namespace, name)
        found = _typed(found) if name in _TYPED else found
        setattr(self, name, found)
        return found


module: Any = _Random("cupy.random")
