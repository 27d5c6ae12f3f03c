"""Scalar statements: one C expression for each operation, made from the op table's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph.dtypes import ELEMENT_TYPES, FLOAT64, DType, computed_in, part_of_complex
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
    return ELEMENT_TYPES[dtype].value


def memory_type(dtype: DType) -> str:
    """The C type of an element of ``dtype`` in memory."""
    return ELEMENT_TYPES[dtype].memory


def loaded(dtype: DType, element: str) -> str:
    """The C expression of the value of an element in memory."""
    return ELEMENT_TYPES[dtype].load.format(element)


def stored(dtype: DType, value: str) -> str:
    """The C expression of a value as an element in memory."""
    return ELEMENT_TYPES[dtype].store.format(value)


def rounded(dtype: DType, value: str) -> str:
    """The C expression of a value that was computed in a wider type."""
    return ELEMENT_TYPES[dtype].rounded.format(value)


def zero(dtype: DType) -> str:
    """The C expression of a value of zero."""
    return ELEMENT_TYPES[dtype].zero


def suffix(dtype: DType) -> str:
    """The short name of what computes ``dtype``, which ends the names of helpers."""
    return ELEMENT_TYPES[computed_in(dtype)].hlo


Expression = Callable[[str, DType, Sequence[DType], Sequence[str]], str]
Cast = Callable[[DType, DType, str], str]


def computed(
    op: str,
    dtype: DType,
    operand_dtypes: Sequence[DType],
    operands: Sequence[str],
    expression: Expression,
) -> str:
    """The C expression of op-table row ``op`` in any types; ``expression`` is the dialect's.

    What has no text of its own is computed in the type that has, and rounded.
    """
    if ELEMENT_TYPES[operand_dtypes[0]].hlo in OPS[op].text:
        return expression(op, dtype, operand_dtypes, operands)
    wider = [computed_in(d) for d in operand_dtypes]
    text = expression(op, computed_in(dtype), wider, operands)
    return text if OPS[op].exact else rounded(dtype, text)


def expression(
    op: str, dtype: DType, operand_dtypes: Sequence[DType], operands: Sequence[str]
) -> str:
    """The C expression of op-table row ``op``; operands are names or literals.

    Raises KeyError for an unknown op and AssertionError for dtypes that the row has no text for.
    """
    kinds = "".join(d.kind for d in operand_dtypes)
    text = _MIXED.get((op, kinds)) or OPS[op].c_text(operand_dtypes[0])
    assert text is not None, f"{op} has no text for {operand_dtypes}"
    element = ELEMENT_TYPES[operand_dtypes[0]]
    # Narrow integers are promoted to int by C, so the result is cast back to its type.
    body = text.format(*operands, T=c_type(dtype), U=element.unsigned, t=element.hlo)
    narrow = dtype.kind in "iu" and dtype.itemsize < 4 and not body.startswith("(")
    return f"({c_type(dtype)})({body})" if narrow else body


def cast(dtype: DType, source: DType, operand: str) -> str:
    """The C expression of a cast between types that C has; an integer zero becomes +0.0.

    GCC makes float -> integer -> float one truncation, which would turn -0.5 into -0.0.
    """
    if source.kind in "iu" and dtype.kind == "f":
        return f"FC_OF_WHOLE({c_type(dtype)}, {operand})"
    return f"({c_type(dtype)}){operand}"


def conversion(dtype: DType, source: DType, operand: str, cast: Cast = cast) -> str:
    """The C expression of a cast between any types; ``cast`` is the dialect's."""
    if source.kind == "c":
        return _conversion_of_complex(dtype, source, operand, cast)
    if dtype.kind == "c":
        part = conversion(part_of_complex(dtype), source, operand, cast)
        return f"fc_make_{suffix(dtype)}({part}, 0)"
    if computed_in(dtype) != dtype:
        if source == FLOAT64 and ELEMENT_TYPES[dtype].of_double:  # rounded once
            return ELEMENT_TYPES[dtype].of_double.format(operand)
        return rounded(dtype, conversion(computed_in(dtype), source, operand, cast))
    return cast(dtype, computed_in(source), operand)


def _conversion_of_complex(dtype: DType, source: DType, operand: str, cast: Cast) -> str:
    """The C expression of a cast of a complex number; others than complex take the real part."""
    if dtype == source:
        return operand
    if dtype.kind == "b":
        return f"fc_truth_{suffix(source)}({operand})"
    if dtype.kind != "c":
        return conversion(dtype, part_of_complex(source), f"{operand}.re", cast)
    part = c_type(part_of_complex(dtype))
    return f"fc_make_{suffix(dtype)}(({part}){operand}.re, ({part}){operand}.im)"
