"""What ``import cupy`` gives under ``run --device cpu``: lazy arrays under CuPy's names.

`install` enters the module, its parts and `cupyx` among the imported ones. Processes that are
started anew find them by `sys.path`, which they are given: ``path`` is a folder with a ``cupy.py``.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import fusecuda.numpy as namespace

from ...capture.arrays.array import Array
from ...capture.record.block import Region
from ...capture.record.recorder import AT_ONCE_BELOW, recorder_in_force
from ...options import Options
from ..late import PATH
from . import cuda, cupyx, random

_CALLED_TODAY = {
    "Inf": "inf", "Infinity": "inf", "NAN": "nan", "NaN": "nan", "PINF": "inf", "alltrue": "all",
    "cfloat": "complex128", "complex_": "complex128", "cumproduct": "cumprod", "float_": "float64",
    "infty": "inf", "product": "prod", "round_": "round", "singlecomplex": "complex64",
    "sometrue": "any", "trapz": "trapezoid",
}  # fmt: skip
_KERNELS = frozenset({"ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel"})


class _StandIn(types.ModuleType):
    """`fusecuda.numpy`, and the few functions that only CuPy has."""

    __path__: list[str] = []  # noqa: RUF012 - its parts are in `sys.modules`
    ndarray = Array
    cuda = cuda
    random = random.module
    is_available = staticmethod(cuda.is_available)
    get_default_memory_pool = staticmethod(cuda.get_default_memory_pool)
    get_default_pinned_memory_pool = staticmethod(cuda.get_default_pinned_memory_pool)

    def __getattr__(self, name: str) -> Any:
        if name in _KERNELS:
            raise AttributeError(f"cupy.{name} is CUDA code, which needs a GPU: not on the CPU")
        return getattr(namespace, _CALLED_TODAY.get(name, name))

    @staticmethod
    def asnumpy(a: Any, *args: Any, **kwargs: Any) -> Any:
        """The values as a NumPy array."""
        return namespace.asarray(a).get(*args, **kwargs)

    @staticmethod
    def get_array_module(*args: Any) -> Any:
        """This module if there is a lazy array among ``args``, else NumPy."""
        return _module if any(type(a) is Array for a in args) else np

    @staticmethod
    def fuse(*args: Any, **_: Any) -> Any:
        """The function itself, or what gives it: its operations are recorded as all others."""
        return args[0] if args else lambda function: function

    @staticmethod
    def memoize(for_each_device: bool = False) -> Callable[[Any], Any]:
        """What gives a function that remembers its results."""
        return functools.cache


_module = _StandIn("cupy")


def stand_in() -> types.ModuleType:
    """The module."""
    return _module


def install() -> cupyx.Finder:
    """Have imports of CuPy give the stand-in; of what `cupyx` has of SciPy the finder knows."""
    parts = {f"cupy.{name}": getattr(_module, name) for name in ("cuda", "fft", "linalg", "random")}
    cupyxs = {"cupyx": cupyx.module, "cupyx.scipy": cupyx.module.scipy}
    sys.modules.update({"cupy": _module, **parts, **cupyxs})
    if PATH not in sys.path:
        sys.path.insert(1, PATH)
    finder = cupyx.Finder()
    sys.meta_path.insert(0, finder)
    return finder


def follow() -> Region:
    """The region that the operations of a script are recorded by, in force from now on."""
    region = Region(Options(device="cpu"))
    region.array_name = "array"  # as CuPy's are
    region.at_once_below = AT_ONCE_BELOW
    recorder_in_force.set(region)
    return region
