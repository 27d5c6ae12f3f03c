"""Planted bugs around element types, short reductions and scans."""

from __future__ import annotations

from importlib.util import find_spec

from .mutation import Mutation, ids

_COMPLEX, _HALVES = "codegen/complex.h", "codegen/halves.h"
_SCANS, _UNROLLED = "codegen/scans.py", "fusion/unrolled.py"

_OF_BFLOAT16 = () if find_spec("ml_dtypes") is None else (
    Mutation(
        "shared-parts-are-whole",
        "capture/arrays/held.py",
        "build_snapshot(self.shown_of(storage.buffer), self.dtype)",
        "build_snapshot(view.of(storage.buffer), storage.dtype)",
        "a part of complex numbers that others keep is read as the numbers",
        ids("arrays/aliases", "parts_of_memory_that_others_keep"),
    ),
    Mutation(
        "arrays-as-elements",
        "capture/arrays/indexing.py",
        "not region.ndim and Ellipsis not in keys)",
        "False)",
        "an array is written to one element",
        ids("arrays/array", "what_is_written_to_one_element"),
    ),
    Mutation(
        "all-numbers-are-strong",
        "capture/record/numbers.py",
        "any(map(_is_typed, args))",
        "False",
        "of two numbers that are chosen from one of Python's decides the type",
        ids("scalar_types", "numbers_are_weak_where_numpy_asks_for_types"),
    ),
    Mutation(
        "bfloats-round-up",
        "codegen/bfloats.h",
        "u + 0x7fffu + (u >> 16 & 1)",
        "u + 0x8000u",
        "a float between two bfloat16 numbers becomes the larger, not the even one",
        ids("ops", "rows_on_every_value[bfloat16]"),
    ),
    Mutation(
        "own-text-forgotten",
        "codegen/scalar.py",
        "if ELEMENT_TYPES[operand_dtypes[0]].hlo in OPS[op].text:",
        "if ELEMENT_TYPES[operand_dtypes[0]].hlo in ():",
        "the sign of a negative zero is float32's zero, not bfloat16's",
        ids("bfloat16", "programs_have_numpys_bits[extremes]"),
    ),
    Mutation(
        "clipped-as-it-is-promoted",
        "capture/arrays/selection.py",
        'if any(v.dtype.kind == "V" for v',
        'if any(v.dtype.kind == "U" for v',
        "bfloat16 stays itself between bounds, where NumPy has no loop for it",
        ids("bfloat16", "programs_have_numpys_bits[choices]"),
    ),
    Mutation(
        "void-in-a-library-call",
        "graph/dtypes.py",
        'return dtype.name if dtype.kind == "V" and dtype in ELEMENT_TYPES else dtype.str',
        "return dtype.str",
        "a library call is told to make void of what is to be bfloat16",
        ids("bfloat16", "text_files_and_sources"),
    ),
)  # fmt: skip

TYPES = (
    Mutation(
        "stub-of-another-arity",
        "numpy/__init__.pyi",
        "arctan2: _Binary",
        "arctan2: _Unary",
        "type checkers refuse right calls",
        ids("types", "stubs_are_what_is_generated"),
    ),
    Mutation(
        "option-unexplained",
        "capture/calls/fused.py",
        "    - ``streams``: how many",
        "    - streams: how many",
        "help() is silent on an option",
        ids("help", "each_option_is_explained"),
    ),
    Mutation(
        "halves-of-more-digits",
        _HALVES,
        " + 0x06c00000u);",
        " + 0x06800000u);",
        "the units of what is taken off negative numbers are half as large",
        ids("ops", "rows_give_numpys_values[float16-contiguous]"),
    ),
    Mutation(
        "halves-rounded-twice",
        _HALVES,
        "u = back == a || a != a ? u : u | 1;",
        "u = fc_bits_f32(near);",
        "a double becomes a half by way of a float",
        ids("halves_and_complex", "doubles_become_halves_in_one_rounding[recorded]"),
    ),
    Mutation(
        "halves-summed-as-halves",
        "graph/dtypes.py",
        'rounded=f"fc_round_{name}({{0}})",',
        'rounded="{0}",',
        "what is computed of halves is not rounded to halves",
        ids("ops", "rows_give_numpys_values[float16-contiguous]"),
    ),
    Mutation(
        "variances-of-halves-summed-as-halves",
        "capture/arrays/reductions.py",
        "count, wider = _count(x, axis), computed_in(loop)",
        "count, wider = _count(x, axis), loop",
        "the squares of a variance are summed as halves, and their number is one",
        ids("halves_and_complex", "a_sum_of_halves_is_rounded_once[recorded]"),
    ),
    *_OF_BFLOAT16,
    Mutation(
        "fused-complex-product",
        _COMPLEX,
        "FC_ROUNDED(a.re * b.re) - FC_ROUNDED(a.im * b.im)",
        "fc_fma(a.re, b.re, -(a.im * b.im))",
        "a product of complex numbers is fused with a difference",
        ids("halves_and_complex", "products_of_parts_are_rounded_apart[recorded]"),
    ),
    Mutation(
        "other-part-written",
        "capture/arrays/parts.py",
        'parts = [value, kept] if part == "real" else [kept, value]',
        "parts = [value, kept]",
        "writing the imaginary part writes the real one",
        ids("halves_and_complex", "parts_are_views[recorded-complex128]"),
    ),
    Mutation(
        "unrolled-in-order",
        _UNROLLED,
        "return finished(node, folded(node, [met(node, lane) for lane in lanes]))",
        "return finished(node, met(node, elements))",
        "a short sum is made in order, not in the order of the tree",
        ids("unrolled", "the_bits_are_the_trees[f8-sum-1]"),
    ),
    Mutation(
        "value-behind-a-scan",
        _SCANS,
        "if where is None or where == len(found) - 1:",
        "if where is None or where >= 0:",
        "what was computed before a scan is used behind it without having been kept",
        ids("scans", "with_what_is_around[chain]", "with_what_is_around[two]"),
    ),
    Mutation(
        "scan-starts-at-zero",
        "codegen/reductions.py",
        "return _RULES[scan.kind](computed_in(scan.dtype))[0]",
        'return {"sum": "0", "prod": "1"}[scan.kind]',
        "a running sum of negative zeros is positive",
        ids("scans", "the_first_element_stays_as_it_is"),
    ),
    Mutation(
        "the-loop-of-the-operands",
        "capture/arrays/ufuncs.py",
        'kwargs = {"dtype": type_text(dtype)} if is_asked else {}',
        "kwargs: dict[str, Any] = {}",
        "what NumPy computes runs the loop of the operands' types, whatever `dtype=` says",
        ids("other_dtypes", "functions_in_a_type_that_is_asked_for[recorded-complex128]"),
    ),
    Mutation(
        "itself-however-it-lies",
        "capture/arrays/selection.py",
        'and (order == "K" or x.is_scalar or _lies_by(x, order)):',
        'and (x.is_scalar or order in tuple("KCFA")):',
        "`astype` in an order that an array has not gives the array itself",
        ids("contiguous", "writes_reach_what_is_contiguous_already"),
    ),
)
