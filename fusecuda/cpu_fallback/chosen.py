"""Chosen loads: a choice among elements of memory is one read, from where a run was found to lie.

What is rolled, padded or put together is chosen from parts by tests that have one answer for all of
a run. If the parts lie in memory, and are walked alike, the choice is one of addresses, made before
the loop over the run, and each of its elements is read once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..codegen import names
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..fusion.variants import ANY_STEP, COLUMN, LATE, LOOP, ROW, Variant
from ..fusion.verify import operands
from ..fusion.walked_forms import forms_chosen
from .index_tests import made_once

_SKELETONS = (LOOP, LATE, ROW, COLUMN)  # those that make the tests of a run before it


def with_chosen_loads(kernel: ir.KernelIR, variant: Variant) -> ir.KernelIR:
    """``kernel`` with one load for each choice among loads that ``variant`` walks alike."""
    if variant.steps is None or variant.skeleton not in _SKELETONS:
        return kernel
    heads = [s for stage in kernel.stages for s in stage.head]
    known = [] if variant.skeleton == COLUMN else heads  # row values are arrays in columns
    stages = [_with_chosen(known, stage, variant.steps) for stage in kernel.stages]
    return replace(kernel, stages=stages)


def _with_chosen(heads: Sequence[ir.Statement], stage: ir.Stage, steps: Sequence[int]) -> ir.Stage:
    """``stage`` with chosen loads, and without what was only chosen from."""
    made = (*heads, *made_once(heads, stage.body))
    tested = {s.out: s.guard for s in made if isinstance(s, ir.InRange)}
    found: dict[int, tuple[int | ir.Choice, int]] = {}  # where a value lies, and its step
    loads: dict[ir.Statement, ir.ChosenLoad] = {}
    for s in stage.body:
        if isinstance(s, ir.Load) and s.guard in tested and steps[s.form] != ANY_STEP:
            found[s.out] = s.form, steps[s.form]
        elif isinstance(s, ir.Select) and tested.keys() >= set(s.tests):
            among = [found[v] for v in (*s.values, s.otherwise) if v in found]
            if len(among) > len(s.values) and len({step for _, step in among}) == 1:
                sources = tuple(source for source, _ in among)
                found[s.out] = (s.tests, sources), among[0][1]
                loads[s] = ir.ChosenLoad(s.out, s.dtype, s.tests, sources, tested[s.tests[0]])
    if not loads:
        return stage
    taken = [r.value for r in (*stage.reduces, *stage.cross)]
    return replace(stage, body=_used([loads.get(s, s) for s in stage.body], found, taken))


def _used(
    body: Sequence[ir.Statement], chosen: Collection[int], taken: Iterable[int]
) -> list[ir.Statement]:
    """``body`` without those of the ``chosen`` values that nothing takes any more."""
    needed = set(taken)
    found: list[ir.Statement] = []
    for s in reversed(body):
        if isinstance(s, ir.Effect) or s.out in needed or s.out not in chosen:
            needed.update(operands(s))
            found.append(s)
    return found[::-1]


def step_of(load: ir.ChosenLoad, steps: Sequence[int]) -> int:
    """By how many elements ``load`` steps along, whichever source it has."""
    return steps[next(forms_chosen(load.sources))]


def declared(load: ir.ChosenLoad, steps: Sequence[int]) -> list[str]:
    """The lines that tell where a run of ``load`` is read from.

    Outside of what is chosen among no source has a place, not even the last.
    """
    kind = f"const {memory_type(load.dtype)} *"
    lines = [f"{kind}{pointer(load)} = {_text(load.tests, load.sources)};"]
    if load.guard is not None:
        lines += led_away(pointer(load), kind, names.value(load.guard), step_of(load, steps))
    return lines


def led_away(pointer: str, kind: str, inside: str, step: int = 1) -> list[str]:
    """The lines that, if not ``inside``, lead ``pointer`` to zeros, in short runs."""
    zeros = f"({kind})(&fc_zeros + 1) - 1" if step < 0 else f"({kind})fc_zeros"
    room = f"(int64_t)(sizeof fc_zeros / sizeof *{pointer})"
    room += f" / {abs(step)}" if abs(step) > 1 else ""
    return [f"if (!{inside}) {pointer} = {zeros};", f"if (!{inside}) run = fc_min(run, {room});"]


def pointer(load: ir.ChosenLoad) -> str:
    """The name of where a run of ``load`` is read from."""
    return f"from{load.out}"


def _text(tests: Sequence[int], sources: Sequence[int | ir.Choice]) -> str:
    *chosen, text = [f"in{s}" if isinstance(s, int) else f"({_text(*s)})" for s in sources]
    for test, source in zip(tests[::-1], chosen[::-1], strict=True):
        text = f"{names.value(test)} ? {source} : {text}"
    return text
