"""Packed runs: what of a body is read run by run, and what is computed of many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..codegen import names
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from ..fusion.verify import operands


class Parts(NamedTuple):
    """The body of a loop by when it is due, and the values that wait in between."""

    read: list[ir.Statement]  # run by run, with what is stored as it is read
    computed: list[ir.Statement]  # with what is kept of it
    stored: list[ir.Store]
    taken: list[int]  # values that are read and computed with
    results: list[int]  # values that are computed and stored
    waiting: dict[int, str]  # the C types of both

    def filled(self, count: str) -> list[str]:
        """The lines that make ``count`` elements ``whole`` vectors, by copies of the last one.

        What has never been written may be a divisor that traps, or take a function longest.
        """
        copies = " ".join(f"all{v}[k] = all{v}[{count} - 1];" for v in self.taken)
        return [
            f"const int64_t whole = ({count} + FC_BLOCK - 1) & -FC_BLOCK;",
            f"for (int64_t k = {count}; k < whole; ++k) {{ {copies} }}",
        ]

    def values(self, numbers: Iterable[int], at: str) -> list[str]:
        """The definitions of values that wait."""
        kinds = self.waiting
        return [f"const {kinds[v]} {names.value(v)} = all{v}[{at}];" for v in numbers]


def parts_of(body: Sequence[ir.Statement], reduced: Iterable[int] = ()) -> Parts:
    """The parts of ``body``: what is computed, or ``reduced``, comes behind all that is read."""
    made: dict[int, ir.Statement] = {s.out: s for s in body if not isinstance(s, ir.Effect)}
    late: set[int] = set()
    read: list[ir.Statement] = []
    computed: list[ir.Statement] = []
    stored: list[ir.Store] = []
    for s in body:
        if isinstance(s, ir.Store) and s.value in late:
            stored.append(s)
        elif isinstance(s, ir.Compute) or not late.isdisjoint(operands(s)):
            computed.append(s)
            if not isinstance(s, ir.Effect):
                late.add(s.out)
        else:
            read.append(s)
    used = dict.fromkeys([*(v for s in computed for v in operands(s)), *reduced])
    taken = [v for v in used if v in made and v not in late]
    results = list(dict.fromkeys(s.value for s in stored))
    waiting = {v: c_type(made[v].dtype) for v in (*taken, *results)}
    return Parts(read, computed, stored, taken, results, waiting)
