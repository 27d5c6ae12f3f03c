"""How statements are written in C where each row value is an array over a block of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..codegen import names, reductions
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from .index_tests import NO_TESTS, Tests
from .place import Place

if TYPE_CHECKING:
    from .emit_columns import ColumnEmitter


class ColumnPlace(Place):
    """A scope of the column skeleton: row values are arrays over the block of rows."""

    def __init__(self, emitter: ColumnEmitter, base: str, tests: Tests = NO_TESTS) -> None:
        super().__init__(emitter, "c", emitter.dims.row_axes[-1], base, tests)
        self.columns = emitter
        self.row_values = emitter.row_values

    def name(self, number: int) -> str:
        name = names.value(number)
        return f"{name}[c]" if number in self.row_values else name

    def define(self, number: int, ctype: str, text: str) -> str:
        if number in self.row_values:
            return f"{names.value(number)}[c] = {text};"
        return super().define(number, ctype, text)

    def scan(self, statement: ir.Scan) -> list[str]:
        total = f"total{statement.out}[c]"
        step = reductions.scan_step(statement, total, self.name(statement.value))
        line = f"{total} = {step};"
        return [line, self.define(statement.out, c_type(statement.dtype), total)]

    def kept(self, slot: int) -> str:
        return f"row_keep{slot}[({self.columns.at_hand}) * block + c]"


def numbers_of(kernel: ir.KernelIR) -> set[int]:
    """The row values that are the same for all rows: arguments, and what is computed of these."""
    found = set[int]()
    segment = kernel.segment
    bounds = () if segment is None else (segment.first, segment.last)  # read from arrays
    for s in [s for stage in kernel.stages for s in stage.head] + kernel.tail:
        match s:
            case ir.Argument():
                is_number = True
            case ir.Compute():
                is_number = not ir.reports(s) and found.issuperset(s.operands)
            case _:
                continue
        if is_number and s.out not in bounds:
            found.add(s.out)
    return found
