"""What a loop computes from one byte alone: of 256 arguments a table may be made instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..graph.dtypes import DType
from ..graph.ops import OPS
from . import kernel_ir as ir
from .verify import operands

COSTLY = 24  # units of the op table from which on a look into a table takes less time
MANY = 4096  # elements for which a table pays


class Chain(NamedTuple):
    """Statements whose last value, ``out``, depends on a byte and on row values alone."""

    load: ir.Load
    body: tuple[ir.Statement, ...]
    out: int
    dtype: DType


def chains_of(kernel: ir.KernelIR) -> list[Chain]:
    """The costly chains of a loop, each up to where its value meets others or is stored."""
    if kernel.kind != "loop" or kernel.is_ordered:
        return []
    (stage,) = kernel.stages
    source: dict[int, ir.Load | None] = {
        s.out: None for s in stage.head if not isinstance(s, ir.Effect)
    }
    made: dict[int, ir.Compute] = {}
    ends: dict[int, None] = {}
    for s in stage.body:
        froms = {load for v in operands(s) if (load := source.get(v)) is not None}
        if isinstance(s, ir.Load) and _is_byte(s):
            source[s.out] = s
        elif isinstance(s, ir.Compute) and _is_of_one(s, froms, source):
            source[s.out] = next(iter(froms), None)
            made[s.out] = s
        else:
            ends.update(dict.fromkeys(v for v in operands(s) if v in made and source[v]))
    found = []
    for end in ends:
        load, body = source[end], _needed(stage.body, made, end)
        assert load is not None
        if sum(map(_cost, body)) >= COSTLY:
            found.append(Chain(load, tuple(body), end, made[end].dtype))
    return found


def without(body: Sequence[ir.Statement], chains: Sequence[Chain]) -> list[ir.Statement]:
    """The statements of ``body`` that are left where ``chains`` are looked up."""
    outs = {chain.out for chain in chains}
    needed = {chain.load.out for chain in chains}
    left: list[ir.Statement] = []
    for s in reversed(body):
        if isinstance(s, ir.Effect) or (s.out in needed and s.out not in outs):
            needed.update(operands(s))
            left.append(s)
    return left[::-1]


def _is_of_one(s: ir.Compute, froms: set[ir.Load], known: Mapping[int, ir.Load | None]) -> bool:
    """True if ``s`` is computed from what is ``known`` and one byte at most, and cannot fail."""
    return len(froms) <= 1 and known.keys() >= set(s.operands) and not ir.reports(s)


def _cost(s: ir.Compute) -> int:
    """What an element of ``s`` costs; quotients of narrow integers are few products of floats."""
    is_quick = s.op in ir.QUOTIENTS and s.dtype.kind in "iu" and s.dtype.itemsize <= _NARROW
    return min(OPS[s.op].cost, _QUICK) if is_quick else OPS[s.op].cost


_NARROW, _QUICK = 2, 6  # bytes, units of the op table


def _is_byte(load: ir.Load) -> bool:
    return load.guard is None and load.dtype.itemsize == 1


def _needed(
    body: Sequence[ir.Statement], made: dict[int, ir.Compute], end: int
) -> list[ir.Compute]:
    """The statements from which value ``end`` is computed, in order."""
    needed = {end}
    found: list[ir.Compute] = []
    for s in reversed(body):
        if isinstance(s, ir.Compute) and s.out in needed and s.out in made:
            needed.update(s.operands)
            found.append(s)
    return found[::-1]
