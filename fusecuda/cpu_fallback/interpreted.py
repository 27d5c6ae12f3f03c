"""The functions of the vector math headers for the interpreter: the compiled kernels' bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from fusecuda.graph.interpret import Meaning

from .translate import Translation

Array = np.ndarray[Any, Any]

HEADERS = ("vecmath_exact.h", "vecmath_f64.h", "vecmath_trig_f64.h", "vecmath_f32.h")
NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "expit", "logaddexp", "logaddexp2", "erf", "erfc", "power", "cbrt", "hypot"),
)
_BLOCK = 16384  # elements at a time: what a step makes stays in the cache


@cache
def _translation() -> Translation:
    made = Translation()
    for name in HEADERS:
        made.add(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return made


def call(name: str, *operands: Any) -> Array:
    """``name`` of the operands, which are broadcast; they are all float64 or all float32."""
    arrays = np.broadcast_arrays(*operands)
    result = np.empty(arrays[0].shape, arrays[0].dtype)
    flat, out = [a.reshape(-1) for a in arrays], result.reshape(-1)
    function = _function(name, "f64" if result.dtype == np.float64 else "f32")
    with np.errstate(all="ignore"):
        for start in range(0, out.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = function(*(f[part] for f in flat))
    return result


def _function(name: str, kind: str) -> Callable[..., Array]:
    if name == "logaddexp2":
        return partial(_logaddexp2, kind)
    return _translation()[f"fc_{'pow' if name == 'power' else name}_{kind}"]


def _logaddexp2(kind: str, a: Array, b: Array) -> Array:
    """As codegen/prelude.h has it."""
    gap = a - b
    power = _function("exp2", kind)(np.where(gap > 0, -gap, gap))
    rest = a.dtype.type(1.44269504088896340736) * _function("log1p", kind)(power)
    return np.asarray(np.where(a == b, a + a.dtype.type(1), np.where(gap > 0, a, b) + rest))


KERNELS = Meaning(1, {(name, "f"): partial(call, name) for name in NAMES})
