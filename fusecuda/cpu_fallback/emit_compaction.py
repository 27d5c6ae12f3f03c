"""Emission of compactions: what a mask picks is written side by side, without a branch.

A thread takes a run of elements and writes what it picks from the place of the run's first element
on, which is never behind where that belongs. Each element is written, and the next one over it if
the mask does not hold. When all runs are through, they are moved up to each other, which for one
thread is nothing at all. Of rows the numbers are picked so, and then the rows are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..codegen import names
from ..codegen.compactions import needed
from ..codegen.scalar import memory_type
from ..fusion import kernel_ir as ir
from ..fusion.verify import operands
from ..fusion.walked_forms import forms_of
from .emit import PLACEHOLDER
from .emit_loop import LoopEmitter
from .place import Place


class CompactionEmitter(LoopEmitter):
    """A compaction of elements: a work item is a block of ``part_length`` of them."""

    compacted = "to"

    def emit(self) -> str:
        (stage,) = self.kernel.stages
        self.w.lines(self.kernel.comment.splitlines())
        head = f"void {PLACEHOLDER}(const fc_args *a, int64_t begin, int64_t end, char *scratch)"
        with self.w.block(head):
            self.w.line("(void)scratch;")
            self._declare(stage)
            self._results()
            self.w.line("const int64_t first = begin * part_length;")
            self.w.line(f"const int64_t last = fc_min(end * part_length, {self._extent()});")
            self.w.line("int64_t to = first;")
            self._pass(stage)
            self.w.line("// The length of this run, and the block behind it.")
            self.w.line("int64_t *const runs = (int64_t *)a->workspace;")
            self.w.line("runs[2 * begin] = to - first;")
            self.w.line("runs[2 * begin + 1] = end;")
        self.w.line()
        self._finish()
        return self.w.text()

    def _declare(self, stage: ir.Stage) -> None:
        """Declare the integer arguments, and compute what is the same for all elements."""
        forms, invariant = forms_of(stage.body), forms_of(stage.head)
        used = ["part_length", *self.dims.axes, *self.strides_of(forms, self.dims.axes)]
        used += self.limits_of([*stage.head, *stage.body])
        used += [names.origin(f) for f in invariant if self.kernel.forms[f].dtype is None]
        self.w.lines(self.dims.declare(used))
        self.bases(invariant, "row_", "", {}, typed=False)
        for statement in stage.head:
            self.w.lines(Place(self, "", "", "row_").lines(statement))

    def _extent(self) -> str:
        """How many elements there are."""
        return " * ".join(self.dims.axes)

    def _pass(self, stage: ir.Stage) -> None:
        """What is done for the elements from ``first`` on, before ``last``."""
        self._runs(stage.body, self._elements, "first", "last")

    def _step_on(self, ordered: Sequence[ir.Statement]) -> None:
        self.w.line(f"to += {names.value(self._compacts()[0].mask)};")

    def _compacts(self) -> list[ir.Compact]:
        return [s for s in self.kernel.stages[0].body if isinstance(s, ir.Compact)]

    def _results(self) -> None:
        """Declare where the results begin."""
        for s in self._compacts():
            kind, pointer = memory_type(s.dtype), names.pointer(self.kernel, s.form)
            number = self.pointer_number(s.form)
            self.w.line(f"{kind} *const {pointer} = ({kind} *)a->ptr[{number}];")

    def _finish(self) -> None:
        """Runs are moved up to those before them, and counted."""
        with self.w.block(f"void {PLACEHOLDER}_finish(const fc_args *a)"):
            rows = self.dims.axes if self.kernel.row_rank else []
            self.w.lines(self.dims.declare(["parts", "part_length", *rows]))
            self.w.line("if (a->status[0]) return;")
            self._results()
            self.w.line(f"const int64_t length = {' * '.join(rows) or '1'};")
            self.w.line("const int64_t *const runs = (const int64_t *)a->workspace;")
            self.w.line("int64_t to = 0;")
            with self.w.block("for (int64_t part = 0; part < parts; part = runs[2 * part + 1])"):
                self.w.line("const int64_t from = part * part_length, count = runs[2 * part];")
                with self.w.block("if (from != to)"):
                    for s in self._compacts():
                        out = names.pointer(self.kernel, s.form)
                        places = f"{out} + to * length, {out} + from * length"
                        size = f"(size_t)(count * length) * sizeof *{out}"
                        self.w.line(f"memmove({places}, {size});")
                self.w.line("to += count;")
            self.w.line("a->status[1] = to;")


class RowCompactionEmitter(CompactionEmitter):
    """A compaction of rows: a work item is a block of ``part_length`` of them."""

    compacted = "to * length + at + k"

    def _declare(self, stage: ir.Stage) -> None:
        axes = self.dims.axes
        every = [*stage.head, *stage.body]
        forms = forms_of(every)
        used = ["part_length", *self.dims.row_axes, *axes, *self.limits_of(every)]
        used += self.strides_of(forms, self.dims.row_axes)
        used += self.strides_of(forms_of(stage.body), axes)
        self.w.lines(self.dims.declare(used))
        self.w.line(f"const int64_t length = {' * '.join(axes)};")

    def _extent(self) -> str:
        return " * ".join(self.dims.row_axes)

    def _pass(self, stage: ir.Stage) -> None:
        mask = self._compacts()[0].mask
        axes = self.dims.row_axes
        every = [*stage.head, *stage.body]
        with self.w.block("for (int64_t row = first; row < last;)"):
            index = self.unravel("row", axes)
            length = f"fc_min({axes[-1]} - {index[axes[-1]]}, last - row)"
            self.w.line(f"const int64_t rows = fc_min(FC_CHUNK, {length});")
            if any(getattr(s, "site", -1) >= 0 for s in every):
                self.w.line("// Rows are computed that are not picked: any element may fail.")
                with self.w.block("for (int64_t i = 0; i < rows; ++i)"):
                    self._row(index, "i", stage.head, stage.body)
                    self.w.line(f"to += {names.value(mask)};")
            else:
                self._numbers(index, needed(stage.head, [mask]), mask)
                with self.w.block("for (int64_t i = 0; i < count; ++i, ++to)"):
                    used = [v for s in stage.body for v in operands(s) if v != mask]
                    self._row(index, "picked[i]", needed(stage.head, used), stage.body)
            self.w.line("row += rows;")

    def _numbers(self, index: dict[str, str], head: Sequence[ir.Statement], mask: int) -> None:
        """Pick the numbers of rows, of some neighbours along the last of their axes."""
        axes = self.dims.row_axes
        self.w.line("int64_t picked[FC_CHUNK], count = 0;")
        self.bases(forms_of(head), "row_", "", index, typed=False)
        place = Place(self, "k", axes[-1], "row_")
        place.steps = None
        with self.w.block("for (int64_t k = 0; k < rows; ++k)"):
            for statement in head:
                self.w.lines(place.lines(statement))
            self.w.line("picked[count] = k;")
            self.w.line(f"count += {names.value(mask)};")

    def _row(
        self,
        index: dict[str, str],
        number: str,
        head: Sequence[ir.Statement],
        body: Sequence[ir.Statement],
    ) -> None:
        """Compute and write one of those neighbours."""
        last = self.dims.row_axes[-1]
        index = {**index, last: f"({index[last]} + {number})"}
        self.bases(forms_of([*head, *body]), "row_", "", index, typed=False)
        for statement in head:
            self.w.lines(Place(self, "", "", "row_").lines(statement))
        self._elements_of_row(body)

    def _elements_of_row(self, body: Sequence[ir.Statement]) -> None:
        axes = self.dims.axes
        with self.w.block("for (int64_t at = 0; at < length;)"):
            index = self.unravel("at", axes)
            self.w.line(f"const int64_t run = {axes[-1]} - {index[axes[-1]]};")
            self.bases(forms_of(body), "", "row_", index, self.typed)
            self.w.line("#pragma GCC ivdep")
            with self.w.block("for (int64_t k = 0; k < run; ++k)"):
                for statement in body:
                    self.w.lines(Place(self, "k", axes[-1], "").lines(statement))
            self.w.line("at += run;")
