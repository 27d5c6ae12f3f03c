"""`cupy.random` on the CPU: NumPy's numbers, of a ``dtype`` where CuPy takes one."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from fusecuda.numpy import random as namespace

from ...capture.arrays.wrapping import Drawing

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


class RandomState(Drawing):
    """A `numpy.random.RandomState` whose methods give lazy arrays."""

    kind = np.random.RandomState

    def __init__(self, seed: Any = None, **_: Any) -> None:
        self._numpy = np.random.RandomState(seed)

    def _drawing(self, method: Any, name: str) -> Any:
        made = super()._drawing(method, name)
        return _typed(made) if name in _TYPED else made


class _Random(types.ModuleType):
    """The module."""

    RandomState = RandomState

    def __getattr__(self, name: str) -> Any:
        found = getattr(namespace, name)
        found = _typed(found) if name in _TYPED else found
        setattr(self, name, found)
        return found


module: Any = _Random("cupy.random")
