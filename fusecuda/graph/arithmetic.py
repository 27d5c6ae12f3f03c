"""Arithmetic: rules for operations on values that never change a bit, each saying why."""

from __future__ import annotations

import math

import numpy as np

from . import build
from .dtypes import ELEMENT_TYPES, FLOAT32, FLOAT64, INT64, DType, kind_of, part_of_complex
from .interpret import evaluate
from .node import Node
from .ops import OPS


def _is_constant(node: Node, value: float) -> bool:
    """True if ``node`` is a constant equal to ``value`` in value and sign."""
    if node.op != "constant":
        return False
    bits = np.asarray(value, node.dtype)
    return bool(bits == value) and bits.tobytes() == node.attr


def fold_constants(node: Node) -> Node | None:
    """Constants are combined by NumPy itself; only cheap ops, whose C text gives NumPy's bits."""
    row = OPS.get(node.op)
    if row is None or row.is_expensive or row.may_fail or node.shape:
        return None
    if any(o.dtype.kind == "c" for o in node.operands):  # NumPy's products depend on the machine
        return None
    if not all(o.op == "constant" for o in node.operands):
        return None
    with np.errstate(all="ignore"):
        value = evaluate(node, [np.asarray(o.value) for o in node.operands])
    return build.constant(value, node.dtype)


def _whole(node: Node, operand: Node) -> Node:
    """``operand`` in place of ``node``, broadcast if it is the 0-d operand of a larger result."""
    return build.broadcast_to(operand, node.shape)


def drop_identity_arithmetic(node: Node) -> Node | None:
    """x * 1, x - 0, x + -0.0 and, for integers, x + 0 are x for every x, ±0 included.

    x / 1 stays: a mean divides by an extent, and a kernel should not depend on extents.
    """
    if len(node.operands) != 2 or node.op not in ("add", "subtract", "multiply"):
        return None
    a, b = node.operands
    if node.dtype.kind in "bc" or node.dtype != a.dtype:  # i * inf, of parts, is not a number
        return None
    zero = -0.0 if kind_of(node.dtype) == "f" else 0
    if node.op == "multiply" and _is_constant(b, 1):
        return _whole(node, a)
    if node.op == "multiply" and _is_constant(a, 1):
        return _whole(node, b)
    if node.op == "add" and _is_constant(b, zero):
        return _whole(node, a)
    if node.op == "add" and _is_constant(a, zero):
        return _whole(node, b)
    if node.op == "subtract" and _is_constant(b, 0):
        return _whole(node, a)
    return None


def divide_by_shifts(node: Node) -> Node | None:
    """x // 2^k is x shifted by k, and x % 2^k its last k bits: both round down, as NumPy does."""
    if node.op not in ("floor_divide", "remainder") or node.dtype.kind not in "iu":
        return None
    number, divisor = node.operands
    if divisor.op != "constant" or not number.dtype == divisor.dtype == node.dtype:
        return None
    value = int(divisor.value)
    if value <= 0 or value & (value - 1):
        return None
    op, by = ("bitwise_and", value - 1)
    if node.op == "floor_divide":
        op, by = ("right_shift", value.bit_length() - 1)
    operands = (number, build.constant(by, node.dtype))
    return Node(op, operands, node.shape, node.dtype, None, node.line)


_INVOLUTIONS = frozenset({"negative", "invert", "conjugate"})
_IDEMPOTENT = frozenset({"absolute", "fabs", "floor", "ceil", "trunc", "rint", "positive"})


def divide_by_powers_of_two(node: Node) -> Node | None:
    """x / 2^k is x times 2^-k, where that is a normal number: one value, rounded once.

    A mean stays a quotient, so that its kernels are the same for every extent.
    """
    if node.op != "divide" or node.dtype not in (FLOAT32, FLOAT64):
        return None
    x, divisor = node.operands
    reduced = x.operands[0] if x.op == "index" else x
    if reduced.reduces or divisor.op != "constant":
        return None
    value = float(divisor.value)
    if abs(math.frexp(value)[0]) != 0.5 or min(abs(value), abs(1 / value)) < _LEAST[node.dtype]:
        return None
    return build.elementwise("multiply", [x, build.constant(1 / value, node.dtype)], node.dtype)


_LEAST = {FLOAT32: 2.0**-126, FLOAT64: 2.0**-1022}  # the least normal numbers


def drop_repeats(node: Node) -> Node | None:
    """-(-x) and ~(~x) flip the same bits twice; |·| and rounding change nothing a second time."""
    if node.op == "positive":
        return node.operands[0]
    if len(node.operands) != 1 or node.operands[0].op != node.op:
        return None
    if node.op in _INVOLUTIONS:
        return node.operands[0].operands[0]
    return node.operands[0] if node.op in _IDEMPOTENT else None


def merge_conversions(node: Node) -> Node | None:
    """A cast after a cast that loses nothing is one cast; a cast to the own type is none."""
    if node.op != "convert":
        return None
    (inner,) = node.operands
    if inner.dtype == node.dtype:
        return inner
    if inner.op == "convert" and is_lossless(inner.operands[0].dtype, inner.dtype):
        return build.convert(inner.operands[0], node.dtype)
    return None


def convert_chosen_constants(node: Node) -> Node | None:
    """A cast of one or another constant is the choice between these, cast: none is cast again."""
    if node.op != "convert" or node.operands[0].op != "where":
        return None
    condition, *values = node.operands[0].operands
    if not all(v.op == "constant" for v in values):
        return None
    placed = (condition, *[build.convert(v, node.dtype) for v in values])
    return Node("where", placed, node.shape, node.dtype)


def add_whole_numbers(node: Node) -> Node | None:
    """A sum of integers of 16 bits at most, cast to doubles, is that of the integers, cast.

    Doubles hold all that comes of fewer than 2^37 of them, in whatever order; integers need none.
    """
    is_sum = node.op == "reduce" and node.reduction.kind == "sum" and node.dtype == FLOAT64
    if not is_sum or node.operands[0].op != "convert":
        return None
    (number,) = node.operands[0].operands
    if number.dtype.kind not in "biu" or number.dtype.itemsize > 2:
        return None
    whole = Node("reduce", (build.convert(number, INT64),), node.shape, INT64, node.attr, node.line)
    return build.convert(whole, FLOAT64)


def is_lossless(source: DType, target: DType) -> bool:
    """True if every value of ``source`` is a value of ``target`` and casting back restores it."""
    if target.kind == "c" and source.kind != "c":
        target = part_of_complex(target)
    if source.kind in "iu" and kind_of(target) == "f":
        return 8 * source.itemsize - (source.kind == "i") <= ELEMENT_TYPES[target].digits
    return bool(np.can_cast(source, target, "safe"))


def decide_where(node: Node) -> Node | None:
    """A selection between one value and itself, or by a constant, needs no selection."""
    if node.op != "where":
        return None
    condition, a, b = node.operands
    if condition.op == "constant":
        return _whole(node, a if condition.value else b)
    return _whole(node, a) if a is b else None
