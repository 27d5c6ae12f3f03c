"""Interiors: away from the ends of what slices make up, a run is computed of the middle one alone.

Differences in the middle and at both ends, as of ``np.gradient``, are one array of three parts that
are computed. Which part an element is in has one answer for all of a run, and for most runs it is
the middle one: they have a loop of their own, in which the other parts are not computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..codegen import names
from ..fusion import kernel_ir as ir
from ..fusion.verify import operands
from .index_tests import Tests

_MOST = 400  # statements that are written twice


class Interior(NamedTuple):
    """What is computed of a run of which each of ``tests`` holds."""

    tests: tuple[int, ...]
    body: list[ir.Statement]

    @property
    def condition(self) -> str:
        """The C expression of the tests."""
        return " & ".join(map(names.value, self.tests))


def interior_of(
    body: Sequence[ir.Statement], tests: Tests, taken: Iterable[int] = ()
) -> Interior | None:
    """The interior of ``body``, of which ``taken`` values are used elsewhere; None without ends."""
    middle = {
        s.out: (s.tests[len(s.tests) // 2], s.values[len(s.tests) // 2])
        for s in body
        if isinstance(s, ir.Select) and len(s.tests) > 1 and tests.steady.issuperset(s.tests)
    }
    if not middle or len(body) > _MOST:
        return None
    needed = set(taken)
    found: list[ir.Statement] = []
    made: dict[int, None] = {}  # the tests of what is needed: others fail with the ends they are of
    for s in reversed(body):
        if not isinstance(s, ir.Effect) and s.out not in needed:
            continue
        if not isinstance(s, ir.Effect) and s.out in middle:
            test, value = middle[s.out]
            made[test] = None
            found.append(ir.Select(s.out, s.dtype, (), (), value))
        else:
            found.append(s)
        needed.update(operands(found[-1]))
    return Interior(tuple(made), found[::-1])
