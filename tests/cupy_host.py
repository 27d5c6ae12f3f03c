"""CuPy on host memory: real `cupy.ndarray` objects without a driver, computed by C kernels.

`install()` adds the space ``"cpu"``: kernels are the C back end's, run on NumPy views of the same
memory. What is not recorded cannot run on CuPy itself without a driver; it runs as NumPy's function
of the same name on such views. The limits: functions that NumPy lacks, CuPy's own kernels, streams.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from fusecuda.capture.cupy import internals
from fusecuda.capture.cupy import memory as spaces


def host(value: Any) -> Any:
    """A `cupy.ndarray` over a copy of ``value``, of the same strides where it is contiguous."""
    return over(np.array(value, order="K"))


def over(values: np.ndarray[Any, Any]) -> Any:
    """A `cupy.ndarray` over the memory of ``values``."""
    low, high = np.lib.array_utils.byte_bounds(values)
    pointer = internals.over_address(low, high - low, values)
    pointer = pointer + (values.__array_interface__["data"][0] - low)
    return internals.array_over(pointer, values.shape, values.dtype, values.strides)


def seen(array: Any) -> np.ndarray[Any, Any]:
    """The memory of a CuPy array as a NumPy array."""
    assert type(array) is cupy.ndarray, f"{type(array)} is not computed"
    if array.size == 0:
        return np.empty(array.shape, array.dtype)

    window = types.SimpleNamespace(
        owner=array,
        __array_interface__={
            "version": 3,
            "data": (internals.pointer_of(array).ptr, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
        },
    )
    return np.asarray(window).view(array.dtype)  # which an interface may not tell


def _map(value: Any) -> Any:
    if isinstance(value, cupy.ndarray):
        return seen(value)
    if type(value) in (list, tuple):
        return type(value)(_map(v) for v in value)
    return value


def _back(value: Any, sources: list[Any]) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        for source in sources:
            if isinstance(source, cupy.ndarray) and np.shares_memory(seen(source), value):
                same = seen(source)
                if same.shape == value.shape and same.strides == value.strides:
                    return source
        return over(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_back(v, sources) for v in value])
    if type(value) in (list, tuple):
        return type(value)(_back(v, sources) for v in value)
    return value


class HostSpace:
    """Host memory in place of a device's."""

    is_cupys_own = False
    device = 0  # the current one

    def current_device(self) -> int:
        return self.device

    def run(self, executable: Any, arrays: Sequence[Any], device: int) -> list[Any]:
        given = [seen(a) if isinstance(a, cupy.ndarray) else a for a in arrays]
        return [r if r is None else over(r) for r in executable.run(given)]

    def copy(self, target: Any, source: Any) -> None:
        seen(target)[...] = seen(source)

    def native(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """NumPy's function of the same name."""
        name = getattr(function, "__name__", "")
        if name == "get":
            return seen(args[0]).copy()
        if name == "__reduce__":
            return seen(args[0]).__reduce__()
        given, named = [_map(a) for a in args], {k: _map(v) for k, v in kwargs.items()}
        module = (getattr(function, "__module__", "") or "").split(".")
        owner: Any = np
        for part in module[1:]:
            owner = (
                getattr(owner, part.lstrip("_"), owner)
                if part in ("linalg", "fft", "random")
                else owner
            )
        if name.startswith("cupy_"):
            name = name.removeprefix("cupy_")
        if isinstance(function, cupy.ufunc):
            if any(type(a) is np.ndarray for a in args):
                raise TypeError("Unsupported type <class 'numpy.ndarray'>")
            name = function.name.removeprefix("cupy_")
        if name == "asnumpy":
            return np.array(given[0])
        found = getattr(owner, name, None)
        of_type = type(function).__name__ in ("method_descriptor", "wrapper_descriptor")
        if found is None or of_type or name == "__call__":
            found = getattr(type(given[0]), name, found)
        if found is None:
            raise NotImplementedError(f"{name} has no stand-in on host memory")
        return _back(found(*given, **named), list(args))


def _without_stream(report: Any) -> None:
    if report.object != "cupy.cuda.stream.get_current_stream_ptr":
        _hook_before(report)


_hook_before = sys.unraisablehook


def install() -> None:
    """Let ``fused(device="cpu")`` take CuPy arrays over host memory."""
    global _hook_before
    spaces.SPACES["cpu"] = HostSpace()
    # `__cuda_array_interface__` names the current stream. Where there is no driver CuPy 14 raises;
    # CuPy 13 cannot, tells `sys.unraisablehook`, and goes on.
    if internals.CUPY_13 and sys.unraisablehook is not _without_stream:
        _hook_before, sys.unraisablehook = sys.unraisablehook, _without_stream
