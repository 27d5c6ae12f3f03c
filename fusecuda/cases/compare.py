"""Compare: how far two results are apart, in bits, in ULP and in value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..graph.dtypes import hlo_name, kind_of, part_of_complex
from ..graph.node import Graph, Node, topological
from ..words import counted

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """What two arrays of the same shape and dtype differ in; NaN equals NaN."""

    differing: int  # elements
    ulps: int  # the largest distance in units in the last place; 0 for integers
    largest: float  # the largest absolute difference
    first: tuple[int, ...] | None  # index of the first element that differs

    def __str__(self) -> str:
        if self.first is None:
            return "bit-equal"
        return f"at most {self.largest:.1e} apart ({self.ulps:,} ULP)"


def compare(a: Array, b: Array) -> Difference:
    """The difference of two arrays; raises ValueError if shapes or dtypes are not the same."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ValueError(f"{a.dtype}{list(a.shape)} is not {b.dtype}{list(b.shape)}")
    if a.dtype.kind == "c":
        return _of_parts(a, b)
    if kind_of(a.dtype) == "f":
        bits = f"i{a.itemsize}"
        differs = (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b))
    else:
        differs = a != b
    count = int(np.count_nonzero(differs))
    if not count:
        return Difference(0, 0, 0.0, None)
    first = tuple(int(i[0]) for i in np.nonzero(differs))
    with np.errstate(all="ignore"):
        x, y = a[differs].astype(np.float64), b[differs].astype(np.float64)
        apart = np.abs(x - y)
    largest = float(np.max(np.where(np.isnan(apart), np.inf, apart)))
    ulps = _ulps(a[differs], b[differs]) if kind_of(a.dtype) == "f" else 0
    return Difference(count, ulps, largest, first)


def _of_parts(a: Array, b: Array) -> Difference:
    """The difference of complex arrays, real and imaginary parts compared as floats."""
    part = part_of_complex(a.dtype)
    parts = compare(a.reshape(*a.shape, 1).view(part), b.reshape(*b.shape, 1).view(part))
    return parts if parts.first is None else replace(parts, first=parts.first[:-1])


def _ulps(a: Array, b: Array) -> int:
    """The largest number of representable values between corresponding elements."""
    bits = f"i{a.itemsize}"
    low = int(np.iinfo(bits).min)

    def ordered(values: Array) -> list[int]:
        """Integers in the order of the floats; both zeros are 0."""
        return [low - i if i < 0 else i for i in values.view(bits).tolist()]

    if a.size > 100_000:  # the exact integers are Python's, so look at the likely ones only
        with np.errstate(all="ignore"):
            apart = np.abs(a - b) / np.spacing(np.maximum(np.abs(a), np.abs(b)))
        worst = np.argsort(np.where(np.isnan(apart), np.inf, apart))[-1000:]
        a, b = a[worst], b[worst]
    return max(abs(x - y) for x, y in zip(ordered(a), ordered(b), strict=True))


def is_exact(output: Node) -> bool:
    """True if the interpreter's bits are promised: no library function is in ``output``."""
    nodes: Iterable[Node] = topological([output])
    return not any(n.op == "library" for n in nodes)


def close(a: Array, b: Array) -> bool:
    """True if results that round otherwise agree as well as can be asked of any program."""
    if kind_of(a.dtype) not in "fc":
        return bool(np.array_equal(a, b))
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-10}[a.real.dtype.itemsize]
    finite = np.abs(b[np.isfinite(b)])
    scale = float(np.max(finite)) if finite.size else 0.0
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


def first_difference(
    graph: Graph, found: Sequence[Array], expected: Sequence[Array], exact: bool = True
) -> str | None:
    """Text: which result of ``graph`` differs, where, both values; None if none does.

    Unless they are to be ``exact``, floats need only be close, and others are not looked at where
    floats are among what they are computed of.
    """
    for i, (node, have, want) in enumerate(zip(graph.outputs, found, expected, strict=True)):
        if not exact and kind_of(node.dtype) not in "fc" and _sees_floats(node):
            continue
        difference = compare(have, want)
        at = difference.first
        if at is None or (not exact and close(have, want)):
            continue
        return (
            f"result {i}, {described(node)}, differs in {difference.differing:,} of "
            f"{counted(want.size, 'element')}, {difference}; first at {list(at)}: {have[at]}, "
            f"not {want[at]}"
        )
    return None


def described(node: Node) -> str:
    """An operation with its kind, type and, where it is known, the line that recorded it."""
    kind = node.reduction.kind if node.reduces or node.op == "scan" else node.op
    kind = getattr(node.attr, "name", kind)
    where = f" ({node.line})" if node.line else ""
    return f"{kind} {hlo_name(node.dtype)}[{','.join(map(str, node.shape))}]{where}"


def _sees_floats(node: Node) -> bool:
    return any(kind_of(n.dtype) in "fc" for n in topological([node]))
