"""The CUDA dialect as data: what an operation is called on the device, types, launch constants.

Additions, subtractions and products of floats are rounding intrinsics, so that the compiler never
contracts what the user wrote apart; with ``contract`` they are plain operators. Functions are
CUDA's own, called as CuPy calls them. Values never raise on the device: indices out of range wrap
around and negative integer powers give 0 or ±1, as CuPy's. So do shifts of and remainders within
64 bits, common multiples that wrap around, extremes of zeros, and complex products and quotients.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.scalar import expression as c_expression
from ..graph.dtypes import ELEMENT_TYPES, FLOAT16, DType

_ROUNDED = {"add": "add", "subtract": "sub", "multiply": "mul"}
_SAME = {"equal": "fc_same", "not_equal": "!fc_same"}  # of integers with a sign
_FUNCTIONS = {  # op -> CUDA's name; float32 has an f behind it
    **{name: name for name in ("exp", "expm1", "log", "log2", "log10", "log1p")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "hypot", "cbrt")},
    **{name: name for name in ("erf", "erfc", "sqrt", "rint", "floor", "ceil", "trunc", "fmod")},
    **{name: name for name in ("copysign", "nextafter")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "power": "pow",
    "absolute": "fabs",
    "fabs": "fabs",
}
_PRODUCTS = {  # of complex numbers
    "multiply": "fc_times", "square": "fc_squared",
    "divide": "fc_over", "reciprocal": "fc_one_over",
}  # fmt: skip
_WIDE = frozenset({"left_shift", "right_shift", "fmod"})  # of integers of 64 bits
_EXTREMES = frozenset({"maximum", "minimum", "fmax", "fmin"})


def _as_cupy(op: str, dtype: DType, operands: Sequence[str]) -> str:
    """The expression that gives what CuPy does where NumPy gives something else; else none."""
    short, given = ELEMENT_TYPES[dtype].hlo, ", ".join(operands)
    if dtype.kind == "c" and op in _PRODUCTS:
        return f"{_PRODUCTS[op]}_{short}({given})"
    if dtype.kind in "iu" and dtype.itemsize == 8 and op in _WIDE:
        return f"fc_wide_{op}_{short}({given})"
    if dtype.kind == "i" and op == "lcm":  # the magnitude of what has wrapped around
        return f"fc_absolute_{short}(fc_lcm_{short}({given}))"
    if dtype == FLOAT16 and op in _EXTREMES:
        return f"fc_{op}_f32({given})"
    return ""


def expression(
    op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str], contract: bool
) -> str:
    """The CUDA C expression of op-table row ``op``; operands are names or literals."""
    first = operand_dtypes[0]
    if own := _as_cupy(op, first, operands):
        return own
    if op == "within":
        return f"fc_wrap<int64_t>({operands[0]}, {operands[1]})"
    if op in _SAME and {d.kind for d in operand_dtypes} == {"i"}:
        wide = "int64_t" if max(d.itemsize for d in operand_dtypes) == 8 else "int"
        return f"{_SAME[op]}(({wide}){operands[0]}, ({wide}){operands[1]})"
    if first.kind != "f":
        return c_expression(op, dtype, operand_dtypes, operands)
    single = first.itemsize == 4
    if not contract:
        prefix = "__f" if single else "__d"
        if op in _ROUNDED:
            return f"{prefix}{_ROUNDED[op]}_rn({operands[0]}, {operands[1]})"
        if op == "square":
            return f"{prefix}mul_rn({operands[0]}, {operands[0]})"
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}{'f' if single else ''}({', '.join(operands)})"
    return c_expression(op, dtype, operand_dtypes, operands)
