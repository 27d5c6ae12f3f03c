"""Planted bugs in the narrower types of integers, and in what is known of their values."""

from __future__ import annotations

from .mutation import Mutation, ids

_NARROWED = "fusion/narrowed.py"
_BOUNDS = "graph/bounds.py"
_LAST_BITS = "fusion/last_bits.py"

NARROWED = (
    Mutation(
        "narrowed-by-what-is-given-alone",
        _NARROWED,
        "(*values, *([] if node.op in _COMPARED else [node]))",
        "(*values,)",
        "a product of two shorts is made as a short",
        ids("narrowed", "values_are_the_same[0]"),
    ),
    Mutation(
        "narrowed-by-what-is-made-alone",
        _NARROWED,
        "(*values, *([] if node.op in _COMPARED else [node]))",
        "([] if node.op in _COMPARED else [node])",
        "a quotient of long numbers is made of what is left of them in few bits",
        ids("narrowed", "values_are_the_same[0]"),
    ),
    Mutation(
        "narrowed-casts-that-wrap-around",
        _NARROWED,
        'is_kept = node.dtype.kind in "iu" and given is not None and given == known',
        'is_kept = node.dtype.kind in "iu" and given is not None',
        "a negative byte as a number without sign is taken for negative",
        ids("narrowed", "values_are_the_same[0]"),
    ),
    Mutation(
        "narrowed-out-of-wide-lanes",
        _NARROWED,
        "dtype.itemsize < max(lanes, 1) or",
        "",
        "bools of doubles are packed and unpacked",
        ids("narrowed", "lanes_are_not_packed_to_be_unpacked"),
    ),
    Mutation(
        "narrowed-casts-made-again",
        _NARROWED,
        "made = self._made.get((operand, dtype))",
        "made = None",
        "each operation casts its operands",
        ids("narrowed", "a_cast_is_made_once"),
    ),
    Mutation(
        "sums-of-wide-integers-as-doubles",
        "graph/arithmetic.py",
        'number.dtype.kind not in "biu" or number.dtype.itemsize > 2',
        'number.dtype.kind not in "biu"',
        "a sum of doubles that wide integers were cast to is one of these integers, and wraps",
        ids("passes", "sums_of_small_integers_are_whole"),
    ),
    Mutation(
        "choices-cast-before-they-are-known",
        "graph/arithmetic.py",
        'if not all(v.op == "constant" for v in values):',
        'if not any(v.op == "constant" for v in values):',
        "a value is cast before it is chosen",
        ids("passes", "what_is_chosen_of_constants_is_cast_before"),
    ),
    Mutation(
        "bounds-of-quotients-by-what-may-be-negative",
        _BOUNDS,
        "    if b[0] > 0:\n",
        "    if True:\n",
        "a quotient by numbers of both signs is thought to be between those by the ends",
        ids("bounds", "values_are_within_their_bounds[int16]"),
    ),
    Mutation(
        "bounds-of-common-bits-of-negative-numbers",
        _BOUNDS,
        "if low >= 0]",
        "]",
        "the common bits of a negative number and another one are thought to be few",
        ids("bounds", "values_are_within_their_bounds[int16]"),
    ),
    Mutation(
        "quotients-of-numbers-that-floats-lack",
        "fusion/kernel_ir.py",
        "SMALL = 1 << 21",
        "SMALL = 1 << 24",
        "numbers of 24 bits are divided as floats",
        ids("cpu_fallback/division", "small_values[library0-small_floor_divide-int32]"),
    ),
    Mutation(
        "small-remainders-by-zero",
        "cpu_fallback/division.h",
        "        return (T)(r & (0 - (b != 0)));",
        "        return (T)r;",
        "a small number has a remainder by 0",
        ids("cpu_fallback/division", "small_values[library0-small_remainder-int32]"),
    ),
    Mutation(
        "last-bits-of-a-wider-mask",
        _LAST_BITS,
        "if _is_within(mask, 1 << _BITS):",
        "if _is_within(mask, 2 << _BITS):",
        "a mask of 33 bits loses the first of them",
        ids("last_bits", "types_of_products[one_bit_more]"),
    ),
    Mutation(
        "last-bits-of-what-moves-others-there",
        _LAST_BITS,
        '"invert", "left_shift"}',
        '"invert", "left_shift", "right_shift"}',
        "bits that a shift moves to the end are dropped before",
        ids("last_bits", "types_of_products[shifted_right]"),
    ),
    Mutation(
        "last-bits-of-any-shift",
        _LAST_BITS,
        'if node.op == "left_shift" and not _is_within(constant_of(node.operands[1]), _BITS):',
        'if node.op == "left_shift" and False:',
        "a shift by more than 32 bits can hold is one by less",
        ids("last_bits", "shifts_by_more_than_32_bits_hold"),
    ),
    Mutation(
        "last-bits-of-what-is-wanted-whole",
        _LAST_BITS,
        "return operand in self._wrapped and self._uses[operand] == 1",
        "return operand in self._wrapped",
        "a product is computed twice, once of each width",
        ids("last_bits", "types_of_products[wanted_elsewhere]"),
    ),
    Mutation(
        "last-bits-without-gain",
        _LAST_BITS,
        "pays = self._products[node] > 0 and mask_of(node) is not None",
        "pays = mask_of(node) is not None",
        "sums of wide numbers are cast to be as quick as before",
        ids("last_bits", "types_of_products[without_products]"),
    ),
)
