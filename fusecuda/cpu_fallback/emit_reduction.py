"""Emission of reductions: what the skeletons share, and rows one after the other.

The row skeleton serves rows whose elements lie side by side; elements are computed in chunks of
FC_CHUNK into a small buffer that is folded by the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..codegen import names, reductions, scans
from ..codegen.scalar import c_type, memory_type
from ..codegen.scans import scans_of
from ..fusion import kernel_ir as ir
from ..fusion.kernel_ir import forms_of
from ..graph.tree import CHUNK
from .emit import PLACEHOLDER, KernelEmitter
from .index_tests import Tests
from .place import Place


class ReductionEmitter(KernelEmitter):
    """What both skeletons share: instances of the tree, row tails, and the final part."""

    def prologue(self) -> None:
        """The instances of the tree and the kernel's comment."""
        seen = {}
        for reduce in [*self.inner, *self.kernel.cross, *self.kernel.outer]:
            seen[reductions.tree_name(reduce)] = reductions.instance(reduce)
        for reduce in self.kernel.cross:
            seen[f"cross_{reductions.tree_name(reduce)}"] = reductions.cross_instance(reduce)
        for text in seen.values():
            self.w.lines(text.splitlines())
        self.w.lines(self.kernel.comment.splitlines())

    @property
    def inner(self) -> list[ir.Reduce]:
        """The reductions within a row, in order."""
        return [r for s in self.kernel.stages for r in s.reduces]

    def head(self, forms: list[int], statements: list[ir.Statement]) -> None:
        """Declare the integer arguments that walking ``forms`` and ``statements`` need."""
        axes = self.layout.row_axes + self.layout.axes
        used = [*axes, "parts", "part_length", *self.strides_of(forms, axes)]
        used += self.limits_of(statements)
        self.w.lines(self.layout.declare(used))
        length = " * ".join(self.layout.axes)
        self.w.line(f"const int64_t length = {length}, rows = {' * '.join(self.layout.row_axes)};")
        self.w.line("(void)length; (void)rows; (void)parts; (void)part_length;")

    def keeps(self, width: str, start: str = "scratch") -> None:
        """Declare the resident rows, one after the other from ``start`` on."""
        self.w.line(f"char *free_scratch = {start};")
        for slot, dtype in enumerate(self.kernel.resident):
            kind = memory_type(dtype)
            self.w.line(f"{kind} *const row_keep{slot} = ({kind} *)free_scratch;")
            self.w.line(f"free_scratch += (length{width} * sizeof({kind}) + 63) / 64 * 64;")
        self.w.line("(void)free_scratch;")

    def outer_slot(self, number: int, row: str) -> str:
        """Where the value of ``row`` waits for outer reduction ``number``."""
        partial = f"16 * {len(self.inner)} * parts * rows * (parts > 1)"
        dtype = c_type(self.kernel.outer[number].value_dtype)
        start = f"({dtype} *)(a->workspace + {partial} + 16 * rows * {number})"
        return f"({start})[{row} * (16 / sizeof({dtype}))]"

    def segment(self, which: str = "") -> str:
        """Declare the elements of the row that are there; their number.

        They are counted from the segment's first on. ``which`` is the row among those side by side.
        """
        segment = self.kernel.segment
        if segment is None:
            return "length"
        first, last = (names.value(n) + which for n in (segment.first, segment.last))
        self.w.line(f"const bool is_there = {first} >= 0 && {first} < {last} && {last} <= length;")
        self.w.line(f"if (!is_there) a->status[0] = {segment.site + 1};")
        self.w.line(f"const int64_t segment = is_there ? {first} : 0;")
        self.w.line(f"const int64_t here = is_there ? {last} - {first} : 0;")
        return "here"

    def place_in_row(self, position: str) -> str:
        """Where in its row an element of a segment stands."""
        return position if self.kernel.segment is None else f"segment + {position}"

    def finish(self) -> None:
        """What runs when all rows are done: split rows are joined, then rows are reduced."""
        with self.w.block(f"void {PLACEHOLDER}_finish(const fc_args *a)"):
            final_forms = forms_of(self.kernel.final)
            of_rows = self._row_statements() if self._ends_rows else []
            used = [*of_rows, *self.kernel.final, *self.kernel.foot]
            self.head(forms_of(used), used)
            if self.kernel.splittable:
                self._join_parts()
            elif self._ends_rows:
                self._end_rows(forms_of(of_rows))
            for number, reduce in enumerate(self.kernel.outer):
                self._reduce_rows(number, reduce)
            self.bases(final_forms, "row_", "", {}, typed=False)
            place = Place(self, "", "", "row_")
            for statement in self.kernel.final:
                self.w.lines(place.lines(statement))
            self.foot()

    def foot(self) -> None:
        """What comes of reductions across rows."""

    def _join_parts(self) -> None:
        with (
            self.w.block("if (parts > 1)"),
            self.w.block("for (int64_t row = 0; row < rows; ++row)"),
        ):
            for n, reduce in enumerate(self.inner):
                name = reductions.tree_name(reduce)
                self.w.line(f"fc_tree_{name} tree{reduce.out};")
                self.w.line(f"fc_start_{name}(&tree{reduce.out});")
                with self.w.block("for (int64_t part = 0; part < parts; ++part)"):
                    slot = self.partial_slot(n, reduce)
                    self.w.line(f"fc_push_{name}(&tree{reduce.out}, {slot});")
            self.w.line(self.tail_call([self.finished(r) for r in self.inner]))

    @property
    def is_phased(self) -> bool:
        """True if rows may be cut into parts, which all wait for each other between passes."""
        return False

    @property
    def _ends_rows(self) -> bool:
        """True if something is left to do when all parts of a row are done."""
        return self.is_phased and bool(self.kernel.tail or self.kernel.outer)

    def _row_statements(self) -> list[ir.Statement]:
        """The statements of row values, from the first stage to the tail."""
        return [s for stage in self.kernel.stages for s in stage.head] + self.kernel.tail

    def _end_rows(self, forms: list[int]) -> None:
        """The tails of rows that were cut into parts."""
        with (
            self.w.block("if (parts > 1)"),
            self.w.block("for (int64_t row = 0; row < rows; ++row)"),
        ):
            self.bases(forms, "row_", "", self.unravel("row", self.layout.row_axes), typed=False)
            place = Place(self, "", "", "row_")
            for stage in self.kernel.stages:
                for statement in stage.head:
                    self.w.lines(place.lines(statement))
                for r in stage.reduces:
                    self.w.line(f"const {c_type(r.dtype)} {names.value(r.out)} = {self.joined(r)};")
            self.tail(place, "row")

    def joined(self, reduce: ir.Reduce) -> str:
        """The value of a reduction of ``row``, whose parts have been reduced."""
        return f"{PLACEHOLDER}_join{reduce.out}(a, row)"

    def join_functions(self) -> None:
        """The functions that join what the parts of a row have left."""
        for n, r in enumerate(self.inner):
            name, head = reductions.tree_name(r), f"FC_OUTLINE {c_type(r.dtype)} {PLACEHOLDER}"
            with self.w.block(f"{head}_join{r.out}(const fc_args *a, int64_t row)"):
                self.w.line("const int64_t parts = a->dim[0];")
                self.w.line(f"fc_tree_{name} tree{r.out};")
                self.w.line(f"fc_start_{name}(&tree{r.out});")
                self.w.line("for (int64_t part = 0; part < parts; ++part)")
                self.w.line(f"    fc_push_{name}(&tree{r.out}, {self.partial_slot(n, r)});")
                self.w.line(f"return {self.finished(r)};")

    def partial_slot(self, number: int, reduce: ir.Reduce) -> str:
        """Where part ``part`` of ``row`` leaves what it has combined."""
        at = f"16 * ((row * parts + part) * {len(self.inner)} + {number})"
        return f"*({reductions.partial_type(reduce)} *)(a->workspace + {at})"

    def finished(self, reduce: ir.Reduce) -> str:
        """The value of a reduction whose tree has seen everything."""
        tree = f"fc_finish_{reductions.tree_name(reduce)}(&tree{reduce.out})"
        return reductions.result(reduce, tree)

    def tail_call(self, values: list[str]) -> str:
        """The call that finishes ``row``, given the values of its reductions."""
        return f"{PLACEHOLDER}_row({', '.join(['a', 'row', *values])});"

    def _reduce_rows(self, number: int, reduce: ir.Reduce) -> None:
        name, out = reductions.tree_name(reduce), reduce.out
        value = c_type(reduce.value_dtype)
        self.w.line(f"fc_tree_{name} tree{out};")
        self.w.line(f"fc_start_{name}(&tree{out});")
        with self.w.block("for (int64_t at = 0; at < rows; at += FC_CHUNK)"):
            self.w.line(f"{value} b{out}[FC_CHUNK];")
            self.w.line("const int64_t count = fc_min(FC_CHUNK, rows - at);")
            slot = self.outer_slot(number, "(at + k)")
            self.w.line(f"for (int64_t k = 0; k < count; ++k) b{out}[k] = {slot};")
            self.w.line(f"fc_push_{name}(&tree{out}, fc_fold_{name}(b{out}, count, at));")
        self.w.line(f"const {c_type(reduce.dtype)} {names.value(out)} = {self.finished(reduce)};")

    def tail_function(self) -> None:
        """The function that finishes one row: its row values and their stores."""
        kernel = self.kernel
        forms = forms_of(kernel.tail)
        values = [f"{c_type(r.dtype)} {names.value(r.out)}" for r in self.inner]
        parameters = ", ".join(["const fc_args *a", "int64_t row", *values])
        with self.w.block(f"FC_INLINE void {PLACEHOLDER}_row({parameters})"):
            self.head(forms, kernel.tail)
            index = self.unravel("row", self.layout.row_axes)
            self.bases(forms, "row_", "", index, typed=False)
            self.tail(Place(self, "", "", "row_"), "row")

    def tail(self, place: Place, row: str) -> None:
        """The statements that finish a row; values for outer reductions go to the workspace."""
        for statement in self.kernel.tail:
            self.w.lines(place.lines(statement))
        for number, reduce in enumerate(self.kernel.outer):
            self.w.line(f"{self.outer_slot(number, row)} = {place.name(reduce.value)};")

    def entry(self) -> str:
        """The head of the kernel's entry function."""
        return f"void {PLACEHOLDER}(const fc_args *a, int64_t begin, int64_t end, char *scratch)"

    def all_statements(self) -> list[ir.Statement]:
        """The statements of stages and, where it is not a function of its own, of the tail."""
        found = [s for stage in self.kernel.stages for s in (*stage.head, *stage.body)]
        return found if self.kernel.splittable else found + self.kernel.tail


