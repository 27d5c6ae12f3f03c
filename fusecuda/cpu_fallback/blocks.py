"""Blocks: a run is computed so many elements at a time that vectors leave no rest.

What a compiler leaves of a run behind its last whole vector is computed one by one, and of a short
run that takes longer than all the rest. So the last block of a run ends where the run does, and
computes some elements again, to the same bits. Where the run overwrites what it reads, or is
shorter than a block, its last elements are put apart, with copies of the last one behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fusion import kernel_ir as ir
from ..fusion.walked_forms import forms_of
from ..graph.dtypes import BOOL
from .chosen import step_of

_LONGEST = 64  # bytes of a vector
# What is made of truths that gcc holds in bytes, beside which a block is short.
_OF_LONG_VECTORS = frozenset({"remainder", "fmod", "floor_divide", "sign"})
_PLAIN = (
    ir.Load | ir.ChosenLoad | ir.Index | ir.Select | ir.Compute | ir.Keep | ir.Recall | ir.Store
)


def size_of(kernel: ir.KernelIR, steps: Sequence[int] | None, body: Sequence[ir.Statement]) -> int:
    """How many elements of ``body`` are computed at a time; 0 where runs are not cut so.

    Elements of 4 or 8 bytes lie side by side, or are the same for all of a run, and nothing is
    noted of them or looked up. Vectors of narrower ones beside wider ones are too long; so are
    those of truths that some functions are made of.
    """
    if steps is None or not all(isinstance(s, _PLAIN) for s in body):
        return 0
    for form in forms_of(body):
        at = kernel.forms[form]
        if at.dtype is not None and steps[form] not in (0, 1) and not _is_spread(at, steps[form]):
            return 0
    if any(isinstance(s, ir.ChosenLoad) and step_of(s, steps) > 1 for s in body):
        return 0
    computed = [s for s in body if isinstance(s, ir.Compute)]
    if any(ir.reports(s) or s.op in _OF_LONG_VECTORS for s in computed):
        return 0
    kept, recalled = ({s.slot for s in body if isinstance(s, k)} for k in (ir.Keep, ir.Recall))
    sizes = set(_sizes(body))
    return _LONGEST // min(sizes) if sizes and sizes <= {4, 8} and not kept & recalled else 0


def _is_spread(form: ir.Form, step: int) -> bool:
    """True for every second of floats that are read."""
    return not form.store and step == 2 and form.dtype is not None and form.dtype.itemsize == 4


def _sizes(body: Iterable[ir.Statement]) -> Iterable[int]:
    """The bytes of the elements that ``body`` moves and computes, but for truth at hand."""
    for s in body:
        moved = isinstance(s, ir.Load | ir.ChosenLoad | ir.Store | ir.Keep | ir.Recall)
        dtypes = [s.dtype, *(s.operand_dtypes if isinstance(s, ir.Compute) else ())]
        for dtype in dtypes:
            if dtype.kind == "c":
                yield 2 * dtype.itemsize
            elif moved or dtype != BOOL:
                yield dtype.itemsize


class Pointer:
    """What the loop over a run steps along: the C name of a pointer, and the type behind it.

    Where it steps over every second element, those of each block are put side by side.
    """

    def __init__(self, name: str, kind: str, back: str = "", step: int = 1) -> None:
        self.name = name
        self.kind = kind
        self.back = back  # where what is stored belongs; empty for what is read
        self.step = step
        self.apart = f"{'last' if step == 1 else 'near'}_{name}"

    def declared(self, size: int) -> str:
        """The declaration of the place where the last elements are put apart."""
        return f"{self.kind} {self.apart}[{size}];"

    def moved(self, size: int) -> str:
        """The statement that leads there."""
        if self.back:
            return f"{self.name} = {self.apart} - block;"
        start = "block" if self.step == 1 else f"{self.step} * block"
        given = f"{self.apart}, {self.name} + {start}, {self.step}, run - block, {size}"
        copied = f"fc_copied({given}, sizeof *{self.name})"
        if self.step > 1:
            return f"{copied};"
        return f"{self.name} = (const {self.kind} *){copied} - block;"

    def taken(self, size: int) -> str:
        """The statement that puts the elements of a whole block side by side."""
        return f"fc_second_4({self.apart}, {self.name} + 2 * from, {size});"

    def returned(self) -> str:
        """The statement that brings what has been stored apart to its place."""
        size = f"(size_t)(run - block) * sizeof *{self.apart}"
        return f"memcpy({self.back} + block, {self.apart}, {size});"
