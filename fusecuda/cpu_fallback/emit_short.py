"""Emission of short rows: blocks of them, side by side, however they lie.

One after the other, rows of a few elements cost more than their elements. Such a row is not more
than the lanes of a chunk, so its tree is nothing but these.
"""

from __future__ import annotations

from ..codegen import names, reductions
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from ..fusion.variants import COLUMN_BLOCK, SHORT_ROW
from ..graph.tree import LANES
from .emit import PLACEHOLDER
from .emit_columns import ColumnEmitter
from .emit_reduction import ReductionEmitter
from .emit_rows import RowEmitter


class ShortEmitter(ColumnEmitter):
    """Blocks of rows that lie anyhow; each stage walks the rows' elements in step."""

    at_hand = "done"
    lane_at_hand = "done"

    def stages(self) -> None:
        for stage in self.kernel.stages:
            self.stage(stage)

    def stage(self, stage: ir.Stage) -> None:
        self.rows(stage.head)
        if not stage.body and not stage.reduces and not stage.cross:
            return
        length = self.segment("[0]")
        for r in stage.reduces:
            self._declare(r)
        self.start_scans(stage)
        with self.w.block(f"for (int64_t done = 0; done < {length}; ++done)"):
            self.elements(stage)
        for r in stage.reduces:
            if reductions.finds_place(r):
                found = self.place_in_row(f"place{r.out}[c]")
            else:
                if self.has_lanes(r):
                    self.fold_lanes(r, length)
                found = reductions.result(r, f"lane{r.out}[c]")
            self.w.line("for (int64_t c = 0; c < width; ++c)")
            self.w.line(f"    {names.value(r.out)}[c] = {found};")

    def _declare(self, r: ir.Reduce) -> None:
        """Declare the elements that are combined; of none there is what combines to nothing."""
        if reductions.finds_place(r):
            self.w.line(f"{c_type(r.value_dtype)} best{r.out}[{COLUMN_BLOCK}];")
            self.w.line(f"{reductions.place_type(r)} place{r.out}[{COLUMN_BLOCK}];")
            return
        self.w.line(f"{self.lane_type(r)} lane{r.out}[{self.lanes_of(r)}{COLUMN_BLOCK}];")
        if self.kernel.segment is not None or not self.has_lanes(r):
            self.start_total(r)

    def met(self, reduce: ir.Reduce, value: str) -> str:
        if not self.has_lanes(reduce):
            return super().met(reduce, value)
        return f"lane{reduce.out}[lanes + c] = {self.leaf(reduce, value, 'position')};"


class _Side(ShortEmitter):
    """The part of a kernel that computes rows side by side."""

    is_whole = False

    def prologue(self) -> None:
        """The other part has it."""

    def entry(self) -> str:
        return super().entry().replace(f"void {PLACEHOLDER}(", f"static void {PLACEHOLDER}_side(")


class _Rows(RowEmitter):
    """The part of a kernel that computes one row after the other."""

    def entry(self) -> str:
        return super().entry().replace(f"void {PLACEHOLDER}(", f"static void {PLACEHOLDER}_rows(")


class AnyEmitter(ReductionEmitter):
    """Rows of any strides, one after the other or, many short ones, side by side."""

    def emit(self) -> str:
        parts = [kind(self.kernel, self.variant, self.traffic).emit() for kind in (_Rows, _Side)]
        with self.w.block(self.entry()):
            self.w.line(f"if (a->dim[0]) {PLACEHOLDER}_rows(a, begin, end, scratch);")
            self.w.line(f"else {PLACEHOLDER}_side(a, begin, end, scratch);")
        return "\n".join([*parts, self.w.text()])


assert SHORT_ROW <= LANES
