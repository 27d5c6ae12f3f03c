"""The functions of the vector math headers for the interpreter: the compiled kernels' bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from fusecuda.codegen.texts import complex_text, read
from fusecuda.graph.dtypes import computed_in, hlo_name
from fusecuda.graph.interpret import Meaning
from fusecuda.graph.ops import POWERS, SCIPY_NAMES

from . import quick_fma
from .texts import SPECIAL
from .translate import Struct, Translation

Array = np.ndarray[Any, Any]

HEADERS = (
    *("vecmath_exact.h", "vecmath_f64.h", "vecmath_log_f64.h", "vecmath_trig_f64.h"),
    *("vecmath_single.h", "vecmath_tables.h", "vecmath_pairs.h", "vecmath_f32.h"),
    *SPECIAL,
)
NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "logaddexp", "logaddexp2", "power", "cbrt", "hypot", *sorted(SCIPY_NAMES)),
    *POWERS.values(),
)
COMPLEX_NAMES = (
    *("multiply", "divide", "square", "reciprocal", "absolute", "exp", "log", "sqrt", "sin", "cos"),
    *("sinh", "cosh"),
)
_BLOCK = 8192  # elements at a time: what a step makes stays in the cache


@cache
def _translation() -> Translation:
    made = Translation()
    for name in HEADERS:
        made.add(read("cpu_fallback", name))
    made.add(read("codegen", "powers.h"))
    made.add(complex_text())
    made.replace("fc_fma", partial(quick_fma.fma, made["fc_fma"]))
    made.replace("fc_fmaf", partial(quick_fma.fmaf, made["fc_fmaf"]))
    return made


def is_translated() -> bool:
    """True if the texts have been translated, which takes a moment."""
    return _translation.cache_info().currsize > 0


def call(name: str, *operands: Any) -> Array:
    """``name`` of the operands, which are broadcast and of one floating dtype."""
    arrays = np.broadcast_arrays(*operands)
    dtype, wider = arrays[0].dtype, computed_in(arrays[0].dtype)
    if wider != dtype:
        return call(name, *(a.astype(wider) for a in arrays)).astype(dtype)
    result = np.empty(arrays[0].shape, dtype)
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


def call_on_complex(name: str, *operands: Any) -> Array:
    """``name`` of complex operands of one dtype, which are broadcast."""
    arrays = np.broadcast_arrays(*operands)
    dtype = arrays[0].dtype
    function = _translation()[f"fc_{name}_{hlo_name(dtype)}"]
    with np.errstate(all="ignore"):
        result: Any = function(*(Struct(re=a.real.copy(), im=a.imag.copy()) for a in arrays))
    if not isinstance(result, Struct):
        return np.asarray(result)
    joined = np.empty(arrays[0].shape, dtype)
    joined.real, joined.imag = vars(result)["re"], vars(result)["im"]
    return joined


KERNELS = Meaning(
    1,
    {(name, "f"): partial(call, name) for name in NAMES}
    | {(name, "c"): partial(call_on_complex, name) for name in COMPLEX_NAMES},
)
