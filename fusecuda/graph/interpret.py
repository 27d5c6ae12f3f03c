"""The NumPy interpreter: the living definition of every operation, and the oracle of the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dtypes import INT64, computed_in, kind_of
from .node import Graph, Node
from .ops import row_of
from .structure import STRUCTURES, is_compaction
from .views import Array, written


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a back end's operations mean where they differ from NumPy's."""

    group: int = 1  # neighbours that a lane of the reduction tree takes at a time; 0: no tree
    elementwise: Mapping[tuple[str, str], Callable[..., Any]] = field(default_factory=dict)


def _power_of_integers(a: Array, b: Array) -> Array:
    """CuPy's: a negative exponent gives 0, or 1 and -1 of themselves."""
    unit = np.where(b % 2 == 0, np.abs(a), a)
    negative = np.where(np.abs(a) == 1, unit, 0)
    return np.where(b < 0, negative, np.power(a, np.maximum(b, 0))).astype(a.dtype)


def _remainder(a: Array, b: Array) -> Array:
    """CuPy's a - floor(a / b) * b, which CUDA's compiler makes one fused multiply-add of.

    What that gives can be told but for the product's error: the difference is exact, or next to
    nothing was taken off.
    """
    floor = np.floor(a / b)
    if a.dtype.itemsize < np.dtype(np.float64).itemsize:
        wide = floor.astype(np.float64) * b
        return np.asarray(a - wide).astype(a.dtype)
    product = floor * b
    (f, g), (c, d) = _halves(floor), _halves(b)
    error = f * c - product + f * d + g * c + g * d
    return np.asarray(a - product - np.where(np.isfinite(error), error, 0))


def _halves(a: Array) -> tuple[Array, Array]:
    """Two doubles of 26 bits whose sum is ``a``."""
    large = a * 134217729.0
    high = large - (large - a)
    return high, a - high


def _fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once: the exact sum of four doubles, to odd before the last step.

    S. Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
    """
    if a.dtype.itemsize < np.dtype(np.float64).itemsize:
        return np.asarray(_to_odd(np.multiply(a, b, dtype=np.float64), c)).astype(a.dtype)
    product = a * b
    (f, g), (p, q) = _halves(a), _halves(b)
    error = f * p - product + f * q + g * p + g * q
    plain = product + c
    high, low = _sum(c + 0 * product, error)
    top, rest = _sum(product, high)
    found = top + _to_odd(rest, low)
    return np.where(np.isfinite(found) & (error != 0), found, plain)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum of two doubles, and what it leaves out."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _to_odd(a: Array, b: Array) -> Array:
    """The sum of two doubles; of those on either side of it, the one whose last bit is 1."""
    total, rest = _sum(np.asarray(a, np.float64), np.asarray(b, np.float64))
    even = total.view(np.int64) % 2 == 0
    inexact = np.isfinite(rest) & (rest != 0) & even
    return np.where(inexact, np.nextafter(total, np.copysign(np.inf, rest)), total)


def _joined(re: Array, im: Array) -> Array:
    return row_of("join").numpy(re, im)  # type: ignore[no-any-return]


def _times(a: Array, b: Array) -> Array:
    """CuPy's product of complex numbers, of which CUDA's compiler makes two fused multiply-adds."""
    return _joined(_fma(a.real, b.real, -(a.imag * b.imag)), _fma(a.real, b.imag, a.imag * b.real))


def _over(a: Array, b: Array) -> Array:
    """CuPy's quotient of complex numbers."""
    by = 1 / (np.abs(b.real) + np.abs(b.imag))
    (p, q), (r, s) = (a.real * by, a.imag * by), (b.real * by, b.imag * by)
    size = 1 / _fma(r, r, s * s)
    return _joined(_fma(p, r, q * s) * size, _fma(q, r, -(p * s)) * size)


def _shifted(shift: Callable[..., Array]) -> Callable[..., Array]:
    """CuPy's: the lower 32 bits of a count of 64 bits count."""
    return lambda a, b: shift(a, b & 0xFFFFFFFF if b.dtype.itemsize == 8 else b)


def _fmod(a: Array, b: Array) -> Array:
    """CuPy's of integers: that of the doubles next to them."""
    found = np.fmod(a.astype(np.float64), b.astype(np.float64))
    return np.where(b == 0, 0, found).astype(a.dtype)


def _extreme(ufunc: Callable[..., Array], sign: int) -> Callable[..., Array]:
    """CUDA's: of zeros the positive one is the larger one."""

    def call(a: Array, b: Array) -> Array:
        return np.where((a == 0) & (b == 0), sign * (sign * a + sign * b), ufunc(a, b))

    return call


