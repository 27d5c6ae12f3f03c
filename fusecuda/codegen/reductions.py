"""The reduction kinds as text: identity, combination, and the instance of the tree each needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..fusion.kernel_ir import Reduce, Scan
from ..graph.dtypes import BOOL, ELEMENT_TYPES, DType, computed_in, kind_of, part_of_complex
from .scalar import c_type, computed, expression, rounded, suffix, zero


def tree_name(reduce: Reduce) -> str:
    """The name of the tree's functions for this kind and element type, such as ``sum_f64``."""
    return f"{reduce.kind}_{suffix(reduce.value_dtype)}"


def finds_place(reduce: Reduce) -> bool:
    """True if the value of ``reduce`` is where an element stands."""
    return reduce.kind.startswith("arg")


def has_no_order(reduce: Reduce) -> bool:
    """True if elements give the same whatever the order in which they are combined: integers."""
    return not finds_place(reduce) and computed_in(reduce.value_dtype).kind in "iub"


def has_lanes(reduce: Reduce) -> bool:
    """True if elements may meet the lanes of a chunk as they are computed: floats do."""
    return not finds_place(reduce) and computed_in(reduce.value_dtype).kind == "f"


def combined(reduce: Reduce, total: str, value: str) -> str:
    """The C expression of ``total`` with one ``value`` more."""
    return f"fc_combine_{tree_name(reduce)}({total}, {value})"


def better(reduce: Reduce) -> str:
    """The C operator by which an element is found."""
    return ">" if reduce.kind == "argmax" else "<"


def place_type(reduce: Reduce) -> str:
    """The integers that count the elements of a chunk, as wide as what is compared, or nearly."""
    return {8: "int64_t", 4: "int32_t"}.get(computed_in(reduce.value_dtype).itemsize, "int16_t")


def partial_type(reduce: Reduce) -> str:
    """The C type of what the tree combines."""
    if finds_place(reduce):
        return f"fc_at_{tree_name(reduce)}"
    return c_type(reduce.value_dtype)


def result(reduce: Reduce, partial: str) -> str:
    """The C expression of the reduction's value, given what the tree combined."""
    if finds_place(reduce):
        return f"{partial}.index"
    # A sum of negative zeros alone is +0.0 (NumPy starts from it).
    starts = reduce.kind == "sum" and reduce.from_zero
    if starts and kind_of(reduce.dtype) == "f":
        return rounded(reduce.dtype, f"{partial} + 0")
    if starts and reduce.dtype.kind == "c":
        return f"fc_add_{suffix(reduce.dtype)}({partial}, {zero(reduce.dtype)})"
    return rounded(reduce.dtype, partial)


def instance(reduce: Reduce) -> str:
    """The macro call that makes the tree, guarded so that each unit has it once."""
    name, dtype = tree_name(reduce), computed_in(reduce.value_dtype)
    value = c_type(dtype)
    if finds_place(reduce):
        text = f"FC_ARG_TREE({name}, {value}, {place_type(reduce)}, {better(reduce)})"
    else:
        identity, combine = _RULES[reduce.kind](dtype)
        if dtype.kind == "f" and reduce.kind in ("max", "min"):
            sign = ">" if reduce.kind == "max" else "<"
            kinds = f"{value}, {place_type(reduce)}"
            text = f"FC_EXTREME_TREE({name}, {kinds}, {identity}, {sign}, {combine})"
        elif dtype.kind == "f":
            text = f"FC_FLOAT_TREE({name}, {value}, {identity}, {combine})"
        elif dtype.kind == "c":
            kinds = f"{value}, {c_type(part_of_complex(dtype))}"
            make = f"fc_make_{suffix(dtype)}"
            text = f"FC_PAIRED_TREE({name}, {kinds}, {identity}, {make}, {combine})"
        else:
            text = f"FC_TREE({name}, {value}, {value}, {identity}, v, {combine})"
    return f"#ifndef FC_HAVE_{name}\n#define FC_HAVE_{name}\n{text}\n#endif\n"


def cross_instance(reduce: Reduce) -> str:
    """The macro call that makes of the tree what reduces across rows, once for each unit."""
    name, value = tree_name(reduce), c_type(computed_in(reduce.value_dtype))
    text = f"FC_CROSS({name}, {value})"
    return f"#ifndef FC_HAVE_CROSS_{name}\n#define FC_HAVE_CROSS_{name}\n{text}\n#endif\n"


def scan_start(scan: Scan) -> str:
    """The C expression of what a scan starts from: it leaves the first element as it is."""
    return _RULES[scan.kind](computed_in(scan.dtype))[0]


def scan_step(scan: Scan, total: str, value: str) -> str:
    """The C expression of the next total, rounded at each step as NumPy's are."""
    op = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}[scan.kind]
    return computed(op, scan.dtype, (scan.dtype, scan.dtype), (total, value), expression)


def _sum(dtype: DType) -> tuple[str, str]:
    row = ELEMENT_TYPES[dtype]
    if dtype.kind == "f":
        return f"-0.0{row.literal}", "a + b"
    if dtype.kind == "c":
        return f"fc_make_{row.hlo}(-0.0, -0.0)", f"fc_add_{row.hlo}(a, b)"
    return "0", f"({row.value})(a + b)"


def _prod(dtype: DType) -> tuple[str, str]:
    return "1", "a * b" if dtype.kind == "f" else f"({c_type(dtype)})(a * b)"


def _extreme(dtype: DType, largest: bool) -> tuple[str, str]:
    """The identity is the value that loses against every other."""
    if dtype == BOOL:
        return ("0", "a | b") if largest else ("1", "a & b")
    row, name = ELEMENT_TYPES[dtype], "maximum" if largest else "minimum"
    if dtype.kind == "f":
        huge = f"HUGE_VAL{row.literal.upper()}"
        return f"{'-' if largest else ''}{huge}", f"fc_{name}_{row.hlo}(a, b)"
    info = np.iinfo(str(dtype))
    bound = int(info.min if largest else info.max)
    # The most negative integer has no literal in C.
    literal = f"(-{-bound - 1}{row.literal} - 1)" if bound < 0 else f"{bound}{row.literal}"
    return literal, f"a {'>' if largest else '<'} b ? a : b"


_RULES: dict[str, Callable[[DType], tuple[str, str]]] = {
    "sum": _sum,
    "prod": _prod,
    "max": lambda dtype: _extreme(dtype, largest=True),
    "min": lambda dtype: _extreme(dtype, largest=False),
    "any": lambda dtype: ("0", "a | b"),
    "all": lambda dtype: ("1", "a & b"),
}
