"""Emission of reductions: what the skeletons share."""

from __future__ import annotations

from ..codegen import names, reductions
from ..codegen.scalar import c_type, memory_type
from ..fusion import kernel_ir as ir
from ..fusion.walked_forms import forms_of
from .emit import PLACEHOLDER
from .emit_runs import RunEmitter
from .place import Place


class ReductionEmitter(RunEmitter):
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
        axes = self.dims.row_axes + self.dims.axes
        used = [*axes, "parts", "part_length", *self.strides_of(forms, axes)]
        used += self.limits_of(statements)
        self.w.lines(self.dims.declare(used))
        length = " * ".join(self.dims.axes)
        self.w.line(f"const int64_t length = {length}, rows = {' * '.join(self.dims.row_axes)};")
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
            self.bases(forms, "row_", "", self.unravel("row", self.dims.row_axes), typed=False)
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
            index = self.unravel("row", self.dims.row_axes)
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
