"""SciPy's special functions for lazy arrays, without SciPy: each is a row of the op table.

    from fusecuda.numpy import special
    special.erf(a)          # recorded, as scipy.special.erf(a) is

Of float32 alone the result is float32, of all else float64.
"""

from __future__ import annotations

from typing import Any

from ..capture.arrays import ufuncs
from ..capture.arrays.array import Array
from ..capture.arrays.computed import assign_result
from ..capture.arrays.wrapping import lift, stay_in_namespace
from ..graph.ops import OPS, SCIPY_NAMES
from ..words import counted

_OTHERWISE_CALLED = {"digamma": "psi"}

__all__ = list(sorted(SCIPY_NAMES | _OTHERWISE_CALLED.keys()))


def __getattr__(name: str) -> Any:
    """Each function is made when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = _function(_OTHERWISE_CALLED.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


def _function(row: str) -> Any:
    arity = OPS[row].arity

    def call(*args: Any, out: Any = None) -> Any:
        inputs, rest = args[:arity], args[arity:]
        if len(rest) == 1 and out is None:
            (out,), rest = rest, ()  # by position, as of a ufunc
        if len(inputs) != arity or rest:
            raise TypeError(f"{row}() takes {counted(arity, 'argument')}, {len(args)} were given")
        result = ufuncs.apply_row(Array, row, [lift(v) for v in inputs])
        return result if out is None else assign_result(out, result)

    stay_in_namespace(call, row, __name__, f"As `scipy.special.{row}`.")
    return call
