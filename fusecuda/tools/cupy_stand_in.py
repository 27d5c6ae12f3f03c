"""What ``import cupy`` gives under ``run --device cpu``: lazy arrays under CuPy's names."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import numpy as np

import fusecuda.numpy as namespace

from ..capture.arrays.array import Array


class _StandIn(types.ModuleType):
    """`fusecuda.numpy`, and the few functions that only CuPy has."""

    ndarray = Array

    def __getattr__(self, name: str) -> Any:
        return getattr(namespace, name)

    @staticmethod
    def asnumpy(a: Any, *args: Any, **kwargs: Any) -> Any:
        """The values as a NumPy array."""
        return np.array(a)

    @staticmethod
    def get_array_module(*args: Any) -> Any:
        """This module if there is a lazy array among ``args``, else NumPy."""
        return _module if any(type(a) is Array for a in args) else np


class _Stream:
    """There is one stream, in which all is done in order."""

    null: _Stream

    def synchronize(self) -> None:
        """Nothing to wait for."""


_Stream.null = _Stream()
_module = _StandIn("cupy")


def stand_in() -> types.ModuleType:
    """The module."""
    _module.__dict__["cuda"] = types.SimpleNamespace(
        Stream=_Stream,
        Device=lambda *args: contextlib.nullcontext(),
        runtime=types.SimpleNamespace(getDeviceCount=lambda: 0),
        is_available=lambda: False,
    )
    return _module
