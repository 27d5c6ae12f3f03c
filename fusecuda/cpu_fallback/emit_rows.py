"""Emission of rows, one after the other, chunk by chunk, where their elements lie side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property

from ..codegen import names, reductions
from ..codegen.fission import parts_of
from ..codegen.scalar import c_type, memory_type
from ..codegen.scans import scans_of
from ..fusion import kernel_ir as ir
from ..fusion.walked_forms import forms_of
from .emit_chunks import ChunkEmitter
from .place import Place


class RowEmitter(ChunkEmitter):
    """Rows one after the other; each stage is one pass over the row in chunks."""

    @cached_property
    def phases(self) -> int:
        """In how many passes a row is computed."""
        return self.kernel.phases

    @property
    def is_phased(self) -> bool:
        return self.phases > 1

    def emit(self) -> str:
        kernel = self.kernel
        self.prologue()
        if kernel.splittable:
            self.tail_function()
        elif self.is_phased:
            self.join_functions()
        statements = self.all_statements()
        forms = forms_of(statements)
        with self.w.block(self.entry()):
            self.head(forms, statements)
            if not self.is_phased:
                self.keeps("")
            item = "for (int64_t item = begin; item < end; ++item)"
            with self.w.block(item), self.rows_of_item():
                index = self.unravel("row", self.dims.row_axes)
                self.bases(forms, "row_", "", index, typed=False)
                self._stages()
                if not kernel.splittable:
                    self.tail(Place(self, "", "", "row_"), "row")
                else:
                    self._end_of_part()
        if kernel.splittable or self._ends_rows or kernel.outer or kernel.cross:
            self.finish()
        return self.w.text()

    @contextmanager
    def rows_of_item(self) -> Iterator[None]:
        """What surrounds a row, or the part of one, that is a work item."""
        if self.is_phased or self.kernel.splittable:
            self._part()
        else:
            self.w.line("const int64_t row = item;")
        yield

    def _stages(self) -> None:
        """The passes over a row."""
        phase = 0
        for stage in self.kernel.stages:
            for statement in stage.head:
                self.w.lines(Place(self, "", "", "row_").lines(statement))
            if not stage.body and not stage.reduces and not stage.cross:
                continue
            if self.is_phased:
                self._phase(stage, phase)
            else:
                self._stage(stage)
            phase += 1

    def _part(self) -> None:
        """What one part of a row computes, and where it is kept."""
        self.w.line("const int64_t row = parts == 1 ? item : item / parts;")
        self.w.line("const int64_t part = item - row * parts;")
        self.w.line("const int64_t first = part * part_length;")
        self.w.line("const int64_t last = fc_min(first + part_length, length);")
        if not self.kernel.resident:
            return
        sizes = {
            d: f"(length * sizeof({memory_type(d)}) + 63) / 64 * 64" for d in self.kernel.resident
        }
        each = " + ".join(sizes[d] for d in self.kernel.resident)
        self.w.line(f"const int64_t kept = {each};")
        before = f"16 * rows * ({len(self.inner)} * parts + {len(self.kernel.outer)})"
        self.keeps("", f"parts > 1 ? a->workspace + {before} + row * kept : scratch")

    def _phase(self, stage: ir.Stage, phase: int) -> None:
        """One pass over a row, or over the part of it that is due."""
        if phase == self.phases - 1:
            self._stage(stage)
            with self.w.block("if (parts > 1)"):
                self._leave(stage.reduces)
                self.w.line("continue;")
            self._define(stage.reduces)
            return
        for r in stage.reduces:
            self.w.line(f"{c_type(r.dtype)} {names.value(r.out)};")
        with self.w.block(f"if (a->phase > {phase})"):
            for r in stage.reduces:
                self.w.line(f"{names.value(r.out)} = {self.joined(r)};")
        with self.w.block("else"):
            self._stage(stage)
            with self.w.block("if (parts > 1)"):
                self._leave(stage.reduces)
                self.w.line("continue;")
            for r in stage.reduces:
                self.w.line(f"{names.value(r.out)} = {self.finished(r)};")

    def _stage(self, stage: ir.Stage) -> None:
        for r in stage.reduces:
            self.w.line(f"fc_tree_{reductions.tree_name(r)} tree{r.out};")
            self.w.line(f"fc_start_{reductions.tree_name(r)}(&tree{r.out});")
        for scan in scans_of(stage):
            start = reductions.scan_start(scan)
            self.w.line(f"{c_type(scan.dtype)} total{scan.out} = {start};")
        first, last = "0", self.segment()
        if self.kernel.splittable or self.is_phased:
            first, last = "first", "last"
        searched = self.searched(stage)
        chunk = "FC_SEARCHED" if searched else "FC_CHUNK"
        with self.w.block(f"for (int64_t at = {first}; at < {last}; at += {chunk})"):
            self.w.line(f"const int64_t count = fc_min({chunk}, {last} - at);")
            parts = [stage] if searched else parts_of(stage)
            for part in parts:
                with self.w.block() if len(parts) > 1 else nullcontext():
                    if searched:
                        self.look_up(searched, part)
                    else:
                        self.combine(part)
        if not self.kernel.splittable and not self.is_phased:
            self._define(stage.reduces)

    def _define(self, reduces: list[ir.Reduce]) -> None:
        for r in reduces:
            self.w.line(f"const {c_type(r.dtype)} {names.value(r.out)} = {self.finished(r)};")

    def _end_of_part(self) -> None:
        with self.w.block("if (parts == 1)"):
            self.w.line(self.tail_call([self.finished(r) for r in self.inner]))
        with self.w.block("else"):
            self._leave(self.inner)

    def _leave(self, reduces: list[ir.Reduce]) -> None:
        """A part leaves what it has combined."""
        for r in reduces:
            tree = f"fc_finish_{reductions.tree_name(r)}(&tree{r.out})"
            self.w.line(f"{self.partial_slot(self.inner.index(r), r)} = {tree};")
