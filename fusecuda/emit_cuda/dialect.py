"""The CUDA dialect as data: what an operation is called on the device, types, launch constants.

Additions, subtractions and products of floats are rounding intrinsics, so that the compiler never
contracts what the user wrote apart; with ``contract`` they are plain operators. Functions are
CUDA's own, called as CuPy calls them. Values never raise on the device: indices out of range wrap
around and negative integer powers give 0 or ±1, as CuPy's.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen.scalar import expression as c_expression
from ..graph.dtypes import DType

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


def expression(
    op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str], contract: bool
) -> str:
    """The CUDA C expression of op-table row ``op``; operands are names or literals."""
    first = operand_dtypes[0]
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