class RowEmitter(ReductionEmitter):
    """Rows one after the other; each stage is one pass over the row in chunks."""

    @property
    def is_phased(self) -> bool:
        return self.kernel.phases > 1

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
                index = self.unravel("row", self.layout.row_axes)
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
        self.w.line("const int64_t row = item / parts, part = item % parts;")
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
        if phase == self.kernel.phases - 1:
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
        with self.w.block(f"for (int64_t at = {first}; at < {last}; at += FC_CHUNK)"):
            self.w.line(f"const int64_t count = fc_min(FC_CHUNK, {last} - at);")
            for r in (*stage.reduces, *stage.cross):
                self.w.line(f"{c_type(r.value_dtype)} b{r.out}[FC_CHUNK];")
            for number, kind in scans.buffers(stage).items():
                self.w.line(f"{kind} b{number}[FC_CHUNK];")
            self._chunk(stage)
            for r in stage.cross:
                name = reductions.tree_name(r)
                self.w.line(f"fc_meet_{name}(lane{r.out} + at, b{r.out}, count);")
            for r in stage.reduces:
                name = reductions.tree_name(r)
                self.w.line(f"fc_push_{name}(&tree{r.out}, fc_fold_{name}(b{r.out}, count, at));")
        if not self.kernel.splittable and not self.is_phased:
            self._define(stage.reduces)

    def _define(self, reduces: list[ir.Reduce]) -> None:
        for r in reduces:
            self.w.line(f"const {c_type(r.dtype)} {names.value(r.out)} = {self.finished(r)};")

    def _chunk(self, stage: ir.Stage) -> None:
        """Compute ``count`` elements from ``at`` on, in runs along the innermost axis."""
        tests = self.tests(stage.body)
        last = self.layout.axes[-1]
        if len(self.layout.axes) == 1 and not tests:
            with self.w.block():
                self.run(tests, "count")
                index = {last: "at"}
                if self.kernel.segment is not None:
                    index = self.unravel(self.place_in_row("at"), self.layout.axes)
                self._run(stage, index, "0", tests)
            return
        with self.w.block("for (int64_t done = 0; done < count;)"):
            self.w.line(f"const int64_t position = {self.place_in_row('at + done')};")
            index = self.unravel("position", self.layout.axes)
            self.run(tests, f"fc_min({last} - {index[last]}, count - done)")
            self._run(stage, index, "done", tests)
            self.w.line("done += run;")

    def _run(self, stage: ir.Stage, index: dict[str, str], done: str, tests: Tests) -> None:
        self.bases(forms_of(stage.body), "", "row_", index, self.typed)
        for slot in _slots(stage):
            kind = memory_type(self.kernel.resident[slot])
            self.w.line(f"{kind} *const keep{slot} = row_keep{slot} + at + {done};")
        last = self.layout.axes[-1]
        self.make(tests, last)
        place = Place(self, "k", last, "", tests)
        at = "k" if done == "0" else f"{done} + k"
        for piece in scans.pieces(stage):
            with self.streaming(piece.body):
                for _ in self.attempts(piece.body, piece.taken):
                    with self.watched(piece.body):
                        self._piece(piece, place, at)
            if piece.scan is not None:
                self._scan(piece.scan, at)

    def _piece(self, piece: scans.Piece, place: Place, at: str) -> None:
        """One loop over a run."""
        with self.loop("for (int64_t k = 0; k < run; ++k)"):
            for number, kind in piece.taken.items():
                self.w.line(f"const {kind} {names.value(number)} = b{number}[{at}];")
            for statement in piece.body:
                self.w.lines(place.lines(statement))
            for number in piece.left:
                self.w.line(f"b{number}[{at}] = {names.value(number)};")
            for r in piece.reduces:
                self.w.line(f"b{r.out}[{at}] = {names.value(r.value)};")
            if piece.scan is not None:
                value = names.value(piece.scan.value)
                self.w.line(f"b{piece.scan.out}[{at}] = {value};")

    def _scan(self, scan: ir.Scan, at: str) -> None:
        """The totals of a run, one after the other."""
        total, element = f"total{scan.out}", f"b{scan.out}[{at}]"
        with self.w.block("for (int64_t k = 0; k < run; ++k)"):
            self.w.line(f"{total} = {reductions.scan_step(scan, total, element)};")
            self.w.line(f"{element} = {total};")

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


def _slots(stage: ir.Stage) -> list[int]:
    return sorted({s.slot for s in stage.body if isinstance(s, ir.Keep | ir.Recall)})


assert CHUNK == 512  # FC_CHUNK of codegen/reduce.h
