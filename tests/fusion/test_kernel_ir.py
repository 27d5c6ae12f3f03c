"""The kernel IR that lowering makes is well formed, and the verifier finds what is not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fusecuda as fc
from fusecuda.errors import GraphError
from fusecuda.fusion import kernel_ir as ir
from fusecuda.fusion.binding import Bound
from fusecuda.fusion.verify import operands, verify_kernel
from tests.programs import PROGRAMS, Program


def _kernels(program: Program) -> list[ir.KernelIR]:
    arguments = program.arguments(np.random.default_rng(0), 20, 30)
    steps = fc.lower(program.function, *arguments).assembly.steps
    return [step.lowered.ir for step in steps if isinstance(step, Bound)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_lowering_gives_well_formed_kernels(program: Program) -> None:
    """Every named program's kernels pass."""
    for kernel in _kernels(program):
        verify_kernel(kernel)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_statement_taken_away_is_noticed(program: Program) -> None:
    """Whatever defining statement is removed, if something uses it the verifier says so."""
    (kernel,) = _kernels(program)
    used = {value for s in kernel.statements() for value in operands(s)}
    used |= {r.value for stage in kernel.stages for r in stage.reduces}
    for stage in kernel.stages:
        for part in (stage.head, stage.body):
            for i, statement in enumerate(part):
                if getattr(statement, "out", -1) in used:
                    removed = part.pop(i)
                    with pytest.raises(GraphError):
                        verify_kernel(kernel)
                    part.insert(i, removed)
    verify_kernel(kernel)


def test_a_wrong_number_is_noticed() -> None:
    """A load from a store form, or from a form that does not exist."""
    (kernel,) = _kernels(PROGRAMS[0])
    body = kernel.stages[0].body
    at = next(i for i, s in enumerate(body) if isinstance(s, ir.Load))
    load = body[at]
    assert isinstance(load, ir.Load)
    store = next(i for i, form in enumerate(kernel.forms) if form.store)
    for form in (store, len(kernel.forms)):
        body[at] = dataclasses.replace(load, form=form)
        with pytest.raises(GraphError):
            verify_kernel(kernel)


def test_the_verifiers_run_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """``FUSECUDA_VERIFY=1`` checks graph and kernels of each new plan."""
    from fusecuda import engine

    seen: list[ir.KernelIR] = []
    monkeypatch.setattr(engine, "verify_kernel", seen.append)
    monkeypatch.delenv("FUSECUDA_VERIFY", raising=False)
    fc.lower(lambda x: x + 41.5, fc.spec((3, 1)))
    assert not seen
    monkeypatch.setenv("FUSECUDA_VERIFY", "1")
    fc.lower(lambda x: x * 41.5, fc.spec((3, 2)))
    assert len(seen) == 1
