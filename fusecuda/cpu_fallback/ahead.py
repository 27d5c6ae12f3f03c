"""Ahead: what heavy loops look up in large arrays is asked for some elements before it is due.

A processor begins the loads of the next elements while it waits for one, as far as it sees ahead:
some 250 instructions. Where an element takes more of these than it has places to look up, most of
the time goes by waiting for memory, though memory would bring several at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ..fusion import kernel_ir as ir
from ..fusion.cost import computed_cost

DISTANCE = 8  # elements; more of them fall out of the first cache, fewer are not there in time
_LARGE = "(1 << 19)"  # bytes that the caches of one core hold
_LOOKED_UP = 8  # instructions of a look-up beside others
_SEEN = 20  # instructions for each place to look up, of which the processor sees enough by itself
_LONGEST = 160  # statements of a loop that is worth being written twice


class Ahead(NamedTuple):
    """What a loop asks for ahead: gathers at different places, and what their indices come from."""

    gathers: list[ir.Gather]
    sources: list[ir.Statement]


def ahead_of(body: Sequence[ir.Statement], numbers: Collection[int]) -> Ahead | None:
    """What a loop over ``body`` should ask for ahead, if anything.

    ``numbers`` are values from outside that are the same for all elements.
    """
    gathers = [s for s in body if isinstance(s, ir.Gather)]
    if not gathers or len(body) > _LONGEST:
        return None
    known: dict[int, list[ir.Statement]] = {v: [] for v in numbers}  # from what each is made
    for s in body:
        if isinstance(s, ir.Load) and s.guard is None:
            known[s.out] = [s]
        elif isinstance(s, ir.Compute) and _is_cheap(s) and known.keys() >= set(s.operands):
            known[s.out] = [*(p for v in s.operands for p in known[v]), s]
    places = {s.indices: s for s in gathers[::-1] if known.keys() >= set(s.indices)}
    work = sum(computed_cost(s.op, s.operand_dtypes) for s in body if isinstance(s, ir.Compute))
    if not places or work + _LOOKED_UP * len(gathers) < _SEEN * len(places):
        return None
    sources = [p for indices in places for v in indices for p in known[v]]
    return Ahead(list(places.values())[::-1], sorted(set(sources), key=list(body).index))


def are_large(strides: Sequence[tuple[str, str]]) -> str:
    """The condition that one of the arrays, of so many places so many bytes apart, is large."""
    terms = [f"{extent} * {stride} > {_LARGE}" for extent, stride in dict.fromkeys(strides)]
    return " || ".join(terms)


def _is_cheap(s: ir.Compute) -> bool:
    return not ir.reports(s) and computed_cost(s.op, s.operand_dtypes) <= 1
