"""Counting: what a program launches and moves, plain and fused."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

import fusecuda as fc
from fusecuda.back_ends import BACK_ENDS, BackEnd
from fusecuda.capture.record import plans
from fusecuda.capture.record.budget import Budget
from fusecuda.emit_cuda import backend as cuda
from fusecuda.engine import Interpreted
from fusecuda.graph.structure import operations
from fusecuda.tools.bench.worker import Kept
from fusecuda.tools.profile import steps_of
from fusecuda.tools.programs.program import Program, arrays_in

COUNTED = 100_000  # elements of the largest argument


@dataclass(frozen=True)
class Row:
    """A line of the table: operations recorded, launches, and bytes where all are known."""

    program: str
    operations: int
    unfused: int
    fused: int
    cuda: int
    minimum: int
    bytes: int | None
    least_bytes: int
    why: str
    above: str
    by_name: dict[str, int]

    @property
    def ratio(self) -> float | None:
        """The bytes that are moved, against the least; None where not all are known."""
        return None if self.bytes is None else self.bytes / self.least_bytes


@dataclass(frozen=True)
class Run:
    """One call of a program: its result, its arguments afterwards, and what was counted."""

    results: Any
    arguments: tuple[Any, ...]
    counter: Kept

    @property
    def values(self) -> list[Any]:
        """All that the call has computed: its results, and the arrays of its arguments."""
        results = self.results if isinstance(self.results, tuple) else (self.results,)
        given = [r for r in results if r is not None]
        return [numpy.asarray(r) for r in given] + arrays_in(self.arguments)


def call(function: Any, arguments: Sequence[Any]) -> Run:
    """A call on copies of ``arguments``."""
    given = copy.deepcopy(tuple(arguments))
    with Kept() as counter:
        results = function(*given)
    return Run(results, given, counter)


def warm(program: Program, arguments: Sequence[Any]) -> Run:
    """The second call of the program under `fused`: what the first recorded is there.

    While launches are counted, no call is made plainly because that is faster, and there is always
    time to plan.
    """
    first, Budget.FIRST = Budget.FIRST, float("inf")
    try:
        function = fc.fused(program.make(numpy))
        call(function, arguments)
        return call(function, arguments)
    finally:
        Budget.FIRST = first


@contextlib.contextmanager
def gpu_plans() -> Iterator[None]:
    """Plans are made for a GPU while the block runs, and computed by the interpreter.

    So launches are counted without one. They are those of an H100 where there is none.
    """

    def computed(assembly: Any, *_: Any) -> Any:
        interpreted = Interpreted(assembly.plan.graph)
        return lambda arguments, lap=None: interpreted.run(arguments)

    own = BACK_ENDS["cpu"]
    plans.forget()
    BACK_ENDS["cpu"] = BackEnd(
        cuda.machine,
        lambda options: partial(cuda.bind_here, contract=options.contract),
        lambda launch, options: None,
        computed,
        lambda: 1,
        shares_launches=True,
    )
    try:
        yield
    finally:
        BACK_ENDS["cpu"] = own
        plans.forget()


def on_gpu(program: Program, arguments: Sequence[Any]) -> int:
    """The launches of the program on a GPU."""
    with gpu_plans():
        return warm(program, arguments).counter.total + program.unseen


def row_of(program: Program, fused: Run, plain: Run, arguments: Sequence[Any], gpu: int) -> Row:
    """What the two runs come to, and the launches on a GPU."""
    names = fused.counter.by_name
    by_numpy = sum(n for name, n in names.items() if name.startswith("numpy."))
    recorded = [n for e in fused.counter.executables for n in e.graph.nodes()]
    steps = [step for e in fused.counter.executables for step in steps_of(e)]
    known = not by_numpy and not program.unseen
    return Row(
        program.name,
        len(operations(recorded)) + by_numpy + program.unseen,
        plain.counter.total + program.unseen,
        fused.counter.total + program.unseen,
        gpu,
        program.minimum,
        sum(step.bytes for step in steps) if known else None,
        program.least_bytes(arguments, plain.values[: -len(arrays_in(plain.arguments))]),
        program.why,
        program.above,
        dict(sorted(names.items())),
    )


def count(program: Program, size: int = COUNTED) -> Row:
    """The line of ``program`` for about ``size`` elements."""
    arguments = program.arguments(size)
    plain = program.make(numpy)
    call(plain, arguments)
    gpu = on_gpu(program, arguments)
    return row_of(program, warm(program, arguments), call(plain, arguments), arguments, gpu)
