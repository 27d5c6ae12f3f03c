"""The verifier of kernel IR: values are defined once, before use, where they are visible."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import GraphError
from . import kernel_ir as ir
from .walked_forms import tests_chosen


def verify_kernel(kernel: ir.KernelIR) -> None:
    """Raise GraphError if ``kernel`` is not well formed; else do nothing.

    Row values are visible in later stages and in the tail, element values in their stage only,
    results of outer reductions in the final part only, those of cross reductions at the foot only.
    Forms, limits, scalars and resident rows that are named exist; what is stored to is a store
    form, what is loaded from is not.
    """
    rows: set[int] = set()
    foot: set[int] = set()
    for stage in kernel.stages:
        _scope(kernel, stage.head, rows, rows)
        if kernel.segment is not None:
            _segment(kernel, kernel.segment, rows)
        elements = set(rows)
        _scope(kernel, stage.body, elements, elements)
        _reduces(kernel, stage.cross, elements, foot)
        _reduces(kernel, stage.reduces, elements, rows)
    for fill in kernel.fills:
        if fill.value not in rows or not kernel.forms[fill.form].store:
            raise GraphError(f"{kernel.name}: {fill} is of no row value, or of what is read")
    tail = {r.out for s in kernel.stages for r in s.reduces} if kernel.splittable else rows
    _scope(kernel, kernel.tail, tail, tail)
    final: set[int] = set()
    _reduces(kernel, kernel.outer, tail, final)
    _scope(kernel, kernel.final, final, final)
    _scope(kernel, kernel.foot, foot, foot)


def operands(statement: ir.Statement) -> tuple[int, ...]:
    """The values that ``statement`` uses."""
    match statement:
        case ir.Load(guard=guard) | ir.InRange(guard=guard):
            return () if guard is None else (guard,)
        case ir.Select(tests=tests, values=values, otherwise=otherwise):
            return (*tests, *values, otherwise)
        case ir.ChosenLoad(tests=tests, sources=sources, guard=guard):
            own = () if guard is None else (guard,)
            return (*tests_chosen(tests, sources), *own)
        case ir.Gather(indices=used) | ir.Compute(operands=used):
            return used
        case ir.Scatter(indices=indices, value=value):
            return (*indices, value)
        case ir.Compact(mask=mask, value=value):
            return (mask, value)
        case (
            ir.Keep(value=value)
            | ir.Store(value=value)
            | ir.Scan(value=value)
            | ir.Search(value=value)
        ):
            return (value,)
    return ()


def _scope(
    kernel: ir.KernelIR, statements: Iterable[ir.Statement], visible: set[int], defined: set[int]
) -> None:
    for statement in statements:
        for value in operands(statement):
            if value not in visible:
                raise GraphError(f"{kernel.name}: value {value} is not visible in {statement}")
        _numbers(kernel, statement)
        if not isinstance(statement, ir.Effect):
            if statement.out in defined:
                raise GraphError(f"{kernel.name}: value {statement.out} is defined twice")
            defined.add(statement.out)


def _reduces(
    kernel: ir.KernelIR, reduces: Iterable[ir.Reduce], visible: set[int], defined: set[int]
) -> None:
    for reduce in reduces:
        if reduce.value not in visible:
            raise GraphError(f"{kernel.name}: value {reduce.value} is not visible in {reduce}")
        defined.add(reduce.out)
        if reduce.second is not None:
            defined.add(reduce.second)


def _segment(kernel: ir.KernelIR, segment: ir.Segment, visible: set[int]) -> None:
    if kernel.rank != 1 or not {segment.first, segment.last} <= visible:
        raise GraphError(f"{kernel.name}: {segment} is not known, or not of one axis")


def _numbers(kernel: ir.KernelIR, statement: ir.Statement) -> None:
    """Whatever the statement names by number exists and is of the right kind."""
    match statement:
        case ir.Load(form=form) | ir.Gather(form=form) | ir.Search(form=form):
            good = 0 <= form < len(kernel.forms) and not kernel.forms[form].store
        case ir.Store(form=form) | ir.Scatter(form=form) | ir.Compact(form=form):
            good = 0 <= form < len(kernel.forms) and kernel.forms[form].store
        case ir.Index(form=form):
            good = 0 <= form < len(kernel.forms) and kernel.forms[form].dtype is None
        case ir.InRange(tests=tests):
            good = all(f < len(kernel.forms) and n < kernel.limits for f, n in tests)
        case ir.Argument(number=number):
            good = 0 <= number < len(kernel.scalars)
        case ir.Keep(slot=slot) | ir.Recall(slot=slot):
            good = 0 <= slot < len(kernel.resident)
        case _:
            good = True
    if not good:
        raise GraphError(f"{kernel.name}: {statement} names something that does not exist")