NUMPY = Meaning()
PLAIN = Meaning(0)  # sums are NumPy's, too
CUPY = Meaning(
    4,
    {
        ("floor_divide", "f"): lambda a, b: np.floor(a / b),
        ("remainder", "f"): _remainder,
        ("power", "i"): _power_of_integers,
        ("multiply", "c"): _times,
        ("square", "c"): lambda a: _times(a, a),
        ("divide", "c"): _over,
        ("reciprocal", "c"): lambda a: _over(np.ones((), a.dtype), a),
        **{("left_shift", kind): _shifted(np.left_shift) for kind in "iu"},
        **{("right_shift", kind): _shifted(np.right_shift) for kind in "iu"},
        **{("fmod", kind): _fmod for kind in "iu"},
        ("lcm", "i"): lambda a, b: np.abs(np.lcm(a, b)),
        **{(f.__name__, "f"): _extreme(f, 1) for f in (np.maximum, np.fmax)},
        **{(f.__name__, "f"): _extreme(f, -1) for f in (np.minimum, np.fmin)},
        ("degrees", "f"): lambda a: a * a.dtype.type(180 / np.pi),
        ("radians", "f"): lambda a: a * a.dtype.type(np.pi / 180),
    },
)


def interpret(graph: Graph, arguments: Sequence[Any], meaning: Meaning = NUMPY) -> list[Array]:
    """The outputs of ``graph`` on ``arguments``, one fresh or shared array for each output.

    Arguments are indexed by parameter number. No argument is written to. Raises what NumPy raises
    for value-dependent faults (IndexError, ValueError).
    """
    values: dict[Node, Array] = {}
    owned: set[Node] = set()  # versions of arrays whose memory no other value shows
    nodes = graph.nodes()
    remaining = {node: 0 for node in nodes}
    for node in (*(o for n in nodes for o in n.operands), *graph.outputs):
        remaining[node] += 1
    with np.errstate(all="ignore"):
        for node in nodes:
            if node.op == "parameter":
                values[node] = np.asarray(arguments[node.parameter.number], node.dtype)
                continue
            operands = [values[o] for o in node.operands]
            if node.op == "update" and node.operands[0] in owned and _is_last(node, remaining):
                values[node] = written(node, *operands)
            else:
                result = evaluate(node, operands, meaning)
                values[node] = _apart(node, result, operands, remaining, owned)
            if node.op == "update":
                owned.add(node)
            for operand in node.operands:
                remaining[operand] -= 1
                if not remaining[operand]:
                    values.pop(operand, None)
    return [values[o] for o in graph.outputs]


def _is_last(node: Node, remaining: Mapping[Node, int]) -> bool:
    """True if nothing after ``node`` uses its first operand, nor ``node`` itself a second time."""
    return remaining[node.operands[0]] == 1


def _apart(
    node: Node, result: Array, operands: list[Array], remaining: Mapping[Node, int],
    owned: set[Node],
) -> Array:  # fmt: skip
    """``result``, a copy of it if it is a small part of what is owned; else that is not owned."""
    for operand, value in zip(node.operands, operands, strict=True):
        if operand not in owned or not np.may_share_memory(result, value):
            continue
        if remaining[operand] == 1:  # the memory is the result's from now on
            if node.op == "reshape":
                owned.add(node)
        elif 2 * result.nbytes <= value.nbytes:
            result = result.copy()
        else:
            owned.discard(operand)
    return result


def evaluate(node: Node, operands: list[Array], meaning: Meaning = NUMPY) -> Array:
    """The value of one operation, of exactly ``node.shape`` and ``node.dtype``."""
    if node.is_elementwise:
        result = _elementwise(node, operands, meaning)
    else:
        result = STRUCTURES[node.op].value(node, operands, meaning.group)
    array = np.asarray(result)
    if node.dtype == INT64 and array.dtype == np.intp:  # a place, which NumPy counts in words
        array = array.astype(INT64, copy=False)
    assert array.dtype == node.dtype, f"{node!r} gave {array.dtype}"
    shape = array.shape[:1] + node.shape[1:] if is_compaction(node) else node.shape
    assert array.shape == shape, f"{node!r} gave {array.shape}"
    return array


_ROUNDING = frozenset(["floor", "ceil", "trunc"])


def _elementwise(node: Node, operands: list[Array], meaning: Meaning) -> Any:
    if node.op == "convert":
        (value,) = operands
        if value.dtype.kind == "c" and node.dtype.kind not in "bc":
            value = value.real  # and no warning: capture has given it
        return np.broadcast_to(value.astype(node.dtype), node.shape)
    if node.size == 0:  # 0-d operands of no elements cannot fail
        return np.empty(node.shape, node.dtype)
    if node.op in _ROUNDING and node.dtype.kind in "biu":  # NumPy 2.0 would go by way of floats
        return np.broadcast_to(operands[0], node.shape)
    own = meaning.elementwise.get((node.op, kind_of(node.operands[0].dtype)))
    if own is not None:  # in the type that kernels compute in
        operands = [o.astype(computed_in(o.dtype), copy=False) for o in operands]
    result = (own or row_of(node.op).numpy)(*operands)
    shaped = np.broadcast_to(result, node.shape)
    return np.asarray(shaped, node.dtype)
