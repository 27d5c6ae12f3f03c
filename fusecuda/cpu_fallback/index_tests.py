"""Tests of indices that have one answer for a run of elements, and choices by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..fusion import kernel_ir as ir


class Tests(NamedTuple):
    """The index tests that are ``made`` once for a run, and the guards that forms are read under.

    Masked loads cost dearly where nothing is mapped behind the mask. So a run ends where a test
    changes its answer, and what lies outside is read from a block of zeros.

    Choices by what is ``steady``, the same for all of a run, are made by the bits of a mask: gcc
    vectorises no other ones.
    """

    made: tuple[ir.InRange, ...]
    guards: dict[int, tuple[int, ...]]  # a form may be read where one of them holds; or anyway
    steady: frozenset[int] = frozenset()
    chosen: tuple[ir.ChosenLoad, ...] = ()  # of which the places are chosen once for a run, too

    def __bool__(self) -> bool:
        return bool(self.made or self.guards or self.chosen)


NO_TESTS = Tests((), {})


def tests_of(heads: Iterable[ir.Statement], body: Sequence[ir.Statement]) -> Tests:
    """The tests of ``body``; those among ``heads`` have been made already."""
    heads = list(heads)
    made = made_once(heads, body)
    known = {s.out for s in (*heads, *made) if isinstance(s, ir.InRange)}
    guards: dict[int, set[int | None]] = {}
    for s in body:
        if isinstance(s, ir.Load | ir.LookUp | ir.Store):
            guards.setdefault(s.form, set()).add(s.guard if isinstance(s, ir.Load) else None)
    readable: dict[int, tuple[int, ...]] = {}
    for form, found in guards.items():
        own = sorted(g for g in found if g is not None)
        if own and known.issuperset(own):
            readable[form] = () if None in found else tuple(own)
    same = {s.out for s in (*heads, *made) if not isinstance(s, ir.Effect)}
    return Tests(
        tuple(made),
        readable,
        frozenset(same & _choosing(body)),
        tuple(s for s in body if isinstance(s, ir.ChosenLoad)),
    )


def made_once(heads: Iterable[ir.Statement], body: Iterable[ir.Statement]) -> list[ir.InRange]:
    """The tests of ``body`` that have one answer for a run, if those of ``heads`` have, too."""
    known = {s.out for s in heads if isinstance(s, ir.InRange)}
    made = []
    for s in body:
        if isinstance(s, ir.InRange) and (s.guard is None or s.guard in known):
            known.add(s.out)
            made.append(s)
    return made


def _choosing(body: Sequence[ir.Statement]) -> set[int]:
    """The values by which ``body`` chooses."""
    found: set[int] = set()
    for s in body:
        if isinstance(s, ir.Select):
            found.update(s.tests)
        elif isinstance(s, ir.Compute) and s.op == "where":
            found.add(s.operands[0])
    return found
