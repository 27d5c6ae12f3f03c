"""NumPy's namespace for lazy arrays, also one of the Python Array API standard (up to 2024.12).

    import fusecuda.numpy as fnp
    a = fnp.asarray(x)
    float(fnp.sum(a * 2))     # recorded; computed in one kernel when it is looked at

Every public function of the NumPy that is installed is here, made of NumPy's own; an older NumPy
has fewer. It takes lazy arrays, and plain arrays, lists and numbers too, and gives lazy arrays.
What can be recorded is, if at least one argument is an array; all else NumPy computes at once. A
result that is a number in NumPy is a 0-d lazy array. Arrays of Python objects stay NumPy's. Types
and constants are NumPy's, but `ndarray` is the lazy array. `names.LEFT_OUT` lists the few names of
NumPy that are not here.

Plain arrays are copied, so later writes to them do not show; ``asarray(x, copy=False)`` gives `x`
up to the lazy array instead, which is then a view of the caller's memory.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from ..capture.arrays.array import Array
from ..capture.arrays.creation import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from ..capture.arrays.ranges import (
    arange,
    eye,
    fromfunction,
    identity,
    indices,
    linspace,
    meshgrid,
    tri,
)
from ..capture.arrays.table import ENTRIES
from ..capture.arrays.wrapping import Indexed, Unbound, member
from .names import LEFT_OUT
from .standard import argsort, astype, broadcast_arrays, can_cast, finfo, iinfo, sort, unstack

__array_api_version__ = min("2024.12", np.__array_api_version__)
if hasattr(np, "__array_namespace_info__"):
    __array_namespace_info__ = np.__array_namespace_info__
__version__ = np.__version__

ndarray = Array
ENTRIES.namespace = sys.modules[__name__]

# Loaded when they are first asked for.
_SPACES = ("fft", "linalg", "polynomial", "random", "special", "testing")
_INDEXED = ("c_", "mgrid", "ogrid", "r_")

__all__ = [
    "arange", "argsort", "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray",
    "astype", "broadcast_arrays", "can_cast", "empty", "empty_like", "eye", "fft", "finfo",
    "from_dlpack", "fromfunction", "full", "full_like", "identity", "iinfo", "indices", "linalg",
    "linspace", "meshgrid", "ndarray", "ones", "ones_like", "random", "sort", "special", "tri",
    "unstack", "zeros", "zeros_like",
]  # fmt: skip
__all__ += list(
    sorted({n for n in dir(np) if not n.startswith("_")} - LEFT_OUT.keys() - {*__all__})
)


for _name in __all__:
    if isinstance(_written := globals().get(_name), FunctionType):
        globals()[_name] = Unbound(_written, __name__)


def __getattr__(name: str) -> Any:
    """What is not written above is made of NumPy's own when it is first asked for."""
    if name in LEFT_OUT:
        raise AttributeError(f"fusecuda.numpy has no {name!r}: {LEFT_OUT[name]}")
    if name in _SPACES:
        return import_module(f".{name}", __name__)
    found = member(np, name, __name__)
    if name in _INDEXED:
        found = Indexed(found, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
