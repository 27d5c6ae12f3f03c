"""Scalar statements: one C expression for each operation, made from the op table's rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.dtypes import BOOL, ELEMENT_TYPES, DType
from ..graph.ops import OPS

_MIXED = {
    ("less", "iu"): "fc_less_su({0}, {1})",
    ("less", "ui"): "fc_less_us({0}, {1})",
    ("greater", "iu"): "fc_less_us({1}, {0})",
    ("greater", "ui"): "fc_less_su({1}, {0})",
    ("less_equal", "iu"): "!fc_less_us({1}, {0})",
    ("less_equal", "ui"): "!fc_less_su({1}, {0})",
    ("greater_equal", "iu"): "!fc_less_su({0}, {1})",
    ("greater_equal", "ui"): "!fc_less_us({0}, {1})",
    ("equal", "iu"): "fc_equal_su({0}, {1})",
    ("equal", "ui"): "fc_equal_su({1}, {0})",
    ("not_equal", "iu"): "!fc_equal_su({0}, {1})",
    ("not_equal", "ui"): "!fc_equal_su({1}, {0})",
}


def c_type(dtype: DType) -> str:
    """The C type of a value of ``dtype``."""
    return ELEMENT_TYPES[dtype].c


def memory_type(dtype: DType) -> str:
    """The C type of an element in memory: a bool is a byte, which another program may have set."""
    return "uint8_t" if dtype == BOOL else ELEMENT_TYPES[dtype].c


def suffix(dtype: DType) -> str:
    """The short name of ``dtype`` that ends the names of helpers."""
    return ELEMENT_TYPES[dtype].hlo


def expression(
    op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str]
) -> str:
    """The C expression of op-table row ``op``; operands are names or literals.

    Raises KeyError for an unknown op and AssertionError for dtypes that the row has no text for.
    """
    if op == "convert":
        return _conversion(dtype, operand_dtypes[0], operands[0])
    kinds = "".join(d.kind for d in operand_dtypes)
    text = _MIXED.get((op, kinds)) or OPS[op].c_text(operand_dtypes[0])
    assert text is not None, f"{op} has no text for {operand_dtypes}"
    element = ELEMENT_TYPES[operand_dtypes[0]]
    # Narrow integers are promoted to int by C, so the result is cast back to its type.
    body = text.format(*operands, T=c_type(dtype), U=element.unsigned, t=element.hlo)
    narrow = dtype.kind in "iu" and dtype.itemsize < 4 and not body.startswith("(")
    return f"({c_type(dtype)})({body})" if narrow else body


def _conversion(dtype: DType, source: DType, operand: str) -> str:
    """The C expression of a cast; an integer zero becomes +0.0.

    GCC 12 makes float -> integer -> float one truncation, which would turn -0.5 into -0.0.
    """
    cast = f"({c_type(dtype)}){operand}"
    return f"{operand} ? {cast} : 0" if source.kind in "iu" and dtype.kind == "f" else cast
