"""Work: what plain NumPy does in one call of a function, counted while it does it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(slots=True)
class Work:
    """Array operations that NumPy ran, the bytes of their operands and results, the memory held."""

    operations: int = 0
    bytes: int = 0
    peak_bytes: int = 0


# Functions that go over memory and are not built of ufuncs.
_PASSES = (np.where, np.copyto, np.concatenate, np.copy, np.dot)


def work_of(function: Callable[..., Any], arguments: Sequence[Any]) -> Work:
    """What ``function(*arguments)`` makes NumPy do; it runs twice, for memory apart."""
    work = Work()

    def count(operands: Sequence[Any], results: Any) -> None:
        work.operations += 1
        for value in (*operands, *(results if isinstance(results, tuple) else (results,))):
            work.bytes += value.nbytes if isinstance(value, np.ndarray | np.generic) else 0

    class Counted(np.ndarray[Any, Any]):
        """An array that counts the operations on it."""

        def __array_ufunc__(self, ufunc: np.ufunc, method: Any, *inputs: Any, **kwargs: Any) -> Any:
            out = kwargs.pop("out", ())
            if out:
                kwargs["out"] = tuple(_plain(o) for o in out)
            result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
            count(inputs, result)
            return out[0] if out and isinstance(out[0], Counted) else _counted(result)

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if func not in _PASSES:
                return super().__array_function__(func, types, args, kwargs)
            plain = [_plain(a) for a in args]
            result = func(*plain, **{k: _plain(v) for k, v in kwargs.items()})
            flat = [v for a in args for v in (a if isinstance(a, list | tuple) else (a,))]
            count(flat, result)
            return _counted(result)

    def _plain(value: Any) -> Any:
        if isinstance(value, Counted):
            return value.view(np.ndarray)
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value

    def _counted(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(_counted, value))
        return value.view(Counted) if isinstance(value, np.ndarray) else value

    function(*map(_counted, arguments))
    work.peak_bytes = _peak(lambda: function(*arguments))
    return work


def _peak(call: Callable[[], Any]) -> int:
    """The most bytes that ``call`` held at once, its result with them."""
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if started:
            tracemalloc.stop()
