"""Emission of rows that are reduced along and across: one pass over what would be read twice.

A work item takes the rows of some lanes of a chunk (see `fusion.crossing`), some side by side, as
the row skeleton takes rows. Beside each chunk of a row stand its lane's values at those places. Of
short rows it takes a chunk, as their skeleton does; each place's values wait until they are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..codegen import names, reductions
from ..codegen.scalar import c_type
from ..fusion import kernel_ir as ir
from ..fusion.walked_forms import forms_of
from ..graph.dtypes import computed_in
from .emit_reduction import ReductionEmitter
from .emit_rows import RowEmitter
from .emit_short import ShortEmitter
from .place import Place


class _Footed(ReductionEmitter):
    """What both ways to take rows share: what work items leave, and what becomes of it."""

    def chunk(self, number: str) -> None:
        """Declare which rows a work item shares with others, or has to itself."""
        self.w.line(f"const int64_t chunk = {number} * FC_CHUNK;")
        self.w.line("const int64_t behind = fc_min(rows, chunk + FC_CHUNK);")

    def rows_left(self) -> None:
        """Declare where work items leave the values of each place."""
        self.w.line("const int64_t chunks = (rows + FC_CHUNK - 1) / FC_CHUNK;")
        self.w.line(f"char *left = a->workspace + 16 * rows * {len(self.kernel.outer)};")
        for r in self.kernel.cross:
            self.w.line(f"{_value(r)} *const left{r.out} = ({_value(r)} *)left;")
            self.w.line(f"left += {_lines(f'chunks * parts * length * sizeof *left{r.out}')};")

    def foot(self) -> None:
        """The totals of each place, and what is computed of them."""
        self.rows_left()
        for r in self.kernel.cross:
            self.w.line(f"fc_foot_{reductions.tree_name(r)}(left{r.out}, chunks, parts, length);")
        axes = self.dims.axes
        with self.w.block("for (int64_t at = 0; at < length;)"):
            index = self.unravel("at", axes)
            self.w.line(f"const int64_t run = {axes[-1]} - {index[axes[-1]]};")
            self.bases(forms_of(self.kernel.foot), "", "", index, self.typed)
            place = Place(self, "k", axes[-1], "")
            loop = self.loop("for (int64_t k = 0; k < run; ++k)")
            with self.watched(self.kernel.foot), loop:
                for r in self.kernel.cross:
                    total = reductions.result(r, f"left{r.out}[at + k]")
                    self.w.line(f"const {c_type(r.dtype)} {names.value(r.out)} = {total};")
                for statement in self.kernel.foot:
                    self.w.lines(place.lines(statement))
            self.w.line("at += run;")


class CrossedShortEmitter(_Footed, ShortEmitter):
    """Short rows side by side, whose elements meet across rows, too."""

    @contextmanager
    def block_of_rows(self, inner: str) -> Iterator[None]:
        """A chunk of rows, block after block."""
        self.chunk("item")
        self.rows_left()
        self.w.line("char *waiting = free_scratch;")
        for r in self.kernel.cross:
            self.w.line(f"{_value(r)} *const waiting{r.out} = ({_value(r)} *)waiting;")
            self.w.line(f"waiting += FC_PITCH * length * sizeof *waiting{r.out};")
        with self.w.block("for (int64_t row = chunk, width; row < behind; row += width)"):
            self.w.line(f"const int64_t outer = row / {inner}, first = row % {inner};")
            self.w.line(f"width = fc_min(fc_min(block, {inner} - first), behind - row);")
            yield
        for r in self.kernel.cross:
            fold = f"fc_fold_{reductions.tree_name(r)}"
            total = f"{fold}(waiting{r.out} + k * FC_PITCH, behind - chunk, 0)"
            self.w.line("for (int64_t k = 0; k < length; ++k)")
            self.w.line(f"    left{r.out}[item * length + k] = {total};")

    def across(self, reduce: ir.Reduce) -> str:
        return f"(waiting{reduce.out} + position * FC_PITCH + row - chunk)"


class CrossedEmitter(_Footed, RowEmitter):
    """Rows one after the other, whose elements meet across rows, too."""

    def outer_slot(self, number: int, row: str) -> str:
        dtype = c_type(self.kernel.outer[number].value_dtype)
        return f"(({dtype} *)(a->workspace + 16 * rows * {number}))[{row} * (16 / sizeof({dtype}))]"

    @contextmanager
    def rows_of_item(self) -> Iterator[None]:
        """The rows of some lanes; those that are through are joined, until one is left."""
        self.chunk("item / parts")
        self.w.line("const int64_t part = item % parts;")
        self.w.line("const int64_t side = part_length;  // lanes side by side")
        self.rows_left()
        self.w.line("char *lanes = free_scratch;")
        for r in self.kernel.cross:
            self.w.line(f"{_value(r)} *const lanes{r.out} = ({_value(r)} *)lanes;")
            self.w.line(f"lanes += {_lines(f'6 * side * length * sizeof *lanes{r.out}')};")
        self.w.line("int64_t waiting = 0;  // lanes that are through, some of them joined")
        with self.w.block("for (int64_t turn = 0; turn * side * parts < FC_LANES; ++turn)"):
            for r in self.kernel.cross:
                start = f"lanes{r.out} + waiting * length"
                self.w.line(f"fc_blank_{reductions.tree_name(r)}({start}, side * length);")
            self.w.line("const int64_t first = chunk + part + fc_turned[turn];")
            with self.w.block(
                "for (int64_t at_once = first; at_once < behind; at_once += FC_LANES)"
            ):
                rows = "for (int64_t lane = 0, row = at_once; lane < side && row < behind;"
                with self.w.block(f"{rows} ++lane, row += parts)"):
                    self._lanes_of_row()
                    yield
            self.w.line("waiting += side;")
            with self.w.block("for (int64_t others = turn; others & 1; others >>= 1)"):
                self.w.line("waiting -= side;")
                for r in self.kernel.cross:
                    self._join(r, "(waiting - side)", "waiting", "side")
        with self.w.block("for (int64_t half = side / 2; half; half /= 2)"):
            for r in self.kernel.cross:
                self._join(r, "0", "half", "half")
        for r in self.kernel.cross:
            size = f"(size_t)length * sizeof *lanes{r.out}"
            self.w.line(f"memcpy(left{r.out} + item * length, lanes{r.out}, {size});")

    def _lanes_of_row(self) -> None:
        """Declare where the row at hand meets others."""
        for r in self.kernel.cross:
            start = f"lanes{r.out} + (waiting + lane) * length"
            self.w.line(f"{_value(r)} *const lane{r.out} = {start};")

    def _join(self, reduce: ir.Reduce, to: str, other: str, count: str) -> None:
        """Join ``count`` lanes from ``to`` on with those from ``other`` on."""
        lanes = [f"lanes{reduce.out} + {n} * length" for n in (to, other)]
        name = reductions.tree_name(reduce)
        self.w.line(f"fc_join_{name}({', '.join(lanes)}, {count} * length);")


def _value(reduce: ir.Reduce) -> str:
    """The C type of what is combined."""
    return c_type(computed_in(reduce.value_dtype))


def _lines(nbytes: str) -> str:
    """So many bytes, as whole cache lines."""
    return f"({nbytes} + 63) / 64 * 64"
